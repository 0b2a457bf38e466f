"""Graphs from a graph: other values, other ids, fewer elements, other directions."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from millstream.common.typeinfo import TypeInformation
from millstream.graph.elements import Edge, Vertex
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.calls import (
    Adapted,
    FilterEdges,
    FilterVertices,
    MapEdges,
    MapVertices,
    checked,
)
from millstream.graph.operations.sides import (
    EDGE_COLUMNS,
    Side,
    as_edge,
    both_directions,
    turned,
)
from millstream.graph.operations.types import (
    EdgeTypeInfo,
    VertexTypeInfo,
    parts_of,
    produced,
    tuple_of,
)

if TYPE_CHECKING:
    from millstream.dataset import DataSet
    from millstream.graph.graph import Graph

__all__ = ["Transformations", "with_both_ends"]


class Transformations(GraphBase[K, VV, EV]):
    """Makes graphs from a graph.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def map_vertices(
        self, mapper: Any, return_type: TypeInformation | None = None
    ) -> Graph[K, Any, EV]:
        """Give each vertex a new value: what a function makes of the vertex.

        Parameters
        ----------
        mapper
            A function of a `Vertex`, or an object with a method ``map``.
        return_type
            The type of a value, such as ``Types.DOUBLE()``. It spares a pass over the values where
            columns are needed. Gelly's type of a whole vertex is taken, too.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 10), (2, 20)], [(1, 2)])
        ...     graph.map_vertices(lambda vertex: vertex.get_value() + 1).get_vertices().collect()
        [Vertex(1, 11), Vertex(2, 21)]
        """
        call = MapVertices(checked(mapper, "map_vertices", "map"), "map")
        return self._mapped(call, _value_type(return_type, VertexTypeInfo, 2))

    def _mapped(self, call: Adapted, declared: TypeInformation | None) -> Graph[Any, Any, Any]:
        is_vertices = isinstance(call, MapVertices | _TranslateVertexValues)
        side = self._vertices if is_vertices else self._edges
        value = produced(call.function, call.methods, declared)
        kind = tuple_of(
            VertexTypeInfo if is_vertices else EdgeTypeInfo, [*side.parts()[:-1], value]
        )
        changed = side.data().map(call, kind)
        return self._with(vertices=changed) if is_vertices else self._with(edges=changed)

    def map_edges(
        self, mapper: Any, return_type: TypeInformation | None = None
    ) -> Graph[K, VV, Any]:
        """Give each edge a new value: what a function makes of the edge.

        Parameters
        ----------
        mapper
            A function of an `Edge`, or an object with a method ``map``.
        return_type
            The type of a value, or of an edge.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2, 3)])
        ...     graph.map_edges(lambda edge: edge.get_value() * 2).get_edges().collect()
        [Edge(1, 2, 6)]
        """
        call = MapEdges(checked(mapper, "map_edges", "map"), "map")
        return self._mapped(call, _value_type(return_type, EdgeTypeInfo, 3))

    def translate_graph_ids(
        self, translator: Any, return_type: TypeInformation | None = None
    ) -> Graph[Any, VV, EV]:
        """Give each vertex a new id, in vertices and edges: what a function makes of the id.

        Parameters
        ----------
        translator
            A function of an id, or a `TranslateFunction`. Different ids must stay different.
        return_type
            The type of an id.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2, 0.5)])
        ...     graph.translate_graph_ids(str).get_edges().collect()
        [Edge('1', '2', 0.5)]
        """
        checked(translator, "translate_graph_ids", "translate", "map")
        methods = ("translate", "map")
        key = produced(translator, methods, return_type)
        vertices, edges = self._vertices, self._edges
        of_vertex = tuple_of(VertexTypeInfo, [key, vertices.parts()[1]])
        of_edge = tuple_of(EdgeTypeInfo, [key, key, edges.parts()[2]])
        return self._with(
            vertices=vertices.data().map(_TranslateVertexIds(translator, *methods), of_vertex),
            edges=edges.data().map(_TranslateEdgeIds(translator, *methods), of_edge),
        )

    def translate_vertex_values(
        self, translator: Any, return_type: TypeInformation | None = None
    ) -> Graph[K, Any, EV]:
        """Give each vertex a new value: what a function makes of the value.

        Parameters
        ----------
        translator
            A function of a value, or a `TranslateFunction`.
        return_type
            The type of a value.
        """
        checked(translator, "translate_vertex_values", "translate", "map")
        call = _TranslateVertexValues(translator, "translate", "map")
        return self._mapped(call, return_type)

    def translate_edge_values(
        self, translator: Any, return_type: TypeInformation | None = None
    ) -> Graph[K, VV, Any]:
        """Give each edge a new value: what a function makes of the value.

        Parameters
        ----------
        translator
            A function of a value, or a `TranslateFunction`.
        return_type
            The type of a value.
        """
        checked(translator, "translate_edge_values", "translate", "map")
        return self._mapped(_TranslateEdgeValues(translator, "translate", "map"), return_type)

    def filter_on_vertices(self, vertex_filter: Any) -> Graph[K, VV, EV]:
        """Keep the vertices for which a function is true, and the edges between them.

        Parameters
        ----------
        vertex_filter
            A function of a `Vertex`, or an object with a method ``filter``.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2), (2, 3)])
        ...     graph.filter_on_vertices(lambda vertex: vertex.get_id() < 3).get_edges().collect()
        [Edge(1, 2, None)]
        """
        checked(vertex_filter, "filter_on_vertices", "filter")
        kept = self._vertices.data().filter(FilterVertices(vertex_filter, "filter"))
        return self._with(vertices=kept, edges=with_both_ends(self._edges.data(), kept))

    def filter_on_edges(self, edge_filter: Any) -> Graph[K, VV, EV]:
        """Keep all vertices, and the edges for which a function is true.

        Parameters
        ----------
        edge_filter
            A function of an `Edge`, or an object with a method ``filter``.
        """
        checked(edge_filter, "filter_on_edges", "filter")
        return self._with(edges=self._edges.data().filter(FilterEdges(edge_filter, "filter")))

    def subgraph(self, vertex_filter: Any, edge_filter: Any) -> Graph[K, VV, EV]:
        """Keep the vertices for which a function is true, and of the edges between them those for
        which another function is true.

        Parameters
        ----------
        vertex_filter
            A function of a `Vertex`.
        edge_filter
            A function of an `Edge`.
        """
        return self.filter_on_vertices(vertex_filter).filter_on_edges(edge_filter)

    def reverse(self) -> Graph[K, VV, EV]:
        """Turn all edges around.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     Graph.from_collection([(1, 2, 0.5)]).reverse().get_edges().collect()
        [Edge(2, 1, 0.5)]
        """
        if self._edges.has_columns:
            return self._with_turned(turned(self._edges.held()))
        return self._with(edges=self._edges.data().project(1, 0, 2))

    def _with_turned(self, columns: Any) -> Graph[Any, Any, Any]:
        """A graph with edges between the same vertices."""
        edges, vertices = Side(self._context, EDGE_COLUMNS, columns=columns), self._vertices
        if self.vertices_are_ends_of_edges():
            vertices = copy.copy(vertices)
            vertices.ends_of = edges
        return self._with(vertices=vertices, edges=edges)

    def get_undirected(self) -> Graph[K, VV, EV]:
        """Add the opposite of each edge. An edge from a vertex to itself is there twice then.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     Graph.from_collection([(1, 2, 0.5)]).get_undirected().get_edges().collect()
        [Edge(1, 2, 0.5), Edge(2, 1, 0.5)]
        """
        if self._edges.has_columns:
            return self._with_turned(both_directions(self._edges.held()))
        edges = self._edges.data()
        return self._with(edges=edges.project(0, 1, 2).union(edges.project(1, 0, 2)))


