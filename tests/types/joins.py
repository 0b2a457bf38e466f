"""The types of joins. mypy checks this file; nothing in it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_type

from millstream.common import Types
from millstream.datastream import (
    CoGroupFunction,
    CrossFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    KeyedStream,
    MapPartitionFunction,
    ProcessJoinFunction,
)
from millstream.datastream.window import TumblingEventTimeWindows

Order = tuple[str, int]
City = tuple[str, str]


class Totals(JoinFunction[Order, City, str]):
    def join(self, first: Order, second: City) -> str:
        return second[1] * first[1]


class Affordable(FlatJoinFunction[Order, City, str]):
    def join(self, first: Order, second: City) -> Iterator[str]:
        yield second[1]


class Unpaid(CoGroupFunction[Order, City, int]):
    def co_group(self, first: list[Order], second: list[City]) -> Iterable[int]:
        return [len(first), len(second)]


class Distance(CrossFunction[Order, City, int]):
    def cross(self, first: Order, second: City) -> int:
        return first[1]


class Delay(ProcessJoinFunction[Order, City, int]):
    def process_element(
        self, left: Order, right: City, ctx: ProcessJoinFunction.Context
    ) -> Iterator[int]:
        yield ctx.get_right_timestamp() - ctx.get_left_timestamp()


class Span(MapPartitionFunction[Order, int]):
    def map_partition(self, values: list[Order]) -> Iterator[int]:
        yield values[-1][1] - values[0][1]


def each_city(order: Order, city: City) -> Iterator[str]:
    yield city[1]


def joins(orders: DataStream[Order], cities: DataStream[City]) -> None:
    joined = orders.join(cities).where(lambda order: order[0]).equal_to(0)
    assert_type(joined.apply(), DataStream[tuple[Order, City]])
    assert_type(joined.apply(lambda order, city: (city[1], order[1])), DataStream[tuple[str, int]])
    assert_type(joined.apply(each_city), DataStream[str])
    assert_type(joined.apply(Totals()), DataStream[str])
    assert_type(joined.apply(Affordable()), DataStream[str])
    assert_type(joined.apply(Totals(), Types.LONG()), DataStream[int])
    assert_type(joined.apply(output_type=Types.PICKLED_BYTE_ARRAY()), DataStream[Any])
    in_windows = joined.window(TumblingEventTimeWindows.of("5 s")).allowed_lateness("1 s")
    assert_type(in_windows.apply(lambda order, city: city[1]), DataStream[str])

    orders.join(cities).where(lambda order: order.nonsense())  # type: ignore[attr-defined]
    joined.apply(lambda order, city: order.nonsense())  # type: ignore[attr-defined]
    joined.apply(Unpaid())  # type: ignore[call-overload]


def outer_joins(orders: DataStream[Order], cities: DataStream[City]) -> None:
    left = orders.left_outer_join(cities).where(0).equal_to(0)
    assert_type(left.apply(), DataStream[tuple[Order, City | None]])
    right = orders.right_outer_join(cities).where(lambda order: order[0]).equal_to(0)
    assert_type(right.apply(lambda order, city: order and order[0]), DataStream[str | None])
    full = orders.full_outer_join(cities).where(0).equal_to(0)
    assert_type(full.apply(), DataStream[tuple[Order | None, City | None]])

    left.apply(lambda order, city: city[1])  # type: ignore[arg-type, index, return-value]
    left.apply(Totals())  # type: ignore[arg-type]


def co_groups(orders: DataStream[Order], cities: DataStream[City], unknown: DataStream) -> None:
    grouped = orders.co_group(cities).where(0).equal_to(0)
    assert_type(grouped.apply(lambda some, other: [some[0][1]]), DataStream[int])
    assert_type(grouped.apply(Unpaid()), DataStream[int])
    assert_type(grouped.apply(lambda some, other: [some[0]], Types.STRING()), DataStream[str])
    untyped = unknown.co_group(unknown).where(0).equal_to(0)
    assert_type(untyped.apply(lambda some, other: [some[0]]), DataStream[Any])
    grouped.apply(lambda some, other: some.nonsense())  # type: ignore[attr-defined]
    grouped.apply(Totals())  # type: ignore[call-overload]


def other_joins(
    orders: DataStream[Order],
    cities: DataStream[City],
    left: KeyedStream[str, Order],
    right: KeyedStream[str, City],
) -> None:
    assert_type(orders.cross(cities).apply(), DataStream[tuple[Order, City]])
    assert_type(orders.cross(cities).apply(Distance()), DataStream[int])
    assert_type(orders.cross(cities).apply(lambda order, city: city[1]), DataStream[str])
    near = left.interval_join(right).between("-5 s", 5_000).upper_bound_exclusive()
    assert_type(near.process(Delay()), DataStream[int])
    assert_type(near.process(Delay(), Types.DOUBLE()), DataStream[float])
    assert_type(orders.join_static([("a", 1)], 0, "f0"), DataStream[Any])
    priced = orders.join_static([], 0, function=lambda order, row: row.price, output_type=float)
    assert_type(priced, DataStream[float])
    assert_type(orders.map_partition(Span()), DataStream[int])
    assert_type(left.full_window_partition().sort_partition(1), DataStream[Order])
    assert_type(orders.distinct(lambda order: order[0]), DataStream[Order])

    right.interval_join(left).between(0, 1).process(Delay())  # type: ignore[arg-type]
    left.interval_join(orders)  # type: ignore[arg-type]
    left.interval_join(right).between(0.5, 1)  # type: ignore[arg-type]
    cities.map_partition(Span())  # type: ignore[arg-type]
