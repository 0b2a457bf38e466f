"""From INSERT and from `Table.execute_insert` to rows that fit a table."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError
from millstream.table.catalog.manager import CatalogManager
from millstream.table.catalog.tables import build_table
from millstream.table.connectors.factory import OVERWRITE, connector_of
from millstream.table.execution.statements import Write
from millstream.table.fluent.expression_base import quoted
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.logical.entries import TableEntry, ViewEntry
from millstream.table.logical.insert_binder import bind_insert
from millstream.table.sql import statements as ast
from millstream.table.sql.nodes import Source
from millstream.table.sql.parser import parse
from millstream.table.table_descriptor import TableDescriptor

__all__ = ["entry_of_descriptor", "write_of_statement", "write_of_table"]

_ROWS = "rows$"
_TARGET = "target$"


class _WithTables:
    """Names of a session, and tables that one statement uses without registering them."""

    def __init__(self, names: CatalogManager, tables: dict[str, TableEntry | ViewEntry]) -> None:
        self._names = names
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        return getattr(self._names, name)

    def find_table(
        self, names: tuple[str, ...], catalog: str | None = None, database: str | None = None
    ) -> TableEntry | ViewEntry | None:
        """The table of a name; those of the statement come first."""
        found = self._tables.get(names[0]) if len(names) == 1 else None
        return found or self._names.find_table(names, catalog, database)


def write_of_statement(statement: ast.Insert, names: Any, sql: str | Source) -> Write:
    """The rows that an INSERT writes."""
    bound = bind_insert(statement, names, sql)
    entry = bound.entry.with_options(bound.options)
    if bound.overwrite and connector_of(entry)[0].overwrites:
        entry = entry.with_options(((OVERWRITE, "true"),))
    elif bound.overwrite:
        message = f"INSERT OVERWRITE of {bound.entry.path.name} does not run"
        hint = "drop the rows where the table keeps them, then use INSERT INTO"
        raise PlanError("SQL_NOT_SUPPORTED", message, hint=hint)
    return Write(bound.query, entry, conflict=bound.conflict)


def write_of_table(
    relation: Relation, target: str | TableDescriptor, overwrite: bool, names: CatalogManager
) -> Write:
    """The rows of a table, fitted to a table of a catalog or of a descriptor."""
    here = names.path((_ROWS,))
    tables: dict[str, TableEntry | ViewEntry] = {
        _ROWS: ViewEntry(here, relation.row_type, relation=relation)
    }
    shown = target
    if not isinstance(target, str):
        path = names.path((f"anonymous${target.options.get('connector', '')}",))
        tables[_TARGET] = entry_of_descriptor(target, names, path, relation)
        shown = quoted(_TARGET)
    text = f"INSERT {'OVERWRITE' if overwrite else 'INTO'} {shown} SELECT * FROM {quoted(_ROWS)}"
    statement = parse(text)
    assert isinstance(statement, ast.Insert)
    return write_of_statement(statement, _WithTables(names, tables), text)


def entry_of_descriptor(
    descriptor: TableDescriptor,
    names: CatalogManager,
    path: TablePath,
    relation: Relation | None = None,
) -> TableEntry:
    """The table of a descriptor. Without columns of its own it has those of a query."""
    text = descriptor.ddl("t")
    statement = parse(text)
    assert isinstance(statement, ast.CreateTable)
    query = relation if descriptor.schema is None else None
    return build_table(statement, names, Source(text), path, query)