def _value_type(declared: Any, kind: type[Any], count: int) -> TypeInformation | None:
    """The type of a value: declared as such, or as the last part of an element."""
    if isinstance(declared, kind):
        return parts_of(declared, count)[-1]
    given: TypeInformation | None = declared
    return given


def with_both_ends(edges: DataSet, vertices: DataSet) -> DataSet:
    """The edges whose source and target are among some vertices."""
    first = edges.join(vertices).where(0).equal_to(0).project_first(0, 1, 2)
    both: DataSet = first.join(vertices).where(1).equal_to(0).project_first(0, 1, 2)
    return both


class _TranslateVertexIds(Adapted):
    def map(self, record: Any) -> Vertex[Any, Any]:
        return Vertex(self.call(record[0]), record[1])


class _TranslateEdgeIds(Adapted):
    def map(self, record: Any) -> Edge[Any, Any]:
        edge = as_edge(record)
        return Edge(self.call(edge[0]), self.call(edge[1]), edge[2])


class _TranslateVertexValues(Adapted):
    def map(self, record: Any) -> Vertex[Any, Any]:
        return Vertex(record[0], self.call(record[1]))


class _TranslateEdgeValues(Adapted):
    def map(self, record: Any) -> Edge[Any, Any]:
        return Edge(record[0], record[1], self.call(record[2]))
