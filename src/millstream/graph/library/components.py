"""Components: vertices that hang together."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.graph.graph import Graph
from millstream.graph.kernel.minimum import ComponentsProgram
from millstream.graph.kernel.program import SETUP
from millstream.graph.kernel.words import WORD_STEPS
from millstream.graph.library.base import (
    ENDLESS,
    Columns,
    VertexAlgorithm,
    checked_iterations,
    ids_of,
    result_columns,
    vertex_value_type,
)

__all__ = ["ConnectedComponents", "GSAConnectedComponents", "labels"]


def labels(graph: Graph[Any, Any, Any], rounds: int) -> tuple[tuple[str, ...], pa.DataType, int]:
    """For an algorithm that passes labels: whose values it reads, their type, the most supersteps.

    The first labels are the values of the vertices, or their ids if there are no values.
    """
    ids = ids_of(graph)
    value = vertex_value_type(graph)
    if value is None:
        values: tuple[str, ...] = ()
        kind = ids
    else:
        values = ("vertices",)
        texts = pa.types.is_string(value) or pa.types.is_large_string(value)
        whole = pa.types.is_integer(value) or pa.types.is_boolean(value)
        kind = pa.string() if texts else pa.int64() if whole else pa.float64()
    # Texts become numbers at the beginning, and texts again at the end.
    more = 2 * WORD_STEPS if kind == pa.string() else 0
    return values, kind, min(SETUP + rounds + more, ENDLESS)


class ConnectedComponents(VertexAlgorithm):
    """Weakly connected components: each vertex gets the smallest value of all vertices that it hangs
    together with, whatever the directions of the edges are.

    The values of the vertices must be numbers or texts. Without values the ids take their place. The
    algorithm ends when no value changes. A superstep costs as much as values have changed in the one
    before.

    Parameters
    ----------
    max_iterations
        The most iterations; a value travels over one edge in each. Without it there is no limit.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import ConnectedComponents
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (3, 2, None), (8, 9, None)])
    ...     sorted(graph.run(ConnectedComponents(10)).collect())
    [Vertex(1, 1), Vertex(2, 1), Vertex(3, 1), Vertex(8, 8), Vertex(9, 8)]
    """

    def __init__(self, max_iterations: int = ENDLESS) -> None:
        self._rounds = checked_iterations("max_iterations", max_iterations)

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        values, kind, limit = labels(graph, self._rounds)
        output = {"id": ids_of(graph), "value": kind}
        program = ComponentsProgram(self._rounds)
        return result_columns(self._loop(graph, program, output, limit=limit, values=values))


class GSAConnectedComponents(ConnectedComponents):
    """The components of `ConnectedComponents`. In Gelly they differ in how they run; here they do not.

    Examples
    --------
    >>> issubclass(GSAConnectedComponents, ConnectedComponents)
    True
    """
