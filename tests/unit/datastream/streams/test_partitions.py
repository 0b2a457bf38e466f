"""Operations on whole partitions: of keys, of channels, of everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.datastream import (
    AggregateFunction,
    DataStream,
    KeySelector,
    MapPartitionFunction,
    Order,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.testing import TestSource, rebatch, run_local
from tests.support.datastream_support import check_error, last
from tests.support.strategies import schedules

Env = StreamExecutionEnvironment
FEW = schedules(cuts=(1, "random"), slots=(1, 3), parallelism=(1, 2))
CHANNELS = [[5, 1, 4], [2, 8], [7, 3, 6, 9]]


def numbers(env: Env) -> DataStream:
    return env.from_source(TestSource(*CHANNELS), WatermarkStrategy.no_watermarks(), "numbers")


def whole(values: list[Any]) -> list[list[Any]]:
    return [list(values)]


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise AssertionError("nothing merges here")


# -- what is in a partition ------------------------------------------------------------------------


def test_a_partition_without_keys_is_a_channel() -> None:
    found = rebatch(lambda env: numbers(env).map_partition(whole), **FEW).results.values()
    assert sorted(found) == sorted(CHANNELS)


def test_stateless_functions_leave_channels_as_they_are() -> None:
    def program(env: Env) -> DataStream:
        odd = numbers(env).map(lambda n: n * 10).filter(lambda n: n % 20 == 10)
        return odd.union(env.from_collection([1])).map_partition(whole)

    assert sorted(rebatch(program, **FEW).results.values()) == [[1], [50, 10], [70, 30, 90]]


def test_a_partition_with_keys_is_a_key() -> None:
    def program(env: Env) -> DataStream:
        return numbers(env).key_by(lambda n: n % 3).map_partition(whole)

    found = rebatch(program, **FEW).results.values()
    assert sorted(found) == [[1, 4, 7], [3, 6, 9], [5, 2, 8]]


def test_behind_keys_all_is_one_partition() -> None:
    def program(env: Env) -> DataStream:
        sums = numbers(env).key_by(lambda n: n % 3).full_window_partition().reduce(int.__add__)
        return sums.map_partition(lambda values: [sorted(values)])

    assert rebatch(program, **FEW).results.values() == [[12, 15, 18]]


def test_records_with_event_time_are_in_order() -> None:
    def program(env: Env) -> DataStream:
        source = TestSource([("a", 10), ("b", 30)], [("c", 5), ("d", 20)], timestamped=True)
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        letters = env.from_source(source, strategy, "letters")
        return letters.key_by(lambda _: 0, int).map_partition(whole)

    assert rebatch(program, **FEW).results.values() == [["a", "c", "d", "b"]]


def test_no_records_make_no_partition(env: Env) -> None:
    assert run_local(env.from_collection([], Types.LONG()).map_partition(whole)).values() == []


# -- functions -------------------------------------------------------------------------------------


class Span(MapPartitionFunction):
    opened = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = True

    def map_partition(self, values: list[int]) -> Iterator[tuple[int, int]]:
        assert self.opened
        yield min(values), max(values)


def test_a_map_partition_function(env: Env) -> None:
    spans = env.from_collection([3, 1, 2]).map_partition(Span())
    assert spans.get_type() == Types.TUPLE([Types.LONG(), Types.LONG()])
    assert run_local(spans).values() == [(1, 3)]
    assert last(env).name == "Map Partition"


def test_a_function_may_return_nothing(env: Env) -> None:
    stream = env.from_collection([1]).map_partition(lambda values: None, output_type=int)
    assert stream.get_type() == Types.LONG()
    assert run_local(stream).values() == []


def test_reduce_folds_in_order(env: Env) -> None:
    class Join(ReduceFunction):
        def reduce(self, value1: str, value2: str) -> str:
            return value1 + value2

    letters = env.from_collection(["a", "b", "c"]).full_window_partition()
    assert run_local(letters.reduce(Join()), epochs=1).values() == ["abc"]
    assert run_local(letters.reduce(lambda a, b: b + a), epochs=1).values() == ["cba"]


def test_aggregate() -> None:
    def program(env: Env) -> DataStream:
        averages = numbers(env).full_window_partition().aggregate(Average())
        assert averages.get_type() == Types.DOUBLE()
        return averages

    assert sorted(rebatch(program, **FEW).results.values()) == [10 / 3, 5.0, 6.25]


@pytest.mark.parametrize(
    ("selector", "order", "expected"),
    [
        (1, Order.ASCENDING, "cabd"),
        ("n", Order.DESCENDING, "bdac"),
        (lambda row: -row.n, Order.ASCENDING, "bdac"),
    ],
)
def test_sorting_is_stable_either_way(env: Env, selector: Any, order: Order, expected: str) -> None:
    rows = [Row(name=name, n=n) for name, n in (("a", 2), ("b", 3), ("c", 1), ("d", 3))]
    stream = env.from_collection(rows)
    found = run_local(stream.full_window_partition().sort_partition(selector, order))
    assert "".join(row.name for row in found.values()) == expected


def test_channels_are_sorted_apart() -> None:
    def program(env: Env) -> DataStream:
        partitions = numbers(env).full_window_partition()
        return partitions.sort_partition(lambda n: n)

    found = rebatch(program, **FEW).results.values()
    runs = [sorted(channel) for channel in CHANNELS]
    assert sorted(found) == list(range(1, 10))
    assert all(any(found[i : i + len(r)] == r for i in range(9)) for r in runs)


def test_a_key_selector_sorts(env: Env) -> None:
    class Size(KeySelector):
        def get_key(self, value: str) -> int:
            return len(value)

    words = env.from_collection(["ccc", "a", "bb"]).full_window_partition()
    assert run_local(words.sort_partition(Size())).values() == ["a", "bb", "ccc"]
    assert words.sort_partition(0).get_type() == Types.STRING()


# -- mistakes --------------------------------------------------------------------------------------


def test_the_order_is_checked(env: Env) -> None:
    with pytest.raises(PlanError) as caught:
        env.from_collection([1]).full_window_partition().sort_partition(0, "up")  # type: ignore[arg-type]
    check_error(caught.value, "BAD_ORDER", here=__file__, hint="Order.ASCENDING")


def test_fields_are_checked(env: Env) -> None:
    with pytest.raises(PlanError, match="UNKNOWN_FIELD"):
        env.from_collection([("a", 1)]).full_window_partition().sort_partition(2)


def test_functions_are_checked(env: Env) -> None:
    partitions = env.from_collection([1]).full_window_partition()
    with pytest.raises(PlanError) as caught:
        partitions.map_partition(lambda: [])  # type: ignore[arg-type, misc]
    check_error(caught.value, "WRONG_ARITY", here=__file__, hint="MapPartitionFunction")
    with pytest.raises(PlanError, match="WRONG_ARITY"):
        partitions.reduce(lambda value: value)  # type: ignore[arg-type, misc]
    with pytest.raises(PlanError, match="WRONG_FUNCTION_KIND"):
        partitions.aggregate(max)  # type: ignore[call-overload]
