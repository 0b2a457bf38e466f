"""Function classes, contexts, accumulators and windows."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import WatermarkStrategy
from millstream.common.time import MAX_TIMESTAMP
from millstream.datastream import (
    CountWindow,
    GlobalWindow,
    KeyedProcessFunction,
    MapFunction,
    TimeDomain,
    TimeWindow,
)
from millstream.datastream.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
    LongMaximum,
    LongMinimum,
)
from millstream.datastream.functions import RuntimeContext
from millstream.testing import run_local
from tests.support.strategies import examples

numbers = st.lists(st.integers(-1000, 1000))


def filled(kind: type[Accumulator[Any, Any]], values: list[int]) -> Accumulator[Any, Any]:
    accumulator = kind()
    for value in values:
        accumulator.add(value)
    return accumulator


@pytest.mark.parametrize(
    ("kind", "expected", "empty"),
    [
        (IntCounter, 6, 0),
        (LongCounter, 6, 0),
        (DoubleCounter, 6.0, 0.0),
        (IntMaximum, 3, None),
        (LongMaximum, 3, None),
        (DoubleMaximum, 3, None),
        (IntMinimum, 1, None),
        (LongMinimum, 1, None),
        (DoubleMinimum, 1, None),
        (AverageAccumulator, 2.0, 0.0),
        (Histogram, {1: 1, 2: 1, 3: 1}, {}),
        (ListAccumulator, [3, 1, 2], []),
    ],
)
def test_accumulator(kind: Any, expected: Any, empty: Any) -> None:
    accumulator = filled(kind, [3, 1, 2])
    assert accumulator.get_local_value() == expected
    assert repr(accumulator) == f"{kind.__name__}({expected!r})"
    copy = accumulator.clone()
    accumulator.reset_local()
    assert accumulator.get_local_value() == empty
    assert copy.get_local_value() == expected
    copy.merge(kind())
    assert copy.get_local_value() == expected
    assert pickle.loads(pickle.dumps(copy)).get_local_value() == expected


@examples(100)
@given(
    numbers,
    numbers,
    st.sampled_from([IntCounter, IntMaximum, IntMinimum, AverageAccumulator, Histogram]),
)
def test_merging_is_adding_all(left: list[int], right: list[int], kind: Any) -> None:
    merged = filled(kind, left)
    merged.merge(filled(kind, right))
    assert merged.get_local_value() == filled(kind, right + left).get_local_value()


class Context(RuntimeContext):
    def __init__(self) -> None:
        self.accumulators: dict[str, Accumulator[Any, Any]] = {}

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        self.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self.accumulators.get(name)


Context.__abstractmethods__ = frozenset()


def test_counters_are_made_when_they_are_first_asked_for() -> None:
    context = Context()  # type: ignore[abstract]
    counter = context.get_int_counter("lines")
    assert context.get_int_counter("lines") is counter
    assert isinstance(context.get_long_counter("l"), LongCounter)
    assert isinstance(context.get_double_counter("d"), DoubleCounter)
    assert isinstance(context.get_histogram("h"), Histogram)
    with pytest.raises(TypeError, match="'lines' is a IntCounter"):
        context.get_histogram("lines")


def test_open_close_and_on_timer_have_defaults() -> None:
    class Map(MapFunction):
        def map(self, value: Any) -> Any:
            return value

    class Process(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            return None

    context = Context()  # type: ignore[abstract]
    Map().open(context)
    Map().close()
    assert Process().on_timer(1, None) is None  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="abstract"):
        MapFunction()  # type: ignore[abstract]


def test_on_timer_gets_a_time_domain() -> None:
    class Domain(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            service = ctx.timer_service()
            register = {
                TimeDomain.EVENT_TIME: service.register_event_time_timer,
                TimeDomain.PROCESSING_TIME: service.register_processing_time_timer,
            }
            register[value](5)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), ctx.time_domain()

    def program(env: Any) -> Any:
        domains = env.from_collection(list(TimeDomain), timestamps=[1, 2])
        domains = domains.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps()
        )
        return domains.key_by(lambda domain: domain.name).process(Domain())

    fired = run_local(program).values()
    assert sorted(fired, key=str) == [(domain.name, domain) for domain in TimeDomain]


@examples(100)
@given(st.integers(-(10**12), 10**12), st.integers(-5_000, 5_000), st.integers(1, 5_000))
def test_window_start_is_at_or_before_the_time(timestamp: int, offset: int, size: int) -> None:
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


def test_windows_are_values() -> None:
    assert TimeWindow(0, 5) == TimeWindow(0, 5) and TimeWindow(0, 5) < TimeWindow(0, 6)
    assert len({TimeWindow(0, 5), TimeWindow(0, 5)}) == 1
    assert TimeWindow(0, 5).max_timestamp() == 4
    assert TimeWindow(0, 5).intersects(TimeWindow(5, 6))
    assert not TimeWindow(0, 5).intersects(TimeWindow(6, 7))
    assert CountWindow(3).max_timestamp() == GlobalWindow.get().max_timestamp() == MAX_TIMESTAMP
    assert GlobalWindow() == GlobalWindow.get() == pickle.loads(pickle.dumps(GlobalWindow.get()))
