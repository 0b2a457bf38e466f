"""Functions of the edges and neighbours of each vertex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millstream.common.typeinfo import TupleTypeInfo, TypeInformation
from millstream.graph.elements import EdgeDirection
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.calls import (
    EdgesOfVertex,
    NeighboursOfVertex,
    OnGroup,
    ReduceValues,
    checked,
    ends,
    takes_vertex,
)
from millstream.graph.operations.types import tuple_of

if TYPE_CHECKING:
    from millstream.dataset import DataSet

__all__ = ["Neighbourhood"]


class Neighbourhood(GraphBase[K, VV, EV]):
    """Looks at the edges and neighbours of each vertex.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def reduce_on_edges(self, reduce_edges_function: Any, direction: EdgeDirection) -> DataSet:
        """Make one value of the values of the edges of each vertex: tuples (id, value).

        Vertices without such edges are not in the result.

        Parameters
        ----------
        reduce_edges_function
            A function that makes one value of two, or a `ReduceEdgesFunction`.
        direction
            Which edges count.

        Examples
        --------
        >>> from millstream.graph import EdgeDirection, Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2, 5), (1, 3, 7)])
        ...     graph.reduce_on_edges(max, EdgeDirection.OUT).collect()
        [(1, 7)]
        """
        checked(reduce_edges_function, "reduce_on_edges", "reduce_edges")
        key, _, value = self._edges.parts()
        kind = tuple_of(TupleTypeInfo, [key, value])
        values = self._edges.data().flat_map(_EndAndValue(ends(direction)), kind)
        return values.group_by(0).reduce(ReduceValues(reduce_edges_function, "reduce_edges"))

    def reduce_on_neighbors(
        self, reduce_neighbors_function: Any, direction: EdgeDirection
    ) -> DataSet:
        """Make one value of the values of the neighbours of each vertex: tuples (id, value).

        A neighbour counts once per edge. Vertices without such neighbours are not in the result.

        Parameters
        ----------
        reduce_neighbors_function
            A function that makes one value of two, or a `ReduceNeighborsFunction`.
        direction
            IN: the sources of edges that lead to the vertex. OUT: the targets of its edges. ALL: both.

        Examples
        --------
        >>> from millstream.graph import EdgeDirection, Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 10), (2, 20), (3, 30)], [(1, 2), (1, 3)])
        ...     graph.reduce_on_neighbors(lambda a, b: a + b, EdgeDirection.OUT).collect()
        [(1, 50)]
        """
        checked(reduce_neighbors_function, "reduce_on_neighbors", "reduce_neighbors")
        key = self._edges.parts()[0]
        both = tuple_of(TupleTypeInfo, [key, key])
        pairs = self._edges.data().flat_map(_EndAndOther(ends(direction)), both)
        values = pairs.join(self._vertices.data()).where(1).equal_to(0)
        call = ReduceValues(reduce_neighbors_function, "reduce_neighbors")
        return values.project_first(0).project_second(1).group_by(0).reduce(call)  # type: ignore[no-any-return]

    def group_reduce_on_edges(
        self,
        edges_function: Any,
        direction: EdgeDirection,
        type_info: TypeInformation | None = None,
    ) -> DataSet:
        """Make any number of results of the edges of each vertex.

        Parameters
        ----------
        edges_function
            An `EdgesFunction` or a function ``(edges, out)``: it is called for vertices that have such
            edges, and reads pairs of the id and an edge. An `EdgesFunctionWithVertexValue` or a
            function ``(vertex, edges, out)``: it is called for all vertices, and reads edges; an edge
            of an unknown vertex is an error.
        direction
            Which edges count.
        type_info
            The type of a result.

        Examples
        --------
        >>> from millstream.graph import EdgeDirection, Graph
        >>> from millstream.testing import in_memory
        >>> def count(vertex, edges, out):
        ...     out.collect((vertex.get_id(), len(list(edges))))
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2), (1, 3)])
        ...     sorted(graph.group_reduce_on_edges(count, EdgeDirection.OUT).collect())
        [(1, 2), (2, 0), (3, 0)]
        """
        with_vertex = takes_vertex(edges_function, "iterate_edges", "group_reduce_on_edges")
        key, kind = self._edges.parts()[0], self._edges.type()
        records = self._edges.data().flat_map(
            _EndAndEdge(ends(direction)), tuple_of(TupleTypeInfo, [key, kind])
        )
        if not with_vertex:
            call = OnGroup(edges_function, "iterate_edges")
            return records.group_by(0).reduce_group(call, output_type=type_info)
        groups = self._vertices.data().co_group(records).where(0).equal_to(0)
        return groups.using(EdgesOfVertex(edges_function, "iterate_edges"), type_info)

    def group_reduce_on_neighbors(
        self,
        neighbors_function: Any,
        direction: EdgeDirection,
        type_info: TypeInformation | None = None,
    ) -> DataSet:
        """Make any number of results of the neighbours of each vertex.

        Parameters
        ----------
        neighbors_function
            A `NeighborsFunction` or a function ``(neighbors, out)``: it is called for vertices that
            have such neighbours, and reads the id, an edge and the neighbour. A
            `NeighborsFunctionWithVertexValue` or a function ``(vertex, neighbors, out)``: it is called
            for all vertices, and reads pairs of an edge and a neighbour.
        direction
            Which edges lead to neighbours.
        type_info
            The type of a result.

        Examples
        --------
        >>> from millstream.graph import EdgeDirection, Graph
        >>> from millstream.testing import in_memory
        >>> def total(vertex, neighbors, out):
        ...     yield vertex.get_id(), sum(near.get_value() for edge, near in neighbors)
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 10), (2, 20)], [(1, 2)])
        ...     sorted(graph.group_reduce_on_neighbors(total, EdgeDirection.ALL).collect())
        [(1, 20), (2, 10)]
        """
        what = "group_reduce_on_neighbors"
        with_vertex = takes_vertex(neighbors_function, "iterate_neighbors", what)
        key, kind = self._edges.parts()[0], self._edges.type()
        triple = tuple_of(TupleTypeInfo, [key, key, kind])
        edges = self._edges.data().flat_map(_EndOtherAndEdge(ends(direction)), triple)
        near = edges.join(self._vertices.records()).where(1).equal_to(0)
        records = near.project_first(0, 2).project_second()
        if not with_vertex:
            call = OnGroup(neighbors_function, "iterate_neighbors")
            return records.group_by(0).reduce_group(call, output_type=type_info)  # type: ignore[no-any-return]
        groups = self._vertices.data().co_group(records).where(0).equal_to(0)
        return groups.using(NeighboursOfVertex(neighbors_function, "iterate_neighbors"), type_info)


class _PerEnd:
    """A record for each end of an edge that a direction means."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self.places = places

    def flat_map(self, edge: Any) -> Iterator[tuple[Any, ...]]:
        for place in self.places:
            yield self.made(edge, place)

    def made(self, edge: Any, place: int) -> tuple[Any, ...]:
        raise NotImplementedError


class _EndAndValue(_PerEnd):
    def made(self, edge: Any, place: int) -> tuple[Any, ...]:
        return edge[place], edge[2]


class _EndAndOther(_PerEnd):
    def made(self, edge: Any, place: int) -> tuple[Any, ...]:
        return edge[place], edge[1 - place]


class _EndAndEdge(_PerEnd):
    def made(self, edge: Any, place: int) -> tuple[Any, ...]:
        return edge[place], tuple(edge)


class _EndOtherAndEdge(_PerEnd):
    def made(self, edge: Any, place: int) -> tuple[Any, ...]:
        return edge[place], edge[1 - place], tuple(edge)
