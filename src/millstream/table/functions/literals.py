"""Literals of intervals."""

from __future__ import annotations

import re

from millstream.table.expressions import kinds
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Literal
from millstream.table.functions.registry import BindError

__all__ = ["interval_literal"]

_MILLIS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}


def interval_literal(text: str, kind: LogicalType, unit: str | None = None) -> Literal:
    """``INTERVAL '1 02:03' DAY TO MINUTE``; `unit` is one that the type does not name: WEEK or QUARTER.

    Examples
    --------
    >>> interval_literal("1-2", kinds.parse_type("INTERVAL YEAR TO MONTH")).value
    14
    """
    sign = -1 if text.strip().startswith("-") else 1
    numbers = re.findall(r"\d+(?:\.\d+)?", text)
    first = unit or kind.first  # type: ignore[attr-defined]
    last = kind.last  # type: ignore[attr-defined]
    if not numbers:
        raise BindError(f"{text!r} is no interval")
    if kinds.root(kind) == "INTERVAL_MONTHS":
        size = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}[first]
        months = int(numbers[0]) * size + (int(numbers[1]) if len(numbers) > 1 else 0)
        return Literal(kinds.not_null(kinds.MONTHS), sign * months)
    if first == "WEEK":
        return Literal(kinds.not_null(kinds.MILLIS), sign * int(numbers[0]) * 7 * _MILLIS["DAY"])
    units = list(_MILLIS)
    names = units[units.index(first) : units.index(last) + 1]
    total = 0
    for name, number in zip(names, numbers, strict=False):
        whole, _, fraction = number.partition(".")
        total += int(whole) * _MILLIS[name] + int(fraction.ljust(3, "0")[:3] or 0)
    return Literal(kinds.not_null(kinds.MILLIS), sign * total)
