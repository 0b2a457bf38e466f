"""Simple graphs without directions: each edge is there both ways."""

from __future__ import annotations

from typing import Any

from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm
from millstream.graph.library.frames import (
    both_ways,
    distinct_edges,
    edges_of,
    graph_of,
    without_loops,
)

__all__ = ["Simplify"]


class Simplify(GraphAlgorithm[Any, Any, Any, Any]):
    """A graph with each edge both ways, once, and without edges from a vertex to itself.

    Of several edges that with the smallest value stays. (In Gelly it is any of them.)

    Parameters
    ----------
    clip_and_flip
        Whether to take only the edges from a larger id to a smaller one, and turn them round.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.simple.undirected import Simplify
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, 5.0), (1, 2, 3.0), (2, 2, 1.0)])
    ...     sorted(graph.run(Simplify(False)).get_edges().collect())
    [Edge(1, 2, 3.0), Edge(2, 1, 3.0)]
    """

    def __init__(self, clip_and_flip: bool) -> None:
        self._clip_and_flip = clip_and_flip

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Make the simple graph."""
        edges = without_loops(edges_of(input), descending=self._clip_and_flip)
        return graph_of(input, input.vertex_columns(), distinct_edges(both_ways(edges)))
