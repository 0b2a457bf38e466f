"""Projections and filters that follow each other, and those that nobody needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from millstream.table.expressions.safety import never_fails
from millstream.table.expressions.tree import Expression, FieldAccess, InputRef, Literal
from millstream.table.logical.algebra import Aggregate, Filter, Limit, Project, Relation
from millstream.table.rules.conditions import all_of, can_move, conjuncts, substituted

__all__ = [
    "aggregates_of_no_columns",
    "filters_merged",
    "limits_below_projects",
    "limits_merged",
    "projects_merged",
]


def aggregates_of_no_columns(relation: Relation) -> Relation:
    """Let an aggregate that reads no column, as COUNT(*), read the table itself: rows need a column."""
    if not isinstance(relation, Aggregate):
        return relation
    below = relation.input
    if isinstance(below, Project) and not below.expressions:
        return replace(relation, input=below.input)
    return relation


def projects_merged(relation: Relation) -> Relation:
    """Make one projection of two, and none of one that changes nothing; else the table as it is."""
    if not isinstance(relation, Project):
        return relation
    below = relation.input
    if relation.row_type == below.row_type and _copies_all(relation):
        return below
    if not isinstance(below, Project) or not _fit(relation, below):
        return relation
    made = below.expressions
    expressions = tuple(substituted(e, lambda ref: made[ref.index]) for e in relation.expressions)
    return replace(relation, input=below.input, expressions=expressions)


def _copies_all(project: Project) -> bool:
    places = [each.index for each in project.expressions if isinstance(each, InputRef)]
    return places == list(range(len(project.input.row_type.fields)))


def _fit(above: Project, below: Project) -> bool:
    """Whether nothing would be computed twice, and nothing at another time."""
    read = Counter(
        each.index for e in above.expressions for each in e.walk() if isinstance(each, InputRef)
    )
    if not all(can_move(each) for each in (*above.expressions, *below.expressions)):
        return False
    return all(count == 1 or _is_cheap(below.expressions[i]) for i, count in read.items())


def _is_cheap(expression: Expression) -> bool:
    if isinstance(expression, FieldAccess):
        return _is_cheap(expression.operand)
    return isinstance(expression, InputRef | Literal)


def limits_below_projects(relation: Relation) -> Relation:
    """Take the first rows before their projection: there the order is one by columns of the table."""
    if not isinstance(relation, Limit) or not isinstance(relation.input, Project):
        return relation
    project = relation.input
    first = replace(relation, row_type=project.input.row_type, input=project.input)
    return replace(project, row_type=relation.row_type, input=first)


def limits_merged(relation: Relation) -> Relation:
    """Make one LIMIT of two: the upper one alone would not know the order of the rows."""
    if not isinstance(relation, Limit) or not isinstance(relation.input, Limit):
        return relation
    lower = relation.input
    left = None if lower.fetch is None else max(0, lower.fetch - relation.offset)
    most = [each for each in (left, relation.fetch) if each is not None]
    fetch = min(most) if most else None
    return replace(relation, input=lower.input, offset=lower.offset + relation.offset, fetch=fetch)


def filters_merged(relation: Relation) -> Relation:
    """Make one filter of two, unless the upper one may fail for a row that the lower one drops."""
    if not isinstance(relation, Filter) or not isinstance(relation.input, Filter):
        return relation
    lower, upper = conjuncts(relation.input.condition), conjuncts(relation.condition)
    if not all(can_move(each) and never_fails(each) for each in upper):
        return relation
    parts = list(dict.fromkeys([*lower, *upper]))
    return replace(relation.input, condition=all_of(parts))
