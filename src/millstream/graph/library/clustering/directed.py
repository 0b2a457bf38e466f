"""Clustering of graphs with directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.graph.graph import Graph
from millstream.graph.kernel.neighbours import BACKWARD, FORWARD
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
    """The degree of a vertex, and the edges between its neighbours.

    Examples
    --------
    >>> LocalClusteringResult(7, 3, 3).get_local_clustering_coefficient_score()
    0.5
    """

    __slots__ = ()

    DIRECTED = True
    NAMES = ("vertex_id0", "degree", "triangle_count")


class LocalClusteringCoefficient(LocalBase):
    """The edges between the neighbours of each vertex, as a share of all that are possible.

    A neighbour is a vertex with an edge in any direction. Edges both ways between two neighbours
    count twice.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.directed import LocalClusteringCoefficient
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (3, 2, None), (1, 3, None)])
    ...     for result in sorted(graph.run(LocalClusteringCoefficient()).collect()):
    ...         print(result, result.get_local_clustering_coefficient_score())
    (1,2,2) 1.0
    (2,2,1) 0.5
    (3,2,1) 0.5
    """

    DIRECTED = True
    RECORD: ClassVar[type] = LocalClusteringResult
    Result: ClassVar[type] = LocalClusteringResult


class AverageClusteringCoefficient(AverageBase):
    """The average of the local clustering coefficients; a vertex with fewer than two neighbours has 0.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.directed import AverageClusteringCoefficient
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None)])
    ...     graph.run(AverageClusteringCoefficient()).get_result().to_printable_string()
    'vertex count: 3, average clustering coefficient: 0.5'
    """

    DIRECTED = True
    Result: ClassVar[type] = AverageResult


class GlobalClusteringCoefficient(GlobalBase):
    """The share of the triplets, two edges with a common vertex, that a third edge closes.

    Directions do not matter, and edges both ways count once.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.directed import GlobalClusteringCoefficient
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None), (3, 4, None)])
    ...     graph.run(GlobalClusteringCoefficient()).get_result()
    GlobalResult(triplet_count=5, triangle_count=3)
    """

    Result: ClassVar[type] = GlobalResult


_ARROWS = {FORWARD: "->", BACKWARD: "<-", FORWARD | BACKWARD: "<->"}


class TriangleResult(TertiaryResult):
    """The ids of a triangle, and the directions of its edges.

    The bitmask has two bits for each pair of vertices: first and second, first and third, second and
    third. The higher one says that there is an edge from the one to the other, the lower one that
    there is one back.

    Examples
    --------
    >>> TriangleResult(0, 1, 2, 0b101001).to_printable_string()
    '1st vertex ID: 0, 2nd vertex ID: 1, 3rd vertex ID: 2, edge directions: 0->1, 0->2, 1<-2'
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "vertex_id1", "vertex_id2", "bitmask")

    def to_printable_string(self) -> str:
        """Return a text that says what the fields are."""
        a, b, c, mask = self
        arrows = [_ARROWS[(mask >> shift) & 3] for shift in (4, 2, 0)]
        return (
            f"1st vertex ID: {a}, 2nd vertex ID: {b}, 3rd vertex ID: {c}, edge directions: "
            f"{a}{arrows[0]}{b}, {a}{arrows[1]}{c}, {b}{arrows[2]}{c}"
        )


class TriangleListing(TriangleListingBase):
    """All triangles, with the directions of their edges.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.directed import TriangleListing
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(0, 1, None), (0, 2, None), (2, 1, None)])
    ...     graph.run(TriangleListing().set_sort_triangle_vertices(True)).collect()
    [TriangleResult(0, 1, 2, 41)]
    """

    MASK = True
    RECORD: ClassVar[type] = TriangleResult
    Result: ClassVar[type] = TriangleResult


class TriangleCount(TriangleCountBase):
    """The number of triangles, whatever the directions of their edges are.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.directed import TriangleCount
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (1, 3, None)])
    ...     graph.run(TriangleCount()).get_result()
    1
    """


_TRIADS = [
    "003",
    "012",
    "102",
    "021d",
    "021u",
    "021c",
    "111d",
    "111u",
    "030t",
    "030c",
    "201",
    "120d",
    "120u",
    "120c",
    "210",
    "300",
]  # fmt: skip


