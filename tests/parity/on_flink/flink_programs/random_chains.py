"""Chains of operators that were put together at random. The clock passes every instant of the data."""

from pyflink.common import Types
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

from flink_programs.order_of_causes import Numbered, texts
from flink_programs.shared import by_key

DENSE = [("aab"[number * 7 % 3], number * 5 % 4, 1_000 + number) for number in range(40)]


class Alarm(KeyedProcessFunction):
    """A timer per record, which sets itself again a number of times."""

    def __init__(self, delay, step, hops):
        self.delay, self.step, self.hops = delay, step, hops

    def open(self, runtime_context):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))

    def process_element(self, value, ctx):
        self.left.update(self.hops)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + self.delay)
        yield value[0], "set", f"{value[1]} {value[2]}"

    def on_timer(self, timestamp, ctx):
        left = self.left.value() or 0
        yield ctx.get_current_key(), "alarm", f"{left} at {timestamp}"
        if left:
            self.left.update(left - 1)
            ctx.timer_service().register_event_time_timer(timestamp + self.step)


class Tally(KeyedProcessFunction):
    """Counts what it hears, and tells the counts at the end of each bucket of time."""

    def __init__(self, size):
        self.size = size

    def open(self, runtime_context):
        descriptor = MapStateDescriptor("counts", Types.STRING(), Types.LONG())
        self.counts = runtime_context.get_map_state(descriptor)

    def process_element(self, value, ctx):
        self.counts.put(str(value[1]), (self.counts.get(str(value[1])) or 0) + 1)
        end = (ctx.timestamp() // self.size + 1) * self.size - 1
        ctx.timer_service().register_event_time_timer(end)
        yield value[0], "heard", str(value[1])

    def on_timer(self, timestamp, ctx):
        counts = sorted(self.counts.items())
        self.counts.clear()
        for what, count in counts:
            yield ctx.get_current_key(), f"{count} of {what}", str(timestamp)


class Quiet(KeyedProcessFunction):
    """Tells how many records came until there was none for a while."""

    def __init__(self, gap):
        self.gap = gap

    def open(self, runtime_context):
        self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        if self.due.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.due.value())
        self.due.update(ctx.timestamp() + self.gap)
        ctx.timer_service().register_event_time_timer(self.due.value())
        self.seen.update((self.seen.value() or 0) + 1)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "quiet", f"{self.seen.value()} at {timestamp}"
        self.seen.clear()
        self.due.clear()


def chain(timed, *functions):
    stream = timed(DENSE)
    for function in functions:
        stream = by_key(stream).process(function, texts())
    return by_key(stream).process(Numbered())


def random_chain_1(env, timed):
    return chain(timed, Alarm(3, 0, 2), Tally(5), Alarm(0, 4, 1))


def random_chain_2(env, timed):
    return chain(timed, Tally(4), Alarm(0, 0, 1), Tally(2))


def random_chain_3(env, timed):
    return chain(timed, Quiet(2), Alarm(1, 3, 2), Alarm(0, 1, 1), Tally(3))


def random_chain_4(env, timed):
    return chain(timed, Alarm(0, 2, 1), Alarm(0, 0, 1), Quiet(0))


def random_chain_5(env, timed):
    return chain(timed, Tally(10), Tally(10), Tally(20), Alarm(0, 10, 3))


def random_chain_6(env, timed):
    return chain(timed, Alarm(7, 7, 3), Quiet(3), Tally(6), Alarm(0, 0, 3))
