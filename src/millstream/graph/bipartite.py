"""Bipartite graphs: two sets of vertices, and edges only from one set to the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millstream.common.typeinfo import TupleTypeInfo, TypeInformation
from millstream.graph.elements import Edge
from millstream.graph.graph import Graph
from millstream.graph.operations.sides import as_vertex, context_of
from millstream.graph.operations.types import EdgeTypeInfo, parts_of, tuple_of, type_of_vertices

if TYPE_CHECKING:
    from millstream.dataset import DataSet, ExecutionEnvironment

__all__ = [
    "BipartiteEdge",
    "BipartiteGraph",
    "BipartiteGraphValidator",
    "InvalidBipartiteVertexIdsValidator",
    "Projection",
]

KT = TypeVar("KT")
KB = TypeVar("KB")
VVT = TypeVar("VVT")
VVB = TypeVar("VVB")
EV = TypeVar("EV")
_NO_VALUE: Any = None


class BipartiteEdge(tuple[Any, ...], Generic[KT, KB, EV]):
    """An edge between a top vertex and a bottom vertex. It is a tuple of three fields.

    Examples
    --------
    >>> edge = BipartiteEdge("Ann", 7, 0.5)
    >>> edge.get_top_id(), edge.get_bottom_id(), edge.get_value()
    ('Ann', 7, 0.5)
    """

    __slots__ = ()

    def __new__(cls, top_id: KT, bottom_id: KB, value: EV = _NO_VALUE) -> BipartiteEdge[KT, KB, EV]:
        """Make an edge."""
        return tuple.__new__(cls, (top_id, bottom_id, value))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"BipartiteEdge({', '.join(map(repr, self))})"

    def get_top_id(self) -> Any:
        """Return the id of the top vertex."""
        return self[0]

    def get_bottom_id(self) -> Any:
        """Return the id of the bottom vertex."""
        return self[1]

    def get_value(self) -> Any:
        """Return the value."""
        return self[2]


class Projection(tuple[Any, ...]):
    """The value of an edge of a full projection. It is a tuple of six fields.

    Examples
    --------
    >>> found = Projection(7, "book", "Ann", "Ben", 0.5, 0.7)
    >>> found.get_intermediate_vertex_id(), found.get_target_edge_value()
    (7, 0.7)
    """

    __slots__ = ()

    def __new__(
        cls,
        connecting_id: Any,
        connecting_value: Any,
        source_value: Any,
        target_value: Any,
        source_edge_value: Any,
        target_edge_value: Any,
    ) -> Projection:
        """Make a projection."""
        values = (source_value, target_value, source_edge_value, target_edge_value)
        return tuple.__new__(cls, (connecting_id, connecting_value, *values))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Projection({', '.join(map(repr, self))})"

    def get_intermediate_vertex_id(self) -> Any:
        """Return the id of the vertex that connects both ends."""
        return self[0]

    def get_intermediate_vertex_value(self) -> Any:
        """Return the value of the vertex that connects both ends."""
        return self[1]

    def get_source_vertex_value(self) -> Any:
        """Return the value of the source."""
        return self[2]

    def get_target_vertex_value(self) -> Any:
        """Return the value of the target."""
        return self[3]

    def get_source_edge_value(self) -> Any:
        """Return the value of the edge between source and connecting vertex."""
        return self[4]

    def get_target_edge_value(self) -> Any:
        """Return the value of the edge between target and connecting vertex."""
        return self[5]


class BipartiteGraph(Generic[KT, KB, VVT, VVB, EV]):
    """A graph of top vertices and bottom vertices, such as people and the books that they have read.

    A top vertex and a bottom vertex may have the same id. Projections make a `Graph` of one of the sets:
    two of its vertices are connected if they have a common neighbour in the other set.

    Parameters
    ----------
    top_vertices, bottom_vertices
        DataSets of `Vertex`.
    edges
        A DataSet of `BipartiteEdge`.
    context
        Their environment.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph import Vertex
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> people = env.from_elements(Vertex("Ann"), Vertex("Ben"))
    >>> books = env.from_elements(Vertex(7, "Emma"))
    >>> edges = env.from_elements(BipartiteEdge("Ann", 7, 5), BipartiteEdge("Ben", 7, 3))
    >>> graph = BipartiteGraph.from_data_set(people, books, edges, env)
    >>> with in_memory():
    ...     sorted(graph.projection_top_simple().get_edges().collect())
    [Edge('Ann', 'Ben', (5, 3)), Edge('Ben', 'Ann', (3, 5))]
    """

    def __init__(
        self,
        top_vertices: DataSet,
        bottom_vertices: DataSet,
        edges: DataSet,
        context: ExecutionEnvironment | None = None,
    ) -> None:
        self._context = context_of(context)
        self._tops, self._bottoms, self._edges = top_vertices, bottom_vertices, edges

    @classmethod
    def from_data_set(
        cls,
        top_vertices: DataSet,
        bottom_vertices: DataSet,
        edges: DataSet,
        context: ExecutionEnvironment | None = None,
    ) -> BipartiteGraph[Any, Any, Any, Any, Any]:
        """Make a graph of DataSets of vertices and edges, or of tuples."""
        return cls(top_vertices, bottom_vertices, edges, context)

    def get_context(self) -> ExecutionEnvironment:
        """Return the environment of the DataSets of this graph."""
        return self._context

    def get_top_vertices(self) -> DataSet:
        """Return the top vertices, as a DataSet of `Vertex`."""
        return self._tops.map(as_vertex, type_of_vertices(self._tops.get_type()))

    def get_bottom_vertices(self) -> DataSet:
        """Return the bottom vertices, as a DataSet of `Vertex`."""
        return self._bottoms.map(as_vertex, type_of_vertices(self._bottoms.get_type()))

    def get_edges(self) -> DataSet:
        """Return the edges, as a DataSet of `BipartiteEdge`."""
        return self._edges.map(_as_bipartite)

    def validate(self, validator: BipartiteGraphValidator) -> bool:
        """Whether a validator finds this graph valid."""
        return validator.validate(self)

    def projection_top_simple(self) -> Graph[Any, Any, Any]:
        """Return the graph of the top vertices.

        An edge stands for a common bottom vertex, and is there in both directions; its value is the pair
        of the values of both edges.
        """
        return self._simple(self._tops, 0)

    def projection_bottom_simple(self) -> Graph[Any, Any, Any]:
        """Return the graph of the bottom vertices.

        An edge stands for a common top vertex, and is there in both directions; its value is the pair of
        the values of both edges.
        """
        return self._simple(self._bottoms, 1)

    def _simple(self, vertices: DataSet, own: int) -> Graph[Any, Any, Any]:
        parts = parts_of(self._edges.get_type(), 3)
        value = tuple_of(TupleTypeInfo, [parts[2], parts[2]])
        return self._projected(vertices, self._edges, own, _Simple(own), parts[own], value)

    def projection_top_full(self) -> Graph[Any, Any, Any]:
        """Return the graph of the top vertices, with a `Projection` as value of each edge."""
        return self._full(self._tops, 0)

    def projection_bottom_full(self) -> Graph[Any, Any, Any]:
        """Return the graph of the bottom vertices, with a `Projection` as value of each edge."""
        return self._full(self._bottoms, 1)

    def _full(self, vertices: DataSet, own: int) -> Graph[Any, Any, Any]:
        first = self._edges.join(self._tops).where(0).equal_to(0).project_first(0, 1, 2)
        tops = first.project_second(1)
        second = tops.join(self._bottoms).where(1).equal_to(0).project_first(0, 1, 2, 3)
        known = second.project_second(1)
        key = parts_of(self._edges.get_type(), 3)[own]
        return self._projected(vertices, known, own, _Full(own), key, None)

    def _projected(
        self,
        vertices: DataSet,
        edges: DataSet,
        own: int,
        function: Callable[..., Any],
        key: TypeInformation,
        value: TypeInformation | None,
    ) -> Graph[Any, Any, Any]:
        from millstream.common.typeinfo import Types

        kind = tuple_of(EdgeTypeInfo, [key, key, value or Types.PICKLED_BYTE_ARRAY()])
        pairs = edges.join(edges).where(1 - own).equal_to(1 - own)
        found = pairs.using(function, kind, flat=True)
        return Graph.from_data_set(vertices, found, self._context)


class _Simple:
    """The edge between two vertices of the same set."""

    def __init__(self, own: int) -> None:
        self.own = own

    def __call__(self, one: Any, other: Any) -> tuple[Edge[Any, Any], ...]:
        source, target = one[self.own], other[self.own]
        return () if source == target else (Edge(source, target, self.value(one, other)),)

    def value(self, one: Any, other: Any) -> Any:
        return one[2], other[2]


class _Full(_Simple):
    """The same with all that is known of both edges: top, bottom, value, values of both vertices."""

    def value(self, one: Any, other: Any) -> Projection:
        own = self.own
        return Projection(
            one[1 - own], one[4 - own], one[3 + own], other[3 + own], one[2], other[2]
        )


def _as_bipartite(record: Any) -> BipartiteEdge[Any, Any, Any]:
    return BipartiteEdge(*record)


class BipartiteGraphValidator(ABC):
    """Decides whether a bipartite graph is valid.

    Examples
    --------
    >>> class NoEdges(BipartiteGraphValidator):
    ...     def validate(self, graph):
    ...         return graph.get_edges().count() == 0
    """

    @abstractmethod
    def validate(self, bipartite_graph: BipartiteGraph[Any, Any, Any, Any, Any]) -> bool:
        """Whether a graph is valid."""


class InvalidBipartiteVertexIdsValidator(BipartiteGraphValidator):
    """Checks that each edge leads from a top vertex of the graph to a bottom vertex of it.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph import Vertex
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> one = env.from_elements(Vertex(1))
    >>> edges = env.from_elements(BipartiteEdge(1, 2))
    >>> with in_memory():
    ...     InvalidBipartiteVertexIdsValidator().validate(BipartiteGraph(one, one, edges, env))
    False
    """

    def validate(self, bipartite_graph: BipartiteGraph[Any, Any, Any, Any, Any]) -> bool:
        """Whether all ids of edges are ids of the right vertices."""
        edges = bipartite_graph.get_edges()
        sides = (bipartite_graph.get_top_vertices(), bipartite_graph.get_bottom_vertices())
        return not any(
            edges.co_group(vertices).where(place).equal_to(0).using(_unknown).first(1).count()
            for place, vertices in enumerate(sides)
        )


def _unknown(edges: Any, vertices: Any) -> Any:
    return () if any(True for _ in vertices) else edges
