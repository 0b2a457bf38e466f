"""Windows, and their assigners, triggers and evictors."""

from __future__ import annotations

import struct
from io import BytesIO

from millstream.common.serializer import TypeSerializer
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


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """For ``get_window_serializer`` of an assigner written for Flink; it has no effect.

    Windows are pickled.

    Examples
    --------
    >>> stream = BytesIO()
    >>> TimeWindowSerializer().serialize(TimeWindow(1, 2), stream)
    >>> TimeWindowSerializer().deserialize(BytesIO(stream.getvalue()))
    TimeWindow(start=1, end=2)
    """

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        stream.write(_TWO.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        return TimeWindow(*_TWO.unpack(stream.read(_TWO.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """As `TimeWindowSerializer`, for count windows."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(_ONE.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(*_ONE.unpack(stream.read(_ONE.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """As `TimeWindowSerializer`, for the global window."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow()


_ONE, _TWO = struct.Struct(">q"), struct.Struct(">qq")
