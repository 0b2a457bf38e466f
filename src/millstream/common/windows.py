"""Windows: the spans of time or numbers of records that results are computed for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import Enum
from typing import Any, Generic, NamedTuple

from millstream.common.time import MAX_TIMESTAMP
from millstream.common.type_variables import V

__all__ = [
    "CountWindow",
    "GlobalWindow",
    "TimeWindow",
    "TimestampedValue",
    "TriggerResult",
    "Window",
]


class Window(ABC):
    """A finite set of records of one key.

    A window of your own must be hashable, equal to another one with the same content, and picklable.
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest event time that belongs to the window."""


class _Span(NamedTuple):
    start: int
    end: int


class TimeWindow(_Span, Window):
    """The records with ``start <= time < end``, in milliseconds.

    Examples
    --------
    >>> window = TimeWindow(0, 5_000)
    >>> window.max_timestamp()
    4999
    >>> window.intersects(TimeWindow(5_000, 6_000)), window.cover(TimeWindow(4_000, 6_000))
    (True, TimeWindow(start=0, end=6000))
    """

    # A tuple: state holds millions of windows, and this is what Python makes, hashes and compares
    # quickest.
    __slots__ = ()

    def max_timestamp(self) -> int:
        return self[1] - 1

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

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Merge windows that overlap or touch, for assigners whose windows merge.

        Parameters
        ----------
        windows
            Windows in any order.
        callback
            Its ``merge`` gets the windows of each group of two or more, in order of time, and the
            one that covers them.

        Examples
        --------
        >>> class Print:
        ...     def merge(self, to_be_merged, merge_result):
        ...         print(len(to_be_merged), merge_result)
        >>> windows = [TimeWindow(5, 9), TimeWindow(0, 5), TimeWindow(20, 30)]
        >>> TimeWindow.merge_windows(windows, Print())
        2 TimeWindow(start=0, end=9)
        """
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(set(windows)):
            if groups and groups[-1][0].intersects(window):
                cover, members = groups.pop()
                members.append(window)
                groups.append((cover.cover(window), members))
            else:
                groups.append((window, [window]))
        for cover, members in groups:
            if len(members) > 1:
                callback.merge(members, cover)


class _Number(NamedTuple):
    id: int


class CountWindow(_Number, Window):
    """A number of records in a row; ``id`` counts the windows of a key from 0."""

    __slots__ = ()

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP


class GlobalWindow(tuple[()], Window):
    """The one window that holds all records of a key.

    Examples
    --------
    >>> GlobalWindow.get() == GlobalWindow.get()
    True
    """

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Return the global window."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __repr__(self) -> str:
        return "GlobalWindow()"


_GLOBAL = GlobalWindow()


class TriggerResult(Enum):
    """The decision of a trigger about a window.

    Examples
    --------
    >>> TriggerResult.FIRE_AND_PURGE.is_fire(), TriggerResult.FIRE_AND_PURGE.is_purge()
    (True, True)
    """

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    def is_fire(self) -> bool:
        """Return whether the window's function is called."""
        return bool(self.value[0])

    def is_purge(self) -> bool:
        """Return whether the window's content is thrown away."""
        return bool(self.value[1])


class TimestampedValue(NamedTuple, Generic[V]):
    """A value with its event time: an element of ``from_collection``, or a record that an evictor sees.

    Attributes
    ----------
    value : V
        The value.
    timestamp : int | None
        Its event time in milliseconds; None for a record in a window that has none.
    order : Any
        Its place among the records of the job, where a window operator needs to keep it.

    Examples
    --------
    >>> TimestampedValue("a", 1_000)
    TimestampedValue(value='a', timestamp=1000)
    """

    value: V
    timestamp: int | None
    order: Any = None

    def __repr__(self) -> str:
        return f"TimestampedValue(value={self.value!r}, timestamp={self.timestamp!r})"

    def get_value(self) -> V:
        """Return the record."""
        return self.value

    def get_timestamp(self) -> int | None:
        """Return its event time."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Return whether it has one."""
        return self.timestamp is not None
