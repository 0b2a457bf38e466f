"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` as reduce functions of a field; several at once.

They are plain data, so that they travel to the tasks, and so that a planner that knows a faster
way to compute them can see what they compute. The first value of a key is what the later ones
are added to: the fields that are not aggregated keep what they were in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any, ClassVar, Literal

from millstream.datastream.building.fields import field_of, with_field

__all__ = [
    "FieldMax",
    "FieldMaxBy",
    "FieldMin",
    "FieldMinBy",
    "FieldReduce",
    "FieldSum",
    "Summary",
]


@dataclass(frozen=True, slots=True)
class FieldReduce:
    """A reduce function that looks at one field, given by position or by name."""

    kind: ClassVar[Literal["sum", "min", "max", "min_by", "max_by"]]
    field: int | str

    def __call__(self, older: Any, newer: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FieldSum(FieldReduce):
    """The first record with the sum of the field.

    Examples
    --------
    >>> FieldSum(1)(("a", 1), ("b", 2))
    ('a', 3)
    """

    kind = "sum"

    def __call__(self, older: Any, newer: Any) -> Any:
        field = self.field
        if type(older) is tuple:
            items = list(older)  # measured: faster than joining slices
            items[field] += newer[field]  # type: ignore[index]
            return tuple(items)
        return with_field(older, field, field_of(older, field) + field_of(newer, field))


@dataclass(frozen=True, slots=True)
class FieldMin(FieldReduce):
    """The first record with the smallest value of the field.

    Examples
    --------
    >>> FieldMin(1)(("a", 2), ("b", 1))
    ('a', 1)
    """

    kind = "min"

    def __call__(self, older: Any, newer: Any) -> Any:
        candidate = field_of(newer, self.field)
        if candidate < field_of(older, self.field):
            return with_field(older, self.field, candidate)
        return older


@dataclass(frozen=True, slots=True)
class FieldMax(FieldReduce):
    """The first record with the largest value of the field.

    Examples
    --------
    >>> FieldMax(1)(("a", 1), ("b", 2))
    ('a', 2)
    """

    kind = "max"

    def __call__(self, older: Any, newer: Any) -> Any:
        candidate = field_of(newer, self.field)
        if candidate > field_of(older, self.field):
            return with_field(older, self.field, candidate)
        return older


@dataclass(frozen=True, slots=True)
class FieldMinBy(FieldReduce):
    """The record with the smallest value of the field; of equal ones the first.

    Examples
    --------
    >>> FieldMinBy(1)(("a", 2), ("b", 1))
    ('b', 1)
    """

    kind = "min_by"

    def __call__(self, older: Any, newer: Any) -> Any:
        field = self.field
        return newer if field_of(newer, field) < field_of(older, field) else older


@dataclass(frozen=True, slots=True)
class FieldMaxBy(FieldReduce):
    """The record with the largest value of the field; of equal ones the first.

    Examples
    --------
    >>> FieldMaxBy(1)(("a", 1), ("b", 2))
    ('b', 2)
    """

    kind = "max_by"

    def __call__(self, older: Any, newer: Any) -> Any:
        field = self.field
        return newer if field_of(newer, field) > field_of(older, field) else older


@dataclass(frozen=True)
class Summary:
    """Several aggregates of the fields of a window's records, as an aggregate function.

    ``asked``: pairs of an aggregate and its field; ``count`` has none. An accumulator is the number of
    records, with one number for each of ``folds``: what is asked for twice is folded once, and an
    average is a sum until the end.

    Examples
    --------
    >>> summary = Summary((("sum", 1), ("avg", 1), ("count", None)))
    >>> summary.get_result(summary.add(("a", 3), summary.add(("a", 4), summary.create_accumulator())))
    (7, 3.5, 2)
    >>> str(summary)
    'sum of 1'
    """

    asked: tuple[tuple[str, int | str | None], ...]

    @cached_property
    def folds(self) -> tuple[tuple[str, int | str], ...]:
        """The numbers that are folded: how, and of which field."""
        kinds = [("sum" if kind == "avg" else kind, field) for kind, field in self.asked]
        return tuple(dict.fromkeys((kind, f) for kind, f in kinds if f is not None))

    @cached_property
    def results(self) -> tuple[tuple[str, int], ...]:
        """The numbers that come out: each with the place of the fold that it is made of."""
        places = {fold: place for place, fold in enumerate(self.folds)}
        return tuple(
            (kind, 0 if field is None else places["sum" if kind == "avg" else kind, field])
            for kind, field in self.asked
        )

    def create_accumulator(self) -> tuple[Any, ...]:
        return (0,)

    def add(self, value: Any, accumulator: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.merge(accumulator, (1, *(_number(value, field) for _, field in self.folds)))

    def merge(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        if one[0] == 0 or other[0] == 0:
            return other if one[0] == 0 else one
        folded = [
            _FOLDS[kind](one[place], other[place])
            for place, (kind, _) in enumerate(self.folds, start=1)
        ]
        return one[0] + other[0], *folded

    def get_result(self, accumulator: tuple[Any, ...]) -> tuple[Any, ...]:
        number, *folded = accumulator
        found: list[Any] = []
        for kind, place in self.results:
            if kind == "count":
                found.append(number)
            else:
                found.append(folded[place] / number if kind == "avg" else folded[place])
        return tuple(found)

    def __str__(self) -> str:
        return ", ".join(f"{kind} of {field}" for kind, field in self.folds) or "count"


def _number(value: Any, field: int | str) -> Any:
    found = field_of(value, field)
    if found is None:
        raise TypeError(f"field {field!r} is None, which has no place in a sum, minimum or maximum")
    return found


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {"sum": add, "min": min, "max": max}
