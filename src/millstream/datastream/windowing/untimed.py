"""Windows that no time ends: a number of records, or everything."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

from millstream.common.arguments import positive_int
from millstream.common.state import ValueStateDescriptor
from millstream.common.time import MAX_TIMESTAMP
from millstream.common.typeinfo import Types
from millstream.common.windows import CountWindow, GlobalWindow, TimeWindow
from millstream.datastream.windowing.assigners import FIRST_START, WindowAssigner
from millstream.datastream.windowing.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    NeverTrigger,
    PurgingTrigger,
    Trigger,
)

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "EndOfStreamWindows",
    "GlobalWindows",
]


class _CountAssigner(WindowAssigner[Any, CountWindow]):
    """Counts the records of each key in state."""

    window_size: int
    _count: ValueStateDescriptor

    def _next_number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """Return how many records of the key came before, and count this one."""
        state = context.get_runtime_context().get_state(self._count)
        number: int = state.value() or 0
        state.update(number + 1)
        return number

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, CountWindow]:
        # A full window gets no more records: without the purge it would stay in state forever.
        return PurgingTrigger.of(CountTrigger.of(self.window_size))

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_CountAssigner):
    """Windows of a number of records that follow each other.

    Examples
    --------
    >>> CountTumblingWindowAssigner.of(100)
    CountTumblingWindowAssigner(100)
    """

    def __init__(self, window_size: int) -> None:
        self.window_size = positive_int("the size of CountTumblingWindowAssigner", window_size)
        self._count = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @classmethod
    def of(cls, window_size: int) -> Self:
        """Return an assigner of windows of ``window_size`` records."""
        return cls(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        return [CountWindow(self._next_number(context) // self.window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


class CountSlidingWindowAssigner(_CountAssigner):
    """Windows of a number of records that begin at every n-th record.

    A window fires when it is full, so the first result comes after ``window_size`` records.

    Examples
    --------
    >>> CountSlidingWindowAssigner.of(100, 10)
    CountSlidingWindowAssigner(100, 10)
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        self.window_size = positive_int("the size of CountSlidingWindowAssigner", window_size)
        self.window_slide = positive_int("the slide of CountSlidingWindowAssigner", window_slide)
        self._count = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @classmethod
    def of(cls, window_size: int, window_slide: int) -> Self:
        """Return an assigner of windows of ``window_size`` records, one every ``window_slide``."""
        return cls(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        number = self._next_number(context)
        last = number // self.window_slide
        first = max((number - self.window_size) // self.window_slide + 1, 0)
        return [CountWindow(window_id) for window_id in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window per key that holds everything.

    It never fires by itself: give the windowed stream a trigger, or use
    `create_with_end_of_stream_trigger`.

    Examples
    --------
    >>> GlobalWindows.create().get_default_trigger()
    NeverTrigger()
    >>> GlobalWindows.create_with_end_of_stream_trigger()
    GlobalWindows(EndOfStreamTrigger())
    """

    def __init__(self, default_trigger: Trigger[Any, Any] | None = None) -> None:
        self._default_trigger = default_trigger

    @classmethod
    def create(cls) -> Self:
        """Return an assigner whose window never fires by itself."""
        return cls()

    @classmethod
    def create_with_end_of_stream_trigger(cls) -> Self:
        """Return an assigner whose window fires when the input has ended."""
        return cls(EndOfStreamTrigger.create())

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, GlobalWindow]:
        return self._default_trigger or NeverTrigger.create()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"GlobalWindows({self._default_trigger or ''})"


class EndOfStreamWindows(WindowAssigner[Any, TimeWindow]):
    """One window per key that holds everything, and fires when the input has ended.

    Examples
    --------
    >>> EndOfStreamWindows.get().get_default_trigger()
    EndOfStreamTrigger()
    """

    needs_timestamps = False
    """Records need no event time to be in the one window there is."""

    @classmethod
    def get(cls) -> Self:
        """Return the assigner."""
        return cls()

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [TimeWindow(FIRST_START, MAX_TIMESTAMP)]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, TimeWindow]:
        return EndOfStreamTrigger.create()

    def is_event_time(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "EndOfStreamWindows()"
