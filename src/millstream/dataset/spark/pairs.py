"""Joins and crosses as DataFrames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream.common.typeinfo import TupleTypeInfo, TypeInformation
from millstream.dataset.kernel.pairs import pair_step, picked
from millstream.dataset.optimizer.rules import join_plan, same_keys
from millstream.dataset.plan.calls import user_function
from millstream.dataset.plan.columns import column_names, stored
from millstream.dataset.plan.nodes import Cross, Join
from millstream.dataset.plan.records import field_index, field_types, has_fields, is_pickled
from millstream.dataset.spark.columns import spark_type, value_of
from millstream.dataset.spark.engine import Flow, SparkEngine, compiles

_KINDS = {"inner": "inner", "left": "left", "right": "right", "full": "full"}


@compiles(Join)
def _join(engine: SparkEngine, node: Join) -> Flow:
    plain = same_keys(node.left, node.right)
    frames, types, names = [], [], []
    for source, keys, prefix in zip(node.inputs, (node.left, node.right), "lr", strict=True):
        flow, mine, _ = engine.keyed(engine.flow(source), keys, (), "join", plain=plain)
        frames.append(_renamed(flow, mine, prefix))
        types.append(flow.type)
        names.append(len(mine))
    way = join_plan(node)
    if way.side is not None:
        frames[way.side] = frames[way.side].hint(way.strategy)
    conditions = [F.col(f"lk{at}") == F.col(f"rk{at}") for at in range(names[0])]
    joined = frames[0].join(frames[1], conditions, _KINDS[node.kind])
    return _finished(engine, node, joined, types)


def _renamed(flow: Flow, keys: list[str], prefix: str) -> DataFrame:
    """The columns of one side, its keys, and one that says that there is a row."""
    columns = [F.col(name).alias(f"{prefix}{name[1:]}") for name in column_names(flow.type)]
    columns += [F.col(name).alias(f"{prefix}k{at}") for at, name in enumerate(keys)]
    return flow.frame.select(*columns, F.lit(True).alias(f"{prefix}_there"))


@compiles(Cross)
def _cross(engine: SparkEngine, node: Cross) -> Flow:
    flows = [engine.settled(source) for source in node.inputs]
    left, right = (_renamed(flow, [], prefix) for flow, prefix in zip(flows, "lr", strict=True))
    if node.small == "first":
        left = left.hint("broadcast")
    elif node.small == "second":
        right = right.hint("broadcast")
    return _finished(engine, node, left.crossJoin(right), [flow.type for flow in flows])


def _finished(
    engine: SparkEngine, node: Join | Cross, joined: DataFrame, types: list[TypeInformation]
) -> Flow:
    """The pairs, the fields of a projection, or the results of a function."""
    sides = [_value(kind, prefix) for kind, prefix in zip(types, "lr", strict=True)]
    if node.pick is not None and not any(
        is_pickled(types[side]) and field is not None for side, field in node.pick
    ):
        return _projected(node, joined, types, sides)
    pairs = joined.select(sides[0].alias("c0"), sides[1].alias("c1"))
    flow = Flow(pairs, TupleTypeInfo(types), result=node.type)
    if node.function is not None:
        step = pair_step(node)
        return replace(flow, steps=(engine.step(node, step.kind, node.function),))
    if node.pick is not None:
        function = user_function(picked(node.pick), "map", 1, node.location)
        return replace(flow, steps=(engine.step(node, "map", function),))
    return flow


def _projected(
    node: Any, joined: DataFrame, types: list[TypeInformation], sides: list[Column]
) -> Flow:
    columns = []
    for side, field in node.pick:
        if field is None:
            columns.append(sides[side])
        else:
            index = field_index(types[side], field, None)
            columns.append(F.col(f"{'lr'[side]}{index}"))
    named = [column.alias(f"c{at}") for at, column in enumerate(columns)]
    return Flow(joined.select(*named), stored(node.type), result=node.type)


def _value(kind: TypeInformation, prefix: str) -> Column:
    """The record of one side; null if the other side has no partner."""
    value = value_of(kind, [f"{prefix}{at}" for at in range(len(field_types(kind)))])
    if not has_fields(kind):
        return value
    there = F.col(f"{prefix}_there").isNotNull()
    return F.when(there, value).otherwise(F.lit(None).cast(spark_type(kind)))
