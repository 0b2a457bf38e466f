"""Totals over a whole job: every task adds to its own, the job's result returns the merged one.

Accumulators are added to a job by name in ``open`` and read from
``JobExecutionResult.get_accumulator_result(name)`` when it has ended.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
]

V = TypeVar("V")
R = TypeVar("R")
A = TypeVar("A", bound="Accumulator[Any, Any]")


class Accumulator(ABC, Generic[V, R]):
    """Takes values of type ``V`` and holds a result of type ``R``.

    The result must not depend on the order of the values nor on how they were spread over tasks.

    Examples
    --------
    >>> left, right = IntCounter(2), IntCounter(3)
    >>> left.merge(right)
    >>> left.get_local_value()
    5
    """

    @abstractmethod
    def add(self, value: V) -> None:
        """Take one value."""

    @abstractmethod
    def get_local_value(self) -> R:
        """Return the result of this task's values."""

    @abstractmethod
    def reset_local(self) -> None:
        """Forget all values."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Take the values of another task's accumulator of the same class."""

    def clone(self: A) -> A:
        """Return an accumulator of the same class with the same values."""
        copy = type(self)()
        copy.merge(self)
        return copy

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.get_local_value()!r})"


class _Counter(Accumulator[V, V]):
    """A sum."""

    _zero: Any = 0

    def __init__(self, value: V | None = None) -> None:
        self._value: Any = self._zero if value is None else value

    def add(self, value: V) -> None:
        self._value += value

    def get_local_value(self) -> V:
        return self._value  # type: ignore[no-any-return]

    def reset_local(self) -> None:
        self._value = self._zero

    def merge(self, other: Any) -> None:
        self._value += other.get_local_value()


class IntCounter(_Counter[int]):
    """A sum of whole numbers."""


class LongCounter(_Counter[int]):
    """A sum of whole numbers; Python's are all long, so this is `IntCounter` by another name."""


class DoubleCounter(_Counter[float]):
    """A sum of floating point numbers."""

    _zero = 0.0


class _Extreme(Accumulator[V, V | None]):
    """The largest or the smallest value, None before the first."""

    _pick: Any = max

    def __init__(self, value: V | None = None) -> None:
        self._value: Any = value

    def add(self, value: V) -> None:
        self._value = value if self._value is None else type(self)._pick(self._value, value)

    def get_local_value(self) -> V | None:
        return self._value  # type: ignore[no-any-return]

    def reset_local(self) -> None:
        self._value = None

    def merge(self, other: Any) -> None:
        value = other.get_local_value()
        if value is not None:
            self.add(value)


class IntMaximum(_Extreme[int]):
    """The largest whole number, None before the first."""


class LongMaximum(_Extreme[int]):
    """The largest whole number, None before the first."""


class DoubleMaximum(_Extreme[float]):
    """The largest floating point number, None before the first."""


class IntMinimum(_Extreme[int]):
    """The smallest whole number, None before the first."""

    _pick = min


class LongMinimum(_Extreme[int]):
    """The smallest whole number, None before the first."""

    _pick = min


class DoubleMinimum(_Extreme[float]):
    """The smallest floating point number, None before the first."""

    _pick = min


class AverageAccumulator(Accumulator[float, float]):
    """The mean of all numbers, 0.0 before the first.

    Examples
    --------
    >>> mean = AverageAccumulator()
    >>> mean.add(1)
    >>> mean.add(2)
    >>> mean
    AverageAccumulator(1.5)
    """

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        self._count, self._sum = 0, 0.0

    def merge(self, other: AverageAccumulator) -> None:
        self._count += other._count
        self._sum += other._sum


class Histogram(Accumulator[int, dict[int, int]]):
    """How often each whole number came, as a dict in the order of the numbers."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        self._counts.clear()

    def merge(self, other: Histogram) -> None:
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count


class ListAccumulator(Accumulator[V, list[V]]):
    """All values; those of one task stay in order. For small amounts: they go to the driver."""

    def __init__(self) -> None:
        self._values: list[V] = []

    def add(self, value: V) -> None:
        self._values.append(value)

    def get_local_value(self) -> list[V]:
        return list(self._values)

    def reset_local(self) -> None:
        self._values.clear()

    def merge(self, other: ListAccumulator[V]) -> None:
        self._values.extend(other._values)
