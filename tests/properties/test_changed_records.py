"""Functions that change the records they are given: nobody else sees it, under any schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, Types, WatermarkStrategy
from millstream.datastream import (
    AggregateFunction,
    CoGroupFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millstream.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.testing import rebatch, run_local
from tests.support.strategies import crossed, examples, thinned

ROW = Types.ROW_NAMED(["k", "v", "t"], [Types.STRING(), Types.LONG(), Types.LONG()])
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[2])
FEW: dict[str, Any] = {"cuts": (1, "all"), "slots": (2,), "parallelism": (1,), "splits": (1,)}
TUMBLING, SLIDING = TumblingEventTimeWindows.of(6), SlidingEventTimeWindows.of(8, 4)
UNLUCKY = 3


class Changing:
    """Adds 100 to all records; ``tidy``: to copies of them. Fails for some windows if ``fails``."""

    def __init__(self, tidy: bool, fails: bool = False) -> None:
        self.tidy, self.fails = tidy, fails

    def changed(self, elements: Iterable[Any]) -> list[int]:
        records = list(elements)
        if self.tidy:
            records = deepcopy(records)
        for record in records:
            record[1] += 100
        if self.fails and len(records) == UNLUCKY:
            raise ValueError("no luck")
        return [record[1] for record in records]


class Process(Changing, ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        yield key, context.window().start, self.changed(elements)


class Apply(Changing, WindowFunction):
    def apply(self, key: str, window: Any, inputs: Any) -> Any:
        yield key, window.start, self.changed(inputs)


class Group(Changing, CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        return [(self.changed(first), self.changed(second))]


class Pairs(Changing, ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        if self.fails and left[1] % UNLUCKY == 0:
            self.changed([left, right, right])
        yield self.changed([left, right])


def added(one: Any, other: Any) -> Any:
    """Changes the older record in place."""
    one[1] += other[1]
    return one


def tidily_added(one: Any, other: Any) -> Any:
    return Row(k=one[0], v=one[1] + other[1], t=one[2])


class Folding(Changing, AggregateFunction):
    """Changes each record and keeps it; the result is what the records have become."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        record = deepcopy(value) if self.tidy else value
        record[1] += 100
        return [*accumulator, record]

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b

    def get_result(self, accumulator: list[Any]) -> list[int]:
        return [record[1] for record in accumulator]


def newer_changed(one: Any, other: Any) -> Any:
    """Changes the newer record in place, and does not return it."""
    total = Row(k=one[0], v=one[1] + other[1], t=one[2])
    other[1] += 100
    return total


def newest(one: Any, other: Any) -> Any:
    """Changes the newer record in place, and returns it."""
    other[1] += one[1]
    return other


def reduce_of(function: Any, tidy: bool) -> Any:
    return (lambda one, other: function(one, deepcopy(other))) if tidy else function


class Joined(Changing):
    def __call__(self, first: Any, second: Any) -> Any:
        return self.changed([record for record in (first, second) if record is not None])


def changed_pair(how: Changing) -> Any:
    return lambda pair: how.changed(pair)


TABLE = [Row(k="a", v=1, t=0), Row(k="a", v=2, t=0), Row(k="b", v=3, t=0)]


def joined(keyed: Any, kind: str) -> Any:
    pairs = getattr(keyed, kind)(again(keyed)).where(lambda r: r[0]).equal_to(lambda r: r[0])
    return pairs.window(SLIDING)


def again(keyed: Any) -> Any:
    copied = keyed.map(lambda r: Row(k=r[0], v=r[1] + 1000, t=r[2]), output_type=ROW)
    return copied.key_by(lambda r: r[0])


