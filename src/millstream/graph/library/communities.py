"""Communities: labels that vertices take over from their neighbours."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm
from millstream.graph.kernel.labels import (
    CommunitiesProgram,
    FrequentLabelProgram,
    LabelPropagationProgram,
)
from millstream.graph.kernel.program import SETUP
from millstream.graph.kernel.words import WORD_STEPS
from millstream.graph.library.base import (
    Columns,
    Configured,
    VertexAlgorithm,
    checked_iterations,
    ids_of,
    result_columns,
    vertex_value_type,
)
from millstream.graph.library.components import labels
from millstream.graph.library.frames import both_ways, edges_of, graph_of

__all__ = ["CommunityDetection", "CommunityDetectionLabelPropagation", "LabelPropagation"]


class LabelPropagation(VertexAlgorithm):
    """Labels of communities: a vertex takes over the label that is most frequent among the vertices
    whose edges lead to it, the largest of several.

    The first labels are the values of the vertices, which must be numbers or texts. Without values the
    ids take their place. A superstep reads all edges.

    Parameters
    ----------
    max_iterations
        The most iterations; the algorithm ends earlier if no label changes.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import LabelPropagation
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 3, None), (2, 3, None), (3, 1, None), (3, 2, None)])
    ...     sorted(graph.run(LabelPropagation(1)).collect())
    [Vertex(1, 3), Vertex(2, 3), Vertex(3, 3)]
    """

    def __init__(self, max_iterations: int) -> None:
        self._rounds = checked_iterations("max_iterations", max_iterations)

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        values, kind, limit = labels(graph, self._rounds)
        output = {"id": ids_of(graph), "value": kind}
        program = LabelPropagationProgram(self._rounds)
        return result_columns(self._loop(graph, program, output, limit=limit, values=values))


class CommunityDetectionLabelPropagation(VertexAlgorithm):
    """Labels of communities by the definition of LDBC Graphalytics (CDLP): a vertex takes over the label
    that is most frequent among its neighbours, the smallest of several.

    The first labels are the ids. A neighbour with edges both ways counts twice. Gelly has no such
    algorithm.

    Parameters
    ----------
    max_iterations
        The number of iterations.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import CommunityDetectionLabelPropagation
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None)])
    ...     sorted(graph.run(CommunityDetectionLabelPropagation(2)).collect())
    [Vertex(1, 1), Vertex(2, 1), Vertex(3, 1)]
    """

    def __init__(self, max_iterations: int) -> None:
        self._rounds = checked_iterations("max_iterations", max_iterations)

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        ids = ids_of(graph)
        more = 2 * WORD_STEPS if ids == pa.string() else 0
        program = FrequentLabelProgram(self._rounds)
        limit = SETUP + self._rounds + more
        return result_columns(self._loop(graph, program, {"id": ids, "value": ids}, limit=limit))


class CommunityDetection(Configured, GraphAlgorithm[Any, Any, Any, Any]):
    """Labels of communities with scores: a vertex takes over the label with the highest sum of scores
    among its neighbours, and the score of the label gets smaller on its way.

    The values of the vertices are the first labels, whole numbers; the values of the edges are weights.
    The result is a graph whose vertices have new labels, and that has each edge both ways.

    Parameters
    ----------
    max_iterations
        The most iterations; the algorithm ends earlier if neither labels nor scores change.
    delta
        How much of its score a label loses when it is taken over, divided by the number of the
        iteration.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import CommunityDetection
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     edges = [(1, 2, 1.0), (2, 3, 9.0), (3, 4, 1.0)]
    ...     graph = Graph.from_collection(edges, lambda key: key)
    ...     sorted(graph.run(CommunityDetection(1, 0.5)).get_vertices().collect())
    [Vertex(1, 2), Vertex(2, 3), Vertex(3, 2), Vertex(4, 3)]
    """

    def __init__(self, max_iterations: int, delta: float = 0.5) -> None:
        self._rounds = checked_iterations("max_iterations", max_iterations)
        self._delta = float(delta)

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Run the algorithm on a graph; the result is a graph."""
        return graph_of(input, self.columns(input), both_ways(edges_of(input)))

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        value = vertex_value_type(graph)
        if value is not None and not pa.types.is_integer(value):
            raise PlanError(
                "GRAPH_VALUE_TYPE",
                f"the values of vertices are labels, whole numbers; they are {value}",
                location=user_location(),
                hint="map them to whole numbers with map_vertices",
            )
        values, _, limit = labels(graph, self._rounds)
        ids = ids_of(graph)
        if value is None and ids != pa.int64():
            raise PlanError(
                "GRAPH_VALUE_TYPE",
                "the vertices have no values, and their ids are no numbers, so there are no labels",
                location=user_location(),
                hint="give them whole numbers with map_vertices",
            )
        program = CommunitiesProgram(self._rounds, self._delta)
        output = {"id": ids, "value": pa.int64()}
        result = self._loop(graph, program, output, limit=limit, values=(*values, "edges"))
        return result_columns(result)
