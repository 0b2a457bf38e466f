"""Window assigners: which windows a record belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any, Generic, Self

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP, positive_millis, to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import IN, W2, W
from millstream.common.windows import TimeWindow
from millstream.datastream.functions import RuntimeContext
from millstream.datastream.windowing.triggers import (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    Trigger,
)

__all__ = [
    "FIRST_START",
    "EventTimeAssigner",
    "MergingWindowAssigner",
    "ProcessingTimeAssigner",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeAssigner",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "WindowAssigner",
    "WindowStagger",
    "clamped_window",
]


FIRST_START = MIN_TIMESTAMP + 1
"""Where the first window begins; `MIN_TIMESTAMP` stands for no time."""

_LAST_START = MAX_TIMESTAMP - 1


class WindowAssigner(ABC, Generic[IN, W]):
    """Decides which windows a record belongs to.

    One object serves all keys. State per key comes from ``context.get_runtime_context()``.

    Examples
    --------
    >>> from millstream.common.windows import TimeWindow
    >>> from millstream.datastream.windowing.triggers import EventTimeTrigger
    >>> class SameHourOnly(WindowAssigner):
    ...     def assign_windows(self, element, timestamp, context):
    ...         start = timestamp - timestamp % 3_600_000
    ...         return [TimeWindow(start, start + 3_600_000)]
    ...
    ...     def get_default_trigger(self, env=None):
    ...         return EventTimeTrigger.create()
    ...
    ...     def is_event_time(self):
    ...         return True
    >>> SameHourOnly().assign_windows("x", 3_600_001, None)
    [TimeWindow(start=3600000, end=7200000)]
    """

    class WindowAssignerContext(ABC):
        """The processing time, and where the assigner runs."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the context of the window operator, with the state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: IN, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of a record; it is dropped if there are none.

        Parameters
        ----------
        element
            The record.
        timestamp : int
            Its event time; None if it has none, which event-time windows do not take.
        context : WindowAssignerContext
            The processing time, and state of the current key.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger[IN, W]:
        """Return the trigger of windowed streams that name none; ``env`` is there for Flink's sake."""

    def get_window_serializer(self) -> Any:
        """Return None: windows are pickled, they need no serializer.

        Assigners written for Flink override it. Their method is never called.
        """
        return None

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether windows end by the watermark, and not by the processing time."""


class MergingWindowAssigner(WindowAssigner[IN, W]):
    """An assigner whose windows can become one, such as sessions.

    Examples
    --------
    >>> from millstream.datastream.window import EventTimeSessionWindows
    >>> isinstance(EventTimeSessionWindows.with_gap("10 min"), MergingWindowAssigner)
    True
    """

    class MergeCallback(ABC, Generic[W2]):
        """Takes the windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Make one window of several."""

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Call ``callback.merge`` for each group of windows that must become one.

        Parameters
        ----------
        windows
            All windows of a key.
        callback : MergeCallback
            Takes each group of windows and the window that replaces it.
        """


def clamped_window(start: int, end: int) -> TimeWindow:
    """Return a window, cut to what 64 bits hold.

    Examples
    --------
    >>> clamped_window(0, 2**63 + 5).end == 2**63 - 1
    True
    """
    if start >= FIRST_START and end <= MAX_TIMESTAMP:
        return TimeWindow(start, end)
    return TimeWindow(max(start, FIRST_START), min(end, MAX_TIMESTAMP))


