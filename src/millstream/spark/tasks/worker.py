"""Code in Spark's Python workers: programs kept between tasks, and errors as text for the driver."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pyspark import cloudpickle

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import MillstreamError, stopped_by_user
from millstream.spark.tasks.dependencies import ANYWHERE, WorkPlace
from millstream.spark.tasks.memory import limited_memory, out_of_memory

BEGIN, END = "<<<millstream-error ", " millstream-error>>>"
MARKED = re.compile(f"{BEGIN}([^<>]*){END}")
KEPT_RUNS = 4
_programs: dict[str, Any] = {}


@dataclass(frozen=True)
class ProgramRef:
    """A program on its way to the workers; each worker process unpickles and opens it once.

    ``memory``: how many bytes a worker may have, see `limited_memory`.
    """

    key: str
    blob: bytes
    memory: int | None = None
    place: WorkPlace = ANYWHERE

    @staticmethod
    def of(
        key: str, program: Any, memory: int | None = None, place: WorkPlace | None = None
    ) -> ProgramRef:
        blob = dumps_by_value((program, _classes_of_the_script()), cloudpickle)
        return ProgramRef(key, blob, memory, place or ANYWHERE)

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
        dumps_by_value(thing, cloudpickle)
    except Exception:
        return False
    return True


def wall_clock_ms() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000


@contextmanager
def errors_that_travel(ref: ProgramRef) -> Iterator[None]:
    """Run a task where its job works.

    A Millstream error goes into the message of the exception, the only part the driver sees.
    """
    try:
        with _task(), limited_memory(ref.memory), ref.place.entered():
            yield
    except BaseException as error:
        ref.forget()
        found = _told(error, ref.memory)
        if found is None:
            raise
        raise RuntimeError(marked(found)) from None


def _told(error: BaseException, memory: int | None) -> MillstreamError | None:
    """The error to report to the driver; None if the error is complete as it is."""
    found = out_of_memory(error, memory)
    if found is not None:
        return found
    if isinstance(error, Exception):
        return error if isinstance(error, MillstreamError) else None
    # sys.exit() and the like: no operator catches it.
    what = "".join(traceback.format_exception_only(error)).strip()
    return stopped_by_user(what, traceback.walk_tb(error.__traceback__))


def marked(error: MillstreamError) -> str:
    """An error as marked text. A user's text cannot look like it: its brackets are escaped."""
    text = json.dumps(error.to_dict()).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{BEGIN}{text}{END}"


def find_error(text: str) -> MillstreamError | None:
    """The Millstream error in the text of a Spark exception."""
    for found in MARKED.finditer(text):
        with suppress(ValueError, KeyError, TypeError):
            return MillstreamError.from_dict(json.loads(found[1]))
    return None


# -- functions that end their process --------------------------------------------------------------

_end_process = os._exit
_process_of_task: int | None = None


@contextmanager
def _task() -> Iterator[None]:
    """Let a function that calls `os._exit` leave a note: a process that is gone says nothing."""
    global _process_of_task
    _process_of_task, os._exit = os.getpid(), _exit_with_a_note
    try:
        yield
    finally:
        _process_of_task, os._exit = None, _end_process


def _exit_with_a_note(status: int) -> NoReturn:
    folder = os.environ.get("PYTHON_FAULTHANDLER_DIR")
    # A child that the function has forked may end as it likes.
    if folder is not None and os.getpid() == _process_of_task:
        calls = reversed(list(traceback.walk_stack(sys._getframe(1))))
        error = stopped_by_user(f"os._exit({status})", calls)
        if error is not None:
            # Spark reads what a process has left there, and makes it part of its own error.
            Path(folder, str(os.getpid())).write_text(marked(error))
    _end_process(status)
