"""SQL texts run in memory, over tables of rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import millstream.table.connectors.simple  # noqa: F401
from millstream.common import Row, RowKind
from millstream.datastream import StreamExecutionEnvironment
from millstream.table.connectors.changes import folded, hashable, paired
from millstream.table.connectors.simple import TableRows
from millstream.table.execution.planning import Planned, Planner
from millstream.table.execution.statements import own_graph
from millstream.table.logical.algebra import Join, Relation, Scan, TablePath
from millstream.table.logical.binder import bind_query, parse_and_bind_expression
from millstream.table.logical.entries import TableColumn, TableEntry, Watermark
from millstream.table.physical.state_ttl import NO_TTL, StateTtl
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import Query
from millstream.table.types.logical import (
    LocalZonedTimestampType,
    LogicalType,
    RowType,
    TimestampType,
)
from millstream.table.types.parsing import parse_logical_type
from millstream.table.types.values import given_row
from millstream.testing import CollectSink, run_local

__all__ = ["Tables", "back", "bound", "row_type", "tree"]


@dataclass
class Tables:
    """Tables of rows with a name each; the names that the binder asks for."""

    entries: dict[str, TableEntry] = field(default_factory=dict)
    current_catalog: str = "default_catalog"
    current_database: str = "default_database"
    zone: str = "UTC"
    batch: bool = False
    ttl: StateTtl = NO_TTL
    agg_phases: str = "AUTO"

    def add(
        self,
        name: str,
        columns: str,
        rows: list[Any],
        *,
        updating: bool = False,
        upsert: bool = False,
        key: tuple[str, ...] = (),
        watermark: tuple[str, str] | None = None,
    ) -> Tables:
        """A table; rows are tuples, or `Row`s with a kind."""
        row = row_type(columns)
        time = None if watermark is None else watermark[0]
        found = [
            TableColumn(each.name, _rowtime(each.type) if each.name == time else each.type)
            for each in row.fields
        ]
        mark = None
        if watermark is not None:
            expression = parse_and_bind_expression(watermark[1], row, self)
            mark = Watermark(watermark[0], expression, watermark[1])
        source = TableRows([r if isinstance(r, Row) else Row(*r) for r in rows], updating, upsert)
        path = TablePath(self.current_catalog, self.current_database, name)
        options = (("connector", "values"),)
        self.entries[name] = TableEntry(
            path, tuple(found), options, mark, primary_key=key, source=source
        )
        return self

    def find_table(self, names: Any, catalog: Any = None, database: Any = None) -> Any:
        return self.entries.get(names[-1])

    def find_function(self, names: Any) -> None:
        return None

    def similar_tables(self, name: str) -> list[str]:
        return list(self.entries)

    def function_names(self) -> list[str]:
        return []

    def option(self, key: str) -> str | None:
        return "BATCH" if key == "execution.runtime-mode" and self.batch else None

    def planner(self) -> Planner:
        env = StreamExecutionEnvironment.get_execution_environment()
        return Planner(
            env,
            lambda path: self.entries[path.name],
            self.zone,
            batch=self.batch,
            ttl=self.ttl,
            agg_phases=self.agg_phases,
        )

    def changes(self, sql: str, **options: Any) -> list[Row]:
        """The changes of a query's result."""
        planner = self.planner()
        planned = planner.planned(bound(sql, self))
        return changes_in_memory(planner, planned, **options)

    def table(self, sql: str, **options: Any) -> Counter[Any]:
        """The result of a query as a bag of tuples."""
        found: Counter[Any] = Counter()
        for row in folded(self.changes(sql, **options)):
            found[tuple(_plain(each) for each in row)] += 1
        return found

    def shown(self, sql: str, **options: Any) -> list[str]:
        """The changes of a query's result as texts."""
        return [f"{r.get_row_kind()}{tuple(r)}" for r in self.changes(sql, **options)]


def changes_in_memory(planner: Planner, planned: Planned, **options: Any) -> list[Row]:
    """The changes of a query's result, epoch by epoch. ``options``: those of `run_local`."""
    env, sink = planner.env, CollectSink()
    if planner.batch:
        options = {"batch": True, **options}
    with own_graph(env):
        planner.add_sink(planned, sink, "collect")
        run_local(env, **options)
    found: list[Row] = []
    for _, records in sorted(sink.collected.by_epoch().items()):
        found += paired([record.value for record in records], planned.upsert_key)
    return [given_row(row, planned.relation.row_type) for row in found]


def row_type(columns: str) -> RowType:
    """The row of columns as CREATE TABLE has them."""
    found = parse_logical_type(f"ROW<{columns}>")
    assert isinstance(found, RowType)
    return found


def bound(sql: str, tables: Tables) -> Relation:
    """The relation of a query."""
    query = parse(sql)
    assert isinstance(query, Query)
    return bind_query(query, tables, sql)


def _rowtime(kind: LogicalType) -> LogicalType:
    assert isinstance(kind, TimestampType | LocalZonedTimestampType)
    return kind.with_kind("ROWTIME")


def _plain(value: Any) -> Any:
    return hashable(value) if isinstance(value, list | dict) else value


def back(*values: Any) -> Row:
    """A row that is taken back."""
    return Row.of_kind(RowKind.DELETE, *values)


def tree(relation: Relation) -> str:
    """A table and what it is made from in one line: ``Filter[>(a, 1)](t[a, b])``."""
    if isinstance(relation, Scan):
        return f"{relation.table.name}[{', '.join(f.name for f in relation.row_type.fields)}]"
    shown: list[str] = [relation.kind] if isinstance(relation, Join) else []
    shown += [str(each) for each in getattr(relation, "expressions", ())]
    if getattr(relation, "condition", None) is not None:
        shown.append(str(relation.condition))  # type: ignore[attr-defined]
    shown += [str(each.expression) for each in getattr(relation, "calls", ())]
    inputs = ", ".join(tree(each) for each in relation.inputs())
    return f"{type(relation).__name__}[{', '.join(shown)}]({inputs})"
