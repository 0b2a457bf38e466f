"""Sources, functions on elements, and movements of elements, as DataFrames."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from millstream.dataset.kernel.elements import custom_place
from millstream.dataset.plan.calls import user_function
from millstream.dataset.plan.columns import arrow_schema, column_names, stored
from millstream.dataset.plan.conditions import Condition
from millstream.dataset.plan.keys import SortKey
from millstream.dataset.plan.nodes import (
    Each,
    FromFrame,
    FromRecords,
    FromTable,
    Node,
    Numbered,
    NumberSequence,
    Partition,
    Project,
    Rebalance,
    SampleSize,
    SortPartition,
    Union,
    Where,
    keeps_partitions,
)
from millstream.dataset.plan.records import encoded, has_fields
from millstream.dataset.spark.columns import stored_frame, value_of
from millstream.dataset.spark.engine import Flow, SparkEngine, compiles
from millstream.dataset.spark.passes import Extra


def from_arrow(engine: SparkEngine, node: Node, table: pa.Table) -> Flow:
    """A table of the driver as a DataFrame."""
    kind = stored(node.type)
    frame = engine.spark.createDataFrame(table)
    if node.parallelism is not None:
        frame = frame.repartition(node.parallelism)
    return Flow(stored_frame(frame, kind), kind, result=node.type)


@compiles(FromRecords)
def _records(engine: SparkEngine, node: FromRecords) -> Flow:
    kind = stored(node.type)
    columns = encoded(kind, node.records)
    return from_arrow(engine, node, pa.Table.from_arrays(columns, schema=arrow_schema(kind)))


@compiles(NumberSequence)
def _sequence(engine: SparkEngine, node: NumberSequence) -> Flow:
    parts = engine.width(node)
    # From 0: the end of a range, which does not belong to it, may be beyond the largest number.
    frame = engine.spark.range(0, max(node.last - node.first + 1, 0), 1, parts)
    numbers = frame.select((F.col("id") + F.lit(node.first)).alias("c0"))
    return Flow(numbers, node.type, result=node.type)


@compiles(FromTable)
def _table(engine: SparkEngine, node: FromTable) -> Flow:
    kind = stored(node.type)
    if kind != node.type:
        table = node.type.from_arrow_arrays(node.table.columns)
        columns = encoded(kind, table)
        return from_arrow(engine, node, pa.Table.from_arrays(columns, schema=arrow_schema(kind)))
    return from_arrow(engine, node, node.table.rename_columns(column_names(kind)))


@compiles(FromFrame)
def _frame(engine: SparkEngine, node: FromFrame) -> Flow:
    return Flow(stored_frame(node.frame, node.type), node.type, result=node.type)


@compiles(Each)
def _each(engine: SparkEngine, node: Each) -> Flow:
    step = engine.step(node, node.kind, node.function)
    if node.kind == "map_partition" and node.parallelism and not keeps_partitions(node):
        flow = engine.settled(node.inputs[0])
        frame = flow.frame.repartition(node.parallelism)
        return Flow(frame, flow.type, (step,), node.type)
    return engine.then(node.inputs[0], step, node.type)


@compiles(Project)
def _project(engine: SparkEngine, node: Project) -> Flow:
    flow = engine.flow(node.inputs[0])
    positions = node.fields.positions
    if positions is None or flow.pending:
        extract, one = node.fields.extractor(), len(node.fields.fields) == 1
        call: Any = (lambda record: (extract(record),)) if one else extract
        function = user_function(call, "map", 1, node.location)
        return engine.then(node.inputs[0], engine.step(node, "map", function), node.type)
    names = column_names(node.type)
    columns = [F.col(f"c{at}").alias(name) for at, name in zip(positions, names, strict=True)]
    return Flow(flow.frame.select(*columns), stored(node.type), result=node.type)


@compiles(Where)
def _where(engine: SparkEngine, node: Where) -> Flow:
    if engine.flow(node.inputs[0]).pending:
        condition = node.condition
        function = user_function(
            lambda record: condition.evaluate(record) is True, "filter", 1, None
        )
        return engine.then(node.inputs[0], engine.step(node, "filter", function), node.type)
    flow = engine.settled(node.inputs[0])
    return replace(flow, frame=flow.frame.where(_column(node.condition)), result=node.type)


_COMPARED: dict[str, Callable[[Column, Column], Column]] = {
    "equals": lambda left, right: left == right,
    "notEquals": lambda left, right: left != right,
    "lessThan": lambda left, right: left < right,
    "lessThanOrEqual": lambda left, right: left <= right,
    "greaterThan": lambda left, right: left > right,
    "greaterThanOrEqual": lambda left, right: left >= right,
}


def _column(condition: Condition) -> Column:
    """A condition as an expression of Spark."""
    if condition.kind == "field":
        return F.col(f"c{condition.arguments[0]}")
    if condition.kind == "value":
        return F.lit(condition.arguments[0])
    first, *others = [_column(each) for each in condition.arguments]
    if condition.kind in _COMPARED:
        return _COMPARED[condition.kind](first, others[0])
    if condition.kind == "and":
        return reduce(lambda left, right: left & right, others, first)
    if condition.kind == "or":
        return reduce(lambda left, right: left | right, others, first)
    if condition.kind == "in":
        return first.isin(*others)
    if condition.kind == "between":
        return first.between(*others)
    if condition.kind == "not":
        return ~first
    if condition.kind == "isNotTrue":
        return ~F.coalesce(first, F.lit(False))
    return first.isNull() if condition.kind == "isNull" else first.isNotNull()


@compiles(Union)
def _union(engine: SparkEngine, node: Union) -> Flow:
    flows = [engine.settled(other, node.type) for other in node.inputs]
    names = column_names(flows[0].type)
    frame = flows[0].frame.select(*names)
    for other in flows[1:]:
        frame = frame.union(other.frame.select(*names))
    return Flow(frame, flows[0].type, result=node.type)


@compiles(Rebalance)
def _rebalance(engine: SparkEngine, node: Rebalance) -> Flow:
    flow = engine.settled(node.inputs[0])
    return replace(flow, frame=flow.frame.repartition(engine.width(node)))


@compiles(Partition)
def _partition(engine: SparkEngine, node: Partition) -> Flow:
    parts = engine.width(node)
    flow = engine.flow(node.inputs[0])
    if node.kind == "custom":
        extra = Extra("k0", "number", node.keys, _Custom(node), parts)
        flow = engine.ran(flow, [extra])
        moved = flow.frame.repartitionById(parts, "k0")
    elif node.kind == "hash":
        flow, names, _ = engine.keyed(flow, node.keys)
        moved = flow.frame.repartition(parts, *names)
    else:
        flow, _, orders = engine.keyed(flow, None, [SortKey(node.keys)])
        moved = flow.frame.repartitionByRange(parts, *directed(orders))
    return replace(flow, frame=moved.select(*column_names(flow.type)))


class _Custom:
    """The partitioner of a node, which goes to the workers without the nodes before it."""

    def __init__(self, node: Partition) -> None:
        self._node = replace(node, inputs=(), broadcasts={})

    def __call__(self, key: Any, parts: int) -> int:
        return custom_place(self._node, key, parts)


@compiles(SortPartition)
def _sort_partition(engine: SparkEngine, node: SortPartition) -> Flow:
    flow, _, orders = engine.keyed(engine.flow(node.inputs[0]), None, node.sort)
    frame = flow.frame
    if node.parallelism and not keeps_partitions(node):
        frame = frame.repartition(node.parallelism)
    frame = frame.sortWithinPartitions(*directed(orders))
    return replace(flow, frame=frame.select(*column_names(flow.type)))


def directed(orders: Sequence[tuple[str, bool]]) -> list[Column]:
    """Columns with the direction in which they sort; null comes first, as the smallest value."""
    return [
        F.col(name).desc_nulls_last() if descending else F.col(name).asc_nulls_first()
        for name, descending in orders
    ]


@compiles(Numbered)
def _numbered(engine: SparkEngine, node: Numbered) -> Flow:
    flow = engine.settled(node.inputs[0])
    names = column_names(flow.type)
    frame = flow.frame.select(*names)
    if node.consecutive:
        frame = frame.zipWithIndex("number")
    else:
        frame = frame.withColumn("number", F.monotonically_increasing_id())
    value = value_of(flow.type, names) if has_fields(flow.type) else F.col(names[0])
    pairs = frame.select(F.col("number").alias("c0"), value.alias("c1"))
    return Flow(pairs, stored(node.type), result=node.type)


@compiles(SampleSize)
def _sample_size(engine: SparkEngine, node: SampleSize) -> Flow:
    flow = engine.settled(node.inputs[0])
    names = column_names(flow.type)
    if not node.replacement:
        chosen = flow.frame.orderBy(F.rand(node.seed)).limit(node.size)
        return replace(flow, frame=chosen.select(*names))
    numbered = flow.frame.select(*names).zipWithIndex("number")
    size = flow.frame.count()
    chance = random.Random(node.seed)
    drawn = [chance.randrange(size) for _ in range(node.size)] if size else []
    picks = engine.spark.createDataFrame(pa.table({"number": pa.array(drawn, pa.int64())}))
    return replace(flow, frame=numbered.join(F.broadcast(picks), "number").select(*names))
