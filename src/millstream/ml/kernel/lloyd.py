"""k-means by Lloyd's algorithm: each point belongs to the closest centroid, each centroid is a mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.distances import closest, pairwise

__all__ = ["first_centroids", "lloyd", "sums_of"]

Floats = NDArray[np.float64]


def first_centroids(points: Floats, k: int, seed: int, measure: str) -> Floats:
    """Random points to begin with: each is the more likely, the farther it is from those before.

    Points that are equal are taken once: there may be fewer than ``k``.

    Examples
    --------
    >>> sorted(first_centroids(np.array([[0.0], [0.0], [9.0]]), 3, 7, "euclidean").ravel().tolist())
    [0.0, 9.0]
    """
    random = np.random.Generator(np.random.PCG64(seed & 0xFFFFFFFF))
    found = [points[random.integers(len(points))]]
    for _ in range(k - 1):
        apart = pairwise(points, np.array(found), measure).min(axis=1) ** 2
        # Cosines of equal points may differ from 1 by rounding.
        apart[apart < 1e-24] = 0.0
        if not apart.any():
            break
        found.append(points[random.choice(len(points), p=apart / apart.sum())])
    return np.array(found)


def sums_of(points: Floats, centroids: Floats, measure: str) -> tuple[Floats, Floats]:
    """The sums and the counts of the points that are closest to each centroid."""
    own = closest(points, centroids, measure)
    sums = np.zeros_like(centroids)
    np.add.at(sums, own, points)
    return sums, np.bincount(own, minlength=len(centroids)).astype(np.float64)


def lloyd(
    centroids: Floats,
    sums: Callable[[Floats], Sequence[tuple[Any, Any]]],
    max_iter: int,
) -> tuple[Floats, Floats]:
    """Move centroids until they stay, at most ``max_iter`` times; return them and their counts.

    ``sums`` returns the `sums_of` parts of the data. A centroid without points stays.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> found, counts = lloyd(points[:2], lambda at: [sums_of(points, at, "euclidean")], 10)
    >>> found.ravel().tolist(), counts.tolist()
    ([0.5, 8.5], [2.0, 2.0])
    """
    counts = np.zeros(len(centroids))
    for _ in range(max_iter):
        parts = sums(centroids)
        total = np.sum([part for part, _ in parts], axis=0)
        counts = np.sum([count for _, count in parts], axis=0)
        moved = centroids.copy()
        has = counts > 0
        moved[has] = total[has] / counts[has, None]
        if np.array_equal(moved, centroids):
            break
        centroids = moved
    return centroids, counts
