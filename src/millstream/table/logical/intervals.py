"""Bounds of time in the condition of a join: how far apart the times of two rows may be."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.expressions.tree import Call, Cast, Expression, InputRef, Literal
from millstream.table.logical.algebra import Join, Relation
from millstream.table.logical.typing_rules import time_kind
from millstream.table.types.logical import RowField

__all__ = ["Interval", "interval_between", "interval_of"]

_TURNED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "=": "="}


@dataclass(frozen=True)
class Interval:
    """Times of both sides that are near each other.

    The left time minus the right time is at least ``lower`` and at most ``upper``, in milliseconds.
    ``left`` and ``right`` are the places of the times in their tables, ``rest`` are the other parts of
    the condition.
    """

    left: int
    right: int
    lower: int
    upper: int
    processing: bool
    rest: tuple[Expression, ...]


@dataclass(frozen=True)
class _Time:
    """A time column plus some milliseconds."""

    column: int
    plus: int


def interval_of(join: Join) -> Interval | None:
    """The interval of a join; None if it is a regular one."""
    if join.kind in ("semi", "anti"):
        return None
    return interval_between(join.left, join.right, join.condition)


def interval_between(left: Relation, right: Relation, *conditions: Expression) -> Interval | None:
    """The bounds that conditions set to the times of two tables; None if they do not bound both ways.

    Of several time columns the pair that comes first counts; conditions on others are part of the rest.
    """
    fields = (*left.row_type.fields, *right.row_type.fields)
    width = len(left.row_type.fields)
    pair: tuple[int, int] | None = None
    lower: int | None = None
    upper: int | None = None
    rest: list[Expression] = []
    for part in (each for condition in conditions for each in _parts(condition)):
        found = _bound(part, fields, width)
        if found is None or (pair is not None and pair != found[0]):
            rest.append(part)
            continue
        pair, (low, high) = found
        if low is not None:
            lower = low if lower is None else max(lower, low)
        if high is not None:
            upper = high if upper is None else min(upper, high)
    if pair is None or lower is None or upper is None:
        return None
    processing = time_kind(fields[pair[0]].type) == "PROCTIME"
    return Interval(*pair, lower, upper, processing, tuple(rest))


def _parts(condition: Expression) -> list[Expression]:
    """The parts of a condition that all have to be TRUE; BETWEEN is two comparisons."""
    if isinstance(condition, Literal) and condition.value is True:
        return []
    if not isinstance(condition, Call):
        return [condition]
    if condition.function == "AND":
        return [part for each in condition.arguments for part in _parts(each)]
    if condition.function == "BETWEEN" and len(condition.arguments) == 3:
        value, low, high = condition.arguments
        kind = condition.type
        return [Call(kind, ">=", (value, low)), Call(kind, "<=", (value, high))]
    return [condition]


Fields = tuple[RowField, ...]
Bounds = tuple[int | None, int | None]


def _bound(part: Expression, fields: Fields, width: int) -> tuple[tuple[int, int], Bounds] | None:
    """The times that a comparison is about, and what it says of their difference."""
    if not isinstance(part, Call) or part.function not in _TURNED or len(part.arguments) != 2:
        return None
    one, other = (_time(each, fields) for each in part.arguments)
    function = part.function
    if one is None or other is None:
        return None
    if one.column >= width:
        one, other, function = other, one, _TURNED[function]
    if one.column >= width or other.column < width:
        return None
    # left + a < right + b: the difference is less than b - a.
    distance = other.plus - one.plus
    bounds: dict[str, Bounds] = {
        "=": (distance, distance),
        "<=": (None, distance),
        "<": (None, distance - 1),
        ">=": (distance, None),
        ">": (distance + 1, None),
    }
    kinds = {time_kind(fields[each.column].type) for each in (one, other)}
    if len(kinds) != 1:
        return None
    return (one.column, other.column - width), bounds[function]


def _time(expression: Expression, fields: Fields) -> _Time | None:
    if isinstance(expression, Cast):
        is_time = expression.type.root.startswith("TIMESTAMP")
        return _time(expression.operand, fields) if is_time else None
    if isinstance(expression, InputRef):
        timed = time_kind(fields[expression.index].type) is not None
        return _Time(expression.index, 0) if timed else None
    if not isinstance(expression, Call) or expression.function not in ("+", "-"):
        return None
    first, second = expression.arguments
    if expression.function == "+" and _millis(first) is not None:
        first, second = second, first
    found, millis = _time(first, fields), _millis(second)
    if found is None or millis is None:
        return None
    return _Time(found.column, found.plus + (millis if expression.function == "+" else -millis))


def _millis(expression: Expression) -> int | None:
    """The milliseconds of an interval of days and seconds."""
    if isinstance(expression, Cast):
        return _millis(expression.operand)
    is_interval = expression.type.root == "INTERVAL_DAY_TIME"
    if not isinstance(expression, Literal) or not is_interval or expression.value is None:
        return None
    return int(expression.value)
