"""Triggers: Flink's own, and some that a user could write."""

from pyflink.common import Time, Types
from pyflink.datastream.functions import ProcessWindowFunction, ReduceFunction
from pyflink.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

from flink_programs.shared import LATE, RISING, Bounds, added, by_key

STEPS = [("a", n, 1_000 + 7 * n) for n in range(12)] + [("b", 50, 1_090), ("b", 51, 1_245)]


class Held(ProcessWindowFunction):
    """(key, values) of a window that has no bounds."""

    def process(self, key, context, elements):
        yield key, [element[1] for element in elements]


class Add(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


class QuietTrigger(Trigger):
    """Does nothing; what follows overrides what it cares for."""

    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class EarlyOnOdd(QuietTrigger):
    """Fires at every odd value, and at the end of the window."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if element[1] % 2 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())


class OnSum(QuietTrigger):
    """Fires when the values add up to a limit, which it counts in state of the window."""

    def __init__(self, limit):
        self.limit = limit

    def on_element(self, element, timestamp, window, ctx):
        total = ctx.get_partitioned_state(ValueStateDescriptor("total", Types.LONG()))
        now = (total.value() or 0) + element[1]
        if now >= self.limit:
            total.clear()
            return TriggerResult.FIRE
        total.update(now)
        return TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.get_partitioned_state(ValueStateDescriptor("total", Types.LONG())).clear()


class Purges(QuietTrigger):
    """Throws the window away at a value above a limit; fires at the end if anything is left."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.PURGE if element[1] % 4 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE


class HalfWay(QuietTrigger):
    """Fires in the middle of the window, where it throws away what it had, and at its end."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer((window.start + window.end) // 2)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return TriggerResult.FIRE_AND_PURGE


class MergingSum(QuietTrigger):
    """For sessions: fires when the values of a session, merged or not, add up to ten."""

    def __init__(self):
        self.total = ReducingStateDescriptor("total", Add(), Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        total = ctx.get_partitioned_state(self.total)
        total.add(element[1])
        return TriggerResult.FIRE if total.get() >= 10 else TriggerResult.CONTINUE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.total)

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.total).clear()


class Deleted(QuietTrigger):
    """Sets a timer with odd values, takes it back with even ones."""

    def on_element(self, element, timestamp, window, ctx):
        if element[1] % 2:
            ctx.register_event_time_timer(window.max_timestamp())
        else:
            ctx.delete_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE


def tens(records, timed, size=10):
    windows = TumblingEventTimeWindows.of(Time.milliseconds(size))
    return by_key(timed(records)).window(windows)


def event_time_trigger(env, timed):
    return tens(RISING, timed).trigger(EventTimeTrigger.create()).process(Bounds())


def count_trigger(env, timed):
    """The end of the window brings nothing: the trigger does not look at time."""
    return tens(STEPS, timed, 30).trigger(CountTrigger.of(2)).process(Bounds())


def count_trigger_reduce(env, timed):
    return tens(STEPS, timed, 30).trigger(CountTrigger.of(2)).reduce(added)


def purging_count_trigger(env, timed):
    windows = tens(STEPS, timed, 50)
    return windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Bounds())


def purging_event_time_trigger(env, timed):
    windows = tens(LATE, timed).trigger(PurgingTrigger.of(EventTimeTrigger.create()))
    return windows.allowed_lateness(20).process(Bounds())


def continuous_trigger(env, timed):
    windows = tens(STEPS, timed, 50)
    return windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(20))).process(Bounds())


def continuous_trigger_purging(env, timed):
    trigger = PurgingTrigger.of(ContinuousEventTimeTrigger.of(Time.milliseconds(20)))
    return tens(STEPS, timed, 50).trigger(trigger).process(Bounds())


def continuous_trigger_sliding(env, timed):
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(40), Time.milliseconds(20))
    trigger = PurgingTrigger.of(ContinuousEventTimeTrigger.of(Time.milliseconds(10)))
    return by_key(timed(STEPS)).window(sliding).trigger(trigger).process(Bounds())


def continuous_trigger_late(env, timed):
    windows = tens(LATE, timed, 20).allowed_lateness(20)
    return windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(5))).process(Bounds())


def never_trigger(env, timed):
    return tens(RISING, timed).trigger(NeverTrigger()).process(Bounds())


def early_trigger(env, timed):
    return tens(RISING, timed).trigger(EarlyOnOdd()).process(Bounds())


def early_trigger_late(env, timed):
    return tens(LATE, timed).allowed_lateness(10).trigger(EarlyOnOdd()).process(Bounds())


def trigger_with_state(env, timed):
    return tens(STEPS, timed, 50).trigger(OnSum(6)).process(Bounds())


def trigger_with_state_sliding(env, timed):
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(40), Time.milliseconds(20))
    return by_key(timed(STEPS)).window(sliding).trigger(OnSum(5)).reduce(added)


def trigger_that_purges(env, timed):
    return tens(STEPS, timed, 30).trigger(Purges()).process(Bounds())


def trigger_with_timers(env, timed):
    return tens(STEPS, timed, 40).trigger(HalfWay()).process(Bounds())


def trigger_that_deletes_timers(env, timed):
    return tens(STEPS, timed, 20).trigger(Deleted()).process(Bounds())


def trigger_that_merges(env, timed):
    records = [("a", 4, 1_000), ("a", 5, 1_020), ("b", 9, 1_021), ("a", 1, 1_010), ("b", 1, 1_022)]
    windows = by_key(timed(records, out_of_orderness=50))
    windows = windows.window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    return windows.trigger(MergingSum()).process(Bounds())


def global_window_own_trigger(env, timed):
    windows = by_key(timed(STEPS)).window(GlobalWindows.create())
    return windows.trigger(PurgingTrigger.of(OnSum(9))).process(Held())
