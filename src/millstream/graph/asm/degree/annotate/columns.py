"""Degrees beside the values of vertices and edges, as columns and as records."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.common._logging import accepted_without_effect
from millstream.graph.elements import Edge
from millstream.graph.graph import Graph
from millstream.graph.kernel.neighbours import DegreesProgram
from millstream.graph.library.base import (
    Columns,
    LibraryAlgorithm,
    ids_of,
    records_of,
    result_columns,
)
from millstream.graph.library.frames import counted, edges_of, filled, joined, renamed, selected

__all__ = ["CountsBase", "EdgeDegreesBase", "Reduced", "VertexDegreesBase", "degree_columns"]

Self = TypeVar("Self", bound="CountsBase")
ReducedSelf = TypeVar("ReducedSelf", bound="Reduced")


class CountsBase(LibraryAlgorithm):
    """The number of edges at each vertex."""

    SIDE: ClassVar[str] = "source"

    def __init__(self) -> None:
        self._isolated = False

    def set_include_zero_degree_vertices(self: Self, include_zero_degree_vertices: bool) -> Self:
        """Set whether vertices without such edges are in the result; by default they are not."""
        self._isolated = include_zero_degree_vertices
        return self

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Count edges, and return the columns ``id`` and ``value``."""
        ids_of(graph)
        found = counted(edges_of(graph), self.SIDE, "value")
        if not self._isolated:
            return found
        vertices = selected(graph.vertex_columns(), ["id"])
        return filled(joined(vertices, found, "id", outer=True), ["value"])


class VertexDegreesBase(CountsBase):
    """The neighbours of each vertex, and those of each direction."""

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Count neighbours, and return the columns ``id``, ``degree``, ``out`` and ``in``."""
        return degree_columns(self, graph, self._isolated)


def degree_columns(
    algorithm: LibraryAlgorithm, graph: Graph[Any, Any, Any], isolated: bool
) -> Columns:
    """The columns ``id``, ``degree``, ``out`` and ``in``."""
    output = {"id": ids_of(graph), **dict.fromkeys(("degree", "out", "in"), pa.int64())}
    loop = algorithm._loop(graph, DegreesProgram(), output, isolated=isolated)
    return result_columns(loop)


class Reduced:
    """A setting of Gelly that says at which end edges are counted."""

    def set_reduce_on_source_id(self: ReducedSelf, reduce_on_source_id: bool) -> ReducedSelf:
        """Accept Gelly's setting. It has no effect here."""
        accepted_without_effect("set_reduce_on_source_id", "each edge is there both ways")
        return self

    def set_reduce_on_target_id(self: ReducedSelf, reduce_on_target_id: bool) -> ReducedSelf:
        """Accept Gelly's setting. It has no effect here."""
        accepted_without_effect("set_reduce_on_target_id", "each edge is there both ways")
        return self


class EdgeDegreesBase(LibraryAlgorithm):
    """Degrees of one end or of both ends of each edge, beside the value of the edge."""

    SIDES: ClassVar[Sequence[str]] = ()
    VALUE: ClassVar[Callable[..., tuple[Any, ...]]]

    def _degrees(self, graph: Graph[Any, Any, Any]) -> tuple[Columns, Sequence[str]]:
        """The degrees of all vertices, and the names of their columns."""
        return degree_columns(self, graph, False), ("degree", "out", "in")

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Return the columns of edges, and their degrees: the first ones of the source."""
        degrees, names = self._degrees(graph)
        found = edges_of(graph)
        for side in self.SIDES:
            marked = renamed(degrees, ["id", *(f"{side}_{name}" for name in names)])
            found = joined(found, marked, side)
        return found

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Compute the degrees; the result is a DataSet of edges."""
        value = self.VALUE
        columns = self.columns(input)
        pickled = "value" in input._edges.pickled()

        def edge(source: Any, target: Any, old: Any, *degrees: int) -> Edge[Any, Any]:
            old = pickle.loads(old) if pickled and old is not None else old
            return Edge(source, target, value(old, *degrees))

        return records_of(input, columns, edge)
