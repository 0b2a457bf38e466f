"""``ROW_NUMBER() OVER (...) <= n`` as the first rows of each partition."""

from __future__ import annotations

from dataclasses import replace

from millstream.table.expressions.tree import Call, Cast, Expression, InputRef, Literal
from millstream.table.logical.algebra import Filter, Over, Project, Relation
from millstream.table.rules.conditions import all_of, conjuncts
from millstream.table.rules.nodes import Rank

__all__ = ["filters_of_ranks"]

_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_TURNED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "=": "="}
_NO_END = 1 << 40


def filters_of_ranks(relation: Relation) -> Relation:
    """Make a `Rank` of a filter whose condition bounds a rank from above; else the table as it is."""
    if not isinstance(relation, Filter):
        return relation
    start, end, rest = 1, _NO_END, []
    for part in conjuncts(relation.condition):
        bounds = _bounds(part, relation.input)
        if bounds is None:
            rest.append(part)
        else:
            start, end = max(start, bounds[0]), min(end, bounds[1])
    if end == _NO_END:
        return relation
    found = _ranked(relation.input, start, end)
    if found is None:
        return relation
    return replace(relation, input=found, condition=all_of(rest)) if rest else found


def _ranked(relation: Relation, start: int, end: int) -> Relation | None:
    if isinstance(relation, Project):
        below = _ranked(relation.input, start, end)
        return None if below is None else replace(relation, input=below)
    assert isinstance(relation, Over)
    call = relation.calls[0].expression
    assert isinstance(call, Call)
    return Rank(
        relation.row_type,
        relation.input,
        relation.partition,
        relation.order,
        call.function,  # type: ignore[arg-type]
        start,
        end,
    )


def _bounds(part: Expression, below: Relation) -> tuple[int, int] | None:
    """The ranks that a condition allows; None if it is about something else."""
    if not isinstance(part, Call):
        return None
    if part.function == "BETWEEN" and _is_rank(part.arguments[0], below):
        low, high = (_number(each) for each in part.arguments[1:])
        return None if low is None or high is None else (low, high)
    if part.function not in _TURNED or len(part.arguments) != 2:
        return None
    one, other = part.arguments
    function = part.function
    if not _is_rank(one, below):
        one, other, function = other, one, _TURNED[function]
    number = _number(other)
    if number is None or not _is_rank(one, below):
        return None
    return {
        "=": (number, number),
        "<=": (1, number),
        "<": (1, number - 1),
        ">=": (number, _NO_END),
        ">": (number + 1, _NO_END),
    }[function]


def _is_rank(expression: Expression, below: Relation) -> bool:
    if isinstance(expression, Cast):
        return _is_rank(expression.operand, below)
    if not isinstance(expression, InputRef):
        return False
    if isinstance(below, Project):
        return _is_rank(below.expressions[expression.index], below.input)
    if not isinstance(below, Over) or len(below.calls) != 1:
        return False
    call = below.calls[0].expression
    is_last = expression.index == len(below.input.row_type.fields)
    return is_last and isinstance(call, Call) and call.function in _RANKS


def _number(expression: Expression) -> int | None:
    if isinstance(expression, Cast):
        return _number(expression.operand)
    is_number = isinstance(expression, Literal) and isinstance(expression.value, int)
    return expression.value if is_number else None  # type: ignore[attr-defined]
