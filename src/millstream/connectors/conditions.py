"""Conditions of who reads a source: rows that cannot fulfil them need not be read.

A source may use them or not: who reads it still tests each row. So they are simple comparisons of
columns with constants, and what a source does not understand holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Bounds", "Comparison", "Conditions", "Operator", "conditions_text", "may_hold"]

Operator = Literal["=", "<>", "<", "<=", ">", ">=", "IS NULL", "IS NOT NULL"]


@dataclass(frozen=True)
class Bounds:
    """The bounds of some values of a column, as far as they are known.

    ``low`` and ``high``: no value is outside; None if that is not known.
    """

    low: Any = None
    high: Any = None
    has_nulls: bool = True
    has_values: bool = True

    @staticmethod
    def of(value: Any) -> Bounds:
        """The bounds of one value."""
        return Bounds(value, value, has_nulls=value is None, has_values=value is not None)


@dataclass(frozen=True)
class Comparison:
    """A column compared with a constant, or with several of which one has to fit.

    Examples
    --------
    >>> small = Comparison("n", "<", (10,))
    >>> small.may_hold(Bounds(5, 20)), small.may_hold(Bounds(10, 20)), small.may_hold(Bounds("a", "b"))
    (True, False, True)
    """

    column: str
    operator: Operator
    values: tuple[Any, ...] = ()

    def may_hold(self, found: Bounds) -> bool:
        """Whether it may be TRUE for one of some values."""
        if self.operator == "IS NULL":
            return found.has_nulls
        if not found.has_values:
            return False
        known = found.low is not None and found.high is not None
        if self.operator == "IS NOT NULL" or not known:
            return True
        check = _CHECKS[self.operator]
        return any(
            type(each) is not type(found.low) or check(each, found.low, found.high)
            for each in self.values
        )

    def __str__(self) -> str:
        if len(self.values) > 1:
            return f"{self.column} IN ({', '.join(map(_shown, self.values))})"
        return " ".join([self.column, self.operator, *map(_shown, self.values)])


Conditions = tuple[tuple[Comparison, ...], ...]
"""Of one of these groups all comparisons have to be TRUE; without groups, all rows are wanted."""


def may_hold(conditions: Conditions, bounds: Mapping[str, Bounds]) -> bool:
    """Whether conditions may be TRUE for rows of which some columns are known."""
    anything = Bounds()
    return not conditions or any(
        all(each.may_hold(bounds.get(each.column, anything)) for each in group)
        for group in conditions
    )


def conditions_text(conditions: Conditions) -> str:
    """Conditions as a text for people.

    Examples
    --------
    >>> conditions_text(((Comparison("n", "<", (10,)), Comparison("k", "=", ("a", "b"))),))
    "n < 10 AND k IN ('a', 'b')"
    """
    return " OR ".join(" AND ".join(map(str, group)) for group in conditions)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | int) else f"'{value}'"


_CHECKS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda value, low, high: low <= value <= high,
    "<>": lambda value, low, high: not low == value == high,
    "<": lambda value, low, high: low < value,
    "<=": lambda value, low, high: low <= value,
    ">": lambda value, low, high: high > value,
    ">=": lambda value, low, high: high >= value,
}
