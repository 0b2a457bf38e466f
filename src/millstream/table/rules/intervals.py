"""Bounds of time in the condition of a join: how far apart the times of two rows may be."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.expressions.tree import Call, Cast, Expression, InputRef, Literal
from millstream.table.logical.algebra import Join
from millstream.table.logical.typing_rules import time_kind
from millstream.table.rules.conditions import all_of, conjuncts

__all__ = ["Interval", "interval_of"]

_TURNED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "=": "="}


@dataclass(frozen=True)
class Interval:
    """Times of both sides that are near each other.

    The left time minus the right time is at least ``lower`` and at most ``upper``, in milliseconds.
    ``left`` and ``right`` are the places of the times in their tables, ``rest`` is what else the
    condition says.
    """

    left: int
    right: int
    lower: int
    upper: int
    processing: bool
    rest: Expression


@dataclass(frozen=True)
class _Time:
    """A time column plus some milliseconds."""

    column: int
    plus: int


def interval_of(join: Join) -> Interval | None:
    """The bounds that a condition sets to the times of both sides; None if it does not bound both ways.

    Of several time columns the pair that comes first counts; conditions on others are part of the rest.
    """
    if join.kind in ("semi", "anti"):
        return None
    width = len(join.left.row_type.fields)
    pair: tuple[int, int] | None = None
    lower: int | None = None
    upper: int | None = None
    rest: list[Expression] = []
    for part in (each for c in conjuncts(join.condition) for each in _simple(c)):
        found = _bound(part, join, width)
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
    kind = time_kind(join.left.row_type.fields[pair[0]].type)
    return Interval(*pair, lower, upper, kind == "PROCTIME", all_of(rest))


def _simple(part: Expression) -> list[Expression]:
    """BETWEEN as two comparisons."""
    if isinstance(part, Call) and part.function == "BETWEEN" and len(part.arguments) == 3:
        value, low, high = part.arguments
        return [Call(part.type, ">=", (value, low)), Call(part.type, "<=", (value, high))]
    return [part]


Bounds = tuple[int | None, int | None]


def _bound(part: Expression, join: Join, width: int) -> tuple[tuple[int, int], Bounds] | None:
    """The times that a comparison is about, and what it says of their difference."""
    if not isinstance(part, Call) or part.function not in _TURNED or len(part.arguments) != 2:
        return None
    one, other = (_time(each, join, width) for each in part.arguments)
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
    kinds = {_kind(join, one.column, width), _kind(join, other.column, width)}
    if len(kinds) != 1:
        return None
    return (one.column, other.column - width), bounds[function]


def _kind(join: Join, column: int, width: int) -> str | None:
    side, place = (join.left, column) if column < width else (join.right, column - width)
    return time_kind(side.row_type.fields[place].type)


def _time(expression: Expression, join: Join, width: int) -> _Time | None:
    if isinstance(expression, Cast):
        is_time = expression.type.root.startswith("TIMESTAMP")
        return _time(expression.operand, join, width) if is_time else None
    if isinstance(expression, InputRef):
        timed = _kind(join, expression.index, width) is not None
        return _Time(expression.index, 0) if timed else None
    if not isinstance(expression, Call) or expression.function not in ("+", "-"):
        return None
    first, second = expression.arguments
    if expression.function == "+" and _millis(first) is not None:
        first, second = second, first
    found, millis = _time(first, join, width), _millis(second)
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
