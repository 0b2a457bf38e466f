"""Subqueries in conditions and expressions as joins: IN, EXISTS, NOT IN, NOT EXISTS, scalar ones.

A subquery may read columns of the query around it (`OuterRef`): conditions of its filters that do so
move into the condition of the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal as Literal_

from millstream.common.errors import PlanError
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Limit,
    Project,
    Relation,
    SetOperation,
    Sort,
    Subquery,
    Values,
)
from millstream.table.logical.typing_rules import row_of
from millstream.table.rules.conditions import all_of, conjuncts, replaced
from millstream.table.rules.decorrelation import decorrelated, over_both
from millstream.table.rules.outer_values import for_outer_values, outer_columns, reads_outside
from millstream.table.types.logical import RowField, RowType

__all__ = [
    "joins_of_subqueries",
    "over_values",
    "values_of_aggregate",
]


def joins_of_subqueries(relation: Relation) -> Relation:
    """Make joins of the subqueries in a filter or a projection; else the table as it is."""
    if isinstance(relation, Filter) and _has(relation.condition):
        return _filter(relation)
    if isinstance(relation, Project) and any(map(_has, relation.expressions)):
        source, expressions = _scalars(relation.input, relation.expressions)
        return replace(relation, input=source, expressions=expressions)
    return relation


def _has(expression: Expression) -> bool:
    return any(isinstance(each, Subquery) for each in expression.walk())


def _filter(relation: Filter) -> Relation:
    source, rest = relation.input, []
    for part in conjuncts(relation.condition):
        found = _membership(part)
        if found is None:
            rest.append(part)
        else:
            source = _joined(source, *found)
    if not any(map(_has, rest)):
        return replace(relation, input=source, condition=all_of(rest)) if rest else source
    width = len(source.row_type.fields)
    wide, conditions = _scalars(source, rest)
    kept = Filter(wide.row_type, wide, all_of(conditions))
    fields = source.row_type.fields[:width]
    columns = tuple(InputRef(f.type, i, f.name) for i, f in enumerate(fields))
    return Project(relation.row_type, kept, columns)


def _membership(part: Expression) -> tuple[Subquery, bool] | None:
    """The subquery of IN or EXISTS, and whether it is negated; None if it is something else."""
    if isinstance(part, Call) and part.function == "NOT":
        found = _membership(part.arguments[0])
        return None if found is None else (found[0], not found[1])
    if isinstance(part, Subquery) and part.kind in ("in", "exists"):
        return part, False
    return None


def _joined(source: Relation, query: Subquery, negated: bool) -> Relation:
    width = len(source.row_type.fields)
    right, conditions = _without_outer(query.query, source)
    for equal in _equal_operands(query, right, width):
        # NOT IN is not TRUE if a comparison is NULL: such a pair counts as a match.
        unknown = negated and equal.type.nullable
        conditions.append(bind("IS NOT FALSE", [equal]) if unknown else equal)
    return _semi(source, right, conditions, "anti" if negated else "semi")


def _equal_operands(query: Subquery, right: Relation, width: int) -> list[Expression]:
    """The comparisons of IN, over the columns of both tables."""
    columns = enumerate(right.row_type.fields[: len(query.operands)])
    refs = [InputRef(column.type, width + place, column.name) for place, column in columns]
    return [bind("=", pair) for pair in map(list, zip(query.operands, refs, strict=True))]


def _without_outer(query: Relation, source: Relation) -> tuple[Relation, list[Expression]]:
    query = _without_deep(query)
    try:
        return decorrelated(query, len(source.row_type.fields))
    except PlanError:
        return for_outer_values(query, source)


def _without_deep(relation: Relation) -> Relation:
    """A query whose own subqueries are joins, if they read more than the columns of the query."""
    inputs = relation.inputs()
    new = tuple(map(_without_deep, inputs))
    if any(one is not other for one, other in zip(inputs, new, strict=True)):
        relation = relation.with_inputs(new)
    parts: Sequence[Expression] = getattr(relation, "expressions", ())
    if isinstance(relation, Filter):
        parts = conjuncts(relation.condition)
    return joins_of_subqueries(relation) if any(map(_is_deep, parts)) else relation


def _is_deep(part: Expression) -> bool:
    """Whether an expression with a subquery reads columns from outside of its own query."""
    return _has(part) and any(True for _ in outer_columns(part))


def _scalars(
    source: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, tuple[Expression, ...]]:
    """The table joined with all subqueries in some expressions, and the expressions over it."""
    found = list(dict.fromkeys(s for e in expressions for s in _subqueries(e)))
    values: dict[Expression, Expression] = {}
    for each in found:
        source, values[each] = _with_value(source, each)
    return source, tuple(replaced(each, values) for each in expressions)


def _subqueries(expression: Expression) -> list[Subquery]:
    return [each for each in expression.walk() if isinstance(each, Subquery)]


def _with_value(source: Relation, query: Subquery) -> tuple[Relation, Expression]:
    if query.kind == "scalar":
        return _with_scalar(source, _with_one_row(query))
    width = len(source.row_type.fields)
    marked = _marked(source, query)
    field = marked.row_type.fields[width]
    return marked, InputRef(field.type, width, field.name)


def _with_one_row(query: Subquery) -> Relation:
    """The query of a value; it is an error if it has several rows."""
    if _has_one_row(query.query):
        return query.query
    field = query.query.row_type.fields[0]
    kind = kinds.with_nullability(field.type, True)
    call = Call(kind, "SINGLE_VALUE", (InputRef(field.type, 0, field.name),))
    row = row_of((RowField(field.name, kind),))
    return Aggregate(row, query.query, (), (AggregateCall(call, text=query.text),))


def _has_one_row(query: Relation) -> bool:
    """Whether a query never has more than one row."""
    if isinstance(query, Project | Filter | Sort | Distinct):
        return _has_one_row(query.input)
    if isinstance(query, Limit):
        return (query.fetch is not None and query.fetch <= 1) or _has_one_row(query.input)
    if isinstance(query, Values):
        return len(query.rows) <= 1
    return isinstance(query, Aggregate) and not query.keys and query.sets is None


def _with_scalar(source: Relation, query: Relation) -> tuple[Relation, Expression]:
    """The rows with the value of a query behind them, NULL if it has no row.

    An aggregate of the rows that belong to a row has a value without rows, too, so what is computed of
    it stands behind the join.
    """
    width = len(source.row_type.fields)
    top = query if isinstance(query, Project) else None
    below = query if top is None else top.input
    grouped = isinstance(below, Aggregate) and not below.keys and below.sets is None
    behind = grouped and reads_outside(below)
    right, conditions = _without_outer(below if behind else query, source)
    fields = tuple(
        RowField(f"$q{width + i}", kinds.with_nullability(f.type, True))
        for i, f in enumerate(right.row_type.fields)
    )
    row = row_of((*source.row_type.fields, *fields))
    joined = Join(row, source, right, "left", all_of(conditions))
    if not behind:
        return joined, InputRef(fields[0].type, width, fields[0].name)
    assert isinstance(below, Aggregate)
    values = values_of_aggregate(below, row, width, or_none=True)
    return joined, values[0] if top is None else over_values(top.expressions[0], values, width)


def values_of_aggregate(
    query: Aggregate, row: RowType, width: int, *, or_none: bool
) -> list[Expression]:
    """The results of an aggregate without keys behind the columns of a row; without rows COUNT is 0."""
    values: list[Expression] = []
    for at, call in enumerate(query.calls):
        field = row.fields[width + at]
        value: Expression = InputRef(field.type, width + at, field.name)
        is_count = isinstance(call.expression, Call) and call.expression.function == "COUNT"
        if or_none and is_count:
            value = bind("COALESCE", [value, Literal(kinds.not_null(kinds.BIGINT), 0)])
        values.append(value)
    return values


def over_values(expression: Expression, values: list[Expression], width: int) -> Expression:
    """An expression over the results of aggregates and the columns of the left row."""
    both = over_both(expression, width)

    def change(each: Expression) -> Expression | None:
        is_value = isinstance(each, InputRef) and each.index >= width
        return values[each.index - width] if is_value else None  # type: ignore[attr-defined]

    return replaced(both, change)


def _marked(source: Relation, query: Subquery) -> Relation:
    """The rows with a column behind them: whether IN or EXISTS is true.

    Rows with a partner and rows without one are two tables. IN has a third one: it is NULL where no
    comparison is true, and one is NULL.
    """
    width = len(source.row_type.fields)
    right, conditions = _without_outer(query.query, source)
    equal = _equal_operands(query, right, width)
    found = _semi(source, right, [*conditions, *equal], "semi")
    missed = [bind("IS NOT FALSE", [each]) if each.type.nullable else each for each in equal]
    parts: list[tuple[Relation, bool | None]] = [(found, True)]
    parts.append((_semi(source, right, [*conditions, *missed], "anti"), False))
    if missed != equal:
        unknown = _semi(source, right, [*conditions, *equal], "anti")
        parts.append((_semi(unknown, right, [*conditions, *missed], "semi"), None))
    kind = kinds.with_nullability(kinds.BOOLEAN, missed != equal)
    row = row_of((*source.row_type.fields, RowField(f"$q{width}", kind)))
    columns = tuple(InputRef(f.type, i, f.name) for i, f in enumerate(source.row_type.fields))
    tables = [Project(row, each, (*columns, Literal(kind, value))) for each, value in parts]
    result: Relation = tables[0]
    for each in tables[1:]:
        result = SetOperation(row, result, each, "UNION", True)
    return result


def _semi(
    source: Relation, right: Relation, conditions: list[Expression], kind: Literal_["semi", "anti"]
) -> Relation:
    return Join(source.row_type, source, right, kind, all_of(conditions))
