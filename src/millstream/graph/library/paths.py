"""Distances from one vertex."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.graph.graph import Graph
from millstream.graph.kernel.minimum import LevelsProgram, PathsProgram
from millstream.graph.kernel.program import SETUP
from millstream.graph.library.base import (
    ENDLESS,
    Columns,
    VertexAlgorithm,
    checked_iterations,
    ids_of,
    result_columns,
)
from millstream.graph.operations.sides import plain

__all__ = [
    "BreadthFirstSearch",
    "GSASingleSourceShortestPaths",
    "SingleSourceShortestPaths",
]


_LIMIT = 1 << 63


def checked_source(graph: Graph[Any, Any, Any], source: Any) -> pa.DataType:
    """The type of the ids; a source that cannot be one of them is an error."""
    ids = ids_of(graph)
    if ids == pa.string():
        fits = isinstance(source, str)
    else:
        whole = isinstance(source, int) and not isinstance(source, bool)
        fits = whole and -_LIMIT <= source < _LIMIT
    if not fits:
        raise PlanError(
            "GRAPH_UNKNOWN_VERTEX",
            f"the source {source!r} is not a vertex of the graph, whose ids are {ids}",
            location=user_location(),
            hint="give the id of one of its vertices, of the same type as the ids",
        )
    return ids


class SingleSourceShortestPaths(VertexAlgorithm):
    """The lengths of the shortest ways from one vertex to all others, along the edges.

    The values of edges are their lengths. They may be negative, but a cycle whose lengths add up to less
    than 0 is an error if the source reaches it. A vertex to which there is no way gets `UNREACHED`, the
    largest number that is not infinite. A superstep costs as much as distances have changed in the one
    before.

    Parameters
    ----------
    src_vertex_id
        The vertex where all ways begin.
    max_iterations
        The most edges of a way. Without it there is no limit.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import SingleSourceShortestPaths
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, 5.0), (1, 3, 1.0), (3, 2, 1.5)])
    ...     sorted(graph.run(SingleSourceShortestPaths(1, 10)).collect())
    [Vertex(1, 0.0), Vertex(2, 2.5), Vertex(3, 1.0)]
    """

    UNREACHED: ClassVar[float] = 1.7976931348623157e308

    def __init__(self, src_vertex_id: Any, max_iterations: int = ENDLESS) -> None:
        self._source = plain(src_vertex_id)
        self._rounds = checked_iterations("max_iterations", max_iterations)

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        output = {"id": checked_source(graph, self._source), "value": pa.float64()}
        program = PathsProgram(self._source, self.UNREACHED)
        limit = SETUP + self._rounds
        return result_columns(self._loop(graph, program, output, limit=limit, values=("edges",)))


class GSASingleSourceShortestPaths(SingleSourceShortestPaths):
    """The distances of `SingleSourceShortestPaths`. In Gelly they differ in how they run; here they do
    not.

    Examples
    --------
    >>> issubclass(GSASingleSourceShortestPaths, SingleSourceShortestPaths)
    True
    """


class BreadthFirstSearch(VertexAlgorithm):
    """The number of edges on the shortest way from one vertex to all others, along the edges.

    A vertex to which there is no way gets `UNREACHED`, the largest 64-bit number. Gelly has no such
    algorithm.

    Parameters
    ----------
    src_vertex_id
        The vertex where all ways begin.
    max_iterations
        The most edges of a way. Without it there is no limit.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import BreadthFirstSearch
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([("a", "b", None), ("b", "c", None), ("a", "c", None)])
    ...     sorted(graph.run(BreadthFirstSearch("a")).collect())
    [Vertex('a', 0), Vertex('b', 1), Vertex('c', 1)]
    """

    UNREACHED: ClassVar[int] = (1 << 63) - 1

    def __init__(self, src_vertex_id: Any, max_iterations: int = ENDLESS) -> None:
        self._source = plain(src_vertex_id)
        self._rounds = checked_iterations("max_iterations", max_iterations)

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        output = {"id": checked_source(graph, self._source), "value": pa.int64()}
        program = LevelsProgram(self._source)
        return result_columns(self._loop(graph, program, output, limit=SETUP + self._rounds))
