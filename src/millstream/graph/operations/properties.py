"""Properties of a graph: its ids, degrees, triplets and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millstream.common.typeinfo import Types
from millstream.graph.elements import EdgeDirection, Triplet
from millstream.graph.loops.vertex_loop import unknown_vertex
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.calls import ends
from millstream.graph.operations.types import TripletTypeInfo, parts_of, tuple_of

if TYPE_CHECKING:
    from millstream.dataset import DataSet
    from millstream.graph.validation import GraphValidator

__all__ = ["Properties"]

Tuple = tuple[Any, ...]


class Properties(GraphBase[K, VV, EV]):
    """Says what a graph is.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def validate(self, validator: GraphValidator[Any, Any, Any]) -> bool:
        """Whether a validator finds this graph valid.

        Examples
        --------
        >>> from millstream.graph import Graph, InvalidVertexIdsValidator
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, "a")], [(1, 7)])
        ...     graph.validate(InvalidVertexIdsValidator())
        False
        """
        graph: Any = self
        return validator.validate(graph)

    def get_vertices_as_tuple2(self) -> DataSet:
        """Return the vertices as tuples (id, value)."""
        return self._vertices.data().project(0, 1)

    def get_edges_as_tuple3(self) -> DataSet:
        """Return the edges as tuples (source, target, value)."""
        return self._edges.data().project(0, 1, 2)

    def get_vertex_ids(self) -> DataSet:
        """Return the ids of the vertices.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     sorted(Graph.from_collection([(1, 2), (2, 3)]).get_vertex_ids().collect())
        [1, 2, 3]
        """
        return self._vertices.data().map(_first, self._vertices.parts()[0])

    def get_edge_ids(self) -> DataSet:
        """Return the ids of source and target of each edge, as tuples."""
        return self._edges.data().project(0, 1)

    def get_triplets(self) -> DataSet:
        """Return each edge with the values of its vertices, as a DataSet of `Triplet`.

        Edges whose vertices are not in the graph are left out.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, "a"), (2, "b")], [(1, 2, 0.5)])
        ...     graph.get_triplets().collect()
        [Triplet(1, 2, 'a', 'b', 0.5)]
        """
        vertices, edges = self._vertices.data(), self._edges.data()
        first = (
            edges.join(vertices).where(0).equal_to(0)
            .project_first(0, 1).project_second(1).project_first(2)
        )  # fmt: skip
        both: DataSet = (
            first.join(vertices).where(1).equal_to(0)
            .project_first(0, 1, 2).project_second(1).project_first(3)
        )  # fmt: skip
        kind = tuple_of(TripletTypeInfo, parts_of(both.get_type(), 5))
        return both.map(_triplet, kind)

    def number_of_vertices(self) -> int:
        """Count the vertices."""
        return self._counted(self._vertices)

    def number_of_edges(self) -> int:
        """Count the edges."""
        return self._counted(self._edges)

    @staticmethod
    def _counted(side: Any) -> int:
        held = side.held()
        if held is None:
            return int(side.data().count())
        return int(held.num_rows if hasattr(held, "num_rows") else held.count())

    def in_degrees(self) -> DataSet:
        """Count the edges that lead to each vertex: tuples (id, degree)."""
        return self._degrees(EdgeDirection.IN)

    def out_degrees(self) -> DataSet:
        """Count the edges that begin at each vertex: tuples (id, degree).

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     sorted(Graph.from_collection([(1, 2), (1, 3)]).out_degrees().collect())
        [(1, 2), (2, 0), (3, 0)]
        """
        return self._degrees(EdgeDirection.OUT)

    def get_degrees(self) -> DataSet:
        """Count the edges of each vertex in both directions: tuples (id, degree)."""
        return self._degrees(EdgeDirection.ALL)

    def _degrees(self, direction: EdgeDirection) -> DataSet:
        key = self._vertices.parts()[0]
        kind = Types.TUPLE([key, Types.LONG(), Types.LONG()])
        named = self._edges.data().flat_map(_Ends(ends(direction)), kind)
        known = self._vertices.data().map(_is_there, kind)
        totals = known.union(named).group_by(0).reduce(_plus)
        return totals.map(_degree, Types.TUPLE([key, Types.LONG()]))

    def get_vertices_as_list(self) -> list[Any]:
        """Run the program, and return the vertices. Gelly has no such method."""
        return self.get_vertices().collect()

    def get_edges_as_list(self) -> list[Any]:
        """Run the program, and return the edges. Gelly has no such method."""
        return self.get_edges().collect()


def _first(record: Any) -> Any:
    return record[0]


def _triplet(record: Any) -> Triplet[Any, Any, Any]:
    return Triplet(*record)


class _Ends:
    """The ends of an edge: one edge each, and nothing of a vertex."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self.places = places

    def flat_map(self, edge: Any) -> Iterator[tuple[Any, int, int]]:
        for place in self.places:
            yield edge[place], 1, 0


def _is_there(vertex: Any) -> tuple[Any, int, int]:
    return vertex[0], 0, 1


def _plus(left: Any, right: Any) -> tuple[Any, int, int]:
    return left[0], left[1] + right[1], left[2] + right[2]


def _degree(total: Any) -> tuple[Any, int]:
    if not total[2]:
        raise unknown_vertex(total[0], "an edge names it")
    return total[0], total[1]
