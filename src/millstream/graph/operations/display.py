"""Graphs as pictures: a drawing when small, the distribution of degrees when large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import TupleTypeInfo, Types
from millstream.graph.drawing.summary import degree_picture
from millstream.graph.drawing.svg import picture
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.types import tuple_of

__all__ = ["Display"]

_MOST_VERTICES, _MOST_EDGES = 60, 200


class Display(GraphBase[K, VV, EV]):
    """Shows graphs.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def to_svg(self, max_vertices: int = _MOST_VERTICES, max_edges: int = _MOST_EDGES) -> str:
        """Return a picture of this graph, as a text of SVG. Notebooks show it by themselves.

        A small graph is drawn: ids, values and directions. Colours are those of the values: few
        different ones are groups, and many numbers are shades. Of a large one the picture shows how the
        degrees are distributed. Gelly has no such method.

        Parameters
        ----------
        max_vertices, max_edges
            The largest graph that is drawn.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     svg = Graph.from_collection([(1, 2, 0.5)]).to_svg()
        >>> svg.startswith("<svg"), ">0.5</text>" in svg
        (True, True)
        """
        for name, most in (("max_vertices", max_vertices), ("max_edges", max_edges)):
            if isinstance(most, bool) or not isinstance(most, int) or most < 0:
                raise PlanError(
                    "GRAPH_ARGUMENTS",
                    f"{name} must be a whole number of at least 0, got {most!r}",
                    location=user_location(),
                )
        # One more than is drawn says that there are more, without counting all.
        vertices = self._vertices.data().first(max_vertices + 1).collect()
        if len(vertices) <= max_vertices:
            edges = self._edges.data().first(max_edges + 1).collect()
            if len(edges) <= max_edges:
                return picture(
                    sorted((tuple(each) for each in vertices), key=_by_id),
                    sorted((tuple(each) for each in edges), key=_by_id),
                )
        return self._summary()

    def _summary(self) -> str:
        number, edges = int(self._vertices.data().count()), int(self._edges.data().count())
        key = self._edges.parts()[0]
        ends = self._edges.data().flat_map(_both, tuple_of(TupleTypeInfo, [key, Types.LONG()]))
        degrees = ends.group_by(0).sum(1)
        sizes = degrees.map(_one, Types.TUPLE([Types.LONG(), Types.LONG()]))
        counts = dict(tuple(each) for each in sizes.group_by(0).sum(1).collect())
        isolated = number - sum(counts.values())
        if isolated > 0:
            counts[0] = isolated
        return degree_picture(counts, f"{number:,} vertices, {edges:,} edges")

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        vertices, edges = (", ".join(map(repr, s.parts())) for s in (self._vertices, self._edges))
        return f"Graph(vertices: ({vertices}), edges: ({edges}))"


def _by_id(record: tuple[Any, ...]) -> tuple[Any, ...]:
    """An order that does not depend on tasks, so that the same graph looks the same."""
    return tuple((0, key, "") if isinstance(key, int) else (1, 0, repr(key)) for key in record)


def _both(edge: Any) -> Iterator[tuple[Any, int]]:
    yield edge[0], 1
    yield edge[1], 1


def _one(total: Any) -> tuple[int, int]:
    return total[1], 1
