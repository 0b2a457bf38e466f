"""Edges in the order of one of their ends, and the steps over them that need no loop in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Adjacency", "expand", "run_starts", "sort_pairs"]

_LOW = np.uint64(0xFFFFFFFF)
_BITS = np.uint64(32)


def pack(major: Any, minor: Any) -> Any:
    """Two arrays of numbers below 2**32 as one that sorts by the first, then by the second.

    Examples
    --------
    >>> pack(np.array([1]), np.array([2])).tolist() == [(1 << 32) + 2]
    True
    """
    return (major.astype(np.uint64) << _BITS) | minor.astype(np.uint64)


def sort_pairs(major: Any, minor: Any) -> tuple[Any, Any]:
    """Pairs in order of the first, then of the second.

    Examples
    --------
    >>> sort_pairs(np.array([1, 0, 1]), np.array([2, 5, 1]))
    (array([0, 1, 1], dtype=int32), array([5, 1, 2], dtype=int32))
    """
    packed = np.sort(pack(major, minor))
    return (packed >> _BITS).astype(np.int32), (packed & _LOW).astype(np.int32)


def run_starts(values: Any) -> Any:
    """Where in a sorted array a new value begins.

    Examples
    --------
    >>> run_starts(np.array([4, 4, 9]))
    array([0, 2])
    """
    if not len(values):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))


def expand(starts: Any, counts: Any) -> tuple[Any, Any]:
    """All places of some ranges, one range after the other, and the number of the range of each.

    Examples
    --------
    >>> expand(np.array([10, 20]), np.array([2, 1]))
    (array([10, 11, 20]), array([0, 0, 1]))
    """
    total = int(counts.sum())
    owner = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(total) + np.repeat(starts - before, counts), owner


class Adjacency:
    """Edges in order of one end: the neighbours of a row are a slice.

    Parameters
    ----------
    rows, columns
        The two ends of each edge, as numbers from 0.
    count
        The number of rows.
    weights
        A weight per edge; its edges then stay in a fixed order also where both ends are equal.

    Examples
    --------
    >>> graph = Adjacency(np.array([2, 0, 2]), np.array([1, 1, 0]), 3)
    >>> graph.bounds, graph.columns
    (array([0, 1, 1, 3]), array([1, 0, 1], dtype=int32))
    """

    def __init__(self, rows: Any, columns: Any, count: int, weights: Any = None) -> None:
        if weights is None:
            rows, self.columns = sort_pairs(rows, columns)
            self.weights: Any = None
        else:
            # Equal pairs in order of their weights: sums do not depend on the order of the input.
            order = np.argsort(weights)
            packed = pack(rows[order], columns[order])
            order = order[np.argsort(packed, kind="stable")]
            rows, self.columns = rows[order], columns[order].astype(np.int32)
            self.weights = weights[order]
        self.bounds = np.searchsorted(rows, np.arange(count + 1))
        self.rows = rows.astype(np.int32, copy=False)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def degrees(self) -> Any:
        """The number of edges of each row."""
        return np.diff(self.bounds)

    def of(self, rows: Any) -> tuple[Any, Any]:
        """The places of all edges of some rows, and for each the number of its row in the argument.

        Examples
        --------
        >>> graph = Adjacency(np.array([2, 0, 2]), np.array([1, 1, 0]), 3)
        >>> graph.of(np.array([0, 2]))
        (array([0, 1, 2]), array([0, 1, 1]))
        """
        starts = self.bounds[rows]
        return expand(starts, self.bounds[rows + 1] - starts)
