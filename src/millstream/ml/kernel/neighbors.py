"""The nearest points to a point, and what their labels say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.distances import pairwise

__all__ = ["nearest", "nearest_by", "vote"]

BLOCK = 1 << 22
"""How many distances are in memory at a time."""


def nearest(
    points: NDArray[np.float64], queries: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each query the indices of its nearest points, and their distances.

    There are ``min(k, len(points))`` of them, the nearest first. Of two points that are equally far the
    one that comes first in ``points`` counts as the nearer one.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0]])
    >>> found, distances = nearest(points, np.array([[1.2]]), 2)
    >>> found.tolist(), distances.round(1).tolist()
    ([[1, 0]], [[0.2, 1.2]])
    """
    k = min(k, len(points))
    found = np.zeros((len(queries), k), np.int64)
    distances = np.zeros((len(queries), k))
    if k == 0:
        return found, distances
    # Products of large coordinates cancel, so the products only choose candidates around the middle.
    middle = points.mean(axis=0)
    centred = points - middle
    squares = np.einsum("ij,ij->i", centred, centred)
    step = max(1, BLOCK // len(points))
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        near = _candidates(centred, squares, block - middle, k)
        for row, query in enumerate(block):
            own = np.flatnonzero(near[row])
            exact = np.sqrt(np.sum((points[own] - query) ** 2, axis=1))
            chosen = np.argsort(exact, kind="stable")[:k]
            found[start + row] = own[chosen]
            distances[start + row] = exact[chosen]
    return found, distances


def _candidates(
    points: NDArray[np.float64],
    squares: NDArray[np.float64],
    queries: NDArray[np.float64],
    k: int,
) -> NDArray[np.bool_]:
    """Return which points may be among the nearest, with room for errors of rounding."""
    own = np.einsum("ij,ij->i", queries, queries)
    distances = squares - 2 * (queries @ points.T) + own[:, None]
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1]
    largest = squares.max() + own
    room = 64 * np.finfo(np.float64).eps * (points.shape[1] + 1) * largest
    return np.asarray(distances <= (bound + room)[:, None])


def vote(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the most frequent label of each row; of two, the one that comes first in the row.

    Examples
    --------
    >>> vote(np.array([[1.0, 2.0, 2.0], [3.0, 4.0, 5.0]])).tolist()
    [2.0, 3.0]
    """
    known, codes = np.unique(labels, return_inverse=True)
    codes = codes.reshape(labels.shape)
    rows = np.arange(len(labels))
    counts = np.zeros((len(labels), len(known)), np.int64)
    for column in codes.T:
        np.add.at(counts, (rows, column), 1)
    best = np.take_along_axis(counts, codes, axis=1).argmax(axis=1)
    return np.asarray(labels[rows, best])


def nearest_by(
    points: NDArray[np.float64], queries: NDArray[np.float64], k: int, measure: str
) -> NDArray[np.int64]:
    """Return the indices of the nearest points by another measure, the nearest first.

    Examples
    --------
    >>> nearest_by(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.1, 1.0]]), 1, "cosine").tolist()
    [[1]]
    """
    found = np.zeros((len(queries), min(k, len(points))), np.int64)
    step = max(1, BLOCK // max(1, len(points)))
    for start in range(0, len(queries), step):
        apart = pairwise(queries[start : start + step], points, measure)
        chosen = np.argsort(apart, axis=1, kind="stable")[:, : found.shape[1]]
        found[start : start + step] = chosen
    return found
