"""Metrics of graphs without directions: each edge is there both ways."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from millstream.common._logging import accepted_without_effect
from millstream.graph.graph import Graph
from millstream.graph.library.metric.counts import (
    EdgeMetricsBase,
    VertexMetricsBase,
    printable,
    vertex_counts,
)

__all__ = ["EdgeMetrics", "VertexMetrics"]

Self = TypeVar("Self", bound="_Reduced")


class _Reduced:
    def set_reduce_on_target_id(self: Self, reduce_on_target_id: bool) -> Self:
        """Accept Gelly's setting. It has no effect here."""
        accepted_without_effect(
            "set_reduce_on_target_id", "edges are counted at both of their ends"
        )
        return self


@dataclass(frozen=True)
class VertexMetricsResult:
    """Numbers of vertices and edges, and the largest degree.

    Examples
    --------
    >>> VertexMetricsResult(6, 7, 13, 4, 6).get_number_of_edges()
    7
    """

    vertex_count: int
    edge_count: int
    triplet_count: int
    maximum_degree: int
    maximum_triplets: int

    def get_number_of_vertices(self) -> int:
        """Return the number of vertices."""
        return self.vertex_count

    def get_number_of_edges(self) -> int:
        """Return the number of edges; each counts once, though it is there both ways."""
        return self.edge_count

    def get_average_degree(self) -> float:
        """Return the number of neighbours per vertex; NaN if there are no vertices."""
        return 2 * self.edge_count / self.vertex_count if self.vertex_count else math.nan

    def get_density(self) -> float:
        """Return the number of edges as a part of all that are possible; NaN for fewer than two
        vertices.
        """
        count = self.vertex_count
        return self.edge_count / (count * (count - 1) // 2) if count > 1 else math.nan

    def get_number_of_triplets(self) -> int:
        """Return how often two edges have a vertex in common."""
        return self.triplet_count

    def get_maximum_degree(self) -> int:
        """Return the most neighbours of a vertex."""
        return self.maximum_degree

    def get_maximum_triplets(self) -> int:
        """Return the most pairs of edges of a vertex."""
        return self.maximum_triplets

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        return printable(
            {
                "vertex count": self.vertex_count,
                "edge count": self.edge_count,
                "average degree": self.get_average_degree(),
                "density": self.get_density(),
                "triplet count": self.triplet_count,
                "maximum degree": self.maximum_degree,
                "maximum triplets": self.maximum_triplets,
            }
        )


class VertexMetrics(_Reduced, VertexMetricsBase):
    """Numbers of vertices and edges, and the largest degree.

    Examples
    --------
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.graph.library.metric.undirected import VertexMetrics
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     StarGraph(None, 5).generate().run(VertexMetrics()).get_result().get_number_of_triplets()
    6
    """

    Result: ClassVar[type] = VertexMetricsResult

    def _compute(self, graph: Graph[Any, Any, Any]) -> VertexMetricsResult:
        found = vertex_counts(self, graph, self._isolated)
        edges = (found["one_way"] + found["both_ways"]) // 2
        most = (found["most_degree"], found["most_triplets"])
        return VertexMetricsResult(found["vertices"], edges, found["triplets"], *most)


class EdgeMetrics(_Reduced, EdgeMetricsBase):
    """How many triplets algorithms of triangles and of rectangles look at: a measure of their cost.

    Examples
    --------
    >>> from millstream.graph.generator import CompleteGraph
    >>> from millstream.graph.library.metric.undirected import EdgeMetrics
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     metrics = CompleteGraph(None, 4).generate().run(EdgeMetrics())
    ...     metrics.get_result().get_number_of_rectangle_triplets()
    8
    """
