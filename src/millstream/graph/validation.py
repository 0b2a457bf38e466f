"""Validators: whether a graph is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from millstream.graph.graph import Graph

__all__ = ["DuplicateVertexIdsValidator", "GraphValidator", "InvalidVertexIdsValidator"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")


class GraphValidator(ABC, Generic[K, VV, EV]):
    """Decides whether a graph is valid.

    Examples
    --------
    >>> class NoLoops(GraphValidator):
    ...     def validate(self, graph):
    ...         return not graph.filter_on_edges(lambda e: e[0] == e[1]).number_of_edges()
    """

    @abstractmethod
    def validate(self, graph: Graph[K, VV, EV]) -> bool:
        """Whether a graph is valid."""


class InvalidVertexIdsValidator(GraphValidator[K, VV, EV]):
    """Checks that the source and target of each edge are vertices of the graph.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, "a")], [(1, 7)])
    ...     InvalidVertexIdsValidator().validate(graph)
    ...     InvalidVertexIdsValidator().invalid_ids(graph).collect()
    False
    [7]
    """

    def validate(self, graph: Graph[K, VV, EV]) -> bool:
        """Whether all ids of edges are ids of vertices."""
        return not self.invalid_ids(graph).first(1).count()

    def invalid_ids(self, graph: Graph[K, VV, EV]) -> Any:
        """Return the ids that edges have and no vertex has. Gelly has no such method."""
        vertices = graph.get_vertices()
        named = graph.get_edges().flat_map(_ends)
        return named.co_group(vertices).where(0).equal_to(0).using(_without_vertex)


class DuplicateVertexIdsValidator(GraphValidator[K, VV, EV]):
    """Checks that no two vertices have the same id. Gelly has no such validator.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.testing import in_memory
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     graph = Graph.from_data_set(env.from_elements((1, "a"), (1, "b")), env.from_collection([]))
    ...     graph.validate(DuplicateVertexIdsValidator())
    False
    """

    def validate(self, graph: Graph[K, VV, EV]) -> bool:
        """Whether all ids are different."""
        ids = graph.get_vertices().map(_once)
        return not ids.group_by(0).reduce(_added).filter(_is_several).first(1).count()


def _ends(edge: Any) -> Iterator[tuple[Any]]:
    yield (edge[0],)
    yield (edge[1],)


def _without_vertex(named: Iterable[Any], vertices: Iterable[Any]) -> Iterator[Any]:
    for (key,) in named:
        if not any(True for _ in vertices):
            yield key
        return


def _once(vertex: Any) -> tuple[Any, int]:
    return vertex[0], 1


def _added(left: Any, right: Any) -> tuple[Any, int]:
    return left[0], left[1] + right[1]


def _is_several(total: Any) -> bool:
    return bool(total[1] > 1)
