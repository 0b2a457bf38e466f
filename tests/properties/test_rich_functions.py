"""Functions with state in every operator: each key has its own, whatever the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.datastream import (
    AggregateFunction,
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from millstream.datastream.state import (
    AggregatingStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from millstream.testing import rebatch, run_local
from tests.support.strategies import crossed, examples, thinned

Record = tuple[str, int]
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
FEW: dict[str, Any] = {"cuts": (1, "all"), "slots": (2,), "parallelism": (1,), "splits": (1,)}
TUMBLING = TumblingEventTimeWindows.of(5)
RULES = MapStateDescriptor("rules")


class Calls:
    """Counts the calls of the current key in its state."""

    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.LONG()))

    def counted(self) -> int:
        self.calls.update((self.calls.value() or 0) + 1)
        number: int = self.calls.value()
        return number


class Process(Calls, KeyedProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Any:
        yield value[0], self.counted()


class Mapping(Calls, MapFunction):
    def map(self, value: Record) -> Any:
        return value[0], self.counted()


class FlatMapping(Calls, FlatMapFunction):
    def flat_map(self, value: Record) -> Any:
        yield value[0], self.counted()


class Filtering(Calls, FilterFunction):
    def filter(self, value: Record) -> bool:
        return self.counted() % 2 == 1


class Reducing(Calls, ReduceFunction):
    """The number of calls of this key, which is one less than that of its records."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value2[0], self.counted() + 1


class CoProcess(Calls, KeyedCoProcessFunction):
    def process_element1(self, value: Record, ctx: Any) -> Any:
        yield value[0], self.counted()

    def process_element2(self, value: Record, ctx: Any) -> Any:
        yield value[0], self.counted()


class CoMapping(Calls, CoMapFunction):
    def map1(self, value: Record) -> Any:
        return value[0], self.counted()

    def map2(self, value: Record) -> Any:
        return value[0], self.counted()


class CoFlatMapping(Calls, CoFlatMapFunction):
    def flat_map1(self, value: Record) -> Any:
        yield value[0], self.counted()

    def flat_map2(self, value: Record) -> Any:
        yield value[0], self.counted()


class Broadcasting(Calls, KeyedBroadcastProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Any:
        yield value[0], self.counted()

    def process_broadcast_element(self, value: Record, ctx: Any) -> Any:
        yield from ()


class Windowed(Calls, ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        yield key, self.counted()


class Applied(Calls, WindowFunction):
    def apply(self, key: str, window: Any, inputs: Any) -> Any:
        yield key, self.counted()


class Paired(Calls, ProcessJoinFunction):
    def process_element(self, left: Record, right: Record, ctx: Any) -> Any:
        yield left[0], self.counted()


def summed(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1]


def again(keyed: Any) -> Any:
    return keyed.map(lambda record: record).key_by(lambda record: record[0])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "process": lambda keyed: keyed.process(Process()),
    "map": lambda keyed: keyed.map(Mapping()),
    "flat map": lambda keyed: keyed.flat_map(FlatMapping()),
    "connected": lambda keyed: keyed.connect(again(keyed)).process(CoProcess()),
    "connected map": lambda keyed: keyed.connect(again(keyed)).map(CoMapping()),
    "connected flat map": lambda keyed: keyed.connect(again(keyed)).flat_map(CoFlatMapping()),
    "broadcast": lambda keyed: keyed.connect(keyed.map(lambda r: r).broadcast(RULES)).process(
        Broadcasting()
    ),
    "window process": lambda keyed: keyed.window(TUMBLING).process(Windowed()),
    "window apply": lambda keyed: keyed.window(TUMBLING).apply(Applied()),
    "window reduce and process": lambda keyed: keyed.window(TUMBLING).reduce(summed, Windowed()),
    "sessions": lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(2)).process(Windowed()),
    "trigger": lambda keyed: keyed.window(TUMBLING).trigger(CountTrigger.of(2)).process(Windowed()),
    "count window": lambda keyed: keyed.count_window(2).process(Windowed()),
    "interval join": lambda keyed: (
        keyed.interval_join(again(keyed)).between(0, 0).process(Paired())
    ),
}


INPUTS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=16)


def timed(steps: list[tuple[str, int]]) -> list[Record]:
    records, time = [], 0
    for key, step in steps:
        time += step
        records.append((key, time))
    return records


