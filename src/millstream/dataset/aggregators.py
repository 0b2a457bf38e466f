"""Aggregators of iterations: values that all tasks make together in a superstep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = [
    "Aggregator",
    "ConvergenceCriterion",
    "DoubleSumAggregator",
    "DoubleZeroConvergence",
    "LongMaxAggregator",
    "LongMinAggregator",
    "LongSumAggregator",
    "LongZeroConvergence",
]


class Aggregator(ABC):
    """A value that functions add to in a superstep, and can read in the next one.

    Examples
    --------
    >>> total = LongSumAggregator()
    >>> total.aggregate(2)
    >>> total.aggregate(3)
    >>> total.get_aggregate()
    5
    """

    @abstractmethod
    def get_aggregate(self) -> Any:
        """The value so far."""

    @abstractmethod
    def aggregate(self, element: Any) -> None:
        """Add a value; also the value of another task."""

    @abstractmethod
    def reset(self) -> None:
        """Begin again."""


class _Sum(Aggregator):
    zero: Any = 0

    def __init__(self) -> None:
        self._value: Any = self.zero

    def get_aggregate(self) -> Any:
        return self._value

    def aggregate(self, element: Any) -> None:
        self._value += element

    def reset(self) -> None:
        self._value = self.zero


class LongSumAggregator(_Sum):
    """The sum of whole numbers."""


class DoubleSumAggregator(_Sum):
    """The sum of floating point numbers."""

    zero = 0.0


class _Pick(Aggregator):
    """One of the values."""

    pick: Any = None

    def __init__(self) -> None:
        self._value: Any = None

    def get_aggregate(self) -> Any:
        return self._value

    def aggregate(self, element: Any) -> None:
        if element is not None:
            known = self._value
            self._value = element if known is None else type(self).pick(known, element)

    def reset(self) -> None:
        self._value = None


class LongMaxAggregator(_Pick):
    """The largest number; None before the first."""

    pick = max


class LongMinAggregator(_Pick):
    """The smallest number; None before the first."""

    pick = min


class ConvergenceCriterion(ABC):
    """The decision whether an iteration ends, by the value of an aggregator.

    Examples
    --------
    >>> LongZeroConvergence().is_converged(1, 0)
    True
    """

    @abstractmethod
    def is_converged(self, iteration: int, value: Any) -> bool:
        """Whether the iteration ends after a superstep, counted from 1."""


class LongZeroConvergence(ConvergenceCriterion):
    """The end when a sum is 0."""

    def is_converged(self, iteration: int, value: Any) -> bool:
        return bool(value == 0)


class DoubleZeroConvergence(LongZeroConvergence):
    """The end when a sum is 0."""
