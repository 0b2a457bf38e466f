"""Functions of the user in the shapes that operators of DataSets call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.graph.elements import Edge, EdgeDirection, Vertex
from millstream.graph.functions.configuration import checked_direction
from millstream.graph.loops.values import isolated
from millstream.graph.loops.vertex_loop import unknown_vertex
from millstream.graph.operations.sides import as_edge, as_vertex

__all__ = [
    "Adapted",
    "EdgesOfVertex",
    "FilterEdges",
    "FilterVertices",
    "JoinFirst",
    "MapEdges",
    "MapVertices",
    "NeighboursOfVertex",
    "OnGroup",
    "ReduceValues",
    "called",
    "checked",
    "ends",
    "takes_vertex",
]


def called(function: Any, *methods: str) -> Callable[..., Any]:
    """The method of a function object, or the function itself.

    Examples
    --------
    >>> called(str.upper, "map")("a")
    'A'
    """
    for name in methods:
        method = getattr(function, name, None)
        if callable(method) and not isinstance(function, type):
            return method  # type: ignore[no-any-return]
    return function  # type: ignore[no-any-return]


def checked(function: Any, what: str, *methods: str) -> Any:
    """A function, or an error if it is none.

    Examples
    --------
    >>> checked(len, "map_vertices", "map") is len
    True
    """
    if not callable(called(function, *methods)):
        raise PlanError(
            "GRAPH_FUNCTION",
            f"{what}() needs a function, got {short_repr(function)}",
            location=user_location(),
            hint=f"give a function, a lambda, or an object with a method {methods[0]}",
        )
    return function


class Adapted:
    """A function of the user inside of one that a DataSet calls.

    Examples
    --------
    >>> Adapted(len, "map").call("abc")
    3
    """

    context: Any = None

    def __init__(self, function: Any, *methods: str) -> None:
        self.function = function
        self.methods = methods
        self.call = called(function, *methods)

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self.function, self.methods, self._kept())

    def _kept(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        for name in ("function", "methods", "call", "context"):
            kept.pop(name, None)
        return kept

    def open(self, context: Any) -> None:
        """Give the function its place."""
        if hasattr(self.function, "open"):
            self.function.context = context
            self.function.open(context)

    def close(self) -> None:
        """Let the function tidy up."""
        if hasattr(self.function, "close"):
            self.function.close()


def _rebuilt(kind: type[Adapted], function: Any, methods: Any, kept: dict[str, Any]) -> Adapted:
    adapted = kind.__new__(kind)
    Adapted.__init__(adapted, function, *methods)
    adapted.__dict__.update(kept)
    return adapted


class MapVertices(Adapted):
    """A new value for each vertex.

    Examples
    --------
    >>> MapVertices(lambda vertex: vertex.get_id() * 2, "map").map((4, None))
    Vertex(4, 8)
    """

    def map(self, record: Any) -> Vertex[Any, Any]:
        """The vertex with its new value."""
        return Vertex(record[0], isolated(self.call(as_vertex(record))))


class MapEdges(Adapted):
    """A new value for each edge.

    Examples
    --------
    >>> MapEdges(lambda edge: edge.get_value() * 2, "map").map((1, 2, 4))
    Edge(1, 2, 8)
    """

    def map(self, record: Any) -> Edge[Any, Any]:
        """The edge with its new value."""
        return Edge(record[0], record[1], isolated(self.call(as_edge(record))))


class FilterVertices(Adapted):
    """Whether a vertex stays.

    Examples
    --------
    >>> FilterVertices(lambda vertex: vertex.get_id() > 2, "filter").filter((3, None))
    True
    """

    def filter(self, record: Any) -> bool:
        """The answer of the function."""
        return bool(self.call(as_vertex(record)))


class FilterEdges(Adapted):
    """Whether an edge stays.

    Examples
    --------
    >>> FilterEdges(lambda edge: edge.get_value() > 2, "filter").filter((3, 4, 1))
    False
    """

    def filter(self, record: Any) -> bool:
        """The answer of the function."""
        return bool(self.call(as_edge(record)))


class JoinFirst(Adapted):
    """New values of what has a partner in a DataSet; of several partners the first one counts.

    Examples
    --------
    >>> join = JoinFirst(lambda mine, other: mine + other, "vertex_join")
    >>> list(join.co_group([(1, 10)], [(1, 5), (1, 6)]))
    [(1, 15)]
    """

    def co_group(self, mine: Iterable[Any], others: Iterable[Any]) -> Iterator[Any]:
        """The records with new values, or as they are if there is no partner."""
        partner = next(iter(others), None)
        if partner is None:
            yield from mine
            return
        for *key, value in mine:
            yield (*key, isolated(self.call(value, partner[-1])))


def takes_vertex(function: Any, method: str, what: str) -> bool:
    """Whether a function of edges or neighbours takes the vertex, too: three arguments, not two.

    Examples
    --------
    >>> takes_vertex(lambda vertex, edges, out: None, "iterate_edges", "group_reduce_on_edges")
    True
    """
    call = called(checked(function, what, method), method)
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(each.kind in places for each in inspect.signature(call).parameters.values())
    if count not in (2, 3):
        raise PlanError(
            "GRAPH_FUNCTION",
            f"the function of {what}() takes {count} arguments",
            location=user_location(),
            hint="take the edges or neighbours and a collector, or the vertex before them",
        )
    return count == 3


class _Emitting(Adapted):
    """Calls a function with a collector, and hands on what it collects, yields or returns."""

    def emitted(self, *arguments: Any) -> Iterator[Any]:
        out = Collected()
        found = self.call(*arguments, out)
        for each in () if found is None else found:
            yield from out.taken()
            yield each
        yield from out.taken()


class Collected:
    """The collector that functions get.

    Examples
    --------
    >>> out = Collected()
    >>> out.collect(1)
    >>> out.taken(), out.taken()
    ([1], [])
    """

    def __init__(self) -> None:
        self._values: list[Any] = []

    def collect(self, value: Any) -> None:
        """Add a result."""
        self._values.append(value)

    def taken(self) -> list[Any]:
        """Return what was collected since the last call."""
        values, self._values = self._values, []
        return values

    def close(self) -> None:
        """Do nothing: Flink's collectors have this method."""


