"""Operators on groups as DataFrames."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from millstream.common.typeinfo import TupleTypeInfo
from millstream.dataset.functions import Aggregation
from millstream.dataset.kernel.groups import aggregated, extreme_of
from millstream.dataset.kernel.steps import Step
from millstream.dataset.optimizer.rules import aggregate_in_engine, extreme_in_engine, same_keys
from millstream.dataset.plan.calls import UserFunction
from millstream.dataset.plan.columns import column_names
from millstream.dataset.plan.keys import Keys, SortKey, identity
from millstream.dataset.plan.nodes import (
    Aggregate,
    CoGroup,
    Distinct,
    Extreme,
    First,
    GroupCombine,
    GroupReduce,
    Node,
    Reduce,
)
from millstream.dataset.plan.records import field_types
from millstream.dataset.spark.columns import spark_type
from millstream.dataset.spark.elements import directed
from millstream.dataset.spark.engine import Flow, SparkEngine, compiles

_KEPT = 100_000


def arranged(
    engine: SparkEngine, node: Any, flow: Flow, keys: Keys | None, sort: tuple[SortKey, ...] = ()
) -> tuple[Flow, tuple[str, ...]]:
    """The rows of each key one after another in one partition, sorted; without keys all in one."""
    flow, names, orders = engine.keyed(flow, keys, sort)
    frame = flow.frame
    frame = frame.repartition(engine.width(node), *names) if names else frame.repartition(1)
    wanted = [*map(F.col, names), *directed(orders)]
    if wanted:
        frame = frame.sortWithinPartitions(*wanted)
    return replace(flow, frame=frame), tuple(names)


def in_groups(
    engine: SparkEngine,
    node: Any,
    flow: Flow,
    keys: Keys | None,
    step: Step,
    sort: tuple[SortKey, ...] = (),
) -> Flow:
    """A function over the groups of a flow."""
    flow, names = arranged(engine, node, flow, keys, sort)
    return Flow(flow.frame, flow.type, (), node.type, groups=((flow.type,), names, step), node=node)


class _MergeByFunction:
    def __init__(self, function: UserFunction, name: str) -> None:
        self._function, self._name = function, name

    def __call__(self, left: Any, right: Any) -> Any:
        try:
            return self._function.call()(left, right)
        except Exception as error:
            raise self._function.failed(error, self._name, (left, right)) from error

    def plain(self) -> Any:
        """The function itself, for a loop that looks after errors."""
        return self._function.call()


class _Combine:
    """Makes one record of all that have a key, as far as they are in this task."""

    def __init__(self, keys: Keys | None, merge: Any) -> None:
        self._keys, self._merge = keys, merge

    def __call__(self, records: Iterable[Any]) -> Iterable[Any]:
        extract = self._keys.extractor() if self._keys is not None else lambda record: None
        merge = self._merge.plain() if isinstance(self._merge, _MergeByFunction) else self._merge
        found: dict[Any, Any] = {}
        for record in records:
            key = extract(record)
            if key.__class__ is not str:
                key = identity(key)
            if key in found:
                try:
                    found[key] = merge(found[key], record)
                except Exception:
                    self._merge(found[key], record)  # fails again, and says for which elements
                    raise
            else:
                found[key] = record
                if len(found) >= _KEPT:
                    yield from found.values()
                    found.clear()
        yield from found.values()


class _MergeBy:
    """Merges two records by a rule of the kernel."""

    def __init__(self, rule: Any, node: Node) -> None:
        self._rule, self._node = rule, replace(node, inputs=(), broadcasts={})

    def __call__(self, left: Any, right: Any) -> Any:
        return self._rule(self._node, [left, right])


class _Fold:
    """Makes one record of a group."""

    def __init__(self, merge: Any) -> None:
        self._merge = merge

    def __call__(self, records: Iterable[Any]) -> Iterable[Any]:
        found: Any = None
        first = True
        for record in records:
            found, first = (record, False) if first else (self._merge(found, record), False)
        if not first:
            yield found


def _around(function: UserFunction, call: Any) -> UserFunction:
    return _Around(function.function, function.method, 1, False, function.location, call)


class _Around(UserFunction):
    def __init__(
        self, function: Any, method: str, arguments: int, collects: bool, location: Any, call: Any
    ) -> None:
        super().__init__(function, method, arguments, collects, location)
        object.__setattr__(self, "_call", call)

    def call(self) -> Any:
        return self._call  # type: ignore[attr-defined]

    def emitting(self) -> Any:
        return self._call  # type: ignore[attr-defined]


def _plain_function(call: Any) -> UserFunction:
    return UserFunction(call, "__call__", 1, False, None)


def merged_by_key(
    engine: SparkEngine, node: Any, merge: Any, function: UserFunction | None = None
) -> Flow:
    """One record per key by a function of two: first in each task, then of all tasks."""

    def wrapped(call: Any) -> UserFunction:
        return _plain_function(call) if function is None else _around(function, call)

    source = node.inputs[0]
    combine = wrapped(_Combine(node.keys, merge))
    flow = engine.then(source, engine.step(node, "combine", combine), node.type)
    return in_groups(
        engine, node, flow, node.keys, engine.step(node, "group", wrapped(_Fold(merge)))
    )


@compiles(Reduce)
def _reduce(engine: SparkEngine, node: Reduce) -> Flow:
    merge = _MergeByFunction(node.function, node.title)
    return merged_by_key(engine, node, merge, node.function)


@compiles(GroupReduce)
def _group_reduce(engine: SparkEngine, node: GroupReduce) -> Flow:
    flow = engine.flow(node.inputs[0])
    if node.combine is not None:
        flow = _combined(engine, node, flow, node.combine, flow.result)
    return in_groups(
        engine, node, flow, node.keys, engine.step(node, "group", node.function), node.sort
    )


@compiles(GroupCombine)
def _group_combine(engine: SparkEngine, node: GroupCombine) -> Flow:
    return _combined(engine, node, engine.flow(node.inputs[0]), node.function, node.type)


def _combined(
    engine: SparkEngine, node: Any, flow: Flow, function: UserFunction, result: Any
) -> Flow:
    """A function over what each task has of a group: sorted there, and not moved."""
    flow, names, orders = engine.keyed(flow, node.keys, node.sort)
    wanted = [*map(F.col, names), *directed(orders)]
    frame = flow.frame.sortWithinPartitions(*wanted) if wanted else flow.frame
    step = engine.step(node, "group", function)
    return Flow(frame, flow.type, (), result, groups=((flow.type,), tuple(names), step), node=node)


# -- in Spark's engine -----------------------------------------------------------------------------


@compiles(Aggregate)
def _aggregate(engine: SparkEngine, node: Aggregate) -> Flow:
    if not aggregate_in_engine(node):
        return merged_by_key(engine, node, _MergeBy(aggregated, node))
    flow = engine.flow(node.inputs[0])
    if flow.pending and node.keys is not None and _is_combinable(node):
        # Python has the elements anyway: fewer of them become columns.
        combine = _plain_function(_Partial(node))
        flow = engine.then(node.inputs[0], engine.step(node, "combine", combine), node.type)
    flow, names, _ = engine.keyed(flow, node.keys)
    kinds = field_types(flow.type)
    chosen = {field.positions[0]: how for how, field in node.aggregates if field.positions}
    columns = []
    for place, kind in enumerate(kinds):
        how = chosen.get(place)
        column = F.col(f"c{place}")
        if how is None and f"c{place}" in names:
            continue  # the key itself; Spark would sort for another copy of a text
        found = F.any_value(column) if how is None else _AGGREGATES[how](column)
        columns.append(found.cast(spark_type(kind)).alias(f"o{place}"))
    if names:
        frame = flow.frame.groupBy(*names).agg(*columns)
    else:
        frame = flow.frame.agg(*columns, F.count(F.lit(1)).alias("rows")).where("rows > 0")
    outputs = [
        F.col(f"o{place}").alias(f"c{place}")
        if f"o{place}" in frame.columns
        else F.col(f"c{place}")
        for place in range(len(kinds))
    ]
    return Flow(frame.select(*outputs), flow.type, result=node.type)


_AGGREGATES = {Aggregation.SUM: F.sum, Aggregation.MIN: F.min, Aggregation.MAX: F.max}


def _is_combinable(node: Aggregate) -> bool:
    """Whether Python's sums and extremes of a part are exactly those that Spark would make."""
    exact = {"BYTE", "SHORT", "INT", "LONG", "STRING"}
    kinds = {field.types[0].kind for _, field in node.aggregates}
    return isinstance(node.type, TupleTypeInfo) and kinds <= exact


