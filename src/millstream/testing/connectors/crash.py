"""Crashes at any line of a connector's code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["Crash", "CrashAt", "spread"]

_OURS = (
    "millstream.testing.",
    "millstream.connectors.sink.",
    "millstream.connectors.sink_calls.",
    "millstream.connectors.source.",
    "millstream.connectors.source_calls.",
)
"""The kit, and the contract between engine and connectors; Millstream's own connectors crash, too."""


class Crash(BaseException):
    """Stands for the death of a process: no connector catches it as an error."""


class CrashAt:
    """Crashes before the n-th line that code of a package runs; without a number it counts lines.

    Only lines of the connector's own package count: the module of the sink, or the package it is in.

    Examples
    --------
    >>> counting = CrashAt(__name__.split(".")[0])
    >>> counting.run(lambda: None)
    >>> counting.lines
    0
    """

    def __init__(self, package: str, line: int | None = None) -> None:
        self.package = package
        self.line = line
        self.lines = 0

    def run(self, action: Callable[[], Any]) -> None:
        """Call something; raises `Crash` where it crashes."""
        next(self._apart(action))

    def _apart(self, action: Callable[[], Any]) -> Iterator[None]:
        # A crash in an exception handler can leave the handled exception behind as the current one, and
        # errors of later programs would show it as their cause. A generator takes it along when it ends.
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            action()
        finally:
            sys.settrace(before)
        yield

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = str(frame.f_globals.get("__name__"))
        is_theirs = name.split(".")[0] == self.package and not f"{name}.".startswith(_OURS)
        return self._ran if is_theirs else None

    def _ran(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self.line:
                raise Crash(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return self._ran


def spread(count: int, most: int) -> list[int]:
    """Numbers from 1 to ``count``: all, or so many of them, evenly, with the first and the last.

    Examples
    --------
    >>> spread(3, 10), spread(100, 4), spread(0, 4)
    ([1, 2, 3], [1, 34, 67, 100], [])
    """
    most = max(most, 2)
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (most - 1)) for i in range(most)})