@dataclass(frozen=True)
class CensusResult:
    """How many triads, sets of three vertices, there are of each of the 16 kinds.

    The kinds have the names of Holland and Leinhardt: the pairs with edges both ways, those with an
    edge one way, those without, and a letter for the direction.

    Examples
    --------
    >>> CensusResult(3, 8, 0, 1, 2, 4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0).get_count("030t")
    2
    """

    counts: tuple[int, ...]

    def __init__(self, *counts: int) -> None:
        if len(counts) != len(_TRIADS):
            raise TypeError(f"there are {len(_TRIADS)} kinds of triads, got {len(counts)} counts")
        object.__setattr__(self, "counts", counts)

    def get_count(self, kind: str) -> int:
        """Return the number of triads of a kind: "003", "012", "021d" and so on."""
        return self.counts[_TRIADS.index(kind)]

    def get_counts(self) -> tuple[int, ...]:
        """Return all counts, from no edge to six."""
        return self.counts

    def to_printable_string(self) -> str:
        """Return a text that says what the numbers are."""
        return "; ".join(f"{n}: {c:,}" for n, c in zip(_TRIADS, self.counts, strict=True))


def _getter(kind: str) -> Any:
    def get(self: CensusResult) -> int:
        return self.get_count(kind)

    get.__doc__ = f"Return the number of triads of the kind {kind}."
    return get


for _kind in _TRIADS:
    setattr(CensusResult, f"get_count_{_kind}", _getter(_kind))


class TriadicCensus(Analytic):
    """The number of triads, sets of three vertices, of each of the 16 kinds.

    Vertices without edges do not count.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.clustering.directed import TriadicCensus
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None), (3, 1, None)])
    ...     graph.run(TriadicCensus()).get_result().get_count_030c()
    1
    """

    Result: ClassVar[type] = CensusResult

    def _compute(self, graph: Graph[Any, Any, Any]) -> CensusResult:
        found = census(self, graph)
        closed = _closed(found["masks"])
        t030t, t030c, t120d, t120u, t120c, t210, t300 = closed
        # Triplets that a third edge closes are parts of triangles.
        two = {
            "021d": found["021d"] - t120d - t030t,
            "021u": found["021u"] - t120u - t030t,
            "021c": found["021c"] - t120c - 3 * t030c - t030t,
            "111d": found["111d"] - t210 - t120c - 2 * t120d,
            "111u": found["111u"] - t210 - t120c - 2 * t120u,
            "201": found["201"] - 3 * t300 - t210,
        }
        vertices = found["vertices"]
        # An edge is in a triad with each other vertex; those with more edges are known.
        both = found["both_ways"] // 2 * (vertices - 2)
        both -= two["111d"] + two["111u"] + 2 * two["201"]
        both -= t120d + t120u + t120c + 2 * t210 + 3 * t300
        one = found["one_way"] // 2 * (vertices - 2)
        one -= 2 * (two["021d"] + two["021u"] + two["021c"]) + two["111d"] + two["111u"]
        one -= 3 * (t030t + t030c) + 2 * (t120d + t120u + t120c) + t210
        triads = vertices * (vertices - 1) * (vertices - 2) // 6
        none = triads - one - both - sum(two.values()) - sum(closed)
        triplets = [two[kind] for kind in ("021d", "021u", "021c", "111d", "111u")]
        return CensusResult(none, one, both, *triplets, t030t, t030c, two["201"], *closed[2:])


def _closed(masks: list[int]) -> list[int]:
    """Triangles of the kinds 030t, 030c, 120d, 120u, 120c, 210 and 300, by the counts of bitmasks."""
    counts = [0] * 7
    for mask, count in enumerate(masks):
        if count:
            counts[_kind_of(mask)] += count
    return counts


def _kind_of(mask: int) -> int:
    pairs = ((0, 1), (0, 2), (1, 2))
    edges = []
    for (a, b), shift in zip(pairs, (4, 2, 0), strict=True):
        bits = (mask >> shift) & 3
        edges += [(a, b)] * (bits >> 1) + [(b, a)] * (bits & 1)
    both = len(edges) - 3
    out = [sum(1 for source, _ in edges if source == vertex) for vertex in range(3)]
    if both >= 2:
        return both + 3
    if both == 0:
        return 0 if 2 in out else 1
    # One pair has edges both ways; the third vertex sends both others an edge, or gets two, or each one.
    into = [sum(1 for _, target in edges if target == vertex) for vertex in range(3)]
    third = next(v for v in range(3) if out[v] + into[v] == 2)
    return {2: 2, 0: 3, 1: 4}[out[third]]
