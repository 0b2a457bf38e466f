"""Triangles: three vertices that all have edges to each other."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.graph.graph import Graph
from millstream.graph.kernel.listing import TriangleListProgram
from millstream.graph.kernel.metrics import CensusProgram
from millstream.graph.library.base import (
    Analytic,
    Columns,
    LibraryAlgorithm,
    ids_of,
    result_columns,
)

__all__ = ["TriangleCountBase", "TriangleEnumerator", "TriangleListingBase"]

Self = TypeVar("Self", bound="TriangleListingBase")


def _triangle(*ids: Any) -> tuple[Any, ...]:
    return ids


class TriangleListingBase(LibraryAlgorithm):
    """All triangles of a graph, each once.

    Several edges between two vertices count as one, and edges from a vertex to itself do not count.
    The cost is the sum, over all edges, of the lower one of the degrees of both ends.
    """

    MASK: ClassVar[bool] = False

    def __init__(self) -> None:
        self._in_order = False
        self._permuted = False

    def set_sort_triangle_vertices(self: Self, sort_triangle_vertices: bool) -> Self:
        """Set whether the ids of each triangle are in ascending order."""
        self._in_order = sort_triangle_vertices
        return self

    def set_permute_results(self: Self, permute_results: bool) -> Self:
        """Set whether each triangle is in the result six times, with its vertices in all orders."""
        self._permuted = permute_results
        return self

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id0``, ``id1`` and ``id2``, and ``bitmask`` where
        edges have directions.
        """
        ids = ids_of(graph)
        output = {f"id{place}": ids for place in range(3)}
        if self.MASK:
            output["bitmask"] = pa.int64()
        program = TriangleListProgram(self._in_order, self._permuted)
        return result_columns(self._loop(graph, program, output, isolated=False))


class TriangleEnumerator(TriangleListingBase):
    """All triangles of a graph, as tuples of three ids. Directions of edges do not matter.

    The first vertex of a triangle is the one with the fewest neighbours, and the others are in order
    of their ids.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import TriangleEnumerator
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     edges = [(1, 2, None), (2, 3, None), (3, 1, None), (3, 4, None)]
    ...     Graph.from_collection(edges).run(TriangleEnumerator()).collect()
    [(1, 2, 3)]
    """

    RECORD = staticmethod(_triangle)


class TriangleCountBase(Analytic):
    """The number of triangles of a graph."""

    def _compute(self, graph: Graph[Any, Any, Any]) -> int:
        return int(census(self, graph)["triangles"])


def census(analytic: Analytic, graph: Graph[Any, Any, Any]) -> dict[str, Any]:
    """The counts of a census of all tasks together."""
    names = ("vertices", "one_way", "both_ways", "021d", "021u", "021c", "111d", "111u", "201")
    output: dict[str, pa.DataType] = dict.fromkeys(names, pa.int64())
    output |= {"triplets": pa.int64(), "triangles": pa.int64(), "masks": pa.list_(pa.int64())}
    rows = analytic._loop(graph, CensusProgram(), output, isolated=False).to_arrow().to_pylist()
    found: dict[str, Any] = {
        name: sum(row[name] for row in rows) for name in output if name != "masks"
    }
    return {
        **found,
        "masks": [sum(each) for each in zip(*(row["masks"] for row in rows), strict=True)],
    }
