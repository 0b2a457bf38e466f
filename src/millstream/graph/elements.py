"""Vertices, edges and triplets: tuples with names for their fields."""

from __future__ import annotations

from enum import Enum
from typing import Any, Generic, TypeVar, cast

__all__ = ["Edge", "EdgeDirection", "Neighbor", "Triplet", "Vertex"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")
_NO_VALUE: Any = None


class Vertex(tuple[Any, ...], Generic[K, VV]):
    """A vertex of a graph: its id and its value.

    It is a tuple of two fields, so it equals a plain tuple, can be unpacked, and its fields are
    keys of a DataSet. Fields cannot be set; make a new vertex.

    ``vertex_id`` is the id, ``value`` the value; None where vertices have none.

    Examples
    --------
    >>> vertex = Vertex(1, "a")
    >>> vertex.get_id(), vertex.get_value()
    (1, 'a')
    >>> vertex == (1, "a")
    True
    """

    __slots__ = ()

    def __new__(cls, vertex_id: K, value: VV = _NO_VALUE) -> Vertex[K, VV]:
        """Make a vertex."""
        return tuple.__new__(cls, (vertex_id, value))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Vertex({self[0]!r}, {self[1]!r})"

    @property
    def f0(self) -> K:
        """The id."""
        return cast(K, self[0])

    @property
    def f1(self) -> VV:
        """The value."""
        return cast(VV, self[1])

    def get_id(self) -> K:
        """Return the id."""
        return cast(K, self[0])

    def get_value(self) -> VV:
        """Return the value."""
        return cast(VV, self[1])


class Edge(tuple[Any, ...], Generic[K, EV]):
    """An edge of a graph: from its source to its target, with a value.

    It is a tuple of three fields.

    ``source`` and ``target`` are the ids of its vertices, ``value`` is its value, such
    as a weight; None where edges have none.

    Examples
    --------
    >>> edge = Edge(1, 2, 0.5)
    >>> edge.get_source(), edge.get_target(), edge.get_value()
    (1, 2, 0.5)
    >>> edge.reverse()
    Edge(2, 1, 0.5)
    """

    __slots__ = ()

    def __new__(cls, source: K, target: K, value: EV = _NO_VALUE) -> Edge[K, EV]:
        """Make an edge."""
        return tuple.__new__(cls, (source, target, value))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Edge({self[0]!r}, {self[1]!r}, {self[2]!r})"

    @property
    def f0(self) -> K:
        """The id of the source."""
        return cast(K, self[0])

    @property
    def f1(self) -> K:
        """The id of the target."""
        return cast(K, self[1])

    @property
    def f2(self) -> EV:
        """The value."""
        return cast(EV, self[2])

    def get_source(self) -> K:
        """Return the id of the source."""
        return cast(K, self[0])

    def get_target(self) -> K:
        """Return the id of the target."""
        return cast(K, self[1])

    def get_value(self) -> EV:
        """Return the value."""
        return cast(EV, self[2])

    def reverse(self) -> Edge[K, EV]:
        """Return the edge from the target to the source, with the same value."""
        return Edge(self[1], self[0], self[2])


class Triplet(tuple[Any, ...], Generic[K, VV, EV]):
    """An edge together with the values of both of its vertices.

    It is a tuple of five fields: the ids of source and target, the values of source and target, and
    the value of the edge.

    Examples
    --------
    >>> triplet = Triplet(1, 2, "a", "b", 0.5)
    >>> triplet.get_src_vertex(), triplet.get_trg_vertex(), triplet.get_edge()
    (Vertex(1, 'a'), Vertex(2, 'b'), Edge(1, 2, 0.5))
    """

    __slots__ = ()

    def __new__(
        cls, source: K, target: K, source_value: VV, target_value: VV, value: EV
    ) -> Triplet[K, VV, EV]:
        """Make a triplet."""
        return tuple.__new__(cls, (source, target, source_value, target_value, value))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Triplet({', '.join(map(repr, self))})"

    def get_src_vertex(self) -> Vertex[K, VV]:
        """Return the source."""
        return Vertex(self[0], self[2])

    def get_trg_vertex(self) -> Vertex[K, VV]:
        """Return the target."""
        return Vertex(self[1], self[3])

    def get_edge(self) -> Edge[K, EV]:
        """Return the edge."""
        return Edge(self[0], self[1], self[4])


class Neighbor(tuple[Any, ...], Generic[VV, EV]):
    """Value of a neighbour and of the edge that leads there, as `GatherFunction.gather` gets them.

    Examples
    --------
    >>> neighbor = Neighbor(1.5, 0.5)
    >>> neighbor.get_neighbor_value() + neighbor.get_edge_value()
    2.0
    """

    __slots__ = ()

    def __new__(cls, neighbor_value: VV, edge_value: EV) -> Neighbor[VV, EV]:
        """Make a neighbour."""
        return tuple.__new__(cls, (neighbor_value, edge_value))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Neighbor({self[0]!r}, {self[1]!r})"

    def get_neighbor_value(self) -> VV:
        """Return the value of the neighbouring vertex."""
        return cast(VV, self[0])

    def get_edge_value(self) -> EV:
        """Return the value of the edge."""
        return cast(EV, self[1])


class EdgeDirection(Enum):
    """Which edges of a vertex are meant."""

    IN = "in"
    """Those that lead to it."""
    OUT = "out"
    """Those that begin at it."""
    ALL = "all"
    """Both; an edge from a vertex to itself comes twice."""