def program(make: Callable[[Any], Any], data: list[Record]) -> Callable[[Any], Any]:
    return lambda env: make(
        env.from_collection(data, Types.TUPLE([Types.STRING(), Types.LONG()]))
        .assign_timestamps_and_watermarks(TIMES)
        .key_by(lambda record: record[0])
    )


@pytest.mark.parametrize(
    ("name", "policy"), crossed(thinned(PROGRAMS, "rich", one_in=2), ["fail", "skip"])
)
@examples(10)
@given(steps=INPUTS)
def test_each_key_has_a_state_of_its_own(
    name: str, policy: Any, steps: list[tuple[str, int]]
) -> None:
    """Every call emits the number of calls of its key so far: 1, 2, 3, ... for each key."""
    whole = program(lambda keyed: PROGRAMS[name](keyed).on_error(policy), timed(steps))
    found = rebatch(whole, **FEW).results.values()
    seen: Counter[str] = Counter()
    for key, number in found:
        seen[key] += 1
        assert number == seen[key]


@pytest.mark.parametrize("policy", ["fail", "skip"])
@examples(20)
@given(steps=INPUTS)
def test_a_rolling_reduce_keeps_state_per_key(policy: Any, steps: list[tuple[str, int]]) -> None:
    whole = program(lambda keyed: keyed.reduce(Reducing()).on_error(policy), timed(steps))
    found = rebatch(whole, rolling=True, **FEW).results.values()
    seen: Counter[str] = Counter()
    for (key, number), record in zip(found, timed(steps), strict=True):
        seen[key] += 1
        assert number == (seen[key] if seen[key] > 1 else record[1])


@examples(20)
@given(steps=INPUTS)
def test_a_filter_keeps_state_per_key(steps: list[tuple[str, int]]) -> None:
    data = timed(steps)
    seen: Counter[str] = Counter()
    expected = []
    for key, time in data:
        seen[key] += 1
        if seen[key] % 2:
            expected.append((key, time))
    whole = program(lambda keyed: keyed.filter(Filtering()), data)
    assert rebatch(whole, **FEW).results.values() == expected


def test_a_reduce_that_is_skipped_leaves_its_state_as_it_was() -> None:
    class Failing(Calls, ReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            number = self.counted()
            if value2[1] == 2:
                raise ValueError("no luck")
            return value2[0], number

    data = [("a", 0), ("a", 1), ("a", 2), ("a", 3)]
    whole = program(lambda keyed: keyed.reduce(Failing()).on_error("skip"), data)
    assert run_local(whole).values() == [("a", 0), ("a", 1), ("a", 2)]


# -- what is never opened --------------------------------------------------------------------------


class RichReduce(Calls, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class RichAggregate(Calls, AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a


NOT_OPENED: dict[str, Callable[[Any], Any]] = {
    "window reduce": lambda keyed: keyed.window(TUMBLING).reduce(RichReduce()),
    "window aggregate": lambda keyed: keyed.window(TUMBLING).aggregate(RichAggregate()),
    "partition reduce": lambda keyed: keyed.full_window_partition().reduce(RichReduce()),
    "partition aggregate": lambda keyed: keyed.full_window_partition().aggregate(RichAggregate()),
    "reducing state": lambda keyed: ReducingStateDescriptor("s", RichReduce(), Types.LONG()),
    "aggregating state": lambda keyed: AggregatingStateDescriptor("s", RichAggregate()),
}


@pytest.mark.parametrize("name", NOT_OPENED)
def test_a_function_that_is_never_opened_is_refused_at_its_line(name: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        run_local(program(NOT_OPENED[name], [("a", 0)]))
    assert caught.value.code == "NO_OPEN_HERE"
    assert caught.value.location is not None and caught.value.location.file == __file__


class Elsewhere(Calls, ProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Any:
        yield value[0], self.counted()


class AsMap(Calls, MapFunction):
    def map(self, value: Record) -> Any:
        return value[0], self.counted()


WITHOUT_KEY: dict[str, Callable[[Any], Any]] = {
    "behind a keyed operator": lambda keyed: keyed.process(Process()).map(AsMap()),
    "behind a window": lambda keyed: keyed.window(TUMBLING).reduce(summed).process(Elsewhere()),
    "before the key": lambda keyed: keyed.map(lambda r: r).map(AsMap()),
}


@pytest.mark.parametrize("name", WITHOUT_KEY)
def test_keyed_state_without_a_key_is_refused(name: str) -> None:
    with pytest.raises(MillstreamError, match="STATE_WITHOUT_KEY"):
        run_local(program(WITHOUT_KEY[name], [("a", 0)]))
