"""Cores: the parts of a graph where every vertex has many neighbours."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm
from millstream.graph.kernel.neighbours import CoresProgram
from millstream.graph.library.base import (
    Columns,
    Configured,
    VertexAlgorithm,
    checked_iterations,
    ids_of,
    result_columns,
)
from millstream.graph.library.frames import at_least, edges_of, graph_of, joined, selected

__all__ = ["CoreNumbers", "KCore"]


class CoreNumbers(VertexAlgorithm):
    """The largest k for each vertex, for which it is in the k-core: the largest part of the graph in
    which all vertices have k or more neighbours.

    Directions of edges do not matter, several edges between two vertices count as one, and edges
    from a vertex to itself do not count. A superstep costs as much as numbers have changed in the
    one before. Gelly has no such algorithm.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import CoreNumbers
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     sorted(graph.run(CoreNumbers()).collect())
    [Vertex(1, 2), Vertex(2, 2), Vertex(3, 2), Vertex(4, 1)]
    """

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        output = {"id": ids_of(graph), "value": pa.int64()}
        return result_columns(self._loop(graph, CoresProgram(), output))


class KCore(Configured, GraphAlgorithm[Any, Any, Any, Any]):
    """The k-core of a graph: the largest part in which all vertices have k or more neighbours.

    The result is a graph with those vertices and the edges between them. Gelly has no such algorithm.

    Parameters
    ----------
    k
        The number of neighbours.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import KCore
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     sorted(graph.run(KCore(2)).get_edges().collect())
    [Edge(1, 2, None), Edge(1, 3, None), Edge(2, 3, None)]
    """

    def __init__(self, k: int) -> None:
        self._k = checked_iterations("k", k)

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Run the algorithm on a graph; the result is a graph."""
        numbers = CoreNumbers().set_loop_options(self._options)
        numbers.set_parallelism(self._parallelism or -1)
        core = selected(at_least(numbers.columns(input), "value", self._k), ["id"])
        self._loop_result = numbers.loop_result
        vertices = joined(input.vertex_columns(), core, "id")
        edges = joined(joined(edges_of(input), core, "source"), core, "target")
        return graph_of(input, vertices, edges)
