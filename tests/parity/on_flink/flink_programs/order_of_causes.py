"""Chains of operators in which the last one numbers what it hears: what is emitted first comes first."""

from pyflink.common import Time, Types
from pyflink.datastream.functions import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

from flink_programs.shared import RISING, added, by_key, record_type


class Door(KeyedProcessFunction):
    """Opens with a record, closes with a timer at the time of the record."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp())
        yield value[0], "opened", str(value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "closed", str(timestamp)


class Echo(KeyedProcessFunction):
    """Passes records on; the timer at their time sets itself once more, for the same instant."""

    def open(self, runtime_context):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))

    def process_element(self, value, ctx):
        self.left.update(1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())
        yield value

    def on_timer(self, timestamp, ctx):
        left = self.left.value()
        yield ctx.get_current_key(), f"echo {left}", str(timestamp)
        if left:
            self.left.update(left - 1)
            ctx.timer_service().register_event_time_timer(timestamp)


class Delayed(KeyedProcessFunction):
    """Passes records on, and rings some time after the first of a key, for any number of delays."""

    def __init__(self, name, *delays):
        self.name = name
        self.delays = delays

    def open(self, runtime_context):
        self.known = runtime_context.get_state(ValueStateDescriptor("known", Types.LONG()))

    def process_element(self, value, ctx):
        if self.known.value() is None:
            self.known.update(ctx.timestamp())
            for delay in self.delays:
                ctx.timer_service().register_event_time_timer(ctx.timestamp() + delay)
        yield value[0], f"{self.name} heard", str(value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), f"{self.name} rang", str(timestamp - self.known.value())


class Numbered(KeyedProcessFunction):
    """Numbers what it hears of a key."""

    def open(self, runtime_context):
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value, ctx):
        self.number.update((self.number.value() or 0) + 1)
        yield self.number.value(), value


class NumberedByKind(KeyedProcessFunction):
    """As Numbered, with numbers of their own for what has come by either way."""

    def open(self, runtime_context):
        descriptor = MapStateDescriptor("numbers", Types.STRING(), Types.LONG())
        self.numbers = runtime_context.get_map_state(descriptor)

    def process_element(self, value, ctx):
        self.numbers.put(value[1], (self.numbers.get(value[1]) or 0) + 1)
        yield self.numbers.get(value[1]), value


class Twice(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], "effect", value[2]
        yield value[0], "effect", value[2] + "!"


class Kept(BroadcastProcessFunction):
    """Keeps the records of a kind until it hears of the kind, and tells them then."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.kept = {}

    def process_element(self, value, ctx):
        names = ctx.get_broadcast_state(self.descriptor)
        if names.contains(value[1] % 2):
            yield names.get(value[1] % 2) + str(value[1])
        else:
            self.kept.setdefault(value[1] % 2, []).append(value[1])

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(self.descriptor).put(value[0], value[1])
        for number in self.kept.pop(value[0], []):
            yield value[1] + str(number)


def texts():
    return Types.TUPLE([Types.STRING(), Types.STRING(), Types.STRING()])


def numbers(stream):
    return by_key(stream).process(Numbered())


def first_windows(timed):
    windows = by_key(timed(RISING)).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    return windows.reduce(added, output_type=record_type())


def opened_then_closed(env, timed):
    return numbers(by_key(first_windows(timed)).process(Door(), texts()))


def doors_and_echoes(env, timed):
    doors = by_key(first_windows(timed)).process(Door(), texts())
    return numbers(by_key(doors).process(Echo(), texts()))


def doors_of_records(env, timed):
    doors = by_key(timed(RISING)).process(Door(), texts())
    return numbers(by_key(by_key(doors).process(Echo(), texts())).process(Echo(), texts()))


def doors_of_windows_of_windows(env, timed):
    outer = by_key(first_windows(timed)).window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    doors = by_key(outer.reduce(added, output_type=record_type())).process(Door(), texts())
    return numbers(doors)


def the_end_comes_in_turn(env, timed):
    first = by_key(timed(RISING)).process(Delayed("first", 100, 500), texts())
    second = by_key(first).process(Delayed("second", 300, 70), texts())
    return numbers(second)


def cause_and_effects(env, timed):
    causes = timed(RISING).map(lambda r: (r[0], "cause", str(r[1])), output_type=texts())
    effects = by_key(causes).process(Twice(), texts())
    return by_key(effects.union(causes)).process(NumberedByKind())


def broadcast_kept_in_the_instance(env, timed):
    descriptor = MapStateDescriptor("names", Types.INT(), Types.STRING())
    names = env.from_collection(
        [(0, "even "), (1, "odd ")], Types.TUPLE([Types.INT(), Types.STRING()])
    )
    return timed(RISING).connect(names.broadcast(descriptor)).process(Kept(descriptor))
