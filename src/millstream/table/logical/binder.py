"""The entrance of the binder: parsed queries in, relations of the algebra out.

`bind_query(query, names, sql)` gives the relation of a parsed query: its ``row_type`` has Flink's names
and types, and its nodes are those of `millstream.table.logical.algebra`. ``names`` finds tables, views
and functions (a `CatalogManager`); ``sql`` is the text, for the places in errors. Raises `SqlError`.
"""

from __future__ import annotations

from millstream.common.errors import PlanError
from millstream.table.expressions.tree import Expression
from millstream.table.logical.algebra import Relation
from millstream.table.logical.context import BinderContext
from millstream.table.logical.entries import Names
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.problems import Problems
from millstream.table.logical.query_binder import bind_query_node
from millstream.table.logical.scopes import Scope
from millstream.table.sql import expressions as sql_expressions
from millstream.table.sql.nodes import Source
from millstream.table.sql.parser import parse_expression
from millstream.table.sql.queries import Query
from millstream.table.types.logical import RowType

__all__ = [
    "bind_expression",
    "bind_in",
    "bind_query",
    "binder_context",
    "parse_and_bind_expression",
]


def binder_context(names: Names, sql: str | Source | None = None) -> BinderContext:
    """A context for the statements of one text."""
    source = Source(sql) if isinstance(sql, str) else sql
    return BinderContext(names, Problems(source), bind_query_node)


def bind_query(query: Query, names: Names, sql: str | Source | None = None) -> Relation:
    """The relation of a parsed query.

    Raises
    ------
    SqlError
        A name is unknown or ambiguous, types do not fit, a column is not grouped, and so on.
    """
    return bind_in(binder_context(names, sql), query)


def bind_in(context: BinderContext, query: Query) -> Relation:
    """The relation of a query; see `bind_query`."""
    try:
        return bind_query_node(context, query, None)
    except PlanError as error:
        raise context.wrapped(error, query) from None


def bind_expression(
    node: sql_expressions.Expression,
    row: RowType,
    names: Names,
    sql: str | Source | None = None,
) -> Expression:
    """An expression over the columns of a table, as in a computed column or a watermark."""
    context = binder_context(names, sql)
    try:
        return ExpressionBinder(context, Scope.of(row)).bind(node)
    except PlanError as error:
        raise context.wrapped(error, node) from None


def parse_and_bind_expression(text: str, row: RowType, names: Names) -> Expression:
    """An expression of SQL over the columns of a table, from its text."""
    return bind_expression(parse_expression(text), row, names, text)
