"""Edges of bins, and the bins that values fall into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["STRATEGIES", "bin_edges", "bins_of"]

STRATEGIES = ("uniform", "quantile", "kmeans")
TOLERANCE = 1e-4
MAX_ITERATIONS = 300

Column = NDArray[np.float64]


def bin_edges(points: NDArray[np.float64], bins: int, strategy: str) -> list[Column]:
    """Return the edges of the bins of each column.

    A column with one value has one bin without limits. Bins of no width are left out. With fewer
    different values than bins, ``"kmeans"`` is ``"uniform"``.

    Examples
    --------
    >>> points = np.array([[1.0, 10], [4, 10], [13, 10]])
    >>> [edges.tolist() for edges in bin_edges(points, 3, "uniform")]
    [[1.0, 5.0, 9.0, 13.0], [-inf, inf]]
    """
    return [_edges(np.sort(column), bins, strategy) for column in points.T]


def _edges(values: Column, bins: int, strategy: str) -> Column:
    if values[0] == values[-1]:
        return np.array([-np.inf, np.inf])
    if strategy == "quantile":
        return _by_quantile(values, bins)
    if strategy == "kmeans" and len(np.unique(values)) > bins:
        return _by_means(values, bins)
    width = (values[-1] - values[0]) / bins
    return np.cumsum(np.concatenate([values[:1], np.full(bins, width)]))


def _by_quantile(values: Column, bins: int) -> Column:
    return np.unique(np.append(_spread(values, bins), values[-1]))


def _spread(values: Column, bins: int) -> Column:
    return values[(np.arange(bins) * (len(values) / bins)).astype(np.int64)]


def _by_means(values: Column, bins: int) -> Column:
    means = _spread(values, bins)
    loss_before = np.inf
    for _ in range(MAX_ITERATIONS):
        distances = np.abs(values[:, None] - means[None, :])
        closest = distances.argmin(axis=1)
        counts = np.bincount(closest, minlength=bins)
        sums = np.bincount(closest, weights=values, minlength=bins)
        # A mean without values keeps its place; flink-ml divides 0 by 0 here.
        means = np.where(counts > 0, sums / np.maximum(counts, 1), means)
        loss = float(distances.min(axis=1).mean())
        if abs(loss - loss_before) <= TOLERANCE:
            break
        loss_before = loss
    means = np.sort(means)
    middles = (means[:-1] + means[1:]) / 2
    return np.unique(np.concatenate([values[:1], middles, values[-1:]]))


def bins_of(points: NDArray[np.float64], edges: Sequence[Column]) -> NDArray[np.float64]:
    """Return the number of the bin of each value: ``[left, right)``, or the closest bin.

    Examples
    --------
    >>> bins_of(np.array([[-2.0], [0.0], [2.0]]), [np.array([-1.0, 0.0, 1.0])]).tolist()
    [[0.0], [1.0], [1.0]]
    """
    found = np.zeros(points.shape)
    for number, (column, own) in enumerate(zip(points.T, edges, strict=True)):
        found[:, number] = np.clip(np.searchsorted(own, column, "right") - 1, 0, len(own) - 2)
    return found
