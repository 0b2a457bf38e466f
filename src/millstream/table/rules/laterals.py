"""LATERAL (SELECT ...): a query of the left row as a join with the query of all rows."""

from __future__ import annotations

from dataclasses import replace

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    LateralJoin,
    Limit,
    Project,
    Relation,
    Sort,
    Unnest,
    Values,
)
from millstream.table.logical.typing_rules import references, row_of
from millstream.table.rules.conditions import all_of, columns_of, conjuncts, moved, replaced
from millstream.table.rules.decorrelation import (
    decorrelated,
    over_both,
    with_compared_columns,
)
from millstream.table.rules.nodes import Rank
from millstream.table.rules.outer_values import reads_outside, too_deep
from millstream.table.rules.subqueries import over_values, values_of_aggregate
from millstream.table.types.logical import RowField

__all__ = ["joins_of_laterals"]


def joins_of_laterals(relation: Relation) -> Relation:
    """Make a join of a query that reads the left row; else the table as it is."""
    if not isinstance(relation, LateralJoin):
        return relation
    found = _of_one_row(relation)
    if found is not None:
        return found
    query = relation.right
    top = query if isinstance(query, Project) else None
    below = query if top is None else top.input
    if isinstance(below, Aggregate) and not below.keys and below.sets is None:
        return _with_groups(relation, top, below)
    if isinstance(below, Limit) and isinstance(below.input, Sort):
        ranked = _first_rows(below, below.input, len(relation.left.row_type.fields))
        return _joined(relation, *_above(top, *ranked, relation))
    return _joined(relation, *decorrelated(query, len(relation.left.row_type.fields)))


def _above(
    top: Project | None, below: Relation, conditions: list[Expression], relation: LateralJoin
) -> tuple[Relation, list[Expression]]:
    """A projection over a table whose last columns are compared with those of the left row."""
    if top is None:
        return below, conditions
    width = len(relation.left.row_type.fields)
    extra = sorted({i - width for c in conditions for i in columns_of(c) if i >= width})
    fields = below.row_type.fields
    columns = tuple(InputRef(fields[i].type, i, fields[i].name) for i in extra)
    row = row_of((*top.row_type.fields, *(RowField(f"$c{i}", fields[i].type) for i in extra)))
    places = {i: len(top.expressions) + at for at, i in enumerate(extra)}
    made = Project(row, below, (*top.expressions, *columns))
    if reads_outside(made):
        raise too_deep()
    shifted = [
        moved(c, lambda i: i if i < width else width + places[i - width]) for c in conditions
    ]
    return made, shifted


def _joined(relation: LateralJoin, right: Relation, conditions: list[Expression]) -> Relation:
    """The join, without the columns that only its condition needs."""
    left = relation.left.row_type.fields
    nullable = relation.kind == "left"
    fields = [
        RowField(f.name, kinds.with_nullability(f.type, True)) if nullable else f
        for f in right.row_type.fields
    ]
    condition = all_of([*conjuncts(relation.condition), *conditions])
    row = row_of((*left, *fields))
    joined = Join(row, relation.left, right, relation.kind, condition)
    if len(row.fields) == len(relation.row_type.fields):
        return replace(joined, row_type=relation.row_type)
    columns = references(row)[: len(relation.row_type.fields)]
    return Project(relation.row_type, joined, columns)


def _first_rows(limit: Limit, sort: Sort, width: int) -> tuple[Relation, list[Expression]]:
    """The first rows for each left row: those of each key that left rows are compared with."""
    if limit.fetch is None:
        raise too_deep()
    found = with_compared_columns(*decorrelated(sort.input, width), width)
    below, partition, conditions = found
    row = row_of((*below.row_type.fields, RowField("$rank", kinds.not_null(kinds.BIGINT))))
    first, last = limit.offset + 1, limit.offset + limit.fetch
    ranked = Rank(row, below, tuple(partition), sort.keys, "ROW_NUMBER", first, last)
    columns = references(row)[:-1]
    return Project(below.row_type, ranked, columns), conditions


