"""Session windows: records with no long pause between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Self

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import positive_millis, to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.windows import TimeWindow
from millstream.datastream.functions.checks import FunctionKind, check_function
from millstream.datastream.windowing.assigners import (
    EventTimeAssigner,
    MergingWindowAssigner,
    ProcessingTimeAssigner,
    TimeAssigner,
    clamped_window,
)

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]


class SessionWindowTimeGapExtractor(ABC):
    """Returns how long a pause after a record ends its session.

    A plain function works as well.

    Examples
    --------
    >>> class Patience(SessionWindowTimeGapExtractor):
    ...     def extract(self, element):
    ...         return 60_000 if element[0] == "guest" else 600_000
    >>> Patience().extract(("guest", 1))
    60000
    """

    @abstractmethod
    def extract(self, element: Any) -> DurationLike:
        """Return the pause: milliseconds, or any other span of time."""


class _SessionWindows(TimeAssigner, MergingWindowAssigner[Any, TimeWindow]):
    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class _FixedGap(_SessionWindows):
    def __init__(self, session_gap: DurationLike) -> None:
        self.gap = positive_millis(session_gap, f"the gap of {type(self).__name__}")

    @classmethod
    def with_gap(cls, size: DurationLike) -> Self:
        """Return an assigner of sessions that a pause ends.

        Parameters
        ----------
        size : span of time
            The pause: ``"10 min"``, a timedelta, a `Time`, milliseconds.
        """
        return cls(size)

    def _windows(self, element: Any, time: int) -> list[TimeWindow]:
        return [clamped_window(time, time + self.gap)]

    def _arguments(self) -> tuple[object, ...]:
        return (self.gap,)


Extractor = SessionWindowTimeGapExtractor | Callable[[Any], DurationLike]
_EXTRACTOR = FunctionKind(
    "with_dynamic_gap", SessionWindowTimeGapExtractor, "extract", ("element",)
)


class _DynamicGap(_SessionWindows):
    def __init__(self, session_window_time_gap_extractor: Extractor) -> None:
        extractor = session_window_time_gap_extractor
        check_function(extractor, _EXTRACTOR)
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            extractor = extractor.extract
        self.extract: Callable[[Any], Any] = extractor
        # While records are processed the program's own lines are no longer on the stack.
        self._location = user_location()

    @classmethod
    def with_dynamic_gap(cls, extractor: Extractor) -> Self:
        """Return an assigner of sessions; the pause that ends one depends on the record.

        Parameters
        ----------
        extractor : callable or SessionWindowTimeGapExtractor
            A function of a record that returns the pause: milliseconds, or any span of time.
        """
        return cls(extractor)

    def _windows(self, element: Any, time: int) -> list[TimeWindow]:
        gap = self.extract(element)
        if gap.__class__ is not int or gap <= 0:
            gap = self._checked_gap(gap, element)
        return [clamped_window(time, time + gap)]

    def _checked_gap(self, gap: Any, element: Any) -> int:
        try:
            millis = to_millis(gap, "the session gap")
        except PlanError:
            millis = 0
        if millis == 0:
            raise PlanError(
                "SESSION_GAP",
                f"the session gap of the record {short_repr(element)} is {short_repr(gap)}, "
                "which is no span of time above zero",
                location=self._location,
                hint="return milliseconds as an int, or a span of time such as '10 min'",
            )
        return millis

    def _arguments(self) -> tuple[object, ...]:
        return (getattr(self.extract, "__qualname__", type(self.extract).__name__),)


class EventTimeSessionWindows(_FixedGap, EventTimeAssigner):
    """Records of a key with no pause between them that is longer than a gap, by event time.

    Each record makes a window that begins with it and is as long as the gap. Windows that overlap
    or touch become one.

    Examples
    --------
    >>> EventTimeSessionWindows.with_gap("5 s").assign_windows("x", 1_000, None)
    [TimeWindow(start=1000, end=6000)]
    """

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicEventTimeSessionWindows:
        """Return an assigner whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGap, ProcessingTimeAssigner):
    """Records of a key with no pause between them that is longer than a gap, by processing time.

    Examples
    --------
    >>> ProcessingTimeSessionWindows.with_gap("5 s")
    ProcessingTimeSessionWindows(5000)
    """

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicProcessingTimeSessionWindows:
        """Return an assigner whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGap, EventTimeAssigner):
    """Sessions by event time; each record says how long a pause after it ends the session.

    Examples
    --------
    >>> sessions = DynamicEventTimeSessionWindows.with_dynamic_gap(lambda element: element[1])
    >>> sessions.assign_windows(("guest", "5 s"), 1_000, None)
    [TimeWindow(start=1000, end=6000)]
    """


class DynamicProcessingTimeSessionWindows(_DynamicGap, ProcessingTimeAssigner):
    """Sessions by processing time; each record says how long a pause ends the session.

    Examples
    --------
    >>> sessions = DynamicProcessingTimeSessionWindows.with_dynamic_gap(lambda element: 5_000)
    >>> sessions.is_event_time()
    False
    """
