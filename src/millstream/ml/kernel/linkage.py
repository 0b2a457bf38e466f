"""Hierarchical clustering from below: which clusters are merged, at which distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.distances import pairwise

__all__ = ["LINKAGES", "Merges", "clusters_of", "merges"]

LINKAGES = ("ward", "complete", "single", "average")


@dataclass(frozen=True)
class Merges:
    """The merges of clusters, by rising distance.

    Merge ``i`` joins the clusters ``first[i]`` and ``second[i]`` into cluster ``n + i`` of ``size[i]``
    points; the ``n`` points are the clusters 0 to ``n - 1``.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.float64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.distance)


def merges(points: NDArray[np.float64], linkage: str, measure: str = "euclidean") -> Merges:
    """Return the whole tree of merges, by chains of nearest neighbours: n² distances, n² steps.

    Examples
    --------
    >>> tree = merges(np.array([[0.0], [1.0], [5.0]]), "single")
    >>> list(zip(tree.first.tolist(), tree.second.tolist(), tree.distance.tolist()))
    [(0, 1, 1.0), (2, 3, 4.0)]
    """
    count = len(points)
    distances = pairwise(points, points, measure)
    np.fill_diagonal(distances, np.inf)
    sizes = np.ones(count)
    found: list[tuple[int, int, float]] = []
    chain: list[int] = []
    open_points = np.ones(count, bool)
    for _ in range(count - 1):
        one, other = _closest_pair(distances, open_points, chain)
        found.append((one, other, float(distances[one, other])))
        _merge(distances, sizes, open_points, one, other, linkage)
    return _in_order(found, count)


def _closest_pair(
    distances: NDArray[np.float64], open_points: NDArray[np.bool_], chain: list[int]
) -> tuple[int, int]:
    """Follow nearest neighbours until two are each other's, and take these two from the chain."""
    if not chain:
        chain.append(int(open_points.argmax()))
    while True:
        last = chain[-1]
        nearest = int(distances[last].argmin())
        if len(chain) > 1 and distances[last, chain[-2]] <= distances[last, nearest]:
            # Of several that are equally near the one before counts, else the chain could circle.
            nearest = chain[-2]
            del chain[-2:]
            return min(last, nearest), max(last, nearest)
        chain.append(nearest)


def _merge(
    distances: NDArray[np.float64],
    sizes: NDArray[np.float64],
    open_points: NDArray[np.bool_],
    one: int,
    other: int,
    linkage: str,
) -> None:
    """Let the row of the second one be the merged cluster, by the formulas of Lance and Williams."""
    left, right, between = distances[one], distances[other], distances[one, other]
    with np.errstate(invalid="ignore"):
        if linkage == "single":
            merged = np.minimum(left, right)
        elif linkage == "complete":
            merged = np.maximum(left, right)
        elif linkage == "average":
            merged = (sizes[one] * left + sizes[other] * right) / (sizes[one] + sizes[other])
        else:
            weight = sizes[one] + sizes[other] + sizes
            squares = (sizes[one] + sizes) * left**2 + (sizes[other] + sizes) * right**2
            merged = np.sqrt(np.maximum((squares - sizes * between**2) / weight, 0))
    open_points[one] = False
    merged[~open_points] = np.inf
    merged[other] = np.inf
    distances[one] = distances[:, one] = np.inf
    distances[other] = distances[:, other] = merged
    sizes[other] += sizes[one]


def _in_order(found: list[tuple[int, int, float]], count: int) -> Merges:
    """Number the clusters by rising distance of their merges."""
    order = np.argsort([distance for _, _, distance in found], kind="stable")
    parents = _Forest(count)
    first, second, sizes = [], [], []
    for number in order:
        one, other, _ = found[number]
        roots = sorted((parents.root(one), parents.root(other)))
        first.append(roots[0])
        second.append(roots[1])
        sizes.append(parents.join(*roots))
    return Merges(
        np.array(first, np.int64),
        np.array(second, np.int64),
        np.array([found[number][2] for number in order], np.float64),
        np.array(sizes, np.int64),
    )


class _Forest:
    """Clusters of clusters; each join makes a new one with the next number."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(2 * count))
        self._sizes = [1] * count

    def root(self, cluster: int) -> int:
        while self._parents[cluster] != cluster:
            self._parents[cluster] = self._parents[self._parents[cluster]]
            cluster = self._parents[cluster]
        return cluster

    def join(self, one: int, other: int) -> int:
        new = len(self._sizes)
        self._sizes.append(self._sizes[one] + self._sizes[other])
        self._parents[one] = self._parents[other] = new
        return self._sizes[new]


def clusters_of(
    tree: Merges, count: int, clusters: int | None, threshold: float | None
) -> tuple[NDArray[np.int64], int]:
    """Return the cluster of each point, numbered as they come, and how many merges led there.

    Merges stop when ``clusters`` are left, or before the first one above ``threshold``.
    """
    if threshold is not None:
        taken = int(np.searchsorted(tree.distance, threshold, "right"))
    else:
        assert clusters is not None
        taken = max(count - clusters, 0)
    forest = _Forest(count)
    for one, other in zip(tree.first[:taken], tree.second[:taken], strict=True):
        forest.join(forest.root(int(one)), forest.root(int(other)))
    numbers: dict[int, int] = {}
    found = [numbers.setdefault(forest.root(point), len(numbers)) for point in range(count)]
    return np.array(found, np.int64), taken
