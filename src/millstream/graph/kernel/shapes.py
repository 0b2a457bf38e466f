"""Edges of regular graphs: for some vertices the edges that begin there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Circulant", "Grid", "NoEdges", "Pairs", "Shape", "Star"]

_EDGES_AT_ONCE = 1 << 20


class Shape(ABC):
    """A rule that says which edges begin at a vertex. Vertices are numbers from 0."""

    @property
    @abstractmethod
    def most(self) -> int:
        """How many edges a vertex has at most; 1 where only one vertex has more."""

    @abstractmethod
    def edges(self, vertices: Any) -> tuple[Any, Any]:
        """The sources and the targets of all edges that begin at some vertices."""

    def pieces(self, vertices: Any) -> Iterator[tuple[Any, Any]]:
        """The same in several pieces, so that none is too large."""
        size = max(1, _EDGES_AT_ONCE // max(self.most, 1))
        for at in range(0, len(vertices), size):
            yield self.edges(vertices[at : at + size])


class NoEdges(Shape):
    """No edges at all.

    Examples
    --------
    >>> NoEdges().edges(np.arange(3))
    (array([], dtype=int64), array([], dtype=int64))
    """

    most = 0

    def edges(self, vertices: Any) -> tuple[Any, Any]:
        none = np.zeros(0, np.int64)
        return none, none


@dataclass(frozen=True)
class Circulant(Shape):
    """Edges to the vertices that come some places later, counted in a circle.

    Parameters
    ----------
    count
        The number of vertices.
    ranges
        First distance and number of distances, of each range.

    Examples
    --------
    >>> Circulant(4, [(1, 2)]).edges(np.array([3]))
    (array([3, 3]), array([0, 1]))
    """

    count: int
    ranges: Sequence[tuple[int, int]]

    @property
    def most(self) -> int:
        return sum(length for _, length in self.ranges)

    def edges(self, vertices: Any) -> tuple[Any, Any]:
        steps = [np.arange(first, first + length) for first, length in self.ranges]
        distances = np.concatenate([np.zeros(0, np.int64), *steps])
        target = (vertices[:, None] + distances[None, :]) % self.count
        return np.repeat(vertices, len(distances)), target.ravel()


@dataclass(frozen=True)
class Grid(Shape):
    """Edges to the neighbours in each dimension, both ways.

    Parameters
    ----------
    dimensions
        The size of each, and whether its first and its last vertex are neighbours.

    Examples
    --------
    >>> Grid([(2, False), (3, False)]).edges(np.array([4]))
    (array([4, 4, 4]), array([1, 3, 5]))
    """

    dimensions: Sequence[tuple[int, bool]]

    @property
    def most(self) -> int:
        return 2 * len(self.dimensions)

    def edges(self, vertices: Any) -> tuple[Any, Any]:
        increment = int(np.prod([size for size, _ in self.dimensions]))
        rest = vertices
        targets, there = [], []
        for size, wrapped in self.dimensions:
            increment //= size
            index, rest = rest // increment, rest % increment
            around = increment * (size - 1)
            inside = index > 0
            targets.append(np.where(inside, vertices - increment, vertices + around))
            there.append(inside | wrapped)
            inside = index < size - 1
            targets.append(np.where(inside, vertices + increment, vertices - around))
            there.append(inside | wrapped)
        keep = np.stack(there, 1)
        return np.repeat(vertices, keep.sum(1)), np.stack(targets, 1)[keep]


@dataclass(frozen=True)
class Star(Shape):
    """Edges from each vertex but 0 to 0, and back.

    Examples
    --------
    >>> Star().edges(np.arange(3))
    (array([0, 1, 0, 2]), array([1, 0, 2, 0]))
    """

    most = 2

    def edges(self, vertices: Any) -> tuple[Any, Any]:
        leaves = vertices[vertices > 0]
        centre = np.zeros_like(leaves)
        return np.stack([centre, leaves], 1).ravel(), np.stack([leaves, centre], 1).ravel()


@dataclass(frozen=True)
class Pairs(Shape):
    """Edges between 0 and 1, between 2 and 3, and so on, both ways.

    Examples
    --------
    >>> Pairs().edges(np.arange(4))
    (array([0, 1, 2, 3]), array([1, 0, 3, 2]))
    """

    most = 1

    def edges(self, vertices: Any) -> tuple[Any, Any]:
        return vertices, vertices ^ 1
