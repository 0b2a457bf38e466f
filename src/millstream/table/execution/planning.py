"""Statements as jobs: the rewritten query, its properties, and its nodes in a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from millstream.common.errors import PlanError
from millstream.connectors.sink import Changelog, Sink
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.kernel.steps.columns import ProjectStep
from millstream.kernel.tables.functions import Column
from millstream.kernel.tables.kinds import KIND
from millstream.plan.graph import JobGraph, SinkNode
from millstream.plan.tables import add_columns
from millstream.table.connectors.factory import ReadOptions, connector_of, lookup_table, read_table
from millstream.table.connectors.filtering import restricted
from millstream.table.connectors.narrowing import Path, narrowed
from millstream.table.expressions.tree import Expression
from millstream.table.logical.algebra import Filter, Project, Relation, Scan, Subquery, TablePath
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.physical.lookups import LookupParts
from millstream.table.physical.lowering import Lowering
from millstream.table.physical.state_ttl import NO_TTL, StateTtl
from millstream.table.physical.traits import ScanTraits, TableTraits, Traits
from millstream.table.rules.conditions import paths_of
from millstream.table.rules.driver import rewritten

__all__ = ["Planned", "Planner"]

Find = Callable[[TablePath], TableEntry]
_Table = tuple[TablePath, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Planned:
    """A query ready to be added to a job."""

    relation: Relation
    traits: TableTraits

    @property
    def upsert_key(self) -> tuple[int, ...] | None:
        """The smallest key of the result; None if there is none, empty if there is one row."""
        keys = sorted((sorted(key) for key in self.traits.keys), key=lambda key: (len(key), key))
        return tuple(keys[0]) if keys else None


class Planner:
    """Plans queries for one environment. ``find``: the table of a path."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        find: Find,
        zone: str = "UTC",
        *,
        every_update: bool | None = None,
        batch: bool = False,
        ttl: StateTtl = NO_TTL,
        agg_phases: str = "AUTO",
        reading: ReadOptions | None = None,
        sorts: bool = False,
    ) -> None:
        self.env = env
        reading = reading or ReadOptions(zone)
        self._reading = replace(reading, keeps_late=batch and reading.keeps_late)
        self.zone = zone
        self.batch = batch
        self._find = find
        self._every_update = every_update
        self._ttl = ttl
        self._agg_phases = agg_phases
        self._sorts = sorts
        self.traits = Traits(self._scan)
        self._lowerings: dict[int, Lowering] = {}
        self._used: dict[_Table, dict[str, set[Path]]] = {}
        self._filters: dict[_Table, list[Expression | None]] = {}
        self._sources: dict[tuple[int, TableEntry, bool, bool], int] = {}

    def planned(self, relation: Relation) -> Planned:
        """The query after all rewrites, with its properties.

        Queries that are planned before the first is added share sources with all columns that they use.
        """
        found = rewritten(relation)
        for each, condition, readers in _scans(found, None, None):
            used = self._used.setdefault((each.table, each.options), {})
            for name, path in _paths(each, readers):
                used.setdefault(name, set()).add(path)
            self._filters.setdefault((each.table, each.options), []).append(condition)
        return Planned(found, self.traits.of(found))

    def add(self, planned: Planned) -> int:
        """Add the operators of a query to the graph; returns the node of its rows."""
        graph = self.env._graph
        lowering = self._lowerings.get(id(graph))
        if lowering is None:
            lowering = Lowering(
                graph,
                self._read,
                self.traits,
                self.zone,
                every_update=self._every_update,
                batch=self.batch,
                ttl=self._ttl,
                agg_phases=self._agg_phases,
                lookup=self._lookup,
                sorts=self._sorts,
            )
            self._lowerings = {id(graph): lowering}
        return lowering.node(planned.relation)

    def node_of(self, relation: Relation) -> int | None:
        """The node of a table that was added, None if it is part of another one."""
        for lowering in self._lowerings.values():
            return lowering.added(relation)
        return None

    def add_sink(self, planned: Planned, sink: Sink, name: str) -> None:
        """Add a query and the sink of its rows. A sink that takes no updates is refused them."""
        refuse_updates(planned, sink, name)
        self.connect(
            self.add(planned), sink, name, "retract" if planned.traits.updating else "append"
        )

    def connect(self, node: int, sink: Sink, name: str, changelog: Changelog) -> None:
        """Add a sink behind a node of the graph. ``changelog``: the changes that come."""
        graph = self.env._graph
        stream: DataStream[Any] = DataStream(self.env, graph, node)
        last = sink.preprocess(stream)._id
        graph.add(SinkNode, name=name, inputs=(last,), sink=sink, changelog=changelog)

    def entry(self, scan: Scan) -> TableEntry:
        """The table that a scan reads, with the options of its hint."""
        return self._find(scan.table).with_options(scan.options)

    def wanted(self, scan: Scan) -> TableEntry:
        """The table that a scan reads, with what all scans of it want of its rows."""
        entry = self.entry(scan)
        # A version of a row may hold until one comes that a filter drops.
        return (
            entry if scan.versions else restricted(entry, self._filters[scan.table, scan.options])
        )

    def _read(self, graph: JobGraph, scan: Scan) -> int:
        """The columns of a scan; a table is read once for all scans of it."""
        assert graph is self.env._graph
        entry = self.wanted(scan)
        connector, options = connector_of(entry)
        if connector.prunes(options):
            entry = narrowed(entry, self._used[scan.table, scan.options])
        known = id(graph), entry, scan.versions, scan.kinds
        if known not in self._sources:
            self._sources[known] = read_table(
                self.env, entry, self._reading, versions=scan.versions, kinds=scan.kinds
            )
        places = [each.name for each in entry.columns] + [KIND] * scan.kinds
        wanted = [places.index(each.name) for each in scan.row_type.fields]
        if wanted == list(range(len(places))):
            return self._sources[known]
        step = ProjectStep(
            tuple(Column(place) for place in wanted),
            row_info(scan.row_type),
            tuple(wanted),
            "columns",
        )
        return add_columns(graph, "Columns", self._sources[known], step).id

    def _lookup(self, scan: Scan, key: tuple[str, ...]) -> LookupParts:
        return lookup_table(self.entry(scan), scan.row_type, key, self.zone)

    def _scan(self, scan: Scan) -> ScanTraits:
        entry = self.entry(scan)
        connector, options = connector_of(entry)
        changes = connector.changes(entry, options)
        names = [each.name for each in scan.row_type.fields]
        whole = set(entry.primary_key) <= set(names)
        key = tuple(names.index(each) for each in entry.primary_key) if whole else ()
        # The old row of an update and a deletion look alike in messages.
        versions = changes == "upsert" or (connector.gives_kinds and changes == "retract")
        return ScanTraits(changes != "append", key, versions)


