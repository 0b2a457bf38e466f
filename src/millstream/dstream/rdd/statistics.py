"""Statistics of numbers that merge over partitions, and histograms."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

__all__ = ["StatCounter", "counter_of", "even_buckets", "width_of_buckets"]


class StatCounter:
    """Count, mean, variance, smallest and greatest of numbers.

    Examples
    --------
    >>> StatCounter([1.0, 2.0, 3.0])
    (count: 3, mean: 2.0, stdev: 0.816496580927726, max: 3.0, min: 1.0)
    """

    def __init__(self, values: Iterable[float] | None = None) -> None:
        self.n = 0
        self.mu = 0.0
        self.m2 = 0.0
        self.maxValue = float("-inf")
        self.minValue = float("inf")
        for value in values or ():
            self.merge(value)

    def merge(self, value: float) -> StatCounter:
        """Add one number."""
        delta = value - self.mu
        self.n += 1
        self.mu += delta / self.n
        self.m2 += delta * (value - self.mu)
        self.maxValue = _greater(self.maxValue, value)
        self.minValue = -_greater(-self.minValue, -value)
        return self

    def mergeStats(self, other: StatCounter) -> StatCounter:
        """Add the numbers of another counter."""
        if not isinstance(other, StatCounter):
            raise TypeError(f"a StatCounter is needed, not {type(other).__name__}")
        if other.n == 0:
            return self
        n, mu, m2 = other.n, other.mu, other.m2
        if self.n == 0:
            self.mu, self.m2 = mu, m2
        else:
            delta = mu - self.mu
            total = self.n + n
            # Three ways, so that a small part does not spoil the mean of a great one.
            if n * 10 < self.n:
                mean = self.mu + delta * n / total
            elif self.n * 10 < n:
                mean = mu - delta * self.n / total
            else:
                mean = (self.mu * self.n + mu * n) / total
            self.m2 += m2 + delta * delta * self.n * n / total
            self.mu = mean
        self.n += n
        self.maxValue = _greater(self.maxValue, other.maxValue)
        self.minValue = -_greater(-self.minValue, -other.minValue)
        return self

    def copy(self) -> StatCounter:
        """A counter with the same numbers."""
        return StatCounter().mergeStats(self)

    def count(self) -> int:
        """How many numbers there are."""
        return self.n

    def mean(self) -> float:
        """The mean; 0.0 without numbers, as in PySpark."""
        return self.mu

    def sum(self) -> float:
        """The sum."""
        return self.n * self.mu

    def min(self) -> float:
        """The smallest number."""
        return self.minValue

    def max(self) -> float:
        """The greatest number."""
        return self.maxValue

    def variance(self) -> float:
        """The variance of the numbers as a whole population."""
        return self.m2 / self.n if self.n else math.nan

    def sampleVariance(self) -> float:
        """The variance of the numbers as a sample."""
        return self.m2 / (self.n - 1) if self.n > 1 else math.nan

    def stdev(self) -> float:
        """The standard deviation of the numbers as a whole population."""
        return math.sqrt(self.variance())

    def sampleStdev(self) -> float:
        """The standard deviation of the numbers as a sample."""
        return math.sqrt(self.sampleVariance())

    def asDict(self, sample: bool = False) -> dict[str, float]:
        """All statistics by name. PySpark has the two kinds of deviation exchanged; so has this."""
        return {
            "count": self.count(),
            "mean": self.mean(),
            "sum": self.sum(),
            "min": self.min(),
            "max": self.max(),
            "stdev": self.stdev() if sample else self.sampleStdev(),
            "variance": self.variance() if sample else self.sampleVariance(),
        }

    def __repr__(self) -> str:
        return (
            f"(count: {self.count()}, mean: {self.mean()}, stdev: {self.stdev()}, "
            f"max: {self.max()}, min: {self.min()})"
        )


def _greater(left: float, right: float) -> float:
    """The greater number; NaN if one of them is NaN."""
    return left if left != left or left >= right else right


def even_buckets(least: Any, greatest: Any, count: int) -> tuple[list[Any], float]:
    """The limits of that many buckets of the same width, and the width.

    Examples
    --------
    >>> even_buckets(0, 10, 4)
    ([0.0, 2.5, 5.0, 7.5, 10], 2.5)
    """
    width = (greatest - least) / count
    if math.isinf(width):
        raise ValueError("Can not generate buckets with infinite value")
    if int(width) * count == greatest - least:
        width = int(width)
    return [*(i * width + least for i in range(count)), greatest], width


def width_of_buckets(buckets: Sequence[Any]) -> float | None:
    """The width of the buckets if they all have the same, else None."""
    try:
        steps = [right - left for left, right in pairwise(buckets)]
    except TypeError:
        return None
    if max(steps) - min(steps) >= 1e-10:
        return None
    return float((buckets[-1] - buckets[0]) / (len(buckets) - 1))


def counter_of(buckets: Sequence[Any], width: float | None) -> Callable[[Iterable[Any]], list[int]]:
    """A function that counts values by bucket; the last bucket includes its upper limit.

    Examples
    --------
    >>> counter_of([0, 5, 10], 5.0)([1, 5, 10, 11, None])
    [1, 2]
    """
    least, greatest = buckets[0], buckets[-1]

    def count(values: Iterable[Any]) -> list[int]:
        found = [0] * len(buckets)
        for value in values:
            if value is None or value != value or value > greatest or value < least:
                continue
            even = None if width is None else int((value - least) / width)
            found[bisect.bisect_right(buckets, value) - 1 if even is None else even] += 1
        last = found.pop()
        found[-1] += last
        return found

    return count
