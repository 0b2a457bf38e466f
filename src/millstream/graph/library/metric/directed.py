"""Metrics of graphs with directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.graph.graph import Graph
from millstream.graph.library.metric.counts import (
    EdgeMetricsBase,
    VertexMetricsBase,
    printable,
    vertex_counts,
)

__all__ = ["EdgeMetrics", "VertexMetrics"]


@dataclass(frozen=True)
class VertexMetricsResult:
    """Numbers of vertices and edges, and the largest degrees.

    Examples
    --------
    >>> VertexMetricsResult(6, 7, 0, 13, 4, 2, 3, 6).get_number_of_edges()
    7
    """

    vertex_count: int
    unidirectional_edge_count: int
    bidirectional_edge_count: int
    triplet_count: int
    maximum_degree: int
    maximum_out_degree: int
    maximum_in_degree: int
    maximum_triplets: int

    def get_number_of_vertices(self) -> int:
        """Return the number of vertices."""
        return self.vertex_count

    def get_number_of_edges(self) -> int:
        """Return the number of edges; those both ways count twice."""
        return self.unidirectional_edge_count + 2 * self.bidirectional_edge_count

    def get_number_of_directed_edges(self) -> int:
        """Return the number of pairs of vertices with an edge one way."""
        return self.unidirectional_edge_count

    def get_number_of_undirected_edges(self) -> int:
        """Return the number of pairs of vertices with edges both ways."""
        return self.bidirectional_edge_count

    def get_average_degree(self) -> float:
        """Return the number of edges per vertex; NaN if there are no vertices."""
        return self.get_number_of_edges() / self.vertex_count if self.vertex_count else math.nan

    def get_density(self) -> float:
        """Return the number of edges as a part of all that are possible; NaN for fewer than two
        vertices.
        """
        count = self.vertex_count
        return self.get_number_of_edges() / (count * (count - 1)) if count > 1 else math.nan

    def get_number_of_triplets(self) -> int:
        """Return how often two edges have a vertex in common."""
        return self.triplet_count

    def get_maximum_degree(self) -> int:
        """Return the most neighbours of a vertex."""
        return self.maximum_degree

    def get_maximum_out_degree(self) -> int:
        """Return the most vertices to which one vertex has edges."""
        return self.maximum_out_degree

    def get_maximum_in_degree(self) -> int:
        """Return the most vertices from which one vertex has edges."""
        return self.maximum_in_degree

    def get_maximum_triplets(self) -> int:
        """Return the most pairs of edges of a vertex."""
        return self.maximum_triplets

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        return printable(
            {
                "vertex count": self.vertex_count,
                "edge count": self.get_number_of_edges(),
                "unidirectional edge count": self.unidirectional_edge_count,
                "bidirectional edge count": self.bidirectional_edge_count,
                "average degree": self.get_average_degree(),
                "density": self.get_density(),
                "triplet count": self.triplet_count,
                "maximum degree": self.maximum_degree,
                "maximum out degree": self.maximum_out_degree,
                "maximum in degree": self.maximum_in_degree,
                "maximum triplets": self.maximum_triplets,
            }
        )


class VertexMetrics(VertexMetricsBase):
    """Numbers of vertices and edges, and the largest degrees.

    Several edges from one vertex to another one count as one.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.metric.directed import VertexMetrics
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 1, None), (2, 3, None)])
    ...     result = graph.run(VertexMetrics()).get_result()
    ...     result.get_number_of_edges(), result.get_number_of_undirected_edges()
    (3, 1)
    """

    Result: ClassVar[type] = VertexMetricsResult

    def _compute(self, graph: Graph[Any, Any, Any]) -> VertexMetricsResult:
        found = vertex_counts(self, graph, self._isolated)
        # Each edge is counted at both of its ends.
        return VertexMetricsResult(
            found["vertices"],
            found["one_way"] // 2,
            found["both_ways"] // 2,
            found["triplets"],
            found["most_degree"],
            found["most_out"],
            found["most_in"],
            found["most_triplets"],
        )


class EdgeMetrics(EdgeMetricsBase):
    """How many triplets algorithms of triangles and of rectangles look at: a measure of their cost.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.metric.directed import EdgeMetrics
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     graph.run(EdgeMetrics()).get_result().get_number_of_triangle_triplets()
    1
    """
