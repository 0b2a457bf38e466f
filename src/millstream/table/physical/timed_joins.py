"""Joins of rows of near times, and with the versions of a table, in the kernel's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millstream.kernel.steps.columns import ProjectStep
from millstream.kernel.tables.functions import ColumnFunction
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.tables.timed.interval_join import TableIntervalJoinSpec
from millstream.kernel.tables.timed.temporal_join import TemporalJoinSpec
from millstream.plan.tables import add_columns, add_table
from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import Join, Relation, TemporalJoin
from millstream.table.logical.intervals import Interval
from millstream.table.physical.compiled import compiled, copied_columns, row_info
from millstream.table.physical.joins import JoinParts, Side, join_parts
from millstream.table.physical.meaning import uid_of
from millstream.table.physical.versions import versions_of
from millstream.table.rules.conditions import all_of, moved

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_interval_join", "add_temporal_join"]


class _Sides:
    """Both sides of a join with the columns of their keys, and the condition over both."""

    def __init__(self, lowering: Lowering, tables: Sequence[Relation], parts: JoinParts) -> None:
        self._lowering = lowering
        self._tables = tables
        self.sides = [parts.side(each, i) for i, each in enumerate(tables)]
        self._rest = parts.rest

    def nodes(self) -> list[int]:
        pairs = zip(self._tables, self.sides, strict=True)
        return [_keyed(self._lowering, table, side) for table, side in pairs]

    def condition(self) -> ColumnFunction | None:
        if self._rest is None:
            return None
        width = len(self._tables[0].row_type.fields)
        extra = len(self.sides[0].columns) - width
        found = moved(self._rest, lambda i: i if i < width else i + extra)
        return compiled(found, self._lowering.zone)

    def names(self) -> tuple[str, ...]:
        """Different names for all columns of a joined row."""
        return tuple(f"{i}.{f.name}" for i, s in enumerate(self.sides) for f in s.row_type.fields)

    def places(self) -> list[int]:
        """Where the columns of both tables are in a joined row, without those of keys."""
        left, right = (len(each.row_type.fields) for each in self._tables)
        first = len(self.sides[0].columns)
        return [*range(left), *range(first, first + right)]


def _keyed(lowering: Lowering, table: Relation, side: Side) -> int:
    node = lowering.node(table)
    if side.is_plain:
        return node
    functions = tuple(compiled(each, lowering.zone) for each in side.columns)
    step = ProjectStep(functions, row_info(side.row_type), copied_columns(side.columns), "join key")
    return add_columns(lowering.graph, "Join Key", node, step).id


def _add(lowering: Lowering, relation: Relation, name: str, sides: _Sides, spec: TableSpec) -> int:
    node = add_table(lowering.graph, name, sides.nodes(), spec, uid=uid_of(relation)).id
    return lowering.picked(node, sides.places(), relation)


def add_interval_join(lowering: Lowering, relation: Join, interval: Interval) -> int:
    """Add a join whose condition bounds the distance of the times of both sides."""
    width = len(relation.left.row_type.fields)
    parts = join_parts(all_of(interval.rest), width, lambda each: not each.null_safe)
    sides = _Sides(lowering, relation.inputs(), parts)
    left, right = sides.sides
    spec = TableIntervalJoinSpec(
        row_info(left.row_type),
        row_info(right.row_type),
        relation.kind,  # type: ignore[arg-type]
        left.key,
        right.key,
        interval.left,
        interval.right,
        interval.lower,
        interval.upper,
        sides.names(),
        sides.condition(),
        interval.processing,
    )
    return _add(lowering, relation, "Interval Join", sides, spec)


def add_temporal_join(lowering: Lowering, relation: TemporalJoin) -> int:
    """Add a join with the versions of a table, by event time."""
    versions = versions_of(relation, lowering.traits)
    time = relation.time
    assert isinstance(time, InputRef)
    sides = _Sides(lowering, (relation.left, versions.table), versions.parts)
    left, right = sides.sides
    spec = TemporalJoinSpec(
        row_info(left.row_type),
        row_info(right.row_type),
        relation.kind,  # type: ignore[arg-type]
        left.key,
        right.key,
        time.index,
        versions.time,
        sides.names(),
        sides.condition(),
        tuple(lowering.traits.of(each).updating for each in (relation.left, versions.table)),  # type: ignore[arg-type]
        versions.upserts,
    )
    return _add(lowering, relation, "Temporal Join", sides, spec)
