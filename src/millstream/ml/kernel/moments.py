"""Means and standard deviations that grow with what comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moments", "scaled_values"]


@dataclass(frozen=True)
class Moments:
    """How many vectors there were, their mean, and the sum of the squared deviations from it."""

    count: int
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]

    @staticmethod
    def none(dimensions: int) -> Moments:
        return Moments(0, np.zeros(dimensions), np.zeros(dimensions))

    def plus(self, batch: NDArray[np.float64]) -> Moments:
        """Return the moments with more vectors (by Chan, Golub and LeVeque: large means do not cancel).

        Examples
        --------
        >>> one = Moments.none(1).plus(np.array([[1.0], [2.0]])).plus(np.array([[3.0]]))
        >>> one.mean.tolist(), one.deviation().tolist()
        ([2.0], [1.0])
        """
        if not len(batch):
            return self
        mean = batch.mean(axis=0)
        squares = ((batch - mean) ** 2).sum(axis=0)
        count = self.count + len(batch)
        difference = mean - self.mean
        return Moments(
            count,
            self.mean + difference * (len(batch) / count),
            self.squares + squares + difference**2 * (self.count * len(batch) / count),
        )

    def deviation(self) -> NDArray[np.float64]:
        """Return the standard deviation of a sample; 0 for a single vector."""
        if self.count < 2:
            return np.zeros_like(self.mean)
        return np.sqrt(self.squares / (self.count - 1))


def scaled_values(
    points: NDArray[np.float64],
    mean: NDArray[np.float64],
    deviation: NDArray[np.float64],
    with_mean: bool,
    with_std: bool,
) -> NDArray[np.float64]:
    """Return the points less the mean, by the deviation; where that is 0, 0 as in flink-ml."""
    result = points - mean if with_mean else points
    if with_std:
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation != 0)
        result = result * scale
    return np.asarray(result)
