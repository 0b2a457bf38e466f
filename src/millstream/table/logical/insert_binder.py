"""INSERT: a query with columns in the order and the types of the table that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.table.expressions.tree import Expression, Literal
from millstream.table.functions.registry import to_type
from millstream.table.logical.algebra import Project, Relation, TablePath
from millstream.table.logical.binder import binder_context
from millstream.table.logical.context import BinderContext
from millstream.table.logical.entries import Names, TableEntry, ViewEntry
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.hints import check_table_hints, hint_options
from millstream.table.logical.problems import nearest, shown_list
from millstream.table.logical.query_binder import bind_query_node
from millstream.table.logical.scopes import Scope
from millstream.table.logical.typing_rules import plain, plain_type, references, row_type
from millstream.table.sql import statements as ast
from millstream.table.sql.nodes import Source
from millstream.table.types.casts import can_cast_implicitly

__all__ = ["BoundInsert", "bind_insert"]


@dataclass(frozen=True)
class BoundInsert:
    """The rows of an INSERT: the columns of ``query`` are the written ones of the table, in order.

    ``options``: those of an OPTIONS hint. ``partition``: values of PARTITION (...) as texts.
    """

    table: TablePath
    entry: TableEntry
    query: Relation
    overwrite: bool = False
    options: tuple[tuple[str, str], ...] = ()
    conflict: str | None = None


def bind_insert(node: ast.Insert, names: Names, sql: str | Source | None = None) -> BoundInsert:
    """The query of an INSERT, fitted to its table."""
    context = binder_context(names, sql)
    entry = _target(context, node)
    query = bind_query_node(context, node.query, None)
    fixed = _partition(context, node, entry)
    targets = _targets(context, node, entry, fixed)
    if len(query.row_type.fields) != len(targets):
        wanted = shown_list(f"{n} {_type(entry, n)}" for n in targets)
        given = len(query.row_type.fields)
        message = f"the query has {given} columns, and {entry.path.name} takes {len(targets)}"
        raise context.error("COLUMN_COUNT", message, node.query, f"{entry.path.name} has {wanted}")
    given_columns: dict[str, Expression] = dict(
        zip(targets, references(query.row_type), strict=True)
    )
    given_columns.update(fixed)
    columns = [_column(context, node, each, given_columns) for each in entry.written]
    names_ = [each.name for each in entry.written]
    row = row_type(names_, [each.type for each in columns])
    check_table_hints(node.hints, context)
    options = tuple(
        pair
        for hint in node.hints
        if hint.name.text.upper() == "OPTIONS"
        for pair in hint_options(hint)
    )
    relation = Project(row, query, tuple(columns))
    return BoundInsert(entry.path, entry, relation, node.overwrite, options, node.conflict)


def _type(entry: TableEntry, name: str) -> Any:
    return next(each.type for each in entry.columns if each.name == name)


def _target(context: BinderContext, node: ast.Insert) -> TableEntry:
    found = context.names.find_table(node.table.names)
    if found is None:
        close = context.names.similar_tables(node.table.names[-1])
        hint = f"did you mean {close[0]}?" if close else "create it first, with CREATE TABLE"
        message = f"there is no table {node.table}"
        raise context.error("UNKNOWN_TABLE", message, node.table, hint)
    if isinstance(found, ViewEntry):
        message = f"{node.table} is a view, and INSERT writes tables"
        raise context.error("NOT_A_TABLE", message, node.table, "insert into a table")
    return found


def _partition(
    context: BinderContext, node: ast.Insert, entry: TableEntry
) -> dict[str, Expression]:
    binder = ExpressionBinder(context, Scope(()))
    found: dict[str, Expression] = {}
    for each in node.partition:
        if each.name.text not in entry.partition_keys:
            message = f"{each.name.text} is no partition key of {entry.path.name}"
            keys = shown_list(entry.partition_keys)
            hint = f"its keys are {keys}" if keys else "it is not partitioned: leave PARTITION out"
            raise context.error("UNKNOWN_COLUMN", message, each.name, hint)
        if each.value is not None:
            found[each.name.text] = binder.value(each.value)
    return found


def _targets(
    context: BinderContext, node: ast.Insert, entry: TableEntry, fixed: dict[str, Expression]
) -> list[str]:
    known = [each.name for each in entry.written]
    if not node.columns:
        return [each for each in known if each not in fixed]
    found = []
    for each in node.columns:
        name = str(each)
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close[0]}?" if close else f"its columns are {shown_list(known)}"
            message = f"{entry.path.name} has no column {name} that can be written"
            raise context.error("UNKNOWN_COLUMN", message, each, hint)
        if name in found or name in fixed:
            message = f"column {name} is written twice"
            raise context.error("DUPLICATE_COLUMN", message, each, "name it once")
        found.append(name)
    return found


def _column(
    context: BinderContext, node: ast.Insert, column: Any, given: dict[str, Expression]
) -> Expression:
    value = given.get(column.name)
    if value is None:
        if not column.type.nullable:
            message = f"column {column.name} is NOT NULL, and the INSERT gives it no value"
            raise context.error("NOT_NULL", message, node.table, "add it to the list of columns")
        return Literal(plain_type(column.type), None)
    value = plain(value)
    source = value.type.with_nullability(column.type.nullable)
    if not can_cast_implicitly(source, column.type) and value.type.root != column.type.root:
        message = f"column {column.name} is {column.type}, and the query gives {value.type}"
        kind = column.type.with_nullability(True)
        raise context.error("TYPE_MISMATCH", message, node.query, f"write CAST(... AS {kind})")
    return to_type(value, plain_type(column.type))
