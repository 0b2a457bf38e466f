"""Degrees in graphs with directions."""

from __future__ import annotations

from typing import Any, ClassVar

from millstream.graph.asm.degree.annotate.columns import (
    CountsBase,
    EdgeDegreesBase,
    VertexDegreesBase,
)
from millstream.graph.elements import Vertex
from millstream.graph.library.results import Result

__all__ = [
    "Degrees",
    "EdgeDegreesPair",
    "EdgeSourceDegrees",
    "EdgeTargetDegrees",
    "VertexDegrees",
    "VertexInDegree",
    "VertexOutDegree",
]


class Degrees(Result):
    """The neighbours of a vertex, those that its edges lead to, and those whose edges lead to it.

    Examples
    --------
    >>> Degrees(4, 2, 2).get_out_degree()
    2
    """

    __slots__ = ()

    NAMES = ("degree", "out_degree", "in_degree")


def _vertex(key: Any, *degrees: int) -> Vertex[Any, Degrees]:
    return Vertex(key, Degrees(*degrees))


def _one_end(value: Any, *degrees: int) -> tuple[Any, ...]:
    return value, Degrees(*degrees)


def _both_ends(value: Any, *degrees: int) -> tuple[Any, ...]:
    return value, Degrees(*degrees[:3]), Degrees(*degrees[3:])


class VertexDegrees(VertexDegreesBase):
    """The `Degrees` of each vertex. Several edges between two vertices count as one.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.degree.annotate.directed import VertexDegrees
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 1, None), (1, 3, None)])
    ...     sorted(graph.run(VertexDegrees()).collect())[0]
    Vertex(1, Degrees(2, 2, 1))
    """

    RECORD = staticmethod(_vertex)
    Degrees: ClassVar[type] = Degrees


class VertexOutDegree(CountsBase):
    """The number of edges that begin at each vertex.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.degree.annotate.directed import VertexOutDegree
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (1, 3, None)])
    ...     graph.run(VertexOutDegree()).collect()
    [Vertex(1, 2)]
    """

    RECORD = Vertex


class VertexInDegree(CountsBase):
    """The number of edges that lead to each vertex.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.degree.annotate.directed import VertexInDegree
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (1, 3, None)])
    ...     algorithm = VertexInDegree().set_include_zero_degree_vertices(True)
    ...     sorted(graph.run(algorithm).collect())
    [Vertex(1, 0), Vertex(2, 1), Vertex(3, 1)]
    """

    SIDE = "target"
    RECORD = Vertex


class EdgeSourceDegrees(EdgeDegreesBase):
    """Edges whose value is a pair: the old value, and the `Degrees` of the source.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.degree.annotate.directed import EdgeSourceDegrees
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     Graph.from_collection([(1, 2, "a")]).run(EdgeSourceDegrees()).collect()
    [Edge(1, 2, ('a', Degrees(1, 1, 0)))]
    """

    SIDES = ("source",)
    VALUE = staticmethod(_one_end)


class EdgeTargetDegrees(EdgeDegreesBase):
    """Edges whose value is a pair: the old value, and the `Degrees` of the target.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.degree.annotate.directed import EdgeTargetDegrees
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     Graph.from_collection([(1, 2, "a")]).run(EdgeTargetDegrees()).collect()
    [Edge(1, 2, ('a', Degrees(1, 0, 1)))]
    """

    SIDES = ("target",)
    VALUE = staticmethod(_one_end)


class EdgeDegreesPair(EdgeDegreesBase):
    """Edges whose value is three values: the old one, the `Degrees` of the source and of the target.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.asm.degree.annotate.directed import EdgeDegreesPair
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     Graph.from_collection([(1, 2, "a")]).run(EdgeDegreesPair()).collect()
    [Edge(1, 2, ('a', Degrees(1, 1, 0), Degrees(1, 0, 1)))]
    """

    SIDES = ("source", "target")
    VALUE = staticmethod(_both_ends)
