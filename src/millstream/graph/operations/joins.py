"""New values of vertices and edges from DataSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.typeinfo import TypeInformation
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.calls import JoinFirst, checked
from millstream.graph.operations.types import (
    EdgeTypeInfo,
    VertexTypeInfo,
    is_known,
    produced,
    tuple_of,
)

if TYPE_CHECKING:
    from millstream.dataset import DataSet
    from millstream.graph.graph import Graph

__all__ = ["Joins"]


class Joins(GraphBase[K, VV, EV]):
    """Joins vertices and edges with DataSets.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def join_with_vertices(
        self, input_data_set: DataSet, vertex_join_function: Any, return_type: Any = None
    ) -> Graph[K, VV, EV]:
        """Give vertices new values, by a DataSet of tuples (id, value).

        Parameters
        ----------
        input_data_set
            The tuples. Where several have the id of a vertex, one of them counts.
        vertex_join_function
            A function of the value of a vertex and the one of the tuple, or a `VertexJoinFunction`.
            Vertices without a tuple keep their value.
        return_type
            The type of a new value, if it is not that of the old one.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 10), (2, 20)], [(1, 2)])
        ...     more = graph.get_context().from_elements((2, 5))
        ...     joined = graph.join_with_vertices(more, lambda old, new: old + new)
        ...     sorted(joined.get_vertices().collect())
        [Vertex(1, 10), Vertex(2, 25)]
        """
        checked(vertex_join_function, "join_with_vertices", "vertex_join")
        call = JoinFirst(vertex_join_function, "vertex_join")
        mine, parts = self._vertices.data(), self._vertices.parts()
        kind = tuple_of(VertexTypeInfo, [parts[0], _kept(call, parts[1], return_type)])
        joined = mine.co_group(input_data_set).where(0).equal_to(0).using(call, kind)
        return self._with(vertices=joined)

    def join_with_edges(
        self, input_data_set: DataSet, edge_join_function: Any, return_type: Any = None
    ) -> Graph[K, VV, EV]:
        """Give edges new values, by a DataSet of tuples (source, target, value).

        Gelly keeps one of several edges with the same source and target; here all stay.

        Parameters
        ----------
        input_data_set
            The tuples. Where several have source and target of an edge, one of them counts.
        edge_join_function
            A function of the value of an edge and the one of the tuple, or an `EdgeJoinFunction`. Edges
            without a tuple keep their value.
        return_type
            The type of a new value, if it is not that of the old one.
        """
        return self._joined(
            input_data_set, edge_join_function, return_type, "join_with_edges", 0, 1
        )

    def join_with_edges_on_source(
        self, input_data_set: DataSet, edge_join_function: Any, return_type: Any = None
    ) -> Graph[K, VV, EV]:
        """Give edges new values, by a DataSet of tuples (id of the source, value).

        Parameters
        ----------
        input_data_set
            The tuples. Where several have the same id, one of them counts for all its edges.
        edge_join_function
            A function of the value of an edge and the one of the tuple, or an `EdgeJoinFunction`.
        return_type
            The type of a new value, if it is not that of the old one.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2, 1.0), (1, 3, 3.0)])
        ...     share = lambda weight, degree: weight / degree
        ...     shares = graph.join_with_edges_on_source(graph.out_degrees(), share)
        ...     sorted(shares.get_edges().collect())
        [Edge(1, 2, 0.5), Edge(1, 3, 1.5)]
        """
        return self._joined(
            input_data_set, edge_join_function, return_type, "join_with_edges_on_source", 0
        )

    def join_with_edges_on_target(
        self, input_data_set: DataSet, edge_join_function: Any, return_type: Any = None
    ) -> Graph[K, VV, EV]:
        """Give edges new values, by a DataSet of tuples (id of the target, value).

        Parameters
        ----------
        input_data_set
            The tuples. Where several have the same id, one of them counts for all its edges.
        edge_join_function
            A function of the value of an edge and the one of the tuple, or an `EdgeJoinFunction`.
        return_type
            The type of a new value, if it is not that of the old one.
        """
        return self._joined(
            input_data_set, edge_join_function, return_type, "join_with_edges_on_target", 1
        )

    def _joined(
        self, others: DataSet, function: Any, return_type: Any, what: str, *places: int
    ) -> Graph[Any, Any, Any]:
        call = JoinFirst(checked(function, what, "edge_join"), "edge_join")
        mine, parts = self._edges.data(), self._edges.parts()
        kind = tuple_of(EdgeTypeInfo, [*parts[:2], _kept(call, parts[2], return_type)])
        theirs = range(len(places))
        joined = mine.co_group(others).where(*places).equal_to(*theirs).using(call, kind)
        return self._with(edges=joined)


def _kept(call: JoinFirst, old: TypeInformation, declared: Any) -> TypeInformation:
    """The type of a value of which some are old and some are new.

    A function may make halves of whole numbers, so the old type stays only where the function says so.
    """
    new = produced(call.function, call.methods, declared)
    return old if declared is None and is_known(new) and new != old else new
