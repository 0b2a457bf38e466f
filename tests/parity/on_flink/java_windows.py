"""Windows of Flink's Java API that PyFlink does not have: evictors, sums of fields, delta triggers.

They are put together from classes of Flink's own jar, so nothing needs compiling. Each gives
``(record, its time)``; the time tells the window. `counterparts` has the same in Millstream.
"""

from __future__ import annotations

from tests.support.parity.sql_windows import BRIDGED, IN_ORDER, WITH_LATE

SOURCES = {"in_order": (IN_ORDER, 0), "with_late": (WITH_LATE, 0), "bridged": (BRIDGED, 50)}


class Java:
    """Short names for Flink's Java classes."""

    def __init__(self) -> None:
        from pyflink.java_gateway import get_gateway

        self.gateway = get_gateway()
        self.jvm = self.gateway.jvm
        windowing = self.jvm.org.apache.flink.streaming.api.windowing
        self.assigners = windowing.assigners
        self.triggers = windowing.triggers
        self.evictors = windowing.evictors

    def millis(self, number: int):
        return self.jvm.java.time.Duration.ofMillis(number)

    def tumbling(self, size: int):
        return self.assigners.TumblingEventTimeWindows.of(self.millis(size))

    def sliding(self, size: int, slide: int):
        return self.assigners.SlidingEventTimeWindows.of(self.millis(size), self.millis(slide))

    def sessions(self, gap: int):
        return self.assigners.EventTimeSessionWindows.withGap(self.millis(gap))

    def ints(self, *numbers: int):
        array = self.gateway.new_array(self.jvm.int, len(numbers))
        for place, number in enumerate(numbers):
            array[place] = number
        return array

    def keyed(self, stream):
        """A Java stream of tuples, by its first field."""
        keys = self.jvm.org.apache.flink.api.common.operators.Keys.ExpressionKeys(
            self.ints(0), stream.getType()
        )
        selector = self.jvm.org.apache.flink.streaming.util.keys.KeySelectorUtil
        return stream.keyBy(
            selector.getSelectorForKeys(keys, stream.getType(), stream.getExecutionConfig())
        )

    def distance(self, position: int):
        """How far two tuples are apart in a field of floats."""
        delta = self.jvm.org.apache.flink.streaming.api.functions.windowing.delta
        return delta.EuclideanDistance(delta.extractor.FieldsFromTuple(self.ints(position)))

    def serializer(self, stream):
        config = stream.getExecutionConfig().getSerializerConfig()
        return stream.getType().createSerializer(config)


def of_floats(stream):
    from pyflink.common import Types

    types = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
    return stream.map(lambda record: (record[0], float(record[1]), record[2]), output_type=types)


def by_delta(java: Java, stream):
    floats = of_floats(stream)._j_data_stream
    trigger = java.triggers.DeltaTrigger.of(2.5, java.distance(1), java.serializer(floats))
    return java.keyed(floats).window(java.assigners.GlobalWindows.create()).trigger(trigger).sum(1)


def without_far_ones(java: Java, stream):
    floats = of_floats(stream)._j_data_stream
    evictor = java.evictors.DeltaEvictor.of(3.5, java.distance(1))
    return java.keyed(floats).window(java.tumbling(50)).evictor(evictor).sum(1)


def keyed(java: Java, stream):
    return java.keyed(stream._j_data_stream)


