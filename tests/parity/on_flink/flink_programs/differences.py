"""Programs whose results differ, on purpose; the test says what each side gives, and why."""

from pyflink.common import Time
from pyflink.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)

from flink_programs.session_windows import BRIDGED, Folded, sessions
from flink_programs.shared import RISING, Bounds, added, by_key
from flink_programs.two_inputs import Multiplied, factor_state, factors

JUMPING = [("a", 1, 1_000), ("a", 2, 1_047), ("b", 3, 1_200)]


class Alarm(KeyedProcessFunction):
    """(time of a timer, watermark when it fires)."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 10)
        ctx.timer_service().register_event_time_timer(value[2] + 20)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.timer_service().current_watermark()


class FiredAt(ProcessWindowFunction):
    """(start of a window, watermark when it fires)."""

    def process(self, key, context, elements):
        yield context.window().start, context.current_watermark()


class PastTimer(KeyedProcessFunction):
    """Sets a timer in the past."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


def the_clock_in_a_timer(env, timed):
    return by_key(timed(JUMPING)).process(Alarm())


def the_clock_in_a_window_function(env, timed):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    return by_key(timed(JUMPING)).window(windows).process(FiredAt())


def a_session_ends_where_the_next_begins(env, timed):
    """The second record of a comes when the watermark stands at the last instant of its session."""
    records = [("a", 1, 1_000), ("b", 2, 1_010), ("a", 3, 1_010), ("b", 4, 1_100)]
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
    return by_key(timed(records)).window(windows).process(Bounds())


def continuous_firing_over_a_jump(env, timed):
    """The watermark passes several multiples of the interval at once, and then ends the input."""
    windows = TumblingEventTimeWindows.of(Time.milliseconds(100))
    windows = by_key(timed(JUMPING)).window(windows)
    return windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(20))).process(Bounds())


def a_timer_in_the_past_set_twice(env, timed):
    """The watermark stays at 999 while the second and the third record come."""
    records = [("a", 1, 1_000), ("a", 2, 1_000), ("a", 3, 1_000)]
    return by_key(timed(records)).process(PastTimer())


def a_record_that_joins_two_sessions(env, timed):
    return by_key(timed(BRIDGED, out_of_orderness=50)).window(sessions()).reduce(added, Folded())


def timers_with_an_input_without_times(env, timed):
    """The second input has no watermarks, so the timers wait for its end."""
    descriptor = factor_state()
    both = by_key(timed(RISING)).connect(factors(env).broadcast(descriptor))
    return both.process(Multiplied(descriptor))
