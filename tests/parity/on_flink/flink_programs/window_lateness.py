"""Late records, and state of windows."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from flink_programs.shared import LATE, RISING, Bounds, added, by_key, record_type


class CountFirings(ProcessWindowFunction):
    """(key, start, values, how often this window has fired, how often this key has).

    The number of windows that were cleared is in the key's state too.
    """

    def process(self, key, context, elements):
        in_window = context.window_state().get_state(ValueStateDescriptor("fired", Types.LONG()))
        in_key = context.global_state().get_state(ValueStateDescriptor("all", Types.LONG()))
        in_window.update((in_window.value() or 0) + 1)
        in_key.update((in_key.value() or 0) + 1)
        values = [element[1] for element in elements]
        yield key, context.window().start, values, in_window.value(), in_key.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("fired", Types.LONG())).clear()


class RememberWindows(ProcessWindowFunction):
    """(key, start, starts of windows of the key so far, sum so far by remainder)."""

    def process(self, key, context, elements):
        state = context.global_state()
        starts = state.get_list_state(ListStateDescriptor("starts", Types.LONG()))
        sums = state.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.LONG()))
        starts.add(context.window().start)
        for element in elements:
            rest = element[1] % 2
            sums.put(rest, (sums.get(rest) or 0) + element[1])
        yield key, context.window().start, list(starts.get()), sorted(sums.items())


class CountClears(ProcessWindowFunction):
    """(key, start, how many windows of the key were cleared before)."""

    def process(self, key, context, elements):
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        yield key, context.window().start, cleared.value() or 0

    def clear(self, context):
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        cleared.update((cleared.value() or 0) + 1)


def tens(records, timed, **options):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    return by_key(timed(records, **options)).window(windows)


def with_late(windows, function):
    late = OutputTag("late", record_type())
    results = windows.side_output_late_data(late).process(function)
    return {"windows": results, "late": results.get_side_output(late)}


def late_records_are_dropped(env, timed):
    return tens(LATE, timed).process(Bounds())


def late_records_go_aside(env, timed):
    return with_late(tens(LATE, timed), Bounds())


def late_records_within_the_bound(env, timed):
    return with_late(tens(LATE, timed, out_of_orderness=12), Bounds())


def late_firings(env, timed):
    """A record that is not too late makes its window fire once more, with all its records."""
    return with_late(tens(LATE, timed).allowed_lateness(10), Bounds())


def late_firings_reduce(env, timed):
    return tens(LATE, timed).allowed_lateness(15).reduce(added)


def late_for_some_sliding_windows(env, timed):
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(5))
    return with_late(by_key(timed(LATE)).window(sliding), Bounds())


def late_firings_of_sliding_windows(env, timed):
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))
    return with_late(by_key(timed(LATE)).window(sliding).allowed_lateness(5), Bounds())


def late_for_no_window(env, timed):
    """The third record is in no window, as it is between two. It is late all the same."""
    records = [("a", 1, 1_001), ("a", 2, 1_021), ("a", 3, 1_008), ("a", 4, 1_002), ("a", 5, 1_029)]
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(10))
    return with_late(by_key(timed(records)).window(sliding), Bounds())


def late_for_a_count_trigger(env, timed):
    windows = tens(LATE, timed).allowed_lateness(10).trigger(CountTrigger.of(2))
    return with_late(windows, Bounds())


def at_the_edge_of_lateness(env, timed):
    """The watermark stands at the last instant of a window, and at the last it may be late."""
    records = [("a", 1, 1_005), ("b", 2, 1_009), ("a", 3, 1_006), ("b", 4, 1_010), ("a", 5, 1_007)]
    records += [("b", 6, 1_014), ("a", 7, 1_008), ("b", 8, 1_015), ("a", 9, 1_004)]
    return with_late(tens(records, timed).allowed_lateness(5), Bounds())


def state_of_windows(env, timed):
    return tens(LATE, timed).allowed_lateness(20).process(CountFirings())


def state_of_sliding_windows(env, timed):
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))
    return by_key(timed(LATE)).window(sliding).allowed_lateness(20).process(CountFirings())


def state_of_keys(env, timed):
    return tens(RISING, timed).process(RememberWindows())


def windows_are_cleared(env, timed):
    return tens(RISING, timed).process(CountClears())
