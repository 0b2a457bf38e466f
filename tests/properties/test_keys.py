"""Equal keys are one key under every schedule, and look as they did at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.keys.encoding import encode_key
from millstream.testing import rebatch, run_local
from tests.support.key_pool import POOL, same
from tests.support.strategies import examples, thinned

Record = tuple[Any, int, int]
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[2])
COUNT = ValueStateDescriptor("count", Types.LONG())
FEW: dict[str, Any] = {"cuts": (1, "all"), "slots": (2,), "parallelism": (1,), "splits": (1,)}


def key_of(record: Record) -> Any:
    return record[0]


class Counted(KeyedProcessFunction):
    """Counts, forgets, and sets timers; so keys have state, or timers, or neither of them."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Record, ctx: Any) -> Any:
        number = value[1]
        if number % 4 == 0:
            self.count.clear()
        elif number % 4 != 1:
            self.count.update((self.count.value() or 0) + 1)
        if number % 3 == 0:
            ctx.timer_service().register_event_time_timer(value[2] + number % 5)
        yield "record", repr(ctx.get_current_key()), self.count.value(), number

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", repr(ctx.get_current_key()), self.count.value(), timestamp


class Large(KeyedProcessFunction):
    """A list and a map that outgrow their page."""

    def open(self, runtime_context: Any) -> None:
        self.texts = runtime_context.get_list_state(ListStateDescriptor("texts", Types.STRING()))
        self.by_key = runtime_context.get_map_state(MapStateDescriptor("by key"))

    def process_element(self, value: Record, ctx: Any) -> Any:
        self.texts.add(f"{value[1]:04d}" * 5_000)
        for key in ([value[0]], (value[0], 1), value[0]):
            self.by_key.put(key, (self.by_key.get(key) or "") + "x" * 9_000)
        found = [len(text) // 9_000 for text in self.by_key.values()]
        yield [int(text[:4]) for text in self.texts.get()], found, repr(list(self.by_key.keys()))


class InWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = getattr(context.window(), "start", None)
        yield repr(key), window, [record[1] for record in elements]


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element1(self, value: Record, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield repr(ctx.get_current_key()), self.count.value()

    def process_element2(self, value: Record, ctx: Any) -> Any:
        yield repr(ctx.get_current_key()), self.count.value(), value[1]
        if value[1] % 2:
            self.count.clear()


SEEN = MapStateDescriptor("seen")


class Heard(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Record, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        seen = ctx.get_broadcast_state(SEEN).get(value[0])
        yield repr(ctx.get_current_key()), self.count.value(), seen

    def process_broadcast_element(self, value: Record, ctx: Any) -> Any:
        ctx.get_broadcast_state(SEEN).put(value[0], value[1])
        yield from ()


class Paired(ProcessJoinFunction):
    def process_element(self, left: Record, right: Record, ctx: Any) -> Any:
        yield left[1], right[1]


def times_two(keyed: Any) -> Any:
    return keyed.map(lambda record: (record[0], record[1] + 100, record[2])).key_by(key_of)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "process": lambda keyed: keyed.process(Counted()),
    "process that skips": lambda keyed: keyed.process(Counted()).on_error("skip"),
    "large state": lambda keyed: keyed.process(Large()),
    "tumbling": lambda keyed: keyed.window(TumblingEventTimeWindows.of(5)).process(InWindow()),
    "sliding": lambda keyed: keyed.window(SlidingEventTimeWindows.of(6, 3)).process(InWindow()),
    "sessions": lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(3)).process(InWindow()),
    "late firings": lambda keyed: (
        keyed.window(TumblingEventTimeWindows.of(5)).allowed_lateness(4).process(InWindow())
    ),
    "counts": lambda keyed: (
        keyed.window(TumblingEventTimeWindows.of(8)).trigger(CountTrigger.of(2)).process(InWindow())
    ),
    "connected": lambda keyed: keyed.connect(times_two(keyed)).process(Both()),
    "broadcast": lambda keyed: keyed.connect(
        keyed.map(lambda record: record).broadcast(SEEN)
    ).process(Heard()),
    "interval join": lambda keyed: (
        keyed.interval_join(times_two(keyed)).between(-3, 3).process(Paired())
    ),
}


@st.composite
def inputs(draw: st.DrawFn) -> list[Record]:
    """Records with few keys, most of them in several forms."""
    first = draw(st.sampled_from(POOL))
    alike = [key for key in POOL if same(key, first)]
    keys = [*alike, *draw(st.lists(st.sampled_from(POOL), max_size=2))]
    steps = draw(st.lists(st.tuples(st.sampled_from(keys), st.integers(0, 4)), max_size=14))
    records, time = [], 0
    for number, (key, step) in enumerate(steps):
        time += step
        records.append((key, number, time))
    return records


def program(name: str, data: list[Record]) -> Callable[[Any], Any]:
    return lambda env: PROGRAMS[name](
        env.from_collection(data).assign_timestamps_and_watermarks(TIMES).key_by(key_of)
    )


@pytest.mark.parametrize("name", thinned(PROGRAMS, "forms", one_in=2))
@examples(25)
@given(data=inputs())
def test_the_forms_of_keys_do_not_depend_on_the_schedule(name: str, data: list[Record]) -> None:
    rebatch(program(name, data), **FEW)


@examples(60)
@given(data=inputs(), cut=st.sampled_from([1, 2, "all"]), slots=st.integers(1, 3))
def test_equal_keys_are_one_key_and_look_as_at_first(
    data: list[Record], cut: Any, slots: int
) -> None:
    """As a simple program would do it that keeps the keys of its state in a list."""
    known: list[tuple[Any, int]] = []
    expected = []
    for key, number, _ in data:
        place = next((i for i, (other, _) in enumerate(known) if same(key, other)), None)
        form, count = (key, 0) if place is None else known.pop(place)
        kept = number % 4 != 0 and (place is not None or number % 4 != 1)
        if kept:
            count += number % 4 != 1
            known.append((form, count))
        expected.append(("record", repr(form), count if kept else None, number))

    def untimed(env: Any) -> Any:
        records = [(key, number, 0) for key, number, _ in data]
        return env.from_collection(records).key_by(key_of).process(Untimed())

    found = run_local(untimed, epochs=cut, slots=slots, restarts="every").values()
    assert found == expected


class Untimed(Counted):
    """Without timers."""

    def process_element(self, value: Record, ctx: Any) -> Any:
        number = value[1]
        if number % 4 == 0:
            self.count.clear()
        elif number % 4 != 1:
            self.count.update((self.count.value() or 0) + 1)
        yield "record", repr(ctx.get_current_key()), self.count.value(), number


@examples(40)
@given(data=inputs())
def test_a_rolling_reduce_adds_up_equal_keys(data: list[Record]) -> None:
    def summed(env: Any) -> Any:
        keyed = env.from_collection(data).key_by(key_of)
        return keyed.reduce(lambda a, b: (a[0], a[1] + b[1], 0))

    totals: dict[bytes, int] = {}
    expected = []
    for key, number, _ in data:
        totals[encode_key(key)] = totals.get(encode_key(key), 0) + number
        expected.append(totals[encode_key(key)])
    assert [record[1] for record in run_local(summed, epochs=2, slots=3).values()] == expected


def test_rebatch_compares_rolling_results_by_the_same_rule() -> None:
    """Lists and NaN as keys, for which Python's dicts are of no use."""

    def program(env: Any) -> Any:
        data = [([1], 1), (float("nan"), 5), ([1.0], 2), (float("nan"), 6), ([2], 3)]
        keyed = env.from_collection(data).key_by(lambda record: record[0])
        return keyed.reduce(lambda a, b: (a[0], a[1] + b[1]))

    found = rebatch(
        program, rolling=True, normalize=lambda record: (repr(record[0]), record[1])
    ).results.values()
    assert [number for _, number in found] == [1, 5, 3, 11, 3]
