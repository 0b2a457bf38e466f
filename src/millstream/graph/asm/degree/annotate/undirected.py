"""Degrees in graphs without directions: each edge is there both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.graph.asm.degree.annotate.columns import CountsBase, EdgeDegreesBase, Reduced
from millstream.graph.elements import Vertex
from millstream.graph.graph import Graph
from millstream.graph.library.base import Columns
from millstream.graph.library.frames import counted, edges_of

__all__ = ["EdgeDegreePair", "EdgeSourceDegree", "EdgeTargetDegree", "VertexDegree"]


def _together(*values: Any) -> tuple[Any, ...]:
    return values


class VertexDegree(Reduced, CountsBase):
    """The number of edges of each vertex.

    Examples
    --------
    >>> from millstream.graph.asm.degree.annotate.undirected import VertexDegree
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     sorted(StarGraph(None, 3).generate().run(VertexDegree()).collect())
    [Vertex(0, 2), Vertex(1, 1), Vertex(2, 1)]
    """

    RECORD = Vertex


class _EdgeDegrees(Reduced, EdgeDegreesBase):
    VALUE = staticmethod(_together)

    def _degrees(self, graph: Graph[Any, Any, Any]) -> tuple[Columns, Sequence[str]]:
        return counted(edges_of(graph), "source", "degree"), ("degree",)


class EdgeSourceDegree(_EdgeDegrees):
    """Edges whose value is a pair: the old value, and the number of edges of the source.

    Examples
    --------
    >>> from millstream.graph.asm.degree.annotate.undirected import EdgeSourceDegree
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     sorted(StarGraph(None, 3).generate().run(EdgeSourceDegree()).collect())[0]
    Edge(0, 1, (None, 2))
    """

    SIDES = ("source",)


class EdgeTargetDegree(_EdgeDegrees):
    """Edges whose value is a pair: the old value, and the number of edges of the target.

    Examples
    --------
    >>> from millstream.graph.asm.degree.annotate.undirected import EdgeTargetDegree
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     sorted(StarGraph(None, 3).generate().run(EdgeTargetDegree()).collect())[0]
    Edge(0, 1, (None, 1))
    """

    SIDES = ("target",)


class EdgeDegreePair(_EdgeDegrees):
    """Edges whose value is three values: the old one, the numbers of edges of source and target.

    Examples
    --------
    >>> from millstream.graph.asm.degree.annotate.undirected import EdgeDegreePair
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     sorted(StarGraph(None, 3).generate().run(EdgeDegreePair()).collect())[0]
    Edge(0, 1, (None, 2, 1))
    """

    SIDES = ("source", "target")
