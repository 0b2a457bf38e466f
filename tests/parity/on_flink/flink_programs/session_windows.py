"""Sessions: windows that merge."""

from pyflink.common import Time
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
)

from flink_programs.shared import (
    LATE,
    RISING,
    Average,
    Bounds,
    SortedBounds,
    added,
    by_key,
    record_type,
)

BRIDGED = [
    ("a", 1, 1_000),
    ("b", 2, 1_001),
    ("a", 3, 1_018),
    ("b", 4, 1_020),
    ("a", 5, 1_009),
    ("b", 6, 1_011),
    ("a", 7, 1_060),
    ("a", 8, 1_070),
]
"""Out of order: the fifth record joins two sessions; the sixth and the last touch their neighbours."""

GROWING = [
    ("a", 1, 1_000),
    ("b", 2, 1_001),
    ("a", 3, 1_009),
    ("b", 4, 1_020),
    ("a", 5, 1_004),
    ("b", 6, 1_011),
    ("a", 7, 1_060),
    ("a", 8, 1_055),
]
"""Out of order, but no record joins two sessions."""


class ByValue(SessionWindowTimeGapExtractor):
    """A gap of ten for even values, of three for odd ones."""

    def extract(self, element):
        return 10 if element[1] % 2 == 0 else 3


class Reaching(MergingWindowAssigner):
    """Each record reaches as far back and ahead as its value says; what overlaps becomes one."""

    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp - element[1], timestamp + element[1])]

    def merge_windows(self, windows, callback):
        TimeWindow.merge_windows(windows, callback)

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class Folded(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, list(elements)


def sessions(gap=10):
    return EventTimeSessionWindows.with_gap(Time.milliseconds(gap))


def session_process(env, timed):
    return by_key(timed(RISING, out_of_orderness=50)).window(sessions()).process(Bounds())


def session_bridged(env, timed):
    return by_key(timed(BRIDGED, out_of_orderness=50)).window(sessions()).process(SortedBounds())


def session_reduce(env, timed):
    return by_key(timed(GROWING, out_of_orderness=50)).window(sessions(9)).reduce(added, Folded())


def session_aggregate(env, timed):
    windows = by_key(timed(GROWING, out_of_orderness=50)).window(sessions(9))
    return windows.aggregate(Average(), Folded())


def session_dynamic_gap(env, timed):
    windows = EventTimeSessionWindows.with_dynamic_gap(ByValue())
    return by_key(timed(BRIDGED, out_of_orderness=50)).window(windows).process(SortedBounds())


def session_dynamic_gap_class(env, timed):
    windows = DynamicEventTimeSessionWindows.with_dynamic_gap(ByValue())
    return by_key(timed(RISING, out_of_orderness=50)).window(windows).reduce(added, Folded())


def session_late(env, timed):
    late = OutputTag("late", record_type())
    windows = by_key(timed(LATE)).window(sessions(4)).side_output_late_data(late)
    results = windows.process(Bounds())
    return {"sessions": results, "late": results.get_side_output(late)}


def session_allowed_lateness(env, timed):
    late = OutputTag("late", record_type())
    windows = by_key(timed(LATE)).window(sessions(4)).allowed_lateness(15)
    results = windows.side_output_late_data(late).process(Bounds())
    return {"sessions": results, "late": results.get_side_output(late)}


def session_late_bridge(env, timed):
    """A late record joins two sessions that have fired already."""
    windows = by_key(timed(LATE)).window(sessions(6)).allowed_lateness(25)
    return windows.process(SortedBounds())


def session_count_trigger(env, timed):
    """Counts of sessions that become one are added up."""
    windows = by_key(timed(BRIDGED, out_of_orderness=50)).window(sessions())
    return windows.trigger(CountTrigger.of(2)).process(SortedBounds())


def session_purging_trigger(env, timed):
    windows = by_key(timed(LATE)).window(sessions(8)).allowed_lateness(20)
    return windows.trigger(PurgingTrigger.of(EventTimeTrigger.create())).process(SortedBounds())


def session_continuous_trigger(env, timed):
    trigger = PurgingTrigger.of(ContinuousEventTimeTrigger.of(Time.milliseconds(5)))
    windows = by_key(timed(RISING)).window(sessions(11))
    return windows.trigger(trigger).process(SortedBounds())


def merging_assigner_of_ones_own(env, timed):
    return by_key(timed(BRIDGED, out_of_orderness=50)).window(Reaching()).process(SortedBounds())