class _Partial:
    """Aggregates what a task has of each key, in the order of the elements."""

    def __init__(self, node: Aggregate) -> None:
        assert node.keys is not None
        self._keys = node.keys
        self._merges = [
            (field.positions[0], _PARTIAL[how]) for how, field in node.aggregates if field.positions
        ]

    def __call__(self, records: Iterable[Any]) -> Iterable[Any]:
        extract, merges = self._keys.extractor(), self._merges
        found: dict[Any, list[Any]] = {}
        for record in records:
            key = extract(record)
            if key.__class__ is not str:
                key = identity(key)
            known = found.get(key)
            if known is None:
                found[key] = list(record)
                if len(found) >= _KEPT:
                    yield from map(tuple, found.values())
                    found.clear()
                continue
            for at, merge in merges:
                value = record[at]
                if value is not None:
                    known[at] = value if known[at] is None else merge(known[at], value)
        yield from map(tuple, found.values())


_PARTIAL: dict[Aggregation, Any] = {
    Aggregation.SUM: operator.add,
    Aggregation.MIN: min,
    Aggregation.MAX: max,
}


@compiles(Extreme)
def _extreme(engine: SparkEngine, node: Extreme) -> Flow:
    if not extreme_in_engine(node):
        return merged_by_key(engine, node, _MergeBy(extreme_of, node))
    flow, names, _ = engine.keyed(engine.flow(node.inputs[0]), node.keys)
    columns = column_names(flow.type)
    choose = F.max_by if node.largest else F.min_by
    assert node.fields.positions is not None
    by = F.struct(*[f"c{place}" for place in node.fields.positions])
    grouped = flow.frame.groupBy(*names) if names else flow.frame.groupBy()
    frame = grouped.agg(choose(F.struct(*columns), by).alias("best"))
    frame = frame.where(F.col("best").isNotNull())
    return Flow(frame.select("best.*"), flow.type, result=node.type)


