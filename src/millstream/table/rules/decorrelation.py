"""Queries without columns from outside: the conditions that read them, and their place.

A subquery inside of a subquery may read columns of the outermost query. It becomes a join of the query
in the middle first, which then reads these columns itself (`OuterRef` of one level less).
"""

from __future__ import annotations

from dataclasses import replace

from millstream.table.expressions.tree import Call, Expression, InputRef
from millstream.table.functions import bind
from millstream.table.logical.algebra import Aggregate, Filter, OuterRef, Project, Relation
from millstream.table.logical.typing_rules import references, row_of
from millstream.table.rules.conditions import all_of, columns_of, conjuncts, moved, replaced
from millstream.table.rules.outer_values import lowered, reads_outside, too_deep
from millstream.table.types.logical import RowField

__all__ = ["decorrelated", "over_both", "with_compared_columns"]


def decorrelated(query: Relation, width: int) -> tuple[Relation, list[Expression]]:
    """A query without columns from outside, and the conditions that had them, over both tables."""
    if not reads_outside(query):
        return query, []
    if isinstance(query, Project):
        below, conditions = decorrelated(query.input, width)
        extra = sorted({i - width for c in conditions for i in columns_of(c) if i >= width})
        places = {column: len(query.expressions) + at for at, column in enumerate(extra)}
        fields = below.row_type.fields
        columns = tuple(InputRef(fields[i].type, i, fields[i].name) for i in extra)
        named = tuple(RowField(f"$c{i}", fields[i].type) for i in extra)
        row = row_of((*query.row_type.fields, *named))
        moved = [_shifted(each, width, places) for each in conditions]
        if any(_outside(each) for each in query.expressions):
            raise too_deep()
        return Project(row, below, (*query.expressions, *columns)), moved
    if isinstance(query, Filter):
        below, conditions = decorrelated(query.input, width)
        own = [each for each in conjuncts(query.condition) if not _outside(each)]
        other = [each for each in conjuncts(query.condition) if _outside(each)]
        conditions += [over_both(each, width) for each in other]
        found = Filter(below.row_type, below, all_of(own)) if own else below
        return found, conditions
    if isinstance(query, Aggregate) and query.sets is None:
        return _grouped(query, width)
    raise too_deep()


def _grouped(query: Aggregate, width: int) -> tuple[Relation, list[Expression]]:
    """An aggregate of a correlated query: it is grouped by the columns that are compared outside."""
    below, columns, conditions = with_compared_columns(*decorrelated(query.input, width), width)
    keys = (*query.keys, *(c for c in columns if c not in query.keys))
    fields = below.row_type.fields
    added = keys[len(query.keys) :]
    count = len(query.keys)
    row = row_of(
        (
            *query.row_type.fields[:count],
            *(RowField(f"$c{i}", fields[i].type) for i in added),
            *query.row_type.fields[count:],
        )
    )
    grouped = Aggregate(row, below, keys, query.calls)
    # The columns of the query first, as they were; behind them the new keys.
    order = [*range(count), *range(count + len(added), len(row.fields))]
    order += range(count, count + len(added))
    refs = tuple(InputRef(row.fields[i].type, i, row.fields[i].name) for i in order)
    result = row_of(tuple(row.fields[i] for i in order))
    places = {key: order.index(keys.index(key)) for key in columns}
    return Project(result, grouped, refs), [_shifted(each, width, places) for each in conditions]


def with_compared_columns(
    below: Relation, conditions: list[Expression], width: int
) -> tuple[Relation, list[int], list[Expression]]:
    """A table with a column for each value that is equal to one from outside, and their places.

    The conditions compare these columns then. Rows of one value from outside have equal ones there,
    so that they are a group; of ``a - b = outer`` that is not true of ``a`` and ``b``.
    """
    columns = list(references(below.row_type))
    count = len(columns)
    wanted: dict[int, None] = {}
    made = []
    for condition in conditions:
        other, own = _sides(condition, width)
        if own is None:
            made.append(condition)
            continue
        value = moved(own, lambda at: at - width)
        if value not in columns:
            columns.append(value)  # type: ignore[arg-type]
        place = columns.index(value)  # type: ignore[arg-type]
        wanted[place] = None
        made.append(bind("=", [other, InputRef(value.type, width + place, f"$v{place}")]))
    if len(columns) > count:
        new = (RowField(f"$v{at}", columns[at].type) for at in range(count, len(columns)))
        below = Project(row_of((*below.row_type.fields, *new)), below, tuple(columns))
    return below, sorted(wanted), made


def _sides(condition: Expression, width: int) -> tuple[Expression, Expression | None]:
    """The part from outside and the part of the query that are equal, or only the first."""
    inside = {at for at in columns_of(condition) if at >= width}
    if not inside:
        return condition, None
    if isinstance(condition, Call) and condition.function == "=":
        for other, own in (condition.arguments, condition.arguments[::-1]):
            of_query = columns_of(own)
            if of_query and min(of_query) >= width and not _outside(own):
                if all(at < width for at in columns_of(other)):
                    return other, own
    raise too_deep()


def _outside(expression: Expression) -> bool:
    return any(isinstance(each, OuterRef) for each in expression.walk())


def over_both(expression: Expression, width: int) -> Expression:
    """A condition of the inner query over the columns of both: outer ones first."""

    def change(each: Expression) -> Expression | None:
        if isinstance(each, OuterRef):
            return lowered(each)
        if isinstance(each, InputRef):
            return replace(each, index=each.index + width)
        return None

    return replaced(expression, change)


def _shifted(expression: Expression, width: int, places: dict[int, int]) -> Expression:
    def change(each: Expression) -> Expression | None:
        if isinstance(each, InputRef) and each.index >= width:
            return replace(each, index=width + places[each.index - width])
        return None

    return replaced(expression, change)