JAVA = {
    "java_sum": ("in_order", lambda j, s: keyed(j, s).window(j.tumbling(20)).sum(1)),
    "java_min": ("in_order", lambda j, s: keyed(j, s).window(j.tumbling(50)).min(1)),
    "java_max": ("with_late", lambda j, s: keyed(j, s).window(j.tumbling(50)).max(1)),
    "java_min_by": ("in_order", lambda j, s: keyed(j, s).window(j.tumbling(50)).minBy(1)),
    "java_max_by": ("with_late", lambda j, s: keyed(j, s).window(j.tumbling(50)).maxBy(1)),
    "java_sliding_sum": ("with_late", lambda j, s: keyed(j, s).window(j.sliding(20, 5)).sum(1)),
    # Which record of two sessions that become one is the first Flink does not say: only sums.
    "java_session_sum": (
        "bridged",
        lambda j, s: keyed(j, s).window(j.sessions(10)).sum(1).project(j.ints(0, 1)),
    ),
    "java_late_sum": (
        "with_late",
        lambda j, s: keyed(j, s).window(j.tumbling(10)).allowedLateness(j.millis(15)).sum(1),
    ),
    "java_all_sum": (
        "in_order",
        lambda j, s: s._j_data_stream.windowAll(j.tumbling(20)).sum(1),
    ),
    "java_all_max_by": (
        "in_order",
        lambda j, s: s._j_data_stream.windowAll(j.sliding(40, 20)).maxBy(1),
    ),
    "java_all_min": ("in_order", lambda j, s: s._j_data_stream.windowAll(j.tumbling(50)).min(1)),
    "java_all_max": ("in_order", lambda j, s: s._j_data_stream.windowAll(j.tumbling(50)).max(1)),
    "java_all_min_by": (
        "with_late",
        lambda j, s: s._j_data_stream.windowAll(j.tumbling(30)).minBy(1),
    ),
    "java_all_evictor": (
        "in_order",
        lambda j, s: (
            s._j_data_stream.windowAll(j.tumbling(50)).evictor(j.evictors.CountEvictor.of(3)).sum(1)
        ),
    ),
    "java_count_window_all": ("in_order", lambda j, s: s._j_data_stream.countWindowAll(4).sum(1)),
    "java_count_window": ("in_order", lambda j, s: keyed(j, s).countWindow(2).sum(1)),
    "java_count_window_sliding": ("in_order", lambda j, s: keyed(j, s).countWindow(3, 2).sum(1)),
    "java_continuous_trigger": (
        "in_order",
        lambda j, s: (
            keyed(j, s)
            .window(j.tumbling(50))
            .trigger(j.triggers.ContinuousEventTimeTrigger.of(j.millis(20)))
            .sum(1)
        ),
    ),
    "java_end_of_stream": (
        "with_late",
        lambda j, s: (
            keyed(j, s).window(j.assigners.GlobalWindows.createWithEndOfStreamTrigger()).sum(1)
        ),
    ),
    "java_delta_trigger": ("in_order", by_delta),
    "java_delta_evictor": ("in_order", without_far_ones),
    "java_count_evictor": (
        "in_order",
        lambda j, s: (
            keyed(j, s).window(j.sliding(40, 20)).evictor(j.evictors.CountEvictor.of(2)).sum(1)
        ),
    ),
    "java_count_evictor_after": (
        "in_order",
        lambda j, s: (
            keyed(j, s)
            .window(j.tumbling(50))
            .trigger(j.triggers.CountTrigger.of(1))
            .evictor(j.evictors.CountEvictor.of(1, True))
            .sum(1)
        ),
    ),
    "java_time_evictor": (
        "with_late",
        lambda j, s: (
            keyed(j, s)
            .window(j.tumbling(50))
            .evictor(j.evictors.TimeEvictor.of(j.millis(12)))
            .sum(1)
        ),
    ),
    "java_time_evictor_after": (
        "with_late",
        lambda j, s: (
            keyed(j, s)
            .window(j.tumbling(50))
            .trigger(j.triggers.CountTrigger.of(1))
            .evictor(j.evictors.TimeEvictor.of(j.millis(12), True))
            .sum(1)
        ),
    ),
    "java_evictor_in_sessions": (
        "bridged",
        lambda j, s: (
            keyed(j, s)
            .window(j.sessions(10))
            .evictor(j.evictors.TimeEvictor.of(j.millis(15)))
            .sum(1)
        ),
    ),
}
