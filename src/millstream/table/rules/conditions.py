"""Conditions taken apart: the parts that all have to be TRUE, and the columns they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, FieldAccess, InputRef, Literal
from millstream.table.functions.registry import FUNCTIONS
from millstream.table.logical.algebra import OuterRef, Subquery
from millstream.table.logical.user_calls import UserCall

__all__ = [
    "all_of",
    "can_move",
    "columns_of",
    "conjuncts",
    "is_deterministic",
    "moved",
    "paths_of",
    "replaced",
    "substituted",
]


def conjuncts(condition: Expression) -> list[Expression]:
    """The parts of an AND; TRUE has none."""
    if isinstance(condition, Literal) and condition.value is True:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for each in condition.arguments for part in conjuncts(each)]
    return [condition]


def all_of(parts: Sequence[Expression]) -> Expression:
    """The condition that all parts are TRUE."""
    if not parts:
        return Literal(kinds.not_null(kinds.BOOLEAN), True)
    found = parts[0]
    for part in parts[1:]:
        kind = kinds.with_nullability(kinds.BOOLEAN, found.type.nullable or part.type.nullable)
        found = Call(kind, "AND", (found, part))
    return found


def columns_of(expression: Expression) -> set[int]:
    """The places of the columns that an expression reads."""
    return {each.index for each in expression.walk() if isinstance(each, InputRef)}


def paths_of(expression: Expression) -> Iterator[tuple[int, ...]]:
    """The columns that an expression reads, each with the places of the fields inside of it.

    The path of ``bid.price`` has two places; that of a row which is read as a whole has one.
    """
    inner, places = expression, []
    while isinstance(inner, FieldAccess):
        places.append(inner.index)
        inner = inner.operand
    if isinstance(inner, InputRef):
        yield (inner.index, *reversed(places))
        return
    for each in expression.children():
        yield from paths_of(each)


def is_deterministic(expression: Expression) -> bool:
    """Whether an expression gives the same for the same row at any time."""
    calls = (each for each in expression.walk() if isinstance(each, Call))
    return all(_repeats(each) for each in calls)


def _repeats(call: Call) -> bool:
    if isinstance(call, UserCall):
        return call.entry.deterministic
    known = FUNCTIONS.get(call.function)
    return known is None or known.deterministic


def can_move(expression: Expression) -> bool:
    """Whether an expression may be computed elsewhere: it is the same at any time, and has no query."""
    inside = any(isinstance(each, OuterRef | Subquery) for each in expression.walk())
    return not inside and is_deterministic(expression)


def moved(expression: Expression, place: Callable[[int], int]) -> Expression:
    """An expression over columns at other places."""
    return substituted(expression, lambda ref: replace(ref, index=place(ref.index)))


def substituted(expression: Expression, by: Callable[[InputRef], Expression]) -> Expression:
    """An expression with others in place of its columns."""
    return replaced(expression, lambda each: by(each) if isinstance(each, InputRef) else None)


Change = Callable[[Expression], "Expression | None"] | Mapping[Expression, Expression]


def replaced(expression: Expression, by: Change) -> Expression:
    """An expression with others in place of some of its parts; the largest parts are asked first."""
    found = by.get(expression) if isinstance(by, Mapping) else by(expression)
    if found is not None:
        return found
    changes: dict[str, Any] = {}
    for each in fields(expression):
        value = getattr(expression, each.name)
        if isinstance(value, Expression):
            changes[each.name] = replaced(value, by)
        elif isinstance(value, tuple) and any(isinstance(part, Expression) for part in value):
            changes[each.name] = tuple(replaced(part, by) for part in value)
    assert is_dataclass(expression)
    return replace(expression, **changes) if changes else expression
