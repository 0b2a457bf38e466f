"""The meaning of Spark's own errors for a job, in a user's words, with advice."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from millstream.common.errors import (
    CheckpointError,
    EnvironmentSetupError,
    Location,
    MillstreamError,
    is_users_file,
    location_in,
)
from millstream.spark.tasks.memory import SETTING
from millstream.spark.tasks.worker import find_error

WORKER_NOT_STARTED = "WORKER_NOT_STARTED"


def readable(error: BaseException) -> BaseException:
    """The error a user should see: theirs, not the JVM's."""
    if isinstance(error, MillstreamError):
        return error
    text = str(error)
    found = find_error(text)
    if found is not None:
        # The JVM's stack says nothing more.
        found.__cause__ = None
        return found
    for pattern, explain in _MEANINGS:
        match = pattern.search(text)
        if match is not None:
            explained = explain(match)
            explained.__cause__ = error
            return explained
    return error


@contextmanager
def readable_errors() -> Iterator[None]:
    """Raise the Millstream error that a task has failed with, instead of Spark's."""
    try:
        yield
    except MillstreamError:
        raise
    except Exception as error:
        found = readable(error)
        if found is error:
            raise
        raise found from None


_INTERRUPTS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)


class EpochFailed(Exception):
    """A failed epoch as it is reported to Spark: in few words.

    Spark searches the text of a failed ``foreachBatch`` function for an interrupt, with an expression
    that overflows the stack on a long text: Spark then prints a thousand lines. An interrupt, which the
    end of a query causes, is still named as Spark expects it.

    Examples
    --------
    >>> print(EpochFailed.of(ValueError("x" * 10_000)))
    ValueError: see the driver
    """

    @staticmethod
    def of(error: BaseException) -> EpochFailed:
        """The report of an error to Spark."""
        text = str(error)
        for name in _INTERRUPTS:
            if name in text:
                return EpochFailed(
                    f"py4j.protocol.Py4JJavaError: An error occurred while calling the writer: {name}"
                )
        return EpochFailed(f"{type(error).__name__}: see the driver")


def is_outage(error: BaseException) -> bool:
    """Whether the same job may well run if it is started again: nothing is wrong with it."""
    return isinstance(error, MillstreamError) and error.code == WORKER_NOT_STARTED


def after_restarts(failure: BaseException, restarts: int) -> BaseException:
    """The failure after which a job was given up, and how often it was tried."""
    if restarts == 0:
        return failure
    tried = f"tried {restarts + 1} times"
    if isinstance(failure, MillstreamError):
        failure.message += f" ({tried})"
        return failure
    error = MillstreamError(
        "RESTARTS_EXHAUSTED",
        f"the job failed for good ({tried}); the last failure: {failure}",
        hint="remove the cause and start the program again: it continues from its checkpoint",
    )
    error.__cause__ = failure
    return error


def _not_started(match: re.Match[str]) -> MillstreamError:
    return EnvironmentSetupError(
        WORKER_NOT_STARTED,
        "a Python worker did not start within the 10 seconds that Spark waits for it",
        hint="the machine is overloaded or out of memory: run less on it, or lower the parallelism",
    )


def _died(match: re.Match[str]) -> MillstreamError:
    return MillstreamError(
        "WORKER_DIED",
        "a Python worker process ended in the middle of a task, without a word",
        location=_last_users_line(match.string[match.end() :]),
        hint="a library crashed, something called os._exit, or the system killed the process because "
        f"memory ran out: see the system's log; {SETTING} limits what a worker takes",
    )


_DUMPED = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')


def _last_users_line(text: str) -> Location | None:
    """The innermost line of the user's in the stack that Python has written when it crashed."""
    for file, line, function in _DUMPED.findall(text):
        if is_users_file(file):
            return location_in(file, int(line), function)
    return None


def _no_millstream(match: re.Match[str]) -> MillstreamError:
    return workers_without("No module named 'millstream'")


def workers_without(what: str) -> EnvironmentSetupError:
    """The Python of Spark's workers cannot run Millstream."""
    return EnvironmentSetupError(
        "WORKERS_WITHOUT_MILLSTREAM",
        f"the Python of the Spark workers cannot run Millstream: {what}",
        hint="set PYSPARK_PYTHON to an interpreter in which Millstream is installed, before the Spark "
        f"session is made; this program runs on {sys.executable}",
    )


def _heap(match: re.Match[str]) -> MillstreamError:
    return EnvironmentSetupError(
        "JVM_MEMORY",
        f"Spark's JVM ran out of memory: {match[1].strip()}",
        hint="a record, or what an epoch brings to one task, is too large for it: read less at once, "
        "or set spark.driver.memory (4g by default), on a cluster spark.executor.memory",
    )


def _missing_input(match: re.Match[str]) -> MillstreamError:
    return file_gone(match[1])


def file_gone(path: str, location: Location | None = None) -> MillstreamError:
    """A file of a source was there when the epoch was planned, and is not when it is to be read."""
    return MillstreamError(
        "SOURCE_FILE_GONE",
        f"a file that the job was about to read is gone: {path}",
        location=location,
        hint="put it back and start the job again, or set spark.sql.files.ignoreMissingFiles to go on "
        "without it; files must stay as they are until they are read",
    )


def _damaged_state(match: re.Match[str]) -> MillstreamError:
    return CheckpointError(
        "CHECKPOINT_DAMAGED",
        f"Spark cannot read its checkpoint: {match[0].strip()}",
        hint="make a savepoint of the last epoch that is whole with `millstream savepoint`, and start "
        "from that",
    )


Meaning = Callable[[re.Match[str]], MillstreamError]
_MEANINGS: list[tuple[re.Pattern[str], Meaning]] = [
    (
        re.compile(r"Python worker failed to connect back|failed to connect to the Python"),
        _not_started,
    ),
    (re.compile(r"No module named 'millstream['.]"), _no_millstream),
    (re.compile(r"java\.lang\.OutOfMemoryError:?([^\n]*)"), _heap),
    (re.compile(r"Python worker exited unexpectedly"), _died),
    (
        re.compile(r"FAILED_READ_FILE\.FILE_NOT_EXIST\] [^\n]*?file (\S+?)\.? File does"),
        _missing_input,
    ),
    (re.compile(r"\[CANNOT_LOAD_STATE_STORE[^\n]*"), _damaged_state),
    (re.compile(r"\[MALFORMED_LOG_FILE[^\n]*"), _damaged_state),
]
