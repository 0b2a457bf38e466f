"""Windows of a number of records, the global window, and windows without keys."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
)
from pyflink.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from flink_programs.shared import LATE, RISING, AllBounds, Average, added, by_key, record_type

NUMBERS = [("ab"[number % 2], number, 1_000 + number) for number in range(13)]


class Numbered(ProcessWindowFunction):
    """(key, number of the window, values)."""

    def process(self, key, context, elements):
        yield key, context.window().id, [element[1] for element in elements]


class Held(ProcessWindowFunction):
    """(key, values, last instant of the window)."""

    def process(self, key, context, elements):
        values = [element[1] for element in elements]
        yield key, values, context.window().max_timestamp()


class Spanned(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.start, window.end, [value[1] for value in inputs]


class Folded(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, list(elements)


def untimed(env):
    return by_key(env.from_collection(NUMBERS, type_info=record_type()))


def tens():
    return TumblingEventTimeWindows.of(Time.milliseconds(10))


def count_window(env, timed):
    return untimed(env).count_window(3).process(Numbered())


def count_window_reduce(env, timed):
    return untimed(env).count_window(3).reduce(added)


def count_window_sliding(env, timed):
    return untimed(env).count_window(3, 2).process(Numbered())


def count_window_with_gaps(env, timed):
    return untimed(env).count_window(2, 3).process(Numbered())


def count_assigner(env, timed):
    return untimed(env).window(CountTumblingWindowAssigner.of(2)).process(Numbered())


def count_sliding_assigner(env, timed):
    return untimed(env).window(CountSlidingWindowAssigner.of(4, 1)).process(Numbered())


def global_window_never_fires(env, timed):
    return untimed(env).window(GlobalWindows.create()).process(Held())


def global_window_count_trigger(env, timed):
    windows = untimed(env).window(GlobalWindows.create())
    return windows.trigger(CountTrigger.of(2)).process(Held())


def global_window_purging(env, timed):
    windows = untimed(env).window(GlobalWindows.create())
    return windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Held())


def all_tumbling_process(env, timed):
    return timed(RISING).window_all(tens()).process(AllBounds())


def all_tumbling_apply(env, timed):
    return timed(RISING).window_all(tens()).apply(Spanned())


def all_tumbling_reduce(env, timed):
    return timed(RISING).window_all(tens()).reduce(added)


def all_reduce_then_process(env, timed):
    return timed(RISING).window_all(tens()).reduce(added, Folded())


def all_aggregate(env, timed):
    windows = timed(RISING).window_all(tens())
    return windows.aggregate(Average(), output_type=Types.DOUBLE())


def all_aggregate_then_process(env, timed):
    return timed(RISING).window_all(tens()).aggregate(Average(), Folded())


def all_sliding(env, timed):
    windows = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))
    return timed(RISING).window_all(windows).process(AllBounds())


def all_sessions(env, timed):
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    return timed(RISING, out_of_orderness=50).window_all(windows).process(AllBounds())


def all_late(env, timed):
    late = OutputTag("late", record_type())
    windows = timed(LATE).window_all(tens()).allowed_lateness(10).side_output_late_data(late)
    results = windows.process(AllBounds())
    return {"windows": results, "late": results.get_side_output(late)}


def all_count_trigger(env, timed):
    windows = timed(RISING).window_all(tens()).trigger(CountTrigger.of(2))
    return windows.process(AllBounds())


def all_windows_know_their_input(env, timed):
    windows = timed(RISING).window_all(tens())
    more = windows.get_execution_environment().from_collection([1], type_info=Types.LONG())
    return {"sums": windows.reduce(added, output_type=windows.get_input_type()), "more": more}
