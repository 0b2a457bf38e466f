"""Distances between points, by the names of flink-ml's measures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MEASURES", "closest", "pairwise"]

MEASURES = ("euclidean", "manhattan", "cosine")


def pairwise(
    points: NDArray[np.float64], others: NDArray[np.float64], measure: str = "euclidean"
) -> NDArray[np.float64]:
    """Return the distance of each point to each other one.

    Examples
    --------
    >>> pairwise(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).tolist()
    [[5.0]]
    """
    if measure == "cosine":
        norms = np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(others, axis=1)
        products = points @ others.T
        similar = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
        return np.asarray(1.0 - similar)
    # A column at a time: exact for equal points, and no third dimension in memory.
    total = np.zeros((len(points), len(others)))
    for own, other in zip(points.T, others.T, strict=True):
        difference = own[:, None] - other[None, :]
        total += np.abs(difference) if measure == "manhattan" else difference**2
    return total if measure == "manhattan" else np.sqrt(total)


def closest(
    points: NDArray[np.float64], centroids: NDArray[np.float64], measure: str = "euclidean"
) -> NDArray[np.int64]:
    """Return which centroid is closest to each point; of two that are equally close, the first."""
    return np.asarray(pairwise(points, centroids, measure).argmin(axis=1), np.int64)
