"""The metrics of whole programs in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import ValueStateDescriptor
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.testing import Checkpoint, TestSource, run_local
from tests.support.testing_support import EVENTS, MONOTONOUS, NONE, Count, same, sessions

Env = StreamExecutionEnvironment
SCHEDULES = [{}, {"epochs": 1}, {"slots": 3, "parallelism": 2}, {"batch": True}]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_operators_of_one_name_have_metrics_of_their_own(schedule: dict[str, Any]) -> None:
    def program(env: Env) -> Any:
        once = env.from_collection(["a", "b", "a"]).key_by(same).process(Twice()).uid("one")
        return once.key_by(same).process(Twice()).uid("two")

    operators = run_local(program, **schedule).metrics.operators
    assert list(operators) == ["one", "two"]
    assert {one.name for one in operators.values()} == {"Keyed Process"}
    found = [(one.records_in, one.records_out, one.counters) for one in operators.values()]
    assert found == [(3, 6, {"calls": 3}), (6, 12, {"calls": 6})]


class Twice(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.get_metrics_group().counter("calls")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.calls.inc()
        yield value
        yield value


ODD = OutputTag("odd")


class Sort(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (ODD, value) if value % 2 else value


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fused_operators_count_too(schedule: dict[str, Any]) -> None:
    def program(env: Env) -> Any:
        numbers = env.from_collection(list(range(10))).uid("numbers")
        small = numbers.filter(lambda n: n < 7).name("small").uid("small")
        words = small.flat_map(lambda n: [n] * n).uid("words")
        parts = numbers.process(Sort()).uid("sort")
        whole = words.map(lambda n: Row(n), output_type=Types.ROW([Types.LONG()])).uid("rows")
        return {"rows": whole, "odd": parts.get_side_output(ODD), "even": parts}

    metrics = run_local(program, **schedule).metrics
    found = {uid: (one.records_in, one.records_out) for uid, one in metrics.operators.items()}
    assert found == {"small": (10, 7), "words": (7, 21), "rows": (21, 21), "sort": (10, 10)}
    assert metrics.sources["numbers"].read == metrics.records_in == 10
    written = {sink.name: sink.written for sink in metrics.sinks.values()}
    assert written == {"rows": 21, "odd": 5, "even": 5} and metrics.records_out == 31


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("by_column", [True, False])
def test_windows_count_records_whatever_travels(schedule: dict[str, Any], by_column: bool) -> None:
    """Windows by column get partial sums of their records."""
    times = [1, 3, 2, 17, 12, 4, 25]

    def program(env: Env) -> Any:
        type_info = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
        strategy = MONOTONOUS.with_timestamp_assigner(lambda value, _: value[2])
        records = [("a", 1, time) for time in times]
        stream = env.from_collection(records, type_info=type_info)
        windows = (
            stream.assign_timestamps_and_watermarks(strategy)
            .uid("times")
            .key_by(0 if by_column else lambda value: value[0])
            .window(TumblingEventTimeWindows.of("10 ms"))
        )
        if by_column:
            return windows.sum(1).uid("window")
        return windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).uid("window")

    found = run_local(program, **schedule).metrics
    window = found.operators["window"]
    assert (window.records_in, window.records_out, window.late) == (7, 3, 1)
    # What is kept by column is not in pages.
    assert (window.state is None) == by_column
    assert found.operators["times"].records_in == found.operators["times"].records_out == 7
    if not schedule.get("batch"):
        assert window.watermark == found.watermark == 24


@pytest.mark.parametrize("schedule", [{"epochs": 1}, {"slots": 4, "epochs": 2}])
def test_state_and_timers(schedule: dict[str, Any]) -> None:
    records = [("abc"[n % 3], n) for n in range(9)]

    def program(env: Env) -> Any:
        source = TestSource([*records, TestSource.EOF(), ("a", 9)])
        strategy = MONOTONOUS.with_timestamp_assigner(lambda value, _: value[1])
        return env.from_source(source, strategy, "s").key_by(0).process(Reminders()).uid("op")

    checkpoint = Checkpoint()
    metrics = run_local(program, checkpoint=checkpoint, **schedule).metrics
    state = metrics.operators["op"].state
    assert state is not None and (state.keys, state.timers) == (3, 18) and state.bytes > 0
    # It is the state's size, not what this driver has seen of it.
    state = run_local(program, checkpoint=checkpoint, **schedule).metrics.operators["op"].state
    assert state is not None and (state.keys, state.timers, state.bytes) == (0, 0, 0)


class Reminders(KeyedProcessFunction):
    """Two timers for each record, in either time, and state until a timer fires."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.last.update(value[1])
        ctx.timer_service().register_event_time_timer(1_000 + value[1])
        ctx.timer_service().register_processing_time_timer(1_000_000 + value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.last.clear()


def test_the_size_of_state_is_right_when_pages_split_and_are_emptied() -> None:
    def program(env: Env) -> Any:
        numbers = TestSource([*range(5_000), TestSource.EOF(), *range(2_000)])
        return env.from_source(numbers, NONE, "s").key_by(same).process(Toggle()).uid("op")

    checkpoint = Checkpoint()
    first = run_local(program, epochs=700, slots=2, checkpoint=checkpoint).metrics
    state = first.operators["op"].state
    assert state is not None and state.keys == 5_000 and state.bytes > 20_000
    then = run_local(program, epochs=500, slots=2, checkpoint=checkpoint).metrics
    state = then.operators["op"].state
    assert state is not None and state.keys == 3_000 and state.bytes > 10_000


class Toggle(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        if self.seen.value() is None:
            self.seen.update(value)
        else:
            self.seen.clear()


class Measured(MapFunction):
    """Every kind of metric."""

    def open(self, runtime_context: Any) -> None:
        self.largest = 0
        group = runtime_context.get_metrics_group().add_group("shop")
        self.words = group.counter("words")
        self.hits = group.meter("hits")
        self.sizes = group.distribution("sizes")
        group.gauge("largest", lambda: self.largest)

    def map(self, value: int) -> int:
        self.words.inc(value)
        self.hits.mark_event()
        self.sizes.update(value)
        self.largest = max(self.largest, value)
        return value


def test_metrics_of_functions() -> None:
    def program(env: Env) -> Any:
        return env.from_collection([3, 9, 1]).map(Measured()).uid("op")

    one = run_local(program, epochs=1).metrics.operators["op"]
    assert one.counters == {"shop.words": 13}
    assert one.meters["shop.hits"].count == 3
    sizes = one.distributions["shop.sizes"]
    assert (sizes.count, sizes.sum, sizes.min, sizes.max) == (3, 13, 1, 9)
    # A gauge is read when metrics are, not once when it is made.
    assert one.gauges["shop.largest"].max == 9


def test_nothing_of_an_epoch_that_fails_counts() -> None:
    marks = [*EVENTS[:5], TestSource.ABORT(), *EVENTS[5:]]
    metrics = run_local(sessions(marks), restarts=3, epochs=2).metrics
    assert metrics.records_in == metrics.operator("Keyed Process").records_in == len(EVENTS)


def test_parts_that_share_nothing_are_queries_of_one_job() -> None:
    def program(env: Env) -> Any:
        words = (env.from_collection(found) for found in (["a"], ["b", "c"]))
        return [stream.key_by(same).process(Count()) for stream in words]

    metrics = run_local(program).metrics
    assert [source.read for source in metrics.sources.values()] == [1, 2]
    assert [one.records_in for one in metrics.operators.values()] == [1, 2]
    assert [epoch.query for epoch in metrics.epochs] == [0, 1]


def test_operators_without_a_clock_have_no_watermark() -> None:
    none = WatermarkStrategy.no_watermarks()
    results = run_local(
        lambda env: env.from_source(TestSource(["a"]), none, "s").key_by(same).process(Count())
    )
    assert results.metrics.watermark is None