def _with_groups(relation: LateralJoin, top: Project | None, query: Aggregate) -> Relation:
    """An aggregate of the rows that belong to a left row.

    Where there are none, an inner join has no row, as in Flink: it joins with the groups. With LEFT JOIN
    COUNT is 0.
    """
    left = relation.left.row_type
    width = len(left.fields)
    right, conditions = decorrelated(query, width)
    outer = relation.kind == "left"
    fields = tuple(
        RowField(f.name, kinds.with_nullability(f.type, True)) if outer else f
        for f in right.row_type.fields
    )
    row = row_of((*left.fields, *fields))
    joined = Join(row, relation.left, right, relation.kind, all_of(conditions))
    values = values_of_aggregate(query, row, width, or_none=outer)
    if top is not None:
        values = [over_values(each, values, width) for each in top.expressions]
    found = Project(relation.row_type, joined, (*references(left), *values))
    condition = conjuncts(relation.condition)
    if condition and outer:
        raise too_deep()
    return Filter(relation.row_type, found, all_of(condition)) if condition else found


# Queries without a table of their own: expressions and UNNEST of the left row.


def _of_one_row(relation: LateralJoin) -> Relation | None:
    """The query computed over the left row itself; None if it reads a table."""
    made = _over_left(relation.right, relation.left, relation.kind)
    if made is None:
        return None
    table, expressions = made
    columns = (*references(relation.left.row_type), *expressions)
    found = Project(relation.row_type, table, columns)
    condition = conjuncts(relation.condition)
    if condition and relation.kind == "left":
        raise too_deep()
    return Filter(relation.row_type, found, all_of(condition)) if condition else found


def _over_left(
    query: Relation, left: Relation, kind: str
) -> tuple[Relation, tuple[Expression, ...]] | None:
    """The left table with more columns behind its own, and the columns of the query over it."""
    width = len(left.row_type.fields)
    if isinstance(query, Values) and len(query.rows) == 1:
        return left, tuple(_inside(each, (), width) for each in query.rows[0])
    if isinstance(query, Project):
        below = _over_left(query.input, left, kind)
        if below is None:
            return None
        table, columns = below
        return table, tuple(_inside(each, columns, width) for each in query.expressions)
    if isinstance(query, Filter) and kind == "inner":
        below = _over_left(query.input, left, kind)
        if below is None:
            return None
        table, columns = below
        condition = _inside(query.condition, columns, width)
        return Filter(table.row_type, table, condition), columns
    if isinstance(query, Correlate) and isinstance(query.function, Unnest):
        return _unnested(query, left, kind, width)
    return None


def _unnested(
    query: Correlate, left: Relation, kind: str, width: int
) -> tuple[Relation, tuple[Expression, ...]] | None:
    below = _over_left(query.input, left, kind)
    if below is None or query.condition is not None:
        return None
    table, columns = below
    assert isinstance(query.function, Unnest)
    collection = _inside(query.function.collection, columns, width)
    made = query.row_type.fields[len(query.input.row_type.fields) :]
    outer = kind == "left" or query.kind == "left"
    fields = [RowField(f.name, kinds.with_nullability(f.type, True)) if outer else f for f in made]
    start = len(table.row_type.fields)
    row = row_of((*table.row_type.fields, *fields))
    function = replace(query.function, collection=collection)
    found = Correlate(row, table, function, "left" if outer else "inner")
    new = tuple(InputRef(f.type, start + at, f.name) for at, f in enumerate(fields))
    return found, (*columns, *new)


def _inside(expression: Expression, columns: tuple[Expression, ...], width: int) -> Expression:
    """An expression of the query over the left table: outer columns are those of the left row."""
    both = over_both(expression, width)

    def change(each: Expression) -> Expression | None:
        is_inner = isinstance(each, InputRef) and each.index >= width
        return columns[each.index - width] if is_inner else None  # type: ignore[attr-defined]

    return replaced(both, change)
