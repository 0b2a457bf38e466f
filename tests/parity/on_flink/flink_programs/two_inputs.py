"""Two streams in one function. In which order their records meet is not said, and must not matter."""

from pyflink.common import Types
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)

from flink_programs.shared import RISING, by_key, key_of

OTHER = [("b", 20, 1_001), ("a", 10, 1_012), ("c", 30, 1_013), ("a", 11, 1_050)]
FACTORS = [("odd", 3), ("even", 10), ("odd", 5)]


class Sides(CoMapFunction):
    def map1(self, value):
        return "left", value[1]

    def map2(self, value):
        return "right", value[1]


class OddAndEven(CoFlatMapFunction):
    """Odd values of the first input twice, even ones of the second once."""

    def flat_map1(self, value):
        if value[1] % 2:
            yield "left", value[1]
            yield "left", value[1]

    def flat_map2(self, value):
        if value[1] % 2 == 0:
            yield "right", value[1]


class CountSides(CoMapFunction):
    """Each side counts the records of the key, in state of its own."""

    def open(self, runtime_context):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_state(ValueStateDescriptor("right", Types.LONG()))

    def map1(self, value):
        self.left.update((self.left.value() or 0) + 1)
        return "left", value[0], self.left.value()

    def map2(self, value):
        self.right.update((self.right.value() or 0) + 1)
        return "right", value[0], self.right.value()


class TimesOfSides(CoProcessFunction):
    def __init__(self, large):
        self.large = large

    def process_element1(self, value, ctx):
        yield "left", value[1], ctx.timestamp()

    def process_element2(self, value, ctx):
        if value[1] > 15:
            yield self.large, value[1]
        else:
            yield "right", value[1], ctx.timestamp()


class Pairs(KeyedCoProcessFunction):
    """All pairs of records of both sides that have the same key."""

    def open(self, runtime_context):
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.LONG()))

    def process_element1(self, value, ctx):
        self.left.add(value[1])
        for right in self.right.get():
            yield ctx.get_current_key(), value[1], right

    def process_element2(self, value, ctx):
        self.right.add(value[1])
        for left in self.left.get():
            yield ctx.get_current_key(), left, value[1]


class CountUntil(KeyedCoProcessFunction):
    """Counts both sides of a key, and tells at the end of each ten."""

    def open(self, runtime_context):
        counts = MapStateDescriptor("counts", Types.LONG(), Types.LONG())
        self.counts = runtime_context.get_map_state(counts)

    def count(self, value, weight, ctx):
        end = value[2] - value[2] % 10 + 9
        self.counts.put(end, (self.counts.get(end) or 0) + weight)
        ctx.timer_service().register_event_time_timer(end)

    def process_element1(self, value, ctx):
        self.count(value, 1, ctx)

    def process_element2(self, value, ctx):
        self.count(value, 100, ctx)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, self.counts.get(timestamp)


class Told(BroadcastProcessFunction):
    """Both sides tell what they get; the broadcast one fills its state."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def process_element(self, value, ctx):
        yield "record", value[1], ctx.timestamp()

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(self.descriptor)
        state.put(value[0], value[1])
        yield "factor", value[0], state.get(value[0]), sorted(state.keys())


class Multiplied(KeyedBroadcastProcessFunction):
    """Keeps a key's records to the end, when all factors are there."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def open(self, runtime_context):
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept", Types.LONG()))

    def process_element(self, value, ctx):
        self.kept.add(value[1])
        ctx.timer_service().register_event_time_timer(10_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(self.descriptor).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        factors = ctx.get_broadcast_state(self.descriptor)
        products = [n * factors.get("odd" if n % 2 else "even") for n in self.kept.get()]
        yield ctx.get_current_key(), timestamp, products, sorted(factors.items())


def factor_state():
    return MapStateDescriptor("factors", Types.STRING(), Types.LONG())


def factors(env):
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    return env.from_collection(FACTORS, type_info=pair)


def timed_factors(timed):
    return timed([(*factor, 1_000) for factor in FACTORS])


def connected_map(env, timed):
    return timed(RISING).connect(timed(OTHER)).map(Sides())


def connected_flat_map(env, timed):
    return timed(RISING).connect(timed(OTHER)).flat_map(OddAndEven())


def connected_process(env, timed):
    large = OutputTag("large", Types.LONG())
    results = timed(RISING).connect(timed(OTHER)).process(TimesOfSides(large))
    return {"results": results, "large": results.get_side_output(large)}


def connected_keyed_map(env, timed):
    return by_key(timed(RISING)).connect(by_key(timed(OTHER))).map(CountSides())


def connected_keyed_process(env, timed):
    return by_key(timed(RISING)).connect(by_key(timed(OTHER))).process(Pairs())


def connected_key_by(env, timed):
    both = timed(RISING).connect(timed(OTHER))
    return both.key_by(key_of, key_of, key_type=Types.STRING()).process(Pairs())


def connected_timers(env, timed):
    """A timer waits for the slower of both inputs."""
    return by_key(timed(RISING)).connect(by_key(timed(OTHER))).process(CountUntil())


def broadcast_process(env, timed):
    descriptor = factor_state()
    both = timed(RISING).connect(factors(env).broadcast(descriptor))
    return both.process(Told(descriptor))


def broadcast_keyed_process(env, timed):
    descriptor = factor_state()
    both = by_key(timed(RISING)).connect(timed_factors(timed).broadcast(descriptor))
    return both.process(Multiplied(descriptor))
