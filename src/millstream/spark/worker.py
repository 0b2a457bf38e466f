"""What runs in Spark's Python workers: programs kept between tasks, and errors that travel well."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle

from millstream.common.errors import MillstreamError

BEGIN, END = "<<<millstream-error ", " millstream-error>>>"
KEPT_RUNS = 4
_programs: dict[str, Any] = {}


@dataclass(frozen=True)
class ProgramRef:
    """A program on its way to the workers; each worker process unpickles and opens it once."""

    key: str
    blob: bytes

    @staticmethod
    def of(key: str, program: Any) -> ProgramRef:
        return ProgramRef(key, cloudpickle.dumps((program, _classes_of_the_script())))

    def get(self) -> Any:
        program = _programs.get(self.key)
        if program is None:
            self._close_earlier_runs()
            program, classes = cloudpickle.loads(self.blob)
            # Records and state name such classes; here is where pickle looks for them.
            vars(sys.modules["__main__"]).update(classes)
            _programs[self.key] = program
        return program

    def _close_earlier_runs(self) -> None:
        """Queries that run at once take turns in a worker process; those of long before are done."""
        runs = list(dict.fromkeys(_run_of(key) for key in [*_programs, self.key]))
        for key in [key for key in _programs if _run_of(key) in runs[:-KEPT_RUNS]]:
            program = _programs.pop(key)
            with suppress(MillstreamError):
                program.close()

    def forget(self) -> None:
        """Start from a fresh copy next time."""
        _programs.pop(self.key, None)


def _run_of(key: str) -> str:
    return key.split("-")[0]


def _classes_of_the_script() -> dict[str, type]:
    """The classes that the user's main script defines: no worker could import them."""
    script = vars(sys.modules["__main__"]).items()
    own = {n: c for n, c in script if isinstance(c, type) and c.__module__ == "__main__"}
    return {name: found for name, found in own.items() if _can_travel(found)}


def _can_travel(thing: Any) -> bool:
    try:
        cloudpickle.dumps(thing)
    except Exception:
        return False
    return True


def wall_clock_ms() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000


@contextmanager
def errors_that_travel(ref: ProgramRef) -> Iterator[None]:
    """Put a Millstream error into the message of the exception, the only part the driver sees."""
    try:
        yield
    except MillstreamError as error:
        ref.forget()
        raise RuntimeError(f"{BEGIN}{json.dumps(error.to_dict())}{END}") from None
    except BaseException:
        ref.forget()
        raise


def find_error(text: str) -> MillstreamError | None:
    """The Millstream error in the text of a Spark exception."""
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 or end < 0:
        return None
    return MillstreamError.from_dict(json.loads(text[start + len(BEGIN) : end]))


@contextmanager
def readable_errors() -> Iterator[None]:
    """Raise the Millstream error that a task has failed with, instead of Spark's."""
    try:
        yield
    except MillstreamError:
        raise
    except Exception as error:
        found = find_error(str(error))
        if found is None:
            raise
        raise found from None