_Readers = tuple[Expression, ...] | None
"""The expressions that read a table; None if something else reads it, which needs whole columns."""


def _scans(
    relation: Relation, condition: Expression | None, readers: _Readers
) -> Iterator[tuple[Scan, Expression | None, _Readers]]:
    """All scans, each with the filter right above it (None if all rows are read), and its readers."""
    if isinstance(relation, Scan):
        yield relation, condition, readers
    above, below = None, None
    if isinstance(relation, Filter):
        above = relation.condition
        below = None if readers is None else (*readers, above)
    elif isinstance(relation, Project):
        below = relation.expressions
    for each in relation.inputs():
        yield from _scans(each, above, below)


def _paths(scan: Scan, readers: _Readers) -> Iterator[tuple[str, Path]]:
    """The columns of a scan, and what is read of them."""
    fields = scan.row_type.fields
    if readers is None or any(isinstance(p, Subquery) for each in readers for p in each.walk()):
        yield from ((each.name, ()) for each in fields)
        return
    paths = {path for each in readers for path in paths_of(each)}
    unread = {*range(len(fields))} - {column for column, *_ in paths}  # rows need a column
    for column, *places in (*paths, *((each,) for each in unread)):
        yield fields[column].name, tuple(places)


def refuse_updates(planned: Planned, sink: Sink, name: str) -> None:
    """Refuse a sink that takes insertions only, for a query that takes rows back."""
    if not planned.traits.updating or sink.changelog != "append":
        return
    by = planned.traits.updated_by
    what = type(by).__name__ if by is not None else "the query"
    raise PlanError(
        "SINK_TAKES_NO_UPDATES",
        f"table {name} takes insertions only, and {what} in the query changes rows that it has given",
        hint="write into a table that takes updates (jdbc or upsert-kafka with a PRIMARY KEY, print); "
        "or group by a window, whose results are final; or use a format with kinds, as debezium-json",
    )