class TimeAssigner(WindowAssigner[Any, TimeWindow]):
    """An assigner that needs only the record and a time, of either clock."""

    @abstractmethod
    def _windows(self, element: Any, time: int) -> list[TimeWindow]:
        """Return the windows of a record at a time before the last instant there is."""

    def _arguments(self) -> tuple[object, ...]:
        """Return what the assigner was made with, for its repr."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self._arguments()))})"


class EventTimeAssigner(TimeAssigner):
    """Assigns by the event time of records."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        # No window can begin at the last instant, as none can end after it: the one before stands in.
        return self._windows(element, timestamp if timestamp < _LAST_START else _LAST_START)

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class ProcessingTimeAssigner(TimeAssigner):
    """Assigns by the processing time."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self._windows(element, min(context.get_current_processing_time(), _LAST_START))

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, TimeWindow]:
        return ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        return False


class WindowStagger(Enum):
    """Where Flink's tumbling windows begin in different parts of a job. Here only ALIGNED works.

    The others move the windows by a random number, or to the time a part sees its first record.
    Results would then depend on which part processes a key, and when.

    Examples
    --------
    >>> TumblingEventTimeWindows.of("5 s", window_stagger=WindowStagger.ALIGNED)
    TumblingEventTimeWindows(5000, 0)
    """

    ALIGNED = "ALIGNED"
    RANDOM = "RANDOM"
    NATURAL = "NATURAL"


class _TumblingWindows(TimeAssigner):
    def __init__(
        self,
        size: DurationLike,
        offset: DurationLike | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> None:
        name = type(self).__name__
        self.size = positive_millis(size, f"the size of {name}")
        self.offset = _checked_offset(offset, self.size, name, "size")
        if window_stagger is not WindowStagger.ALIGNED:
            raise PlanError(
                "WINDOW_STAGGER",
                f"{name} cannot stagger its windows by {short_repr(window_stagger)}: results would "
                "depend on which task processes a key",
                location=user_location(),
                hint="leave window_stagger out; offset moves all windows by the same time",
            )

    @classmethod
    def of(
        cls,
        size: DurationLike,
        offset: DurationLike | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> Self:
        """Return an assigner of windows that follow each other.

        Parameters
        ----------
        size : span of time
            How long a window is: ``"5 s"``, a timedelta, a `Time`, milliseconds.
        offset : span of time, optional
            By how much windows begin after multiples of ``size``, counted from 1970-01-01 UTC; less
            than ``size``. Days in a time zone of UTC+8 begin at an offset of ``"-8 h"``.
        window_stagger : WindowStagger
            Accepted for Flink's sake: only ``ALIGNED`` works.
        """
        return cls(size, offset, window_stagger)

    def _windows(self, element: Any, time: int) -> list[TimeWindow]:
        start = TimeWindow.get_window_start_with_offset(time, self.offset, self.size)
        return [clamped_window(start, start + self.size)]

    def _arguments(self) -> tuple[object, ...]:
        return (self.size, self.offset)


class TumblingEventTimeWindows(_TumblingWindows, EventTimeAssigner):
    """Windows of one length that follow each other, by event time.

    Examples
    --------
    >>> TumblingEventTimeWindows.of("5 s").assign_windows("x", 7_000, None)
    [TimeWindow(start=5000, end=10000)]
    >>> TumblingEventTimeWindows.of("1 d", "-8 h")
    TumblingEventTimeWindows(86400000, -28800000)
    """


class TumblingProcessingTimeWindows(_TumblingWindows, ProcessingTimeAssigner):
    """Windows of one length that follow each other, by processing time.

    Examples
    --------
    >>> TumblingProcessingTimeWindows.of("5 s")
    TumblingProcessingTimeWindows(5000, 0)
    """


class _SlidingWindows(TimeAssigner):
    def __init__(
        self, size: DurationLike, slide: DurationLike, offset: DurationLike | None = None
    ) -> None:
        name = type(self).__name__
        self.size = positive_millis(size, f"the size of {name}")
        self.slide = positive_millis(slide, f"the slide of {name}")
        self.offset = _checked_offset(offset, self.slide, name, "slide")

    @classmethod
    def of(
        cls, size: DurationLike, slide: DurationLike, offset: DurationLike | None = None
    ) -> Self:
        """Return an assigner of windows that begin at regular intervals.

        Parameters
        ----------
        size : span of time
            How long a window is: ``"1 min"``, a timedelta, a `Time`, milliseconds.
        slide : span of time
            How long after one window the next begins. If it is less than ``size`` the windows
            overlap, if it is more there are times that no window holds.
        offset : span of time, optional
            By how much windows begin after multiples of ``slide``, counted from 1970-01-01 UTC;
            less than ``slide``.
        """
        return cls(size, slide, offset)

    def _windows(self, element: Any, time: int) -> list[TimeWindow]:
        size = self.size
        last = TimeWindow.get_window_start_with_offset(time, self.offset, self.slide)
        return [clamped_window(at, at + size) for at in range(last, time - size, -self.slide)]

    def _arguments(self) -> tuple[object, ...]:
        return (self.size, self.slide, self.offset)


class SlidingEventTimeWindows(_SlidingWindows, EventTimeAssigner):
    """Windows of one length that begin at regular intervals, by event time.

    Examples
    --------
    >>> SlidingEventTimeWindows.of("10 s", "5 s").assign_windows("x", 7_000, None)
    [TimeWindow(start=5000, end=15000), TimeWindow(start=0, end=10000)]
    """


class SlidingProcessingTimeWindows(_SlidingWindows, ProcessingTimeAssigner):
    """Windows of one length that begin at regular intervals, by processing time.

    Examples
    --------
    >>> SlidingProcessingTimeWindows.of("10 s", "5 s")
    SlidingProcessingTimeWindows(10000, 5000, 0)
    """


def _checked_offset(offset: DurationLike | None, period: int, name: str, period_name: str) -> int:
    if offset is None:
        return 0
    millis = to_millis(offset, f"the offset of {name}", allow_negative=True)
    if abs(millis) >= period:
        raise PlanError(
            "WINDOW_OFFSET",
            f"the offset of {name}, {millis} ms, must be less than the {period_name}, {period} ms",
            location=user_location(),
            hint=f"windows repeat every {period} ms: the same ones have the offset {millis % period}",
        )
    return millis
