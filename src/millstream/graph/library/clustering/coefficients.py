"""The parts of clustering that graphs with and without directions share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.graph.graph import Graph
from millstream.graph.kernel.metrics import AverageClusteringProgram
from millstream.graph.kernel.triangles import ClusteringProgram
from millstream.graph.library.base import (
    Analytic,
    Columns,
    LibraryAlgorithm,
    ids_of,
    result_columns,
)
from millstream.graph.library.results import UnaryResult
from millstream.graph.library.triangles import census

__all__ = [
    "AverageBase",
    "AverageResult",
    "GlobalBase",
    "GlobalResult",
    "LocalBase",
    "LocalResult",
]

Self = TypeVar("Self", bound="LocalBase")


class LocalResult(UnaryResult):
    """The degree of a vertex, and the triangles it is in.

    Examples
    --------
    >>> class Result(LocalResult):
    ...     NAMES = ("vertex_id0", "degree", "triangle_count")
    >>> Result(7, 3, 2).get_local_clustering_coefficient_score()
    0.6666666666666666
    """

    __slots__ = ()

    DIRECTED: ClassVar[bool] = False

    def get_local_clustering_coefficient_score(self) -> float:
        """Return the share of the pairs of neighbours that have an edge; NaN if there are none."""
        degree = self[1]
        pairs = degree * (degree - 1) // (1 if self.DIRECTED else 2)
        return self[2] / pairs if pairs else math.nan

    def to_printable_string(self) -> str:
        """Return a text that says what the fields are."""
        return (
            f"Vertex ID: {self[0]}, vertex degree: {self[1]}, triangle count: {self[2]}, "
            f"local clustering coefficient: {self.get_local_clustering_coefficient_score()}"
        )


class LocalBase(LibraryAlgorithm):
    """For each vertex its degree, and how many triangles it is in."""

    DIRECTED: ClassVar[bool] = False

    def __init__(self) -> None:
        self._isolated = True

    def set_include_zero_degree_vertices(self: Self, include_zero_degree_vertices: bool) -> Self:
        """Set whether vertices without edges are in the result; by default they are."""
        self._isolated = include_zero_degree_vertices
        return self

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id``, ``degree`` and ``triangles``."""
        output = {"id": ids_of(graph), "degree": pa.int64(), "triangles": pa.int64()}
        program = ClusteringProgram(self.DIRECTED)
        return result_columns(self._loop(graph, program, output, isolated=self._isolated))


@dataclass(frozen=True)
class AverageResult:
    """The average of the clustering coefficients of all vertices.

    Examples
    --------
    >>> AverageResult(4, 2.0).get_average_clustering_coefficient()
    0.5
    """

    vertex_count: int
    sum_of_local_clustering_coefficient: float

    def get_number_of_vertices(self) -> int:
        """Return the number of vertices."""
        return self.vertex_count

    def get_average_clustering_coefficient(self) -> float:
        """Return the average; NaN if there are no vertices."""
        count = self.vertex_count
        return self.sum_of_local_clustering_coefficient / count if count else math.nan

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        return (
            f"vertex count: {self.vertex_count}, "
            f"average clustering coefficient: {self.get_average_clustering_coefficient()}"
        )


class AverageBase(Analytic):
    """The average of the clustering coefficients of all vertices."""

    DIRECTED: ClassVar[bool] = False

    def _compute(self, graph: Graph[Any, Any, Any]) -> AverageResult:
        output = {"vertices": pa.int64(), "sum": pa.float64()}
        rows = self._loop(graph, AverageClusteringProgram(self.DIRECTED), output).to_arrow()
        return AverageResult(sum(rows["vertices"].to_pylist()), math.fsum(rows["sum"].to_pylist()))


@dataclass(frozen=True)
class GlobalResult:
    """The share of the triplets that are parts of triangles.

    Examples
    --------
    >>> GlobalResult(13, 6).get_global_clustering_coefficient_score()
    0.46153846153846156
    """

    triplet_count: int
    triangle_count: int

    def get_number_of_triplets(self) -> int:
        """Return how often two edges have a vertex in common."""
        return self.triplet_count

    def get_number_of_triangles(self) -> int:
        """Return how many of these triplets are closed: three times the number of triangles."""
        return self.triangle_count

    def get_global_clustering_coefficient_score(self) -> float:
        """Return the share of the triplets that are closed; NaN if there are none."""
        return self.triangle_count / self.triplet_count if self.triplet_count else math.nan

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        return (
            f"triplet count: {self.triplet_count}, triangle count: {self.triangle_count}, "
            f"global clustering coefficient: {self.get_global_clustering_coefficient_score()}"
        )


class GlobalBase(Analytic):
    """The share of the triplets that are parts of triangles."""

    def _compute(self, graph: Graph[Any, Any, Any]) -> GlobalResult:
        found = census(self, graph)
        return GlobalResult(found["triplets"], 3 * found["triangles"])
