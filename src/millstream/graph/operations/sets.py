"""Graphs of two graphs, and graphs with more or fewer vertices and edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millstream.graph.elements import Edge, Vertex
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.creation import initialized
from millstream.graph.operations.sides import EDGE_COLUMNS, Side, as_edge, as_vertex
from millstream.graph.operations.transformations import with_both_ends

if TYPE_CHECKING:
    from millstream.dataset import DataSet
    from millstream.graph.graph import Graph

__all__ = ["Sets"]


class Sets(GraphBase[K, VV, EV]):
    """Treats graphs as sets of vertices and edges.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def union(self, graph: Graph[K, VV, EV]) -> Graph[K, VV, EV]:
        """Return the vertices and edges of both graphs.

        Equal vertices are one then; equal edges stay as many as there are.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     both = Graph.from_collection([(1, 2)]).union(Graph.from_collection([(1, 2)]))
        ...     both.number_of_vertices(), both.number_of_edges()
        (2, 2)
        """
        vertices = graph._vertices.data().union(self._vertices.data()).distinct()
        edges = graph._edges.data().union(self._edges.data())
        return self._with(vertices=vertices, edges=edges)

    def difference(self, graph: Graph[K, VV, EV]) -> Graph[K, VV, EV]:
        """Remove the vertices of another graph, and all edges that touch them.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     left = Graph.from_collection([(1, 2), (2, 3)])
        ...     right = Graph.from_collection([(3, "x")], [])
        ...     left.difference(right).get_edges().collect()
        [Edge(1, 2, None)]
        """
        return self._without(graph._vertices.data())

    def _without(self, vertices: DataSet) -> Graph[Any, Any, Any]:
        mine = self._vertices.data()
        kept = mine.co_group(vertices).where(0).equal_to(0).using(_unmatched, mine.get_type())
        return self._with(vertices=kept, edges=with_both_ends(self._edges.data(), kept))

    def intersect(self, graph: Graph[K, VV, EV], distinct_edges: bool) -> Graph[K, Any, EV]:
        """Return the edges that both graphs have: the same source, target and value.

        Vertices are the ends of these edges, without values.

        Parameters
        ----------
        graph
            The other graph.
        distinct_edges
            Whether equal edges become one. Otherwise edges are paired, each with one of the other
            graph, and both edges of each pair are in the result.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     left = Graph.from_collection([(1, 3, 13), (1, 3, 13), (1, 3, 14)])
        ...     right = Graph.from_collection([(1, 3, 13)])
        ...     left.intersect(right, True).get_edges().collect()
        ...     left.intersect(right, False).get_edges().collect()
        [Edge(1, 3, 13)]
        [Edge(1, 3, 13), Edge(1, 3, 13)]
        """
        mine, kind = self._edges.data(), self._edges.type()
        function = _one_of_pairs if distinct_edges else _pairs
        paired = mine.co_group(graph._edges.data()).where(0, 1, 2).equal_to(0, 1, 2)
        edges = Side(self._context, EDGE_COLUMNS, paired.using(function, kind))
        return self._with(vertices=initialized(edges, None), edges=edges)

    def add_vertex(self, vertex: Vertex[K, VV]) -> Graph[K, VV, EV]:
        """Add a vertex, unless there is one with its id."""
        return self.add_vertices([vertex])

    def add_vertices(self, vertices_to_add: Iterable[Vertex[K, VV]]) -> Graph[K, VV, EV]:
        """Add vertices; those whose id is there already are left out.

        Examples
        --------
        >>> from millstream.graph import Graph, Vertex
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, "a")], [])
        ...     more = graph.add_vertices([Vertex(1, "b"), Vertex(2, "c")])
        ...     sorted(more.get_vertices().collect())
        [Vertex(1, 'a'), Vertex(2, 'c')]
        """
        more = self._listed([as_vertex(each) for each in vertices_to_add])
        mine = self._vertices.data()
        added = mine.co_group(more).where(0).equal_to(0).using(_first_known, self._vertices.type())
        return self._with(vertices=added)

    def _listed(self, records: Sequence[Any]) -> DataSet:
        return self.get_context().from_collection(list(records))

    def add_edge(
        self, source: Vertex[K, VV], target: Vertex[K, VV], edge_value: EV
    ) -> Graph[K, VV, EV]:
        """Add an edge, and its vertices where the graph does not have them.

        Examples
        --------
        >>> from millstream.graph import Graph, Vertex
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, "a")], [])
        ...     graph.add_edge(Vertex(1, "a"), Vertex(2, "b"), 0.5).get_edges().collect()
        [Edge(1, 2, 0.5)]
        """
        source, target = as_vertex(source), as_vertex(target)
        ends = [source] if source[0] == target[0] else [source, target]
        more = self._listed([Edge(source[0], target[0], edge_value)])
        edges = self._edges.data().union(more)
        return self.add_vertices(ends)._with(edges=edges)

    def add_edges(self, new_edges: Iterable[Edge[K, EV]]) -> Graph[K, VV, EV]:
        """Add edges; those whose source or target is no vertex of the graph are left out."""
        more = self._listed([as_edge(each) for each in new_edges])
        valid = with_both_ends(more, self._vertices.data())
        return self._with(edges=self._edges.data().union(valid))

    def remove_vertex(self, vertex: Vertex[K, VV]) -> Graph[K, VV, EV]:
        """Remove the vertex with an id, and all its edges. The value does not matter."""
        return self.remove_vertices([vertex])

    def remove_vertices(self, vertices_to_be_removed: Any) -> Graph[K, VV, EV]:
        """Remove vertices by their ids, and all their edges.

        Parameters
        ----------
        vertices_to_be_removed
            A list or a DataSet of vertices.

        Examples
        --------
        >>> from millstream.graph import Graph, Vertex
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2), (2, 3)])
        ...     graph.remove_vertices([Vertex(3)]).get_edges().collect()
        [Edge(1, 2, None)]
        """
        removed = vertices_to_be_removed
        if not hasattr(removed, "co_group"):
            removed = self._listed([as_vertex(each) for each in removed])
        return self._without(removed)

    def remove_edge(self, edge: Edge[K, EV]) -> Graph[K, VV, EV]:
        """Remove all edges with the same source and target."""
        return self._with(edges=self._edges.data().filter(_OtherEnds(edge[0], edge[1])))

    def remove_edges(self, edges_to_be_removed: Iterable[Edge[K, EV]]) -> Graph[K, VV, EV]:
        """Remove all edges that have source and target of one in a list.

        Examples
        --------
        >>> from millstream.graph import Edge, Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2), (2, 3)])
        ...     graph.remove_edges([Edge(2, 3)]).get_edges().collect()
        [Edge(1, 2, None)]
        """
        removed = self._listed([as_edge(each) for each in edges_to_be_removed])
        mine, kind = self._edges.data(), self._edges.type()
        kept = mine.co_group(removed).where(0, 1).equal_to(0, 1).using(_unmatched, kind)
        return self._with(edges=kept)


def _unmatched(mine: Iterable[Any], others: Iterable[Any]) -> Iterable[Any]:
    return () if any(True for _ in others) else mine


def _first_known(mine: Iterable[Any], others: Iterable[Any]) -> Iterator[Any]:
    for records in (mine, others):
        for record in records:
            yield record
            return


def _pairs(mine: Iterable[Any], others: Iterable[Any]) -> Iterator[Any]:
    for pair in zip(mine, others, strict=False):
        yield from pair


def _one_of_pairs(mine: Iterable[Any], others: Iterable[Any]) -> Iterator[Any]:
    for record, _ in zip(mine, others, strict=False):
        yield record
        return


class _OtherEnds:
    """Whether an edge has another source or target."""

    def __init__(self, source: Any, target: Any) -> None:
        self.ends = (source, target)

    def filter(self, edge: Any) -> bool:
        return (edge[0], edge[1]) != self.ends
