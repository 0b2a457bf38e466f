"""A smaller graph: vertices with the same value become one."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, user_location
from millstream.graph.elements import Edge, Vertex
from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm
from millstream.graph.kernel.summary import SummaryProgram, summary_schema
from millstream.graph.library.base import (
    Columns,
    Configured,
    ids_of,
    records_of,
    result_columns,
    value_type,
)
from millstream.graph.library.frames import selected
from millstream.graph.library.results import Result

__all__ = ["EdgeValue", "Summarization", "VertexValue"]


class VertexValue(Result):
    """The value that vertices have in common, and how many they are.

    Examples
    --------
    >>> VertexValue("A", 2).get_vertex_group_count()
    2
    """

    __slots__ = ()

    NAMES = ("vertex_group_value", "vertex_group_count")


class EdgeValue(Result):
    """The value that edges have in common, and how many they are.

    Examples
    --------
    >>> EdgeValue("A", 2).get_edge_group_value()
    'A'
    """

    __slots__ = ()

    NAMES = ("edge_group_value", "edge_group_count")


class Summarization(Configured, GraphAlgorithm[Any, Any, Any, Any]):
    """A graph with one vertex for all vertices of the same value, and one edge for all edges of the same
    value between two of those.

    The new values are `VertexValue` and `EdgeValue`: value and count. A vertex has the smallest id of
    those it stands for. (Gelly takes any of them.)

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import Summarization
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     vertices = [(0, "A"), (1, "A"), (2, "B")]
    ...     graph = Graph.from_collection(vertices, [(0, 1, "x"), (1, 2, "x"), (0, 2, "x")])
    ...     small = graph.run(Summarization())
    ...     sorted(small.get_vertices().collect())
    ...     sorted(small.get_edges().collect())
    [Vertex(0, VertexValue('A', 2)), Vertex(2, VertexValue('B', 1))]
    [Edge(0, 0, EdgeValue('x', 1)), Edge(0, 2, EdgeValue('x', 2))]
    """

    VertexValue: ClassVar[type] = VertexValue
    EdgeValue: ClassVar[type] = EdgeValue

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Run the algorithm on a graph; the result is a graph."""
        found = self.columns(input)
        vertices, edges = _of_vertices(found), _of_edges(found)
        return Graph.from_data_set(
            records_of(input, vertices, lambda v, value, n: Vertex(v, VertexValue(value, n))),
            records_of(input, edges, lambda a, b, value, n: Edge(a, b, EdgeValue(value, n))),
            input.get_context(),
        )

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``source``, ``target``, ``vertex_value``,
        ``edge_value`` and ``count``. Rows without a target are vertices.
        """
        kinds = [value_type(columns) for columns in (graph.vertex_columns(), graph.edge_columns())]
        for kind in kinds:
            if kind is not None and pa.types.is_binary(kind):
                raise PlanError(
                    "GRAPH_VALUE_TYPE",
                    "values of vertices and edges must be numbers, texts or other values that have a "
                    "type of their own",
                    location=user_location(),
                    hint="map them to such values with map_vertices and map_edges",
                )
        schema = summary_schema(ids_of(graph), *(kind or pa.null() for kind in kinds))
        output = {field.name: field.type for field in schema}
        sides = ("vertices", "edges")
        values = tuple(s for s, kind in zip(sides, kinds, strict=True) if kind is not None)
        program = SummaryProgram(schema)
        return result_columns(self._loop(graph, program, output, listed=True, values=values))


def _of_vertices(found: Columns) -> Columns:
    target = found["target"]
    rows = pc.is_null(target) if isinstance(found, pa.Table) else target.isNull()
    return selected(found.filter(rows), ["source", "vertex_value", "count"])


def _of_edges(found: Columns) -> Columns:
    target = found["target"]
    rows = pc.is_valid(target) if isinstance(found, pa.Table) else target.isNotNull()
    return selected(found.filter(rows), ["source", "target", "edge_value", "count"])
