"""Stateful tables as nodes: group aggregates and joins with their projections before and behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.steps.columns import FlatStep, ProjectStep
from millstream.kernel.tables.functions import ColumnFunction
from millstream.kernel.tables.group_aggregate import GroupAggregateSpec, PartialStep
from millstream.kernel.tables.join import JoinSpec
from millstream.plan.tables import add_columns, add_table
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Expression
from millstream.table.logical.algebra import Aggregate, Join, Relation
from millstream.table.logical.intervals import interval_of
from millstream.table.physical.aggregates import (
    Arguments,
    GroupingBits,
    GroupingSets,
    arguments_of,
    bits_of_sets,
    group_of,
    is_grouping,
)
from millstream.table.physical.compiled import Recast, compiled, copied_columns, row_info
from millstream.table.physical.joins import Side, join_parts
from millstream.table.physical.meaning import uid_of
from millstream.table.physical.timed_joins import add_interval_join
from millstream.table.rules.conditions import moved
from millstream.table.types.logical import RowField, RowType

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

_MERGED = {"COUNT", "SUM", "SUM0", "AVG", "MIN", "MAX"}
"""Aggregates of parts that give that of the whole, in any order."""

__all__ = ["add_aggregate", "add_join", "expanded", "join_input", "joined_names", "with_groupings"]


def add_aggregate(lowering: Lowering, relation: Aggregate) -> int:
    """Add a group aggregate, with a copy of each row for each grouping set if there are several."""
    keys, has_sets = group_of(relation), relation.sets is not None
    calls = tuple(each for each in relation.calls if not is_grouping(each))
    arguments = arguments_of(calls, keys, relation.input, apart=has_sets)
    before = lowering.node(relation.input)
    before = add_columns(lowering.graph, "Arguments", before, arguments.step(lowering.zone)).id
    row, key = row_info(arguments.row_type), tuple(range(len(keys)))
    if relation.sets is not None:
        sets = GroupingSets(len(keys), relation.sets)
        before, row = expanded(lowering, arguments, before, sets)
        key = (*key, len(arguments.columns))
    fields = relation.row_type.fields
    names = [each.name for each in fields[: len(keys)]] + ["$set"] * has_sets
    computed = zip(relation.calls, fields[len(keys) :], strict=True)
    names += [field.name for call, field in computed if not is_grouping(call)]
    (changes,) = lowering.changes(relation)
    spec = GroupAggregateSpec(
        row, key, arguments.calls, tuple(names), changes, lowering.every_update
    )
    if _in_two_phases(lowering, spec):
        before = add_columns(lowering.graph, "Local Aggregate", before, PartialStep(spec)).id
        spec = replace(spec, partial=True)
    node = add_table(lowering.graph, "Aggregate", [before], spec, uid=uid_of(relation)).id
    if not has_sets and len(calls) == len(relation.calls):
        return node
    width = len(keys)
    return with_groupings(lowering, relation, node, range(width), width, width + has_sets)


def _in_two_phases(lowering: Lowering, spec: GroupAggregateSpec) -> bool:
    """Whether groups are added up before the exchange, too.

    By default only one group of all rows is: its rows would all go to one slot. Sums of fractions are
    not, because they would depend on the parts in which records come.
    """
    strategy = lowering.agg_phases
    if strategy == "ONE_PHASE" or (strategy == "AUTO" and spec.key):
        return False
    if spec.changes or spec.every_update or lowering.batch:
        return False
    types = [each.to_arrow() for each in spec.row.field_types]
    return all(
        call.function in _MERGED
        and not call.distinct
        and not any(pa.types.is_floating(types[place]) for place in call.arguments)
        for call in spec.aggregates
    )


def with_groupings(
    lowering: Lowering, relation: Aggregate, node: int, keys: Sequence[int], number: int, place: int
) -> int:
    """The columns of the table: without the number of the grouping set, with what is made of it.

    ``keys``, ``number``, ``place``: where the rows of the node have the keys, the number of the grouping
    set if there are several, and the first aggregate.
    """
    wanted, width = row_info(relation.row_type), len(keys)
    kinds_ = [each.to_arrow() for each in wanted.field_types]
    functions: list[ColumnFunction] = [Recast(p, kinds_[at]) for at, p in enumerate(keys)]
    for call, kind in zip(relation.calls, kinds_[width:], strict=True):
        if is_grouping(call):
            functions.append(GroupingBits(number, bits_of_sets(call, relation)))
        else:
            functions.append(Recast(place, kind))
            place += 1
    copies = [each.place if isinstance(each, Recast) else None for each in functions]
    step = ProjectStep(tuple(functions), wanted, tuple(copies), "columns")
    return add_columns(lowering.graph, "Columns", node, step).id


def expanded(
    lowering: Lowering, arguments: Arguments, before: int, sets: GroupingSets
) -> tuple[int, RowTypeInfo]:
    """A copy of each row for each grouping set, with the number of the set as the last column."""
    fields = (*arguments.row_type.fields, RowField("$set", kinds.BIGINT))
    info = row_info(RowType(fields=fields))
    step = FlatStep(sets, info, text=f"{len(sets.sets)} grouping sets")
    return add_columns(lowering.graph, "Expand", before, step).id, info


def add_join(lowering: Lowering, relation: Join) -> int:
    """Add a join: by near times, or of all rows, by key where the condition has equal columns."""
    interval = interval_of(relation)
    if interval is not None and not any(lowering.changes(relation)):
        return add_interval_join(lowering, relation, interval)
    width = len(relation.left.row_type.fields)
    parts = join_parts(relation.condition, width)
    sides = [parts.side(each, i) for i, each in enumerate(relation.inputs())]
    nodes = [
        join_input(lowering, each, side)
        for each, side in zip(relation.inputs(), sides, strict=True)
    ]
    left, right = sides
    extra = len(left.columns) - width
    condition: Expression | None = parts.rest
    if condition is not None:
        condition = moved(condition, lambda i: i if i < width else i + extra)
    spec = JoinSpec(
        row_info(left.row_type),
        row_info(right.row_type),
        relation.kind,
        left.key,
        right.key,
        joined_names(sides, relation.kind in ("semi", "anti")),
        None if condition is None else compiled(condition, lowering.zone),
        parts.null_safe,
        lowering.changes(relation),  # type: ignore[arg-type]
    )
    node = add_table(lowering.graph, "Join", nodes, spec, uid=uid_of(relation)).id
    places = [*range(width)]
    if relation.kind not in ("semi", "anti"):
        inner = len(relation.right.row_type.fields)
        places += range(len(left.columns), len(left.columns) + inner)
    return lowering.picked(node, places, relation)


def join_input(lowering: Lowering, relation: Relation, side: Side) -> int:
    """A side of a join, with the columns of its key behind its own."""
    node = lowering.node(relation)
    if side.is_plain:
        return node
    functions = tuple(compiled(each, lowering.zone) for each in side.columns)
    step = ProjectStep(functions, row_info(side.row_type), copied_columns(side.columns), "join key")
    return add_columns(lowering.graph, "Join Key", node, step).id


def joined_names(sides: Sequence[Side], only_left: bool) -> tuple[str, ...]:
    """Different names for all columns of a joined row."""
    used = sides[:1] if only_left else sides
    return tuple(f"{i}.{f.name}" for i, s in enumerate(used) for f in s.row_type.fields)
