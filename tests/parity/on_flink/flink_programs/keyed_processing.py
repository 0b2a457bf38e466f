"""Functions on keyed streams: timers, every kind of state, side outputs, rolling aggregations."""

from pyflink.common import Row, Types
from pyflink.datastream import OutputTag, TimeDomain
from pyflink.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

from flink_programs.shared import LATE, RISING, by_key, record_type

NUMBERS = [
    ("a", 5, 2),
    ("b", 3, 1),
    ("a", 2, 2),
    ("a", 7, 1),
    ("b", 3, 9),
    ("b", 1, 4),
    ("a", 2, 0),
]


class SetTimers(KeyedProcessFunction):
    """Sets a timer five after each record, and tells which have fired."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
        yield "seen", ctx.get_current_key(), value[1], ctx.timestamp()

    def on_timer(self, timestamp, ctx):
        is_event = ctx.time_domain() == TimeDomain.EVENT_TIME
        yield "fired", ctx.get_current_key(), timestamp, ctx.timestamp(), is_event


class SameTimer(KeyedProcessFunction):
    """Sets the same timer with every record, and takes it back with values divisible by three."""

    def process_element(self, value, ctx):
        if value[1] % 3 == 0:
            ctx.timer_service().delete_event_time_timer(1_015)
        else:
            ctx.timer_service().register_event_time_timer(1_015)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


class AroundTheClock(KeyedProcessFunction):
    """Timers just before, at and just after what the watermark is, and will be after the record."""

    def process_element(self, value, ctx):
        now = ctx.timer_service().current_watermark()
        for time in (now - 1, now, now + 1, value[2] - 1, value[2], value[2] + 1):
            if time > 0:
                ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


class Chained(KeyedProcessFunction):
    """A timer sets the next one, twice."""

    def open(self, runtime_context):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))

    def process_element(self, value, ctx):
        self.left.update(2)
        ctx.timer_service().register_event_time_timer(value[2] + 1)

    def on_timer(self, timestamp, ctx):
        left = self.left.value()
        yield ctx.get_current_key(), timestamp, left
        if left:
            self.left.update(left - 1)
            ctx.timer_service().register_event_time_timer(timestamp + 10)


class SumUntilTimer(KeyedProcessFunction):
    """Adds values up and tells them at the end of each ten; what comes later goes aside."""

    def __init__(self, late):
        self.late = late

    def open(self, runtime_context):
        self.sums = runtime_context.get_map_state(
            MapStateDescriptor("sums", Types.LONG(), Types.LONG())
        )

    def process_element(self, value, ctx):
        end = value[2] - value[2] % 10 + 9
        if end <= ctx.timer_service().current_watermark():
            yield self.late, value
            return
        self.sums.put(end, (self.sums.get(end) or 0) + value[1])
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, self.sums.get(timestamp)
        self.sums.remove(timestamp)


class Largest(ReduceFunction):
    def reduce(self, value1, value2):
        return max(value1, value2)


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class AllStates(KeyedProcessFunction):
    """Adds each record to a state of every kind, tells them all, and clears them at value 7."""

    def open(self, runtime_context):
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.STRING()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(
            MapStateDescriptor("map", Types.STRING(), Types.LONG())
        )
        self.largest = runtime_context.get_reducing_state(
            ReducingStateDescriptor("largest", Largest(), Types.LONG())
        )
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), pair)
        )

    def process_element(self, value, ctx):
        self.value.update((self.value.value() or "") + str(value[1]))
        self.list.add(value[1])
        name = "odd" if value[1] % 2 else "even"
        self.map.put(name, (self.map.get(name) or 0) + 1)
        self.largest.add(value[1])
        self.mean.add(value[1])
        yield self.shown(ctx)
        if value[1] == 7:
            for state in (self.value, self.list, self.map, self.largest, self.mean):
                state.clear()
            yield self.shown(ctx)

    def shown(self, ctx):
        return (
            ctx.get_current_key(),
            self.value.value(),
            list(self.list.get()),
            sorted(self.map.items()),
            self.largest.get(),
            self.mean.get(),
        )


class ListAndMap(KeyedProcessFunction):
    """The other methods of list and map state."""

    def open(self, runtime_context):
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(
            MapStateDescriptor("map", Types.LONG(), Types.STRING())
        )

    def process_element(self, value, ctx):
        self.list.add_all([value[1], value[2]])
        if value[1] == 2:
            self.list.update([0])
        self.map.put(value[1], value[0])
        self.map.put(value[2], "t")
        if self.map.contains(3):
            self.map.remove(3)
        yield (
            value[0],
            list(self.list.get()),
            sorted(self.map.keys()),
            sorted(self.map.values()),
            self.map.is_empty(),
        )


class CountPerKey(MapFunction):
    """A map with state of the key."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()


class Repeat(FlatMapFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def flat_map(self, value):
        if self.last.value() is not None:
            yield value[0], self.last.value(), value[1]
        self.last.update(value[1])


class Changed(FilterFunction):
    """Keeps what differs from the key's last value."""

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def filter(self, value):
        is_new = self.last.value() != value[1]
        self.last.update(value[1])
        return is_new


class FirstField(KeySelector):
    def get_key(self, value):
        return value[0]


def numbers(env):
    return by_key(env.from_collection(NUMBERS, type_info=record_type()))


def timers(env, timed):
    return by_key(timed(RISING)).process(SetTimers())


def timers_out_of_order(env, timed):
    return by_key(timed(LATE)).process(SetTimers())


def timers_once_and_deleted(env, timed):
    return by_key(timed(RISING)).process(SameTimer())


def timers_around_the_watermark(env, timed):
    return by_key(timed(RISING)).process(AroundTheClock())


def timers_that_set_timers(env, timed):
    records = [("a", 1, 1_000), ("b", 2, 1_002), ("b", 3, 1_100)]
    return by_key(timed(records)).process(Chained())


def timers_and_side_output(env, timed):
    late = OutputTag("late", record_type())
    sums = by_key(timed(LATE)).process(SumUntilTimer(late))
    return {"sums": sums, "late": sums.get_side_output(late)}


def states_of_every_kind(env, timed):
    return numbers(env).process(AllStates())


def list_and_map_state(env, timed):
    return numbers(env).process(ListAndMap())


def keyed_map(env, timed):
    return numbers(env).map(CountPerKey())


def keyed_flat_map(env, timed):
    return numbers(env).flat_map(Repeat())


def keyed_filter(env, timed):
    return numbers(env).filter(Changed())


def key_selector(env, timed):
    stream = env.from_collection(NUMBERS, type_info=record_type())
    return stream.key_by(FirstField(), key_type=Types.STRING()).map(CountPerKey())


def rolling_reduce(env, timed):
    return numbers(env).reduce(lambda one, other: (one[0], one[1] + other[1], other[2]))


def rolling_sum(env, timed):
    return numbers(env).sum(1)


def rolling_min(env, timed):
    return numbers(env).min(1)


def rolling_max(env, timed):
    return numbers(env).max(1)


def rolling_min_by(env, timed):
    return numbers(env).min_by(1)


def rolling_max_by(env, timed):
    return numbers(env).max_by(1)


def rolling_sum_of_named_field(env, timed):
    fields = Types.ROW_NAMED(["key", "value", "n"], [Types.STRING(), Types.LONG(), Types.LONG()])
    rows = env.from_collection([Row(*number) for number in NUMBERS], type_info=fields)
    return rows.key_by(lambda row: row[0], key_type=Types.STRING()).sum("value")
