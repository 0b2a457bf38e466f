"""A program in which nothing fails has the same results with every policy for errors, whatever operator
runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.common.output_tag import OutputTag
from millstream.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from millstream.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millstream.testing import run_local
from tests.support.strategies import examples

Record = tuple[str, str, int, int]
"""Key, a name of its own, a number, and the event time."""
KIND = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()])
LATE = OutputTag("late", KIND)
# Two sessions that are still open have room for a third one between them.
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(20).with_timestamp_assigner(
    lambda record, _: record[3]
)


class Gather(AggregateFunction):
    """Shows the order in which it is called."""

    def create_accumulator(self) -> list[str]:
        return []

    def add(self, value: Any, accumulator: list[str]) -> list[str]:
        return [*accumulator, value[1]]

    def get_result(self, accumulator: list[str]) -> str:
        return "-".join(accumulator)

    def merge(self, acc_a: list[str], acc_b: list[str]) -> list[str]:
        return [*acc_a, "+", *acc_b]


def joined(one: Any, other: Any) -> Any:
    return one[0], f"({one[1]} {other[1]})", one[2] + other[2], one[3]


class Shown(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, str(context.window()), list(elements), context.current_watermark()
        yield LATE, (key, "aside", 0, 0)


class AllShown(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Iterator[Any]:
        yield str(context.window()), list(elements)


class Applied(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Iterator[Any]:
        yield key, str(window), list(inputs)


FUNCTIONS: dict[str, Callable[[Any], DataStream]] = {
    "reduce": lambda w: w.reduce(joined),
    "reduce and process": lambda w: w.reduce(joined, Shown()),
    "aggregate": lambda w: w.aggregate(Gather()),
    "aggregate and process": lambda w: w.aggregate(Gather(), Shown()),
    "process": lambda w: w.process(Shown()),
    "apply": lambda w: w.apply(Applied()),
    "sum": lambda w: w.sum(2),
    "min": lambda w: w.min(2),
    "max": lambda w: w.max(2),
    "min_by": lambda w: w.min_by(2),
    "max_by": lambda w: w.max_by(2),
}
ASSIGNERS: dict[str, Callable[[KeyedStream], Any]] = {
    "tumbling": lambda k: k.window(TumblingEventTimeWindows.of(10)),
    "tumbling, offset": lambda k: k.window(TumblingEventTimeWindows.of(10, 3)),
    "sliding": lambda k: k.window(SlidingEventTimeWindows.of(12, 4)),
    "gaps": lambda k: k.window(SlidingEventTimeWindows.of(4, 9)),
    "session": lambda k: k.window(EventTimeSessionWindows.with_gap(6)),
    "dynamic session": lambda k: k.window(
        DynamicEventTimeSessionWindows.with_dynamic_gap(lambda r: 1 + r[2] % 9)
    ),
    "global": lambda k: k.window(GlobalWindows.create()).trigger(CountTrigger.of(3)),
    "count": lambda k: k.count_window(3),
    "sliding count": lambda k: k.count_window(4, 2),
    "processing time": lambda k: k.window(TumblingProcessingTimeWindows.of(2_000)),
    "sliding processing time": lambda k: k.window(SlidingProcessingTimeWindows.of(4_000, 2_000)),
    "processing time session": lambda k: k.window(ProcessingTimeSessionWindows.with_gap(1_500)),
}
EVENT_TIME = list(ASSIGNERS)[:6]
CHANGES: dict[str, Callable[[Any], Any]] = {
    "none": lambda w: w,
    "lateness": lambda w: w.allowed_lateness(7),
    "late side output": lambda w: w.side_output_late_data(LATE),
    "count trigger": lambda w: w.trigger(CountTrigger.of(2)),
    "purging": lambda w: w.trigger(PurgingTrigger.of(CountTrigger.of(2))),
    "continuous": lambda w: w.trigger(ContinuousEventTimeTrigger.of(5)),
    "count evictor": lambda w: w.evictor(CountEvictor.of(2)),
    "time evictor": lambda w: w.evictor(TimeEvictor.of(5)),
}
RECORDS = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 9), st.integers(-20, 50)
    ),
    max_size=16,
)


def stream_of(
    env: StreamExecutionEnvironment, records: list[Record], kind: Any
) -> KeyedStream[Any, Any]:
    named = [(key, f"{name}{i}", n, ts) for i, (key, name, n, ts) in enumerate(records)]
    stream = env.from_collection(named, kind)
    return stream.assign_timestamps_and_watermarks(TIMES).key_by(lambda record: record[0])


Build = Callable[[StreamExecutionEnvironment], DataStream]


def assert_the_same(build: Build, epochs: Any, slots: int) -> None:
    def program(
        policy: Literal["fail", "skip"], env: StreamExecutionEnvironment
    ) -> dict[str, DataStream]:
        stream = build(env).on_error(policy)
        return {"main": stream, "late": stream.get_side_output(LATE)}

    found = [
        run_local(partial(program, "fail"), epochs=epochs, slots=slots),
        run_local(partial(program, "skip"), epochs=epochs, slots=slots),
    ]
    assert found[0].sinks == found[1].sinks
    late = [{uid: op.late for uid, op in run.metrics.operators.items()} for run in found]
    assert late[0] == late[1]


SLOTS = st.sampled_from((1, 2, 4))
EPOCHS = st.sampled_from((1, 2, 3, "all")) | st.lists(st.integers(0, 5), min_size=8, max_size=8)
TYPED = st.sampled_from((None, KIND))


@pytest.mark.parametrize("assigner", ASSIGNERS)
@examples(30)
@given(
    st.sampled_from(list(CHANGES)),
    st.sampled_from(list(FUNCTIONS)),
    TYPED,
    RECORDS,
    EPOCHS,
    SLOTS,
)
def test_windows(
    assigner: str,
    change: str,
    function: str,
    kind: Any,
    records: list[Record],
    epochs: Any,
    slots: int,
) -> None:
    if assigner not in EVENT_TIME:
        change = "none"

    def build(env: StreamExecutionEnvironment) -> DataStream:
        windows = CHANGES[change](ASSIGNERS[assigner](stream_of(env, records, kind)))
        return FUNCTIONS[function](windows)

    assert_the_same(build, epochs, slots)


TWO = {
    "join": lambda one, other: (
        one.join(other)
        .where(_key)
        .equal_to(_key)
        .window(TumblingEventTimeWindows.of(10))
        .apply(lambda a, b: (a[1], b[1]))
    ),
    "session join": lambda one, other: (
        one.join(other)
        .where(_key)
        .equal_to(_key)
        .window(EventTimeSessionWindows.with_gap(6))
        .apply(lambda a, b: (a[1], b[1]))
    ),
    "co-group": lambda one, other: (
        one.co_group(other)
        .where(_key)
        .equal_to(_key)
        .window(SlidingEventTimeWindows.of(12, 4))
        .apply(lambda a, b: [(list(a), list(b))])
    ),
    "window all": lambda one, other: (
        one.union(other).window_all(TumblingEventTimeWindows.of(10)).process(AllShown())
    ),
    "session all": lambda one, other: (
        one.union(other).window_all(EventTimeSessionWindows.with_gap(6)).aggregate(Gather())
    ),
}


def test_sessions_that_become_one_are_merged_in_the_order_of_time() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        records = [("a", "x", 1, ts) for ts in (20, 0, 21, 1, 10)]
        sessions = stream_of(env, records, None).window(EventTimeSessionWindows.with_gap(12))
        return sessions.aggregate(Gather())

    assert_the_same(build, "all", 1)
    assert run_local(build).values() == ["x1-x3-+-x0-x2-x4"]


def _key(record: Any) -> Any:
    return record[0]


@examples(80)
@given(st.sampled_from(list(TWO)), TYPED, RECORDS, RECORDS, EPOCHS, SLOTS)
def test_windows_of_two_streams(
    kind: str, typed: Any, one: list[Record], other: list[Record], epochs: Any, slots: int
) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return TWO[kind](stream_of(env, one, typed), stream_of(env, other, typed))

    assert_the_same(build, epochs, slots)
