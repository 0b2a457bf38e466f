"""From the algebra to nodes of the job graph: one function for each kind of table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import singledispatchmethod

from millstream.common.errors import PlanError
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.types import Row
from millstream.connectors.collection import CollectionSource
from millstream.kernel.steps.columns import ProjectStep, RowFilterStep
from millstream.kernel.tables.set_operations import SetKind, SetOperationSpec
from millstream.kernel.tables.spec import TableSpec
from millstream.plan.graph import JobGraph, SourceNode, UnionNode
from millstream.plan.tables import add_columns, add_table
from millstream.table.expressions import kinds
from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Distinct,
    Filter,
    FromChangelog,
    Join,
    Limit,
    Over,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TemporalJoin,
    ToChangelog,
    Values,
    WindowTable,
)
from millstream.table.logical.typing_rules import time_kind
from millstream.table.physical.changelogs import (
    add_changes,
    add_from_changelog,
    add_to_changelog,
)
from millstream.table.physical.compiled import Recast, compiled, copied_columns, row_info
from millstream.table.physical.correlate import add_correlate
from millstream.table.physical.literal_rows import literal_rows
from millstream.table.physical.lookups import Finder, LookupParts, add_lookup_join
from millstream.table.physical.meaning import identity_of, uid_of
from millstream.table.physical.over import add_over
from millstream.table.physical.ranks import add_limit, add_rank
from millstream.table.physical.sorts import add_sort
from millstream.table.physical.state_ttl import NO_TTL, StateTtl
from millstream.table.physical.stateful import add_aggregate, add_join
from millstream.table.physical.timed_joins import add_temporal_join
from millstream.table.physical.traits import Traits
from millstream.table.physical.watermark_columns import add_watermarks
from millstream.table.physical.window_columns import (
    distinct_windows,
    rank_windows,
    window_join,
    window_of,
)
from millstream.table.physical.window_rows import add_window_join, add_window_rank
from millstream.table.physical.windows import add_window_aggregate, add_window_table
from millstream.table.rules.nodes import Changes, Rank
from millstream.table.types.logical import RowField, RowType

__all__ = ["Lowering", "Reader"]

Reader = Callable[[JobGraph, Scan], int]
"""Adds the source of a table to a graph; returns the node whose rows are those of the table."""


class Lowering:
    """Adds the operators of tables to a graph. Equal tables are computed once.

    Parameters
    ----------
    graph
        Where the nodes go.
    read
        Adds the source of a table of the catalog.
    traits
        The properties of the tables.
    zone
        The session's time zone.
    every_update
        Whether group aggregates emit each update, not that of an epoch. None: where each is seen, below
        TO_CHANGELOG.
    batch
        All rows are there in one epoch: nothing waits, and any order is possible.
    ttl
        For how long state is kept.
    agg_phases
        Whether groups are added up before the exchange, too: AUTO, ONE_PHASE or TWO_PHASE.
    sorts
        Whether an order without a time is taken in a stream. A table has no order: it changes nothing.
    """

    def __init__(
        self,
        graph: JobGraph,
        read: Reader,
        traits: Traits | None = None,
        zone: str = "UTC",
        *,
        every_update: bool | None = None,
        batch: bool = False,
        ttl: StateTtl = NO_TTL,
        agg_phases: str = "AUTO",
        lookup: Finder | None = None,
        sorts: bool = False,
    ) -> None:
        self.graph = graph
        self.sorts = sorts
        self.traits = traits or Traits()
        self.zone = zone
        self.every_update = bool(every_update)
        self._may_emit_all = every_update is None
        self.batch = batch
        self._ttl = NO_TTL if batch else ttl
        self.agg_phases = agg_phases
        self._read = read
        self._lookup = lookup
        self._nodes: dict[tuple[str, bool], int] = {}
        self._expiring = {node.id for node in graph}

    def node(self, relation: Relation) -> int:
        """The id of the node whose records are the rows of a table."""
        known = identity_of(relation), self.every_update
        if known not in self._nodes:
            self._nodes[known] = self._add(relation)
            self._ttl.apply(self.graph, relation, self._expiring)
        return self._nodes[known]

    @contextmanager
    def every_update_below(self) -> Iterator[None]:
        """Let the aggregates that are added meanwhile emit each update, if the session allows it."""
        before = self.every_update
        self.every_update = before or self._may_emit_all
        try:
            yield
        finally:
            self.every_update = before

    def added(self, relation: Relation) -> int | None:
        """The node of a table that was added, None if it is part of another one."""
        known = identity_of(relation)
        return self._nodes.get((known, self.every_update), self._nodes.get((known, True)))

    def lookup(self, scan: Scan, key: tuple[str, ...]) -> LookupParts:
        """How rows of a table are looked up by some columns."""
        assert self._lookup is not None, "who lowers joins with lookups knows the connectors"
        return self._lookup(scan, key)

    def stateful(self, relation: Relation, name: str, spec: TableSpec) -> int:
        """Add a stateful operator over the inputs of a table."""
        inputs = [self.node(each) for each in relation.inputs()]
        return add_table(self.graph, name, inputs, spec, uid=uid_of(relation)).id

    def changes(self, relation: Relation) -> tuple[bool, ...]:
        """Of each input of a table, whether rows are taken back."""
        return tuple(self.traits.of(each).updating for each in relation.inputs())

    @singledispatchmethod
    def _add(self, relation: Relation) -> int:
        name = type(relation).__name__
        raise PlanError(
            "SQL_NOT_SUPPORTED",
            f"queries with {name} do not run yet",
            hint="see the page on tables for what runs",
        )

    @_add.register
    def _(self, relation: Scan) -> int:
        return self._read(self.graph, relation)

    @_add.register
    def _(self, relation: Values) -> int:
        row_type, rows = relation.row_type, [Row(*row) for row in literal_rows(relation, self.zone)]
        if not row_type.fields:
            # Of rows without columns nobody could say how many there are.
            row_type, rows = _ONE_COLUMN, [Row(True) for _ in rows]
        return self.graph.add(
            SourceNode,
            name="Values",
            source=CollectionSource.of(rows),
            output_type=row_info(row_type),
            uid=uid_of(relation),
        ).id

    @_add.register
    def _(self, relation: Project) -> int:
        node, _, expressions = add_watermarks(self, relation, relation.expressions)
        step = ProjectStep(
            tuple(compiled(each, self.zone) for each in expressions),
            row_info(relation.row_type),
            copied_columns(expressions),
            f"project {', '.join(map(str, expressions))}",
        )
        return add_columns(self.graph, "Project", node, step).id

    @_add.register
    def _(self, relation: Filter) -> int:
        node, info, (condition,) = add_watermarks(self, relation, [relation.condition])
        step = RowFilterStep(compiled(condition, self.zone), info, f"filter {condition}")
        found = add_columns(self.graph, "Filter", node, step).id
        width = len(relation.row_type.fields)
        more = len(info.field_types) > width
        return self.picked(found, range(width), relation) if more else found

    @_add.register
    def _(self, relation: Aggregate) -> int:
        windows = window_of(relation)
        if windows is not None:
            return add_window_aggregate(self, relation, windows)
        return add_aggregate(self, relation)

    @_add.register
    def _(self, relation: WindowTable) -> int:
        return add_window_table(self, relation)

    @_add.register
    def _(self, relation: Rank) -> int:
        windows = rank_windows(relation)
        if windows is not None:
            return add_window_rank(self, relation, windows)
        return add_rank(self, relation)

    @_add.register
    def _(self, relation: Over) -> int:
        return add_over(self, relation)

    @_add.register
    def _(self, relation: Sort) -> int:
        return add_sort(self, relation)

    @_add.register
    def _(self, relation: Limit) -> int:
        return add_limit(self, relation)

    @_add.register
    def _(self, relation: Correlate) -> int:
        return add_correlate(self, relation)

    @_add.register
    def _(self, relation: Join) -> int:
        windows = window_join(relation)
        if windows is not None:
            return add_window_join(self, relation, windows)
        return add_join(self, relation)

    @_add.register
    def _(self, relation: TemporalJoin) -> int:
        if time_kind(relation.time.type) == "PROCTIME":
            return add_lookup_join(self, relation)
        return add_temporal_join(self, relation)

    @_add.register
    def _(self, relation: ToChangelog) -> int:
        return add_to_changelog(self, relation)

    @_add.register
    def _(self, relation: Changes) -> int:
        return add_changes(self, relation)

    @_add.register
    def _(self, relation: FromChangelog) -> int:
        return add_from_changelog(self, relation)

    @_add.register
    def _(self, relation: Distinct) -> int:
        groups = distinct_windows(relation)
        if window_of(groups) is not None:
            return self.node(groups)
        kind = row_info(relation.row_type)
        spec = SetOperationSpec(kind, "distinct", self.changes(relation))
        return self.stateful(relation, "Distinct", spec)

    @_add.register
    def _(self, relation: SetOperation) -> int:
        if relation.kind == "UNION" and relation.all:
            inputs = [self._renamed(each, relation) for each in relation.inputs()]
            info = row_info(relation.row_type)
            return self.graph.add(
                UnionNode, name="Union", inputs=tuple(inputs), output_type=info
            ).id
        kind: SetKind = _SETS[relation.kind, relation.all]
        info = row_info(relation.row_type)
        inputs = [self._renamed(each, relation) for each in relation.inputs()]
        spec = SetOperationSpec(info, kind, self.changes(relation))
        name = relation.kind.capitalize()
        return add_table(self.graph, name, inputs, spec, uid=uid_of(relation)).id

    def _renamed(self, relation: Relation, target: Relation) -> int:
        """A table with the columns of another one: only names differ, or NULL is allowed."""
        return self._recast(self.node(relation), relation.row_type, target.row_type)

    def _recast(self, node: int, found: RowType, target: RowType) -> int:
        return self._fitted(node, row_info(found), row_info(target))

    def named(self, node: int, found: RowTypeInfo, target: Relation) -> int:
        """A node whose columns are those of a table, under its names and in its Arrow types."""
        return self._fitted(node, found, row_info(target.row_type))

    def picked(self, node: int, places: Sequence[int], target: Relation) -> int:
        """Some columns of a node, under the names of a table and in its Arrow types."""
        wanted = row_info(target.row_type)
        kinds = [each.to_arrow() for each in wanted.field_types]
        functions = tuple(Recast(p, kind) for p, kind in zip(places, kinds, strict=True))
        step = ProjectStep(functions, wanted, tuple(places), "columns")
        return add_columns(self.graph, "Columns", node, step).id

    def _fitted(self, node: int, found: RowTypeInfo, wanted: RowTypeInfo) -> int:
        if found == wanted:
            return node
        places = range(len(wanted.field_types))
        functions = tuple(Recast(i, wanted.field_types[i].to_arrow()) for i in places)
        step = ProjectStep(functions, wanted, tuple(places), "rename")
        return add_columns(self.graph, "Rename", node, step).id


_ONE_COLUMN = RowType(fields=(RowField("$there", kinds.BOOLEAN),))
_SETS: dict[tuple[str, bool], SetKind] = {
    ("UNION", False): "union",
    ("INTERSECT", False): "intersect",
    ("INTERSECT", True): "intersect all",
    ("EXCEPT", False): "except",
    ("EXCEPT", True): "except all",
}
