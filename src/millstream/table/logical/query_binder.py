"""Whole queries: WITH, set operations, VALUES, order and limit."""

from __future__ import annotations

from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Expression
from millstream.table.functions.registry import to_type
from millstream.table.logical.algebra import Project, Relation, SetOperation, Values
from millstream.table.logical.context import BinderContext
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.problems import shown_list
from millstream.table.logical.relation_binder import RelationBinder, renamed, unordered
from millstream.table.logical.scopes import Scope
from millstream.table.logical.select_binder import bind_select
from millstream.table.logical.sorting import limited, sorted_output
from millstream.table.logical.typing_rules import plain_type, references, row_type, time_kind
from millstream.table.sql import queries
from millstream.table.types.logical import LogicalType

__all__ = ["bind_query_node"]


def bind_query_node(
    context: BinderContext, query: queries.Query, outer: ExpressionBinder | None
) -> Relation:
    """The relation of a query; ``outer`` binds the columns of the query around it."""
    for each in query.with_:
        context = _with_table(context, each, query)
    body = query.body
    if isinstance(body, queries.Select):
        relation = bind_select(context, body, query.order_by, outer)
    else:
        relation = _body(context, body, outer)
        relation = sorted_output(context, relation, query.order_by)
    return limited(context, relation, query)


def _with_table(
    context: BinderContext, table: queries.CommonTable, query: queries.Query
) -> BinderContext:
    if query.recursive:
        message = "WITH RECURSIVE is not supported"
        raise context.error("NOT_SUPPORTED", message, table, "unroll the steps as several tables")
    relation = bind_query_node(context, unordered(table.query), None)
    if table.columns:
        names = [each.text for each in table.columns]
        count = len(relation.row_type.fields)
        if len(names) != count:
            message = f"{table.name.text} has {count} columns, and {len(names)} names are given"
            raise context.error("COLUMN_COUNT", message, table.name, "name all columns")
        relation = renamed(relation, names)
    return context.with_table(table.name.text, relation, ())


def _body(context: BinderContext, body: Any, outer: ExpressionBinder | None) -> Relation:
    if isinstance(body, queries.Query):
        return bind_query_node(context, body, outer)
    if isinstance(body, queries.Select):
        return bind_select(context, body, (), outer)
    if isinstance(body, queries.Values):
        return bind_values(context, body, outer)
    if isinstance(body, queries.TableBody):
        return RelationBinder(context, outer).named(body.name)[0]
    return _set_operation(context, body, outer)


def _set_operation(
    context: BinderContext, node: queries.SetOperation, outer: ExpressionBinder | None
) -> Relation:
    # Many operations are a deep tree on the left side, too deep for recursion.
    chain = [node]
    while isinstance(chain[-1].left, queries.SetOperation):
        chain.append(chain[-1].left)
    left = _body(context, chain[-1].left, outer)
    for each in reversed(chain):
        left = _combined(context, left, _body(context, each.right, outer), each)
    return left


def _combined(
    context: BinderContext, left: Relation, right: Relation, node: queries.SetOperation
) -> Relation:
    own, other = left.row_type.fields, right.row_type.fields
    if len(own) != len(other):
        message = f"{node.operator} needs equal columns: left {len(own)}, right {len(other)}"
        sides = [shown_list(each.name for each in side) for side in (own, other)]
        hint = f"left has {sides[0]}; right has {sides[1]}"
        raise context.error("COLUMN_COUNT", message, node.right, hint)
    types = []
    for at, (one, two) in enumerate(zip(own, other, strict=True)):
        kind = _common(one.type, two.type, node.operator == "UNION" and node.all)
        if kind is None:
            message = f"column {at + 1} of {node.operator} has the types {one.type} and {two.type}"
            hint = f"cast one of them: CAST({two.name} AS {plain_type(one.type).with_nullability(True)})"
            raise context.error("TYPE_MISMATCH", message, node.right, hint)
        types.append(kind)
    names = [each.name for each in own]
    row = row_type(names, types)
    return SetOperation(row, _cast(left, types), _cast(right, types), node.operator, node.all)  # type: ignore[arg-type]


def _common(one: LogicalType, two: LogicalType, keeps_time: bool) -> LogicalType | None:
    nullable = one.nullable or two.nullable
    if time_kind(one) is not None and time_kind(one) == time_kind(two) and keeps_time:
        if plain_type(one).root == plain_type(two).root:
            return one.with_nullability(nullable)
    try:
        return kinds.chosen_type([plain_type(one), plain_type(two)])
    except kinds.TypesError:
        return None


def _cast(relation: Relation, types: list[LogicalType]) -> Relation:
    """The table with columns of other types, where they differ."""
    columns: list[Expression] = []
    changed = False
    for ref, kind in zip(references(relation.row_type), types, strict=True):
        same = ref.type.with_nullability(True) == kind.with_nullability(True)
        marked = plain_type(ref.type).with_nullability(True) == kind.with_nullability(True)
        columns.append(ref if same or marked else to_type(ref, kind))
        changed = changed or not (same or marked)
    if not changed:
        return relation
    names = [each.name for each in relation.row_type.fields]
    return Project(row_type(names, [each.type for each in columns]), relation, tuple(columns))


def bind_values(
    context: BinderContext, node: queries.Values, outer: ExpressionBinder | None
) -> Relation:
    """``VALUES (1, 'a'), (2, 'b')``: columns EXPR$0, EXPR$1, each of a common type."""
    binder = ExpressionBinder(context, Scope(()), outer)
    rows = [[binder.value(item) for item in row] for row in node.rows]
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            message = f"row {number + 1} of VALUES has {len(row)} values, and the first has {width}"
            raise context.error("COLUMN_COUNT", message, node.rows[number][0], "give equal rows")
    types: list[LogicalType] = []
    for at in range(width):
        try:
            types.append(kinds.chosen_type([row[at].type for row in rows]))
        except kinds.TypesError as error:
            message = f"column {at + 1} of VALUES: {error}"
            raise context.error(
                "TYPE_MISMATCH", message, node.rows[0][at], "cast the values"
            ) from None
    converted = tuple(
        tuple(to_type(each, kind) for each, kind in zip(row, types, strict=True)) for row in rows
    )
    return Values(row_type([f"EXPR${at}" for at in range(width)], types), converted)
