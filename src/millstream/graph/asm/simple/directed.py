"""Simple graphs with directions."""

from __future__ import annotations

from typing import Any

from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm
from millstream.graph.library.frames import distinct_edges, edges_of, graph_of, without_loops

__all__ = ["Simplify"]


class Simplify(GraphAlgorithm[Any, Any, Any, Any]):
    """A graph without edges from a vertex to itself, and with one of several edges from
    one vertex to another one.

    Of several edges that with the smallest value stays. (In Gelly it is any of them.)

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.simple.directed import Simplify
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, 5.0), (1, 2, 3.0), (2, 2, 1.0)])
    ...     graph.run(Simplify()).get_edges().collect()
    [Edge(1, 2, 3.0)]
    """

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Make the simple graph."""
        edges = distinct_edges(without_loops(edges_of(input)))
        return graph_of(input, input.vertex_columns(), edges)
