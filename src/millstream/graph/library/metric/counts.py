"""The parts of metrics that graphs with and without directions share."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.graph.graph import Graph
from millstream.graph.kernel.metrics import EdgeMetricsProgram, VertexMetricsProgram
from millstream.graph.library.base import Analytic

__all__ = [
    "EdgeMetricsBase",
    "EdgeMetricsResult",
    "VertexMetricsBase",
    "printable",
    "vertex_counts",
]

Self = TypeVar("Self", bound="VertexMetricsBase")


def printable(pairs: dict[str, Any]) -> str:
    """Names and numbers as a text.

    Examples
    --------
    >>> printable({"vertex count": 1200, "average degree": 2.5})
    'vertex count: 1,200; average degree: 2.5'
    """
    return "; ".join(
        f"{name}: {number:,}" if isinstance(number, int) else f"{name}: {number:.8g}"
        for name, number in pairs.items()
    )


class VertexMetricsBase(Analytic):
    """Numbers of vertices and edges, and the largest degrees."""

    def __init__(self) -> None:
        super().__init__()
        self._isolated = False

    def set_include_zero_degree_vertices(self: Self, include_zero_degree_vertices: bool) -> Self:
        """Set whether vertices without edges count; by default they do not."""
        self._isolated = include_zero_degree_vertices
        return self


_SUMS = ("vertices", "one_way", "both_ways", "triplets")
_MOST = ("most_degree", "most_out", "most_in", "most_triplets")


def vertex_counts(
    analytic: VertexMetricsBase, graph: Graph[Any, Any, Any], isolated: bool
) -> dict[str, int]:
    """The counts of all tasks together."""
    output = dict.fromkeys((*_SUMS, *_MOST), pa.int64())
    found = analytic._loop(graph, VertexMetricsProgram(), output, isolated=isolated).to_arrow()
    counts = {name: sum(found[name].to_pylist()) for name in _SUMS}
    return counts | {name: max(found[name].to_pylist(), default=0) for name in _MOST}


@dataclass(frozen=True)
class EdgeMetricsResult:
    """How many triplets algorithms of triangles and of rectangles look at.

    Examples
    --------
    >>> EdgeMetricsResult(2, 6, 1, 3).get_number_of_rectangle_triplets()
    6
    """

    triangle_triplet_count: int
    rectangle_triplet_count: int
    maximum_triangle_triplets: int
    maximum_rectangle_triplets: int

    def get_number_of_triangle_triplets(self) -> int:
        """Return the number of pairs of edges from a vertex to two of higher degree."""
        return self.triangle_triplet_count

    def get_number_of_rectangle_triplets(self) -> int:
        """Return the number of pairs of edges from a vertex, of which one at least leads to a vertex of
        higher degree.
        """
        return self.rectangle_triplet_count

    def get_maximum_triangle_triplets(self) -> int:
        """Return the most pairs for triangles of one vertex."""
        return self.maximum_triangle_triplets

    def get_maximum_rectangle_triplets(self) -> int:
        """Return the most pairs for rectangles of one vertex."""
        return self.maximum_rectangle_triplets

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        names = [field.name.replace("_", " ") for field in fields(self)]
        return printable(dict(zip(names, astuple(self), strict=True)))


class EdgeMetricsBase(Analytic):
    """How many triplets algorithms of triangles and of rectangles look at."""

    Result: ClassVar[type] = EdgeMetricsResult

    def _compute(self, graph: Graph[Any, Any, Any]) -> EdgeMetricsResult:
        names = ("triangles", "rectangles", "most_triangles", "most_rectangles")
        output = dict.fromkeys(names, pa.int64())
        found = self._loop(graph, EdgeMetricsProgram(), output, isolated=False).to_arrow()
        columns = [found[name].to_pylist() for name in names]
        sums = (sum(column) for column in columns[:2])
        return EdgeMetricsResult(*sums, *(max(column, default=0) for column in columns[2:]))
