"""One line at exit for a program that builds streams and never runs them.

In Flink such a program ends without a message, and the mistake is hard to find.
"""

from __future__ import annotations

import atexit
import sys
from itertools import count

from millstream.common.errors import Location

__all__ = ["Unexecuted", "reminder"]

_numbers = count()
_waiting: dict[int, Location | None] = {}


class Unexecuted:
    """The operators that an environment has built since its last job."""

    def __init__(self) -> None:
        self._number: int | None = None

    def built(self, location: Location | None) -> None:
        """Remember where the first operator was added."""
        if self._number is None:
            self._number = next(_numbers)
            _waiting[self._number] = location

    def asked_for(self) -> None:
        """Forget it: it was run, explained or thrown away, or running it was refused."""
        if self._number is not None:
            _waiting.pop(self._number, None)
            self._number = None


def reminder() -> str | None:
    """The line for streams that were built and never asked for; None if there are none."""
    for location in _waiting.values():
        where = "" if location is None else f" at {location.file}:{location.line}"
        return f"millstream: streams were built{where}, but execute() was never called: nothing has run"
    return None


@atexit.register
def _remind() -> None:
    line = None if _is_expected() else reminder()
    if line is not None:
        print(line, file=sys.stderr)


def _is_expected() -> bool:
    """Whether nobody expects a job: in a shell, in tests, and after an error."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    tests = "pytest" in sys.modules or (spec is not None and spec.name in ("doctest", "unittest"))
    return tests or hasattr(sys, "ps1") or hasattr(sys, "last_value")
