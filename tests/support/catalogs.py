"""A catalog with the tables of the schema questions, for tests of the binder."""

from __future__ import annotations

from millstream.table.catalog.ddl import execute_ddl
from millstream.table.catalog.manager import CatalogManager
from millstream.table.catalog.results import StatementResult
from millstream.table.logical.algebra import Relation
from millstream.table.logical.binder import bind_query
from millstream.table.logical.insert_binder import bind_insert
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import Query
from millstream.table.sql.statements import Insert
from tests.support.parity.schema_questions import TABLES

__all__ = ["catalog", "run", "schema"]


def catalog() -> CatalogManager:
    """The tables t, u and z."""
    manager = CatalogManager()
    for each in TABLES:
        run(each, manager)
    return manager


def run(sql: str, manager: CatalogManager) -> StatementResult | Relation:
    """Bind a query or an INSERT, or run a statement of DDL."""
    statement = parse(sql)
    if isinstance(statement, Query):
        return bind_query(statement, manager, sql)
    if isinstance(statement, Insert):
        return bind_insert(statement, manager, sql).query
    found = execute_ddl(statement, manager, sql)
    assert found is not None
    return found


def schema(sql: str, manager: CatalogManager) -> list[list[str]]:
    """Names and types of the columns of a query."""
    found = run(sql, manager)
    return [[each.name, each.type.as_summary()] for each in found.row_type.fields]
