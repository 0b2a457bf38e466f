"""Windows, and all that says which records they hold, when they fire and what they keep."""

from __future__ import annotations

from millstream.common.windows import (
    CountWindow,
    GlobalWindow,
    TimestampedValue,
    TimeWindow,
    TriggerResult,
    Window,
)
from millstream.datastream.windowing.assigners import (
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from millstream.datastream.windowing.delta_trigger import DeltaFunction, DeltaTrigger
from millstream.datastream.windowing.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
)
from millstream.datastream.windowing.sessions import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from millstream.datastream.windowing.timed_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    ProcessingTimeoutTrigger,
)
from millstream.datastream.windowing.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
)
from millstream.datastream.windowing.untimed import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    EndOfStreamWindows,
    GlobalWindows,
)

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EndOfStreamWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowStagger",
]


class TimeWindowSerializer:
    """What ``get_window_serializer`` of an assigner written for Flink returns; it has no effect.

    Windows are pickled.

    Examples
    --------
    >>> TimeWindowSerializer() is not None
    True
    """


class CountWindowSerializer:
    """As `TimeWindowSerializer`, for count windows.

    Examples
    --------
    >>> CountWindowSerializer() is not None
    True
    """


class GlobalWindowSerializer:
    """As `TimeWindowSerializer`, for the global window.

    Examples
    --------
    >>> GlobalWindowSerializer() is not None
    True
    """
