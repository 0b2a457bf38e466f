"""The graph."""

from __future__ import annotations

from typing import Any

from millstream.graph.graph_algorithm import GraphAlgorithm, GraphAnalytic
from millstream.graph.operations.base import EV, VV, K
from millstream.graph.operations.display import Display
from millstream.graph.operations.interop import Interop
from millstream.graph.operations.iterations import Iterations
from millstream.graph.operations.joins import Joins
from millstream.graph.operations.neighbourhood import Neighbourhood
from millstream.graph.operations.properties import Properties
from millstream.graph.operations.sets import Sets
from millstream.graph.operations.transformations import Transformations

__all__ = ["Graph"]


class Graph(
    Interop[K, VV, EV],
    Properties[K, VV, EV],
    Transformations[K, VV, EV],
    Joins[K, VV, EV],
    Sets[K, VV, EV],
    Neighbourhood[K, VV, EV],
    Iterations[K, VV, EV],
    Display[K, VV, EV],
):
    """A graph: a DataSet of vertices and a DataSet of edges.

    An edge leads from its source to its target. Ids of vertices are unique. Several edges may lead from
    one vertex to another one, and an edge may lead from a vertex to itself.

    A graph does not change: methods return new graphs.

    Parameters
    ----------
    vertices
        A DataSet of `Vertex`.
    edges
        A DataSet of `Edge`.
    context
        Their environment.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, 0.5), (2, 3, 1.5)])
    ...     sorted(graph.get_edges().collect())
    [Edge(1, 2, 0.5), Edge(2, 3, 1.5)]
    """

    def run(
        self, algorithm: GraphAlgorithm[Any, Any, Any, Any] | GraphAnalytic[Any, Any, Any, Any]
    ) -> Any:
        """Run an algorithm or an analytic on this graph.

        Parameters
        ----------
        algorithm
            A `GraphAlgorithm`, or a `GraphAnalytic`.

        Returns
        -------
        object
            What the algorithm returns; the analytic itself, which has the method ``get_result()``.
        """
        result = algorithm.run(self)
        return algorithm if isinstance(algorithm, GraphAnalytic) else result
