"""Clustering of graphs without directions: each edge is there both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.graph.graph import Graph
from millstream.graph.library.base import Analytic
from millstream.graph.library.clustering.coefficients import (
    AverageBase,
    AverageResult,
    GlobalBase,
    GlobalResult,
    LocalBase,
    LocalResult,
)
from millstream.graph.library.results import TertiaryResult
from millstream.graph.library.triangles import TriangleCountBase, TriangleListingBase, census

__all__ = [
    "AverageClusteringCoefficient",
    "GlobalClusteringCoefficient",
    "LocalClusteringCoefficient",
    "TriadicCensus",
    "TriangleCount",
    "TriangleListing",
]


class LocalClusteringResult(LocalResult):
    """The degree of a vertex, and the triangles it is in.

    Examples
    --------
    >>> LocalClusteringResult(7, 3, 1).get_triangle_count()
    1
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "degree", "triangle_count")


class LocalClusteringCoefficient(LocalBase):
    """The share of the pairs of its neighbours that have an edge, for each vertex.

    The result has the degree of each vertex and the number of triangles it is in; the method
    ``get_local_clustering_coefficient_score`` divides them.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.undirected import LocalClusteringCoefficient
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     for result in sorted(graph.run(LocalClusteringCoefficient()).collect()):
    ...         print(result, result.get_local_clustering_coefficient_score())
    (1,2,1) 1.0
    (2,2,1) 1.0
    (3,3,1) 0.3333333333333333
    (4,1,0) nan
    """

    RECORD: ClassVar[type] = LocalClusteringResult
    Result: ClassVar[type] = LocalClusteringResult


class AverageClusteringCoefficient(AverageBase):
    """The average of the local clustering coefficients; a vertex with fewer than two neighbours has 0.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.undirected import AverageClusteringCoefficient
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None)])
    ...     graph.run(AverageClusteringCoefficient()).get_result().to_printable_string()
    'vertex count: 3, average clustering coefficient: 1.0'
    """

    Result: ClassVar[type] = AverageResult


class GlobalClusteringCoefficient(GlobalBase):
    """The share of the triplets, two edges with a common vertex, that a third edge closes.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.undirected import GlobalClusteringCoefficient
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     graph.run(GlobalClusteringCoefficient()).get_result()
    GlobalResult(triplet_count=5, triangle_count=3)
    """

    Result: ClassVar[type] = GlobalResult


class TriangleResult(TertiaryResult):
    """The ids of a triangle.

    Examples
    --------
    >>> TriangleResult(1, 2, 3).to_printable_string()
    '1st vertex ID: 1, 2nd vertex ID: 2, 3rd vertex ID: 3'
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "vertex_id1", "vertex_id2")
    TEXTS = ("1st vertex ID", "2nd vertex ID", "3rd vertex ID")


class TriangleListing(TriangleListingBase):
    """All triangles.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.undirected import TriangleListing
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None)])
    ...     graph.run(TriangleListing().set_sort_triangle_vertices(True)).collect()
    [TriangleResult(1, 2, 3)]
    """

    RECORD: ClassVar[type] = TriangleResult
    Result: ClassVar[type] = TriangleResult


class TriangleCount(TriangleCountBase):
    """The number of triangles.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.undirected import TriangleCount
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None)])
    ...     graph.run(TriangleCount()).get_result()
    1
    """


@dataclass(frozen=True)
class CensusResult:
    """How many triads, sets of three vertices, have 0, 1, 2 and 3 edges.

    Examples
    --------
    >>> CensusResult(3, 8, 7, 2).get_count_30()
    2
    """

    count_03: int
    count_12: int
    count_21: int
    count_30: int

    def get_count_03(self) -> int:
        """Return the number of triads without edges."""
        return self.count_03

    def get_count_12(self) -> int:
        """Return the number of triads with one edge."""
        return self.count_12

    def get_count_21(self) -> int:
        """Return the number of triads with two edges."""
        return self.count_21

    def get_count_30(self) -> int:
        """Return the number of triads with three edges: triangles."""
        return self.count_30

    def get_counts(self) -> tuple[int, ...]:
        """Return all counts, from no edge to three."""
        return (self.count_03, self.count_12, self.count_21, self.count_30)

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        names = ("03", "12", "21", "30")
        return "; ".join(f"{n}: {c:,}" for n, c in zip(names, self.get_counts(), strict=True))


class TriadicCensus(Analytic):
    """The number of triads, sets of three vertices, by their number of edges.

    Vertices without edges do not count.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.undirected import TriadicCensus
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     graph.run(TriadicCensus()).get_result().to_printable_string()
    '03: 0; 12: 1; 21: 2; 30: 1'
    """

    Result: ClassVar[type] = CensusResult

    def _compute(self, graph: Graph[Any, Any, Any]) -> CensusResult:
        found = census(self, graph)
        vertices, edges = found["vertices"], (found["one_way"] + found["both_ways"]) // 2
        three = found["triangles"]
        two = found["triplets"] - 3 * three
        one = edges * (vertices - 2) - 2 * two - 3 * three
        return CensusResult(_triads(vertices) - one - two - three, one, two, three)


def _triads(vertices: int) -> int:
    return vertices * (vertices - 1) * (vertices - 2) // 6