Make = Callable[[Any, bool, bool], Any]
PROGRAMS: dict[str, Make] = {
    "tumbling": lambda k, *how: k.window(TUMBLING).process(Process(*how)),
    "sliding": lambda k, *how: k.window(SLIDING).process(Process(*how)),
    "sliding apply": lambda k, *how: k.window(SLIDING).apply(Apply(*how)),
    "sessions": lambda k, *how: k.window(EventTimeSessionWindows.with_gap(3)).process(
        Process(*how)
    ),
    "late": lambda k, *how: k.window(TUMBLING).allowed_lateness(6).process(Process(*how)),
    "fires often": lambda k, *how: (
        k.window(SLIDING).trigger(CountTrigger.of(1)).process(Process(*how))
    ),
    "evicts": lambda k, *how: (
        k.window(SLIDING)
        .trigger(CountTrigger.of(1))
        .evictor(CountEvictor.of(3))
        .process(Process(*how))
    ),
    "reduces": lambda k, tidy, fails: (
        k.window(SLIDING)
        .trigger(CountTrigger.of(2))
        .reduce(tidily_added if tidy else added, Process(tidy, fails))
    ),
    "reduces and evicts": lambda k, tidy, fails: (
        k.window(SLIDING)
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(2))
        .reduce(tidily_added if tidy else added, Process(tidy, fails))
    ),
    "co-group": lambda k, *how: (
        k.co_group(again(k))
        .where(lambda r: r[0])
        .equal_to(lambda r: r[0])
        .window(SLIDING)
        .apply(Group(*how))
    ),
    "reduces by time": lambda k, tidy, _: k.window(SLIDING).reduce(reduce_of(newer_changed, tidy)),
    "reduces to the newest": lambda k, tidy, _: k.window(SLIDING).reduce(reduce_of(newest, tidy)),
    "reduces, watched": lambda k, tidy, _: (
        k.window(TUMBLING)
        .trigger(DeltaTrigger.of(1, lambda old, new: new[1] - old[1]))
        .reduce(reduce_of(newest, tidy))
    ),
    "evicts and only reduces": lambda k, tidy, _: (
        k.window(SLIDING)
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(3))
        .reduce(reduce_of(newer_changed, tidy))
    ),
    "aggregates": lambda k, *how: k.window(SLIDING).aggregate(Folding(*how)),
    "aggregates counts": lambda k, *how: k.count_window(4, 2).aggregate(Folding(*how)),
    "aggregates sessions": lambda k, *how: (
        k.window(EventTimeSessionWindows.with_gap(3)).allowed_lateness(2).aggregate(Folding(*how))
    ),
    "join": lambda k, *how: joined(k, "join").apply(Joined(*how)),
    "outer join": lambda k, *how: joined(k, "full_outer_join").apply(Joined(*how)),
    "static join": lambda k, *how: k.join_static(
        TABLE, *[lambda r: r[0]] * 2, function=Joined(*how)
    ),
    "static pairs": lambda k, *how: k.join_static(TABLE, *[lambda r: r[0]] * 2).map(
        changed_pair(Changing(*how))
    ),
    "interval join": lambda k, *how: k.interval_join(again(k)).between(-5, 5).process(Pairs(*how)),
}
HOW = ("typed", "typed, skips", "untyped", "untyped, skips")
INPUTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), max_size=12)


def program(
    make: Make, steps: list[tuple[str, int]], typed: bool, *how: bool
) -> Callable[..., Any]:
    records, time = [], 0
    for number, (key, step) in enumerate(steps):
        time += step
        records.append(Row(k=key, v=number, t=time))

    def build(env: Any) -> Any:
        stream = env.from_collection(records, ROW)
        if not typed:
            stream = stream.map(lambda r: [*r], output_type=Types.PICKLED_BYTE_ARRAY())
            stream = stream.map(lambda r: Row(k=r[0], v=r[1], t=r[2]))
        keyed = stream.assign_timestamps_and_watermarks(TIMES).key_by(lambda r: r[0])
        result = make(keyed, *how)
        return result.on_error("skip") if how[1] else result

    return build


@pytest.mark.parametrize(("name", "how"), crossed(thinned(PROGRAMS, "changed", one_in=2), HOW))
@examples(10)
@given(steps=INPUTS)
def test_what_a_function_changes_nobody_else_sees(
    name: str, how: str, steps: list[tuple[str, int]]
) -> None:
    make, typed, fails = PROGRAMS[name], not how.startswith("untyped"), how.endswith("skips")
    tidy = run_local(program(make, steps, typed, True, fails)).values()
    found = rebatch(program(make, steps, typed, False, fails), **FEW).results.values()
    assert found == tidy