class OnGroup(_Emitting):
    """A function of all edges or neighbours of a vertex, without its value.

    Examples
    --------
    >>> count = OnGroup(lambda edges, out: out.collect(len(list(edges))), "iterate_edges")
    >>> list(count.reduce([(1, (1, 2, None)), (1, (1, 3, None))]))
    [2]
    """

    def reduce(self, records: Iterable[Any]) -> Iterator[Any]:
        """The results of a group."""
        return self.emitted(elements(record) for record in records)


def elements(record: Any) -> tuple[Any, ...]:
    """An id with an edge, and with a neighbour if there is one.

    Examples
    --------
    >>> elements((1, (1, 2, None), (2, "b")))
    (1, Edge(1, 2, None), Vertex(2, 'b'))
    """
    key, edge, *vertex = record
    return (key, as_edge(edge), *map(as_vertex, vertex))


class EdgesOfVertex(_Emitting):
    """A function of a vertex and its edges.

    Examples
    --------
    >>> count = EdgesOfVertex(lambda v, edges, out: [(v[0], len(list(edges)))], "iterate_edges")
    >>> list(count.co_group([(1, "a")], [(1, (1, 2, None))]))
    [(1, 1)]
    """

    def co_group(self, vertices: Iterable[Any], records: Iterable[Any]) -> Iterator[Any]:
        """The results for a vertex."""
        vertex = next(iter(vertices), None)
        records = iter(records)
        if vertex is None:
            for record in records:
                raise unknown_vertex(record[0], f"{as_edge(record[1])!r} names it")
            return iter(())
        return self.emitted(as_vertex(vertex), self.others(records))

    def others(self, records: Iterable[Any]) -> Iterator[Any]:
        """The records that the function reads."""
        return (as_edge(record[1]) for record in records)


class NeighboursOfVertex(EdgesOfVertex):
    """A function of a vertex and its neighbours.

    Examples
    --------
    >>> total = NeighboursOfVertex(lambda v, near, out: [sum(n[1] for _, n in near)], "")
    >>> list(total.co_group([(1, "a")], [(1, (1, 2, None), (2, 5))]))
    [5]
    """

    def others(self, records: Iterable[Any]) -> Iterator[Any]:
        """The records that the function reads."""
        return (elements(record)[1:] for record in records)


class ReduceValues(Adapted):
    """One value of two, for pairs of an id and a value.

    Examples
    --------
    >>> ReduceValues(max, "reduce_edges").reduce((1, 3), (1, 4))
    (1, 4)
    """

    def reduce(self, left: Any, right: Any) -> tuple[Any, Any]:
        """The pair with the reduced value."""
        return left[0], self.call(left[1], right[1])


def ends(direction: EdgeDirection) -> tuple[int, ...]:
    """The positions of the ends that a direction means.

    Examples
    --------
    >>> ends(EdgeDirection.ALL)
    (0, 1)
    """
    checked_direction(direction)
    return {EdgeDirection.IN: (1,), EdgeDirection.OUT: (0,), EdgeDirection.ALL: (0, 1)}[direction]
