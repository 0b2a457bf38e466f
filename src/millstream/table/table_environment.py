"""The entrance to tables: it runs SQL, makes tables, and runs their queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millstream.common.errors import PlanError
from millstream.common.types import Row
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.catalog.ddl import execute_ddl
from millstream.table.catalog.manager import CatalogManager
from millstream.table.connectors import simple
from millstream.table.connectors.changes import folded
from millstream.table.connectors.factory import connector_of
from millstream.table.execution.memory import changes_in_memory, own_graph
from millstream.table.execution.planning import Planned, Planner
from millstream.table.function_registration import FunctionRegistration
from millstream.table.logical.algebra import Relation, Scan, TablePath
from millstream.table.logical.binder import bind_query
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.logical.insert_binder import bind_insert
from millstream.table.result_kind import ResultKind
from millstream.table.sql import statements as ast
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import Query
from millstream.table.table import Table
from millstream.table.table_result import TableResult, inserted_result
from millstream.table.types.logical import RowType
from millstream.table.types.parsing import parse_logical_type

__all__ = ["TableEnvironment"]


class TableEnvironment(FunctionRegistration):
    """Runs SQL over the tables of its catalogs. So far jobs run in memory, see `execute_sql`.

    Parameters
    ----------
    env
        The environment whose settings the jobs have.

    Examples
    --------
    >>> t_env = TableEnvironment.create()
    >>> t = t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], "id INT, name STRING")
    >>> t_env.create_temporary_view("t", t)
    >>> counts = t_env.sql_query("SELECT name, COUNT(*) FROM t GROUP BY name")
    >>> sorted(map(tuple, t_env.final_rows(counts)))
    [('a', 2), ('b', 1)]
    """

    def __init__(self, env: StreamExecutionEnvironment | None = None) -> None:
        self._env = env or StreamExecutionEnvironment.get_execution_environment()
        self.names = CatalogManager()
        self._made = 0

    @staticmethod
    def create(environment: StreamExecutionEnvironment | None = None) -> TableEnvironment:
        """Return a new environment."""
        return TableEnvironment(environment)

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement. Queries and INSERT run in memory and to the end of their sources."""
        statement = parse(stmt)
        if isinstance(statement, Query):
            return self.execute_table(self.sql_query(stmt))
        if isinstance(statement, ast.Insert):
            bound = bind_insert(statement, self.names, stmt)
            return self._insert(bound.query, bound.entry.with_options(bound.options))
        found = execute_ddl(statement, self.names, stmt)
        if found is None:
            raise PlanError(
                "SQL_NOT_SUPPORTED",
                f"a statement {type(statement).__name__} does not run yet",
                hint="run queries, INSERT, CREATE, ALTER, DROP, SHOW, DESCRIBE, USE or SET",
            )
        kind = getattr(ResultKind, found.kind)
        return TableResult(found.row_type, [Row(*row) for row in found.rows], kind=kind)

    def sql_query(self, query: str) -> Table:
        """Return the table of a query."""
        statement = parse(query)
        if not isinstance(statement, Query):
            raise PlanError(
                "NOT_A_QUERY",
                "sql_query takes a query",
                hint="use execute_sql for other statements",
            )
        return Table(bind_query(statement, self.names, query), self)

    def from_path(self, path: str) -> Table:
        """Return a table or view of a catalog."""
        return self.sql_query(f"SELECT * FROM {path}")

    def from_elements(self, elements: Iterable[Sequence[Any]], schema: str) -> Table:
        """Return a table of rows; ``schema`` is a list of columns as in SQL."""
        row = parse_logical_type(f"ROW<{schema}>")
        assert isinstance(row, RowType)
        self._made += 1
        path = TablePath(
            self.names.current_catalog, self.names.current_database, f"elements${self._made}"
        )
        columns = tuple(TableColumn(each.name, each.type) for each in row.fields)
        source = simple.TableRows([e if isinstance(e, Row) else Row(*e) for e in elements])
        entry = TableEntry(path, columns, (("connector", "values"),), temporary=True, source=source)
        self.names.add_table(entry)
        return Table(Scan(entry.row_type, path), self)

    def create_temporary_view(self, view_path: str, table: Table) -> None:
        """Give a table a name for the session."""
        from millstream.table.logical.entries import ViewEntry

        path = self.names.path(tuple(view_path.split(".")))
        relation = table.relation
        entry = ViewEntry(path, relation.row_type, relation=relation, temporary=True)
        self.names.add_table(entry, replacing=True)

    def execute_table(self, table: Table) -> TableResult:
        """Run the query of a table."""
        planner = self._planner()
        planned = planner.planned(table.relation)
        rows = changes_in_memory(planner, planned)
        return TableResult(table.relation.row_type, rows, streaming=True)

    def final_rows(self, table: Table) -> list[Row]:
        """The rows of a table at the end of its job."""
        planner = self._planner()
        return folded(changes_in_memory(planner, planner.planned(table.relation)))

    def _insert(self, relation: Relation, entry: TableEntry) -> TableResult:
        from millstream.testing import run_local

        planner = self._planner()
        connector, options = connector_of(entry)
        planned: Planned = planner.planned(relation)
        with own_graph(self._env):
            planner.add_sink(planned, connector.write(entry, options), entry.path.name)
            run_local(self._env, write=True, batch=planner.batch or None)
        return inserted_result([str(entry.path)], None)

    def _planner(self) -> Planner:
        zone = self.names.option("table.local-time-zone") or "UTC"
        mode = self.names.option("execution.runtime-mode") or "STREAMING"
        return Planner(self._env, self._entry, zone, batch=mode.upper() == "BATCH")

    def _entry(self, path: TablePath) -> TableEntry:
        found = self.names.find_table((path.catalog, path.database, path.name))
        assert isinstance(found, TableEntry), path
        return found