@compiles(Distinct)
def _distinct(engine: SparkEngine, node: Distinct) -> Flow:
    flow, names, _ = engine.keyed(engine.flow(node.inputs[0]), node.keys)
    frame = flow.frame.dropDuplicates(names)
    return Flow(frame.select(*column_names(flow.type)), flow.type, result=node.type)


@compiles(First)
def _first(engine: SparkEngine, node: First) -> Flow:
    flow, names, orders = engine.keyed(engine.flow(node.inputs[0]), node.keys, node.sort)
    if not names:
        return Flow(
            flow.frame.limit(node.size).select(*column_names(flow.type)), flow.type,
            result=node.type,
        )  # fmt: skip
    order = directed(orders) or [F.lit(1)]
    window = Window.partitionBy(*names).orderBy(*order)
    frame = flow.frame.withColumn("place", F.row_number().over(window))
    frame = frame.where(F.col("place") <= node.size)
    return Flow(frame.select(*column_names(flow.type)), flow.type, result=node.type)


@compiles(CoGroup)
def _co_group(engine: SparkEngine, node: CoGroup) -> Flow:
    plain = same_keys(node.left, node.right)
    sides = []
    for source, keys, sort in zip(node.inputs, (node.left, node.right), node.sort, strict=True):
        sides.append(_Side(*engine.keyed(engine.flow(source), keys, sort, plain=plain)))
    together = sides[0].rows(0, sides).union(sides[1].rows(1, sides))
    names = [f"key{at}" for at in range(len(sides[0].names))]
    orders = [
        (f"order{number}_{at}", descending)
        for number, side in enumerate(sides)
        for at, (_, descending) in enumerate(side.orders)
    ]
    frame = together.repartition(engine.width(node), *names)
    frame = frame.sortWithinPartitions(*names, "side", *directed(orders))
    step = engine.step(node, "group", node.function)
    kinds = tuple(side.flow.type for side in sides)
    return Flow(frame, kinds[0], (), node.type, groups=(kinds, tuple(names), step), node=node)


@dataclass(frozen=True)
class _Side:
    """One set of a co-group."""

    flow: Flow
    names: list[str]
    orders: list[tuple[str, bool]]

    def rows(self, number: int, sides: Sequence[_Side]) -> DataFrame:
        """The rows with the columns of both sets; those of the other one are empty."""
        columns = [F.col(name).alias(f"key{at}") for at, name in enumerate(self.names)]
        columns.append(F.lit(number).alias("side"))
        for index, (side, prefix) in enumerate(zip(sides, "lr", strict=True)):
            mine = index == number
            for at, name in enumerate(column_names(side.flow.type)):
                value = F.col(name) if mine else F.lit(None)
                columns.append(value.alias(f"{prefix}{at}"))
            for at, (name, _) in enumerate(side.orders):
                value = F.col(name) if mine else F.lit(None)
                columns.append(value.alias(f"order{index}_{at}"))
        return self.flow.frame.select(*columns)
