"""Tumbling and sliding windows, offsets, and every kind of function over a window."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import ProcessWindowFunction, ReduceFunction, WindowFunction
from pyflink.datastream.window import (
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    WindowAssigner,
)

from flink_programs.shared import (
    RISING,
    Average,
    Bounds,
    SecondField,
    Times,
    added,
    by_key,
    record_type,
)

AROUND_ZERO = [("a", 1, -25), ("a", 2, -20), ("b", 3, -1), ("a", 4, 0), ("b", 5, 9), ("a", 6, 19)]
SHUFFLED = [("a", 1, 1_031), ("b", 2, 1_002), ("a", 3, 1_019), ("a", 4, 1_005), ("b", 5, 1_008)]


def tumbling(size=10, offset=None):
    start = None if offset is None else Time.milliseconds(offset)
    return TumblingEventTimeWindows.of(Time.milliseconds(size), start)


class Added(ReduceFunction):
    def reduce(self, value1, value2):
        return added(value1, value2)


class Spanned(WindowFunction):
    """(key, start, end, number of inputs, their values)."""

    def apply(self, key, window, inputs):
        values = [value[1] for value in inputs]
        yield key, window.start, window.end, len(values), values


class WithBounds(ProcessWindowFunction):
    """(key, start, end, what the records were folded into)."""

    def process(self, key, context, elements):
        for element in elements:
            yield key, context.window().start, context.window().end, element


class SpannedOne(WindowFunction):
    """As WithBounds, without a context."""

    def apply(self, key, window, inputs):
        for value in inputs:
            yield key, window.start, window.max_timestamp(), value


class LargeAside(ProcessWindowFunction):
    """(key, sum) of small sums; large ones go aside, with the start of their window."""

    def __init__(self, large):
        self.large = large

    def process(self, key, context, elements):
        total = sum(element[1] for element in elements)
        if total > 4:
            yield self.large, (context.window().start, total)
        else:
            yield key, total


class Listed(WindowFunction):
    """A list instead of a generator, with nothing for some windows."""

    def apply(self, key, window, inputs):
        return [(key, value[1]) for value in inputs if value[1] % 2]


class PerKey(WindowAssigner):
    """Windows of 10 for key a, of 20 for all others; none for records with an even value."""

    def assign_windows(self, element, timestamp, context):
        if element[1] % 2 == 0:
            return []
        size = 10 if element[0] == "a" else 20
        start = TimeWindow.get_window_start_with_offset(timestamp, 0, size)
        return [TimeWindow(start, start + size)]

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


def tumbling_process(env, timed):
    return by_key(timed(RISING)).window(tumbling()).process(Bounds())


def tumbling_reduce(env, timed):
    return by_key(timed(RISING)).window(tumbling()).reduce(added)


def tumbling_reduce_function(env, timed):
    windows = by_key(timed(RISING)).window(tumbling())
    return windows.reduce(Added(), output_type=record_type())


def tumbling_reduce_then_process(env, timed):
    return by_key(timed(RISING)).window(tumbling()).reduce(added, WithBounds())


def tumbling_reduce_then_apply(env, timed):
    return by_key(timed(RISING)).window(tumbling()).reduce(added, SpannedOne())


def tumbling_aggregate(env, timed):
    windows = by_key(timed(RISING)).window(tumbling())
    accumulator = Types.TUPLE([Types.LONG(), Types.LONG()])
    return windows.aggregate(Average(), accumulator_type=accumulator, output_type=Types.DOUBLE())


def tumbling_aggregate_then_process(env, timed):
    return by_key(timed(RISING)).window(tumbling()).aggregate(Average(), WithBounds())


def tumbling_aggregate_then_apply(env, timed):
    return by_key(timed(RISING)).window(tumbling()).aggregate(Average(), SpannedOne())


def tumbling_apply(env, timed):
    return by_key(timed(RISING)).window(tumbling()).apply(Spanned())


def tumbling_offset(env, timed):
    return by_key(timed(RISING)).window(tumbling(10, 3)).process(Bounds())


def tumbling_negative_offset(env, timed):
    return by_key(timed(RISING)).window(tumbling(10, -4)).process(Bounds())


def tumbling_before_1970(env, timed):
    """The only watermark is the last one, as none comes below zero on one of the sides."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    stream = env.from_collection(AROUND_ZERO, type_info=record_type())
    stream = stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )
    return by_key(stream).window(tumbling(10, 1)).process(Bounds())


def tumbling_out_of_order(env, timed):
    return by_key(timed(SHUFFLED, out_of_orderness=40)).window(tumbling()).process(Bounds())


def tumbling_monotonous(env, timed):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_collection(RISING, type_info=record_type())
    stream = stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )
    return by_key(stream).window(tumbling(20)).process(Bounds())


def sliding_process(env, timed):
    windows = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(5))
    return by_key(timed(RISING)).window(windows).process(Bounds())


def sliding_offset(env, timed):
    windows = SlidingEventTimeWindows.of(
        Time.milliseconds(20), Time.milliseconds(10), Time.milliseconds(-3)
    )
    return by_key(timed(RISING)).window(windows).process(Bounds())


def sliding_uneven_reduce(env, timed):
    """The size is no multiple of the slide."""
    windows = SlidingEventTimeWindows.of(Time.milliseconds(25), Time.milliseconds(10))
    return by_key(timed(RISING)).window(windows).reduce(added, WithBounds())


def sliding_with_gaps(env, timed):
    """Records between two windows are in none."""
    windows = SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(10))
    return by_key(timed(RISING)).window(windows).process(Bounds())


def assigner_of_ones_own(env, timed):
    return by_key(timed(RISING)).window(PerKey()).process(Bounds())


def windows_of_windows(env, timed):
    """A result's time is the last instant of its window, so it is in the right larger window."""
    small = by_key(timed(RISING)).window(tumbling()).reduce(added)
    return by_key(small).window(tumbling(30)).process(Bounds())


def times_of_results(env, timed):
    return by_key(timed(RISING)).window(tumbling()).reduce(added).process(Times())


def side_output_of_a_window_function(env, timed):
    large = OutputTag("large", Types.TUPLE([Types.LONG(), Types.LONG()]))
    results = by_key(timed(RISING)).window(tumbling()).process(LargeAside(large))
    return {"small": results, "large": results.get_side_output(large)}


def window_function_that_returns_a_list(env, timed):
    return by_key(timed(RISING)).window(tumbling()).apply(Listed())


def keys_of_two_fields(env, timed):
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    keyed = timed(RISING).key_by(lambda record: (record[0], record[1] % 2), key_type=pair)
    return keyed.window(tumbling(30)).process(Bounds())


def keys_that_are_numbers(env, timed):
    keyed = timed(RISING).key_by(lambda record: record[1] % 3, key_type=Types.LONG())
    return keyed.window(tumbling(30)).process(Bounds())


def windows_know_their_input(env, timed):
    windows = by_key(timed(RISING)).window(tumbling())
    more = windows.get_execution_environment().from_collection([1], type_info=Types.LONG())
    return {"sums": windows.reduce(added, output_type=windows.get_input_type()), "more": more}
