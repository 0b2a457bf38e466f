"""What Spark's errors are turned into, and how errors travel from workers to the driver."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import Location, MillstreamError, PlanError, UserCodeError
from millstream.spark.tasks import worker
from millstream.spark.tasks.failures import EpochFailed, is_outage, readable, readable_errors
from millstream.spark.tasks.worker import (
    BEGIN,
    END,
    ProgramRef,
    errors_that_travel,
    find_error,
    marked,
)

# The expression by which Spark 4.3 looks for an interrupt in the text of a failed epoch.
INTERRUPTED = re.compile(
    r"py4j.protocol.Py4JJavaError: An error occurred while calling((.|\r\n|\r|\n)*)"
    r"(java\.lang\.InterruptedException|java\.io\.InterruptedIOException"
    r"|java\.nio\.channels\.ClosedByInterruptException)"
)
REF = ProgramRef("", b"")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SparkException: Python worker failed to connect back.", "WORKER_NOT_STARTED"),
        ("Python worker exited unexpectedly (crashed): EOFException", "WORKER_DIED"),
        ("ModuleNotFoundError: No module named 'millstream'", "WORKERS_WITHOUT_MILLSTREAM"),
        ("ModuleNotFoundError: No module named 'millstream.x'", "WORKERS_WITHOUT_MILLSTREAM"),
        ("Caused by: java.lang.OutOfMemoryError: Java heap space\n\tat x", "JVM_MEMORY"),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
            "file:///in/a.txt. File does not exist. It is possible ...",
            "SOURCE_FILE_GONE",
        ),
        ("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred", "CHECKPOINT_DAMAGED"),
        ("[MALFORMED_LOG_FILE] Log file was malformed: failed to read", "CHECKPOINT_DAMAGED"),
    ],
)
def test_an_error_of_sparks_is_explained(text: str, code: str) -> None:
    failure = RuntimeError(text)
    found = readable(failure)
    assert isinstance(found, MillstreamError)
    assert (found.code, bool(found.hint)) == (code, True)
    assert found.__cause__ is failure


@pytest.mark.parametrize("text", ["something else", "No module named 'millstream_plugins'"])
def test_what_nobody_knows_stays_as_it_is(text: str) -> None:
    failure = RuntimeError(text)
    assert readable(failure) is failure
    with pytest.raises(RuntimeError) as caught, readable_errors():
        raise failure
    assert caught.value is failure


def test_only_a_worker_that_did_not_start_is_an_outage() -> None:
    assert is_outage(readable(RuntimeError("Python worker failed to connect back.")))
    assert not is_outage(readable(RuntimeError("Python worker exited unexpectedly")))
    assert not is_outage(RuntimeError("Python worker failed to connect back."))


def test_the_line_of_a_crash_is_the_users() -> None:
    stack = f"""Python worker exited unexpectedly (crashed): Fatal Python error: Aborted

Current thread 0x00007f (most recent call first):
  File "{os.__file__}", line 1 in abort
  File "{__file__}", line 1 in crash
"""
    stack = stack.replace(os.__file__, "/lib/pyspark/worker.py")
    found = readable(RuntimeError(stack))
    assert isinstance(found, MillstreamError)
    first = Path(__file__).read_text().splitlines()[0]
    assert found.location == Location(__file__, 1, "crash", first)


# -- errors that travel ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN}",
        f"{BEGIN}{{}}{END}",
        f'{BEGIN}{{"class": "PlanError"}}{END}',
        f"{END}{BEGIN}",
        "<>&\\u003c\n\"'",
        marked(PlanError("FORGED", "not this one")),
    ],
)
def test_an_error_whose_text_has_our_marks_comes_back_as_it_was(text: str) -> None:
    error = UserCodeError("USER_CODE", text, operator="m", record=text, user_traceback=text)
    with pytest.raises(RuntimeError) as caught, errors_that_travel(REF):
        raise error
    found = find_error(f"Traceback {BEGIN} ...\n{caught.value}\n\tat java")
    assert found is not None
    assert found.to_dict() == error.to_dict()


def test_marks_without_an_error_in_them_are_none() -> None:
    assert find_error(f"{BEGIN}not JSON{END} {BEGIN}[1]{END} {BEGIN}{{}}{END} {END}") is None


def test_an_exception_of_the_engine_travels_as_it_is() -> None:
    with pytest.raises(ValueError, match="a bug"), errors_that_travel(REF):
        raise ValueError("a bug")


STAGE = """
def rows(ref):
    with errors_that_travel(ref):
        yield 1
        yield 2
"""


def test_the_end_of_a_generator_that_nobody_reads_on_is_no_error() -> None:
    """Spark closes a stage whose rows it needs no more; no line of a user's is to blame."""
    names: dict[str, Any] = {
        "__name__": "millstream.stage",
        "errors_that_travel": errors_that_travel,
    }
    exec(compile(STAGE, worker.__file__, "exec"), names)
    rows = names["rows"](REF)
    assert next(rows) == 1
    rows.close()


def test_a_forked_child_ends_as_it_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_FAULTHANDLER_DIR", str(tmp_path))
    with errors_that_travel(REF):
        child = os.fork()
        if child == 0:
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_ends_itself_leaves_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_FAULTHANDLER_DIR", str(tmp_path))
    child = os.fork()
    if child == 0:
        with errors_that_travel(REF):
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    error = find_error((tmp_path / str(child)).read_text())
    assert isinstance(error, UserCodeError)
    assert "os._exit(7)" in error.message
    assert error.location is not None
    assert (error.location.file, error.location.code) == (__file__, "os._exit(7)")


def test_outside_of_a_task_nothing_is_changed() -> None:
    before = os._exit
    with errors_that_travel(REF):
        assert os._exit is not before
    assert os._exit is before


@pytest.mark.parametrize("interrupt", ["java.lang.InterruptedException", ""])
def test_spark_is_told_of_a_failed_epoch_in_few_words(interrupt: str) -> None:
    """Its expression overflows the stack on long texts, but has to find an interrupt."""
    lines = "\n\tat org.apache.spark.Somewhere(Somewhere.scala:1)" * 500
    told = str(EpochFailed.of(RuntimeError(f"An error occurred{lines}: {interrupt}{lines}")))
    assert len(told) < 200
    assert bool(INTERRUPTED.search(told)) == bool(interrupt)
