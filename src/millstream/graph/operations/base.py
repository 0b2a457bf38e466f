"""The part of a graph that all its methods share: vertices, edges and the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millstream.graph.operations.sides import EDGE_COLUMNS, VERTEX_COLUMNS, Side, context_of

if TYPE_CHECKING:
    from millstream.dataset import DataSet, ExecutionEnvironment
    from millstream.graph.graph import Graph
    from millstream.iteration import LoopResult

__all__ = ["EV", "VV", "GraphBase", "K"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")


class GraphBase(Generic[K, VV, EV]):
    """The vertices, the edges and the environment of a graph.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def __init__(
        self, vertices: Any, edges: Any, context: ExecutionEnvironment | None = None
    ) -> None:
        self._context = context
        self._vertices = _side(context, VERTEX_COLUMNS, vertices)
        self._edges = _side(context, EDGE_COLUMNS, edges)
        self._loop_result: LoopResult | None = None

    def _with(self, *, vertices: Any = None, edges: Any = None) -> Graph[Any, Any, Any]:
        """A graph with other vertices or edges."""
        made: Any = type(self)
        return made(  # type: ignore[no-any-return]
            self._vertices if vertices is None else vertices,
            self._edges if edges is None else edges,
            self._context,
        )

    def get_context(self) -> ExecutionEnvironment:
        """Return the environment of the DataSets of this graph."""
        return context_of(self._context)

    @property
    def loop_result(self) -> LoopResult | None:
        """How the iteration went that made this graph; None if no iteration did.

        It has the ``supersteps`` of the loop with their times, and says why it ran as it did. In a
        notebook it is a chart. Gelly has no such property.
        """
        return self._loop_result

    def get_vertices(self) -> DataSet:
        """Return the vertices, as a DataSet of `Vertex`."""
        return self._vertices.records()

    def get_edges(self) -> DataSet:
        """Return the edges, as a DataSet of `Edge`."""
        return self._edges.records()

    def vertex_columns(self) -> Any:
        """Return the vertices as columns ``id`` and ``value``.

        They are a `pyarrow.Table` in memory, and a DataFrame on Spark. Nothing of Python runs per
        vertex if the graph was made of columns. Gelly has no such method.
        """
        return self._vertices.columns()

    def vertices_are_ends_of_edges(self) -> bool:
        """Whether the vertices were made of the edges, so that no vertex is without edges.

        Algorithms then need not read the vertices. Gelly has no such method.
        """
        return bool(self._vertices.ends_of is self._edges)

    def edge_columns(self) -> Any:
        """Return the edges as columns ``source``, ``target`` and ``value``.

        They are a `pyarrow.Table` in memory, and a DataFrame on Spark.
        """
        return self._edges.columns()


def _side(context: Any, names: tuple[str, ...], found: Any) -> Side:
    return found if isinstance(found, Side) else Side(context, names, found)
