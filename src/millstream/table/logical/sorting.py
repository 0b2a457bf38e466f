"""ORDER BY, LIMIT, OFFSET and FETCH."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.expressions.tree import Expression
from millstream.table.logical.algebra import Limit, Project, Relation, Sort, SortKey
from millstream.table.logical.context import BinderContext
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.scopes import Scope
from millstream.table.logical.typing_rules import references, row_type
from millstream.table.sql import expressions as sql
from millstream.table.sql import queries

__all__ = ["Sorting", "limited", "ordinal", "sorted_output", "sorted_relation"]


@dataclass(frozen=True)
class Sorting:
    """An item of ORDER BY: a column of the list by its place, or an expression beside the list."""

    place: int | None
    expression: Expression | None
    item: sql.OrderItem

    @property
    def nulls_first(self) -> bool:
        """NULL is less than all values, as in Flink, unless NULLS says something else."""
        if self.item.nulls is None:
            return not self.item.descending
        return self.item.nulls == "FIRST"


def ordinal(context: BinderContext, item: sql.OrderItem, count: int) -> int | None:
    """The column that a number of ORDER BY means."""
    if not isinstance(item.value, sql.NumberLiteral) or not item.value.text.isdigit():
        return None
    number = int(item.value.text)
    if not 1 <= number <= count:
        message = f"ORDER BY {number}: the query has {count} columns"
        raise context.error("ORDER_BY", message, item.value, f"choose from 1 to {count}")
    return number - 1


def sorted_relation(relation: Relation, sortings: list[Sorting], width: int) -> Relation:
    """The rows in order, without the columns beside the list."""
    if not sortings:
        return relation
    keys = []
    beside = width
    for each in sortings:
        place = each.place
        if place is None:
            place, beside = beside, beside + 1
        keys.append(SortKey(place, each.item.descending, each.nulls_first))
    relation = Sort(relation.row_type, relation, tuple(keys))
    if beside == width:
        return relation
    fields = relation.row_type.fields[:width]
    row = row_type([each.name for each in fields], [each.type for each in fields])
    return Project(row, relation, references(relation.row_type)[:width])


def sorted_output(
    context: BinderContext, relation: Relation, order_by: tuple[sql.OrderItem, ...]
) -> Relation:
    """A set operation, VALUES or query in brackets, in an order of its columns."""
    if not order_by:
        return relation
    fields = relation.row_type.fields
    binder = ExpressionBinder(context, Scope.of(relation.row_type))
    columns: list[Expression] = list(references(relation.row_type))
    sortings = []
    for item in order_by:
        at = ordinal(context, item, len(fields))
        if at is None:
            expression = binder.bind(item.value)
            if expression not in columns:
                columns.append(expression)
            at = columns.index(expression)
        sortings.append(Sorting(at, None, item))
    if len(columns) > len(fields):
        names = [each.name for each in fields]
        names += [f"$s{at}" for at in range(len(columns) - len(fields))]
        row = row_type(names, [each.type for each in columns])
        relation = Project(row, relation, tuple(columns))
    keys = tuple(SortKey(s.place or 0, s.item.descending, s.nulls_first) for s in sortings)
    found: Relation = Sort(relation.row_type, relation, keys)
    if len(columns) > len(fields):
        row = row_type([f.name for f in fields], [f.type for f in fields])
        found = Project(row, found, references(found.row_type)[: len(fields)])
    return found


def limited(context: BinderContext, relation: Relation, query: queries.Query) -> Relation:
    """The first rows only."""
    if query.offset is None and query.limit is None:
        return relation
    offset = 0 if query.offset is None else _count(context, query.offset, "OFFSET")
    fetch = None if query.limit is None else _count(context, query.limit, "LIMIT")
    return Limit(relation.row_type, relation, offset, fetch)


def _count(context: BinderContext, node: sql.Expression, word: str) -> int:
    if isinstance(node, sql.NumberLiteral) and node.text.isdigit():
        return int(node.text)
    message = f"{word} takes a number that is not negative"
    raise context.error("LIMIT", message, node, f"write {word} 10")
