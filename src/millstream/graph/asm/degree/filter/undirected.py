"""Graphs without directions, without vertices of too high degree."""

from __future__ import annotations

from typing import Any

from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm
from millstream.graph.library.base import checked_iterations
from millstream.graph.library.frames import at_least, counted, edges_of, graph_of, selected, without

__all__ = ["MaximumDegree"]


class MaximumDegree(GraphAlgorithm[Any, Any, Any, Any]):
    """A graph without the vertices that have too many edges, and without their edges.

    Parameters
    ----------
    maximum_degree
        The most edges of a vertex that stays.

    Examples
    --------
    >>> from millstream.graph.asm.degree.filter.undirected import MaximumDegree
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = StarGraph(None, 3).generate().run(MaximumDegree(1))
    ...     sorted(graph.get_vertices().collect()), graph.get_edges().collect()
    ([Vertex(1, None), Vertex(2, None)], [])
    """

    def __init__(self, maximum_degree: int) -> None:
        self._most = checked_iterations("maximum_degree", maximum_degree)

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Make the smaller graph."""
        edges = edges_of(input)
        high = selected(
            at_least(counted(edges, "source", "value"), "value", self._most + 1), ["id"]
        )
        edges = without(without(edges, high, "source"), high, "target")
        return graph_of(input, without(input.vertex_columns(), high, "id"), edges)
