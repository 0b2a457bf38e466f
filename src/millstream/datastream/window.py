"""Windows: the spans of time or numbers of records that results are computed for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from millstream.common.time import MAX_TIMESTAMP

__all__ = ["CountWindow", "GlobalWindow", "TimeWindow", "Window"]


class Window(ABC):
    """A finite set of records of one key."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest event time that belongs to the window."""


@dataclass(frozen=True, order=True)
class TimeWindow(Window):
    """The records with ``start <= time < end``, in milliseconds.

    Examples
    --------
    >>> window = TimeWindow(0, 5_000)
    >>> window.max_timestamp()
    4999
    >>> window.intersects(TimeWindow(5_000, 6_000)), window.cover(TimeWindow(4_000, 6_000))
    (True, TimeWindow(start=0, end=6000))
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the two overlap or touch: sessions that touch are one."""
        return self.start <= other.end and other.start <= self.end

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that holds both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window that holds a time.

        Windows start at ``offset`` plus every multiple of ``window_size``.

        Examples
        --------
        >>> TimeWindow.get_window_start_with_offset(7_500, 0, 5_000)
        5000
        >>> TimeWindow.get_window_start_with_offset(-1, 0, 5_000)
        -5000
        """
        return timestamp - (timestamp - offset) % window_size


@dataclass(frozen=True, order=True)
class CountWindow(Window):
    """A number of records in a row; ``id`` counts the windows of a key from 0."""

    id: int

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP


@dataclass(frozen=True, order=True)
class GlobalWindow(Window):
    """The one window that holds all records of a key.

    Examples
    --------
    >>> GlobalWindow.get() is GlobalWindow.get()
    True
    """

    _instance: ClassVar[GlobalWindow | None] = None

    @staticmethod
    def get() -> GlobalWindow:
        """Return the global window."""
        if GlobalWindow._instance is None:
            GlobalWindow._instance = GlobalWindow()
        return GlobalWindow._instance

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP
