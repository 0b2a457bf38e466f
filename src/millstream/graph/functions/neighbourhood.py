"""Functions of the edges and neighbours of a vertex, and those that join values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from millstream.graph.elements import Edge, Vertex

__all__ = [
    "EdgeJoinFunction",
    "EdgesFunction",
    "EdgesFunctionWithVertexValue",
    "NeighborsFunction",
    "NeighborsFunctionWithVertexValue",
    "ReduceEdgesFunction",
    "ReduceNeighborsFunction",
    "TranslateFunction",
    "VertexJoinFunction",
]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")
T = TypeVar("T")
Collector = Any


class EdgesFunction(Generic[K, EV, T]):
    """Makes any number of results of the edges of a vertex. It knows the id of the vertex.

    It is called for vertices that have such edges.

    Examples
    --------
    >>> class Targets(EdgesFunction):
    ...     def iterate_edges(self, edges, out):
    ...         for vertex_id, edge in edges:
    ...             out.collect((vertex_id, edge.get_target()))
    """

    def iterate_edges(self, edges: Iterable[tuple[K, Edge[K, EV]]], out: Collector) -> Any:
        """Read the edges, each with the id of the vertex; collect, yield or return the results."""
        raise NotImplementedError


class EdgesFunctionWithVertexValue(Generic[K, VV, EV, T]):
    """Makes any number of results of a vertex and its edges.

    It is called for all vertices, also for those without such edges.

    Examples
    --------
    >>> class Heavy(EdgesFunctionWithVertexValue):
    ...     def iterate_edges(self, vertex, edges, out):
    ...         out.collect((vertex.get_id(), max(e.get_value() for e in edges)))
    """

    def iterate_edges(
        self, vertex: Vertex[K, VV], edges: Iterable[Edge[K, EV]], out: Collector
    ) -> Any:
        """Read the edges of a vertex; collect, yield or return the results."""
        raise NotImplementedError


class NeighborsFunction(Generic[K, VV, EV, T]):
    """Makes any number of results of the neighbours of a vertex. It knows the id of the vertex.

    It is called for vertices that have such neighbours.

    Examples
    --------
    >>> class Total(NeighborsFunction):
    ...     def iterate_neighbors(self, neighbors, out):
    ...         total = 0
    ...         for vertex_id, edge, neighbor in neighbors:
    ...             total += neighbor.get_value()
    ...         out.collect((vertex_id, total))
    """

    def iterate_neighbors(
        self, neighbors: Iterable[tuple[K, Edge[K, EV], Vertex[K, VV]]], out: Collector
    ) -> Any:
        """Read the neighbours, each with the id of the vertex and the edge; collect, yield or return
        the results.
        """
        raise NotImplementedError


class NeighborsFunctionWithVertexValue(Generic[K, VV, EV, T]):
    """Makes any number of results of a vertex and its neighbours.

    It is called for all vertices, also for those without such neighbours.

    Examples
    --------
    >>> class Total(NeighborsFunctionWithVertexValue):
    ...     def iterate_neighbors(self, vertex, neighbors, out):
    ...         own = vertex.get_value()
    ...         out.collect((vertex.get_id(), own + sum(v.get_value() for _, v in neighbors)))
    """

    def iterate_neighbors(
        self,
        vertex: Vertex[K, VV],
        neighbors: Iterable[tuple[Edge[K, EV], Vertex[K, VV]]],
        out: Collector,
    ) -> Any:
        """Read the neighbours of a vertex, each with its edge; collect, yield or return the
        results.
        """
        raise NotImplementedError


class ReduceEdgesFunction(Generic[EV]):
    """Makes one value of two values of edges.

    Examples
    --------
    >>> class Least(ReduceEdgesFunction):
    ...     def reduce_edges(self, first_edge_value, second_edge_value):
    ...         return min(first_edge_value, second_edge_value)
    """

    def reduce_edges(self, first_edge_value: EV, second_edge_value: EV) -> EV:
        """Return one value for both. The order in which values come is not fixed."""
        raise NotImplementedError


class ReduceNeighborsFunction(Generic[VV]):
    """Makes one value of two values of vertices.

    Examples
    --------
    >>> class Total(ReduceNeighborsFunction):
    ...     def reduce_neighbors(self, first_neighbor, second_neighbor):
    ...         return first_neighbor + second_neighbor
    """

    def reduce_neighbors(self, first_neighbor: VV, second_neighbor: VV) -> VV:
        """Return one value for both. The order in which values come is not fixed."""
        raise NotImplementedError


class VertexJoinFunction(Generic[VV, T]):
    """Makes the new value of a vertex, of its value and one of a DataSet.

    Examples
    --------
    >>> class Plus(VertexJoinFunction):
    ...     def vertex_join(self, vertex_value, input_value):
    ...         return vertex_value + input_value
    """

    def vertex_join(self, vertex_value: VV, input_value: T) -> VV:
        """Return the new value."""
        raise NotImplementedError


class EdgeJoinFunction(Generic[EV, T]):
    """Makes the new value of an edge, of its value and one of a DataSet.

    Examples
    --------
    >>> class Share(EdgeJoinFunction):
    ...     def edge_join(self, edge_value, input_value):
    ...         return edge_value / input_value
    """

    def edge_join(self, edge_value: EV, input_value: T) -> EV:
        """Return the new value."""
        raise NotImplementedError


class TranslateFunction(Generic[T, K]):
    """Makes a new id or value of an old one.

    Examples
    --------
    >>> class AsText(TranslateFunction):
    ...     def translate(self, value, reuse=None):
    ...         return str(value)
    """

    def translate(self, value: T, reuse: K | None = None) -> K:
        """Return the new one. ``reuse`` is Gelly's, and always None."""
        raise NotImplementedError
