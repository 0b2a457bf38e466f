"""Mini-batches of k-means: centroids that move with what comes, and forget what was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.distances import closest
from millstream.ml.kernel.java_random import JavaRandom

__all__ = ["Centroids"]


@dataclass(frozen=True)
class Centroids:
    """Centroids and how many points each stands for."""

    points: NDArray[np.float64]
    weights: NDArray[np.float64]

    @staticmethod
    def random(k: int, dimensions: int, weight: float, seed: int) -> Centroids:
        """Return centroids in the unit cube, by the random numbers of Java.

        Examples
        --------
        >>> Centroids.random(2, 1, 0.0, 42).points.round(3).tolist()
        [[0.728], [0.683]]
        """
        random = JavaRandom(seed)
        values = [[random.next_double() for _ in range(dimensions)] for _ in range(k)]
        return Centroids(np.array(values).reshape(k, dimensions), np.full(k, float(weight)))

    def step(
        self, batch: NDArray[np.float64], decay: float, measure: str = "euclidean"
    ) -> Centroids:
        """Return the centroids after a batch.

        The weight of what was is multiplied by ``decay`` first. A centroid without points stays.

        Examples
        --------
        >>> before = Centroids(np.array([[0.0], [10.0]]), np.array([1.0, 1.0]))
        >>> after = before.step(np.array([[1.0], [2.0], [3.0]]), decay=1.0)
        >>> after.points.ravel().tolist(), after.weights.tolist()
        ([1.5, 10.0], [4.0, 1.0])
        """
        own = closest(batch, self.points, measure)
        counts = np.bincount(own, minlength=len(self.points)).astype(np.float64)
        sums = np.zeros_like(self.points)
        np.add.at(sums, own, batch)
        weights = self.weights * decay + counts
        moved = counts > 0
        points = self.points.copy()
        share = (counts[moved] / weights[moved])[:, None]
        points[moved] = (1.0 - share) * points[moved] + share * (sums[moved] / counts[moved, None])
        return Centroids(points, weights)
