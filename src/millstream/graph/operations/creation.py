"""Graphs from collections, DataSets, tuples and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import Types
from millstream.graph.elements import Edge, Vertex
from millstream.graph.loops.values import isolated
from millstream.graph.loops.vertex_loop import bad_id, duplicate_vertex
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.calls import Adapted
from millstream.graph.operations.sides import (
    EDGE_COLUMNS,
    VERTEX_COLUMNS,
    Side,
    as_edge,
    context_of,
    ids_of_edges,
    plain,
)
from millstream.graph.operations.types import (
    VertexTypeInfo,
    parts_of,
    produced,
    tuple_of,
    type_of_edges,
)

if TYPE_CHECKING:
    from millstream.graph.graph import Graph
    from millstream.graph.graph_csv_reader import GraphCsvReader

__all__ = ["Creation", "initialized", "inputs_of"]

_UNKNOWN = Types.PICKLED_BYTE_ARRAY()
_NAMES = ("vertices", "edges", "vertex_value_initializer", "context")


def _is_context(value: Any) -> bool:
    return hasattr(value, "from_collection") and hasattr(value, "generate_sequence")


def inputs_of(
    method: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, Any, Callable[[Any], Any] | None, Any]:
    """Vertices, edges, initializer of values and environment, from arguments in Gelly's orders.

    Examples
    --------
    >>> inputs_of("from_collection", ([(1, 2)], str, None), {})[:3]
    (None, [(1, 2)], <class 'str'>)
    """
    found = dict(kwargs)
    args = [each for each in args if each is not None]
    unknown = sorted(set(found) - set(_NAMES))
    records = [each for each in args if not _is_context(each) and not _is_function(each)]
    records = [each for each in records if each is not None]
    others = [each for each in args if _is_context(each) or _is_function(each)]
    places = ["edges"] if len(records) + len(found.keys() & {"vertices", "edges"}) < 2 else []
    places = places or [name for name in ("vertices", "edges") if name not in found]
    if len(records) > len(places) or unknown or ("edges" not in found and not records):
        raise PlanError(
            "GRAPH_ARGUMENTS",
            f"{method}() takes edges, or vertices and edges, then an initializer of vertex values "
            f"and an environment; got {len(records)} of the former"
            + (f", and unknown arguments: {', '.join(unknown)}" if unknown else ""),
            location=user_location(),
            hint=f"for example {method}(vertices, edges, env) or {method}(edges, lambda id: 0, env)",
        )
    found |= dict(zip(places, records, strict=False))
    for each in others:
        found["context" if _is_context(each) else "vertex_value_initializer"] = each
    context = found.get("context")
    function = found.get("vertex_value_initializer")
    return found.get("vertices"), found["edges"], function, context


def _is_function(value: Any) -> bool:
    if value is None or isinstance(value, list | tuple) or hasattr(value, "flat_map"):
        return False
    return (callable(value) or hasattr(value, "map")) and not hasattr(value, "columns")


def initialized(edges: Side, function: Callable[[Any], Any] | None) -> Side:
    """The vertices that edges have, with values by a function of the id."""
    if edges.has_columns:
        vertices = Side(edges._context, VERTEX_COLUMNS, columns=ids_of_edges(edges.held()))
        if function is None:
            return vertices
        key = parts_of(edges.data().get_type(), 3)[0]
        ids = vertices.data()
    else:
        key = edges.parts()[0]
        kind = tuple_of(VertexTypeInfo, [key, _UNKNOWN])
        ids = edges.data().flat_map(_ends, kind).distinct(0)
    if function is None:
        return Side(edges._context, VERTEX_COLUMNS, ids)
    value = produced(function, ("map",), None)
    made = ids.map(_Initialize(function, "map"), tuple_of(VertexTypeInfo, [key, value]))
    return Side(edges._context, VERTEX_COLUMNS, made)


def _ends(edge: Any) -> Iterable[Vertex[Any, Any]]:
    return Vertex(edge[0]), Vertex(edge[1])


class _Initialize(Adapted):
    """The first value of a vertex."""

    def map(self, vertex: Any) -> Vertex[Any, Any]:
        return Vertex(vertex[0], isolated(self.call(vertex[0])))


class Creation(GraphBase[K, VV, EV]):
    """Makes graphs.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    @classmethod
    def _made(
        cls, vertices: Side | None, edges: Side, function: Any, context: Any
    ) -> Graph[Any, Any, Any]:
        found = vertices
        if found is None:
            found = initialized(edges, function)
            found.ends_of = edges
        graph: Any = cls(found, edges, context)
        return cast("Graph[Any, Any, Any]", graph)

    @classmethod
    def from_data_set(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of DataSets: ``(vertices, edges, context)``, ``(edges, context)`` or ``(edges,
        vertex_value_initializer, context)``.

        Without vertices they are the ends of the edges. Their values are None, or what a function makes
        of the id.

        ``vertices`` is a DataSet of `Vertex`, or of tuples (id, value), ``edges`` one of `Edge`, or of
        tuples (source, target, value); ``vertex_value_initializer`` is a function of the id. Without
        ``context`` it uses the default environment.

        Examples
        --------
        >>> from millstream.dataset import ExecutionEnvironment
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> env = ExecutionEnvironment.get_execution_environment()
        >>> edges = env.from_elements((1, 2, 0.5), (2, 3, 1.5))
        >>> with in_memory():
        ...     sorted(Graph.from_data_set(edges, lambda key: key * 10, env).get_vertices().collect())
        [Vertex(1, 10), Vertex(2, 20), Vertex(3, 30)]
        """
        vertices, edges, function, context = inputs_of("from_data_set", args, kwargs)
        own = None if vertices is None else Side(context, VERTEX_COLUMNS, vertices)
        side = Side(context, EDGE_COLUMNS, with_values(edges))
        return cls._made(own, side, function, context)

    @classmethod
    def from_tuple_data_set(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of DataSets of tuples, as `from_data_set` does."""
        return cls.from_data_set(*args, **kwargs)

    @classmethod
    def from_tuple2_data_set(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of a DataSet of pairs (source, target): ``(edges, context)`` or ``(edges,
        vertex_value_initializer, context)``. The values of edges are None.
        """
        return cls.from_data_set(*args, **kwargs)

    @classmethod
    def from_collection(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of lists: ``(vertices, edges, context)``, ``(edges, context)`` or ``(edges,
        vertex_value_initializer, context)``.

        Elements are vertices and edges, or tuples. `from_data_set` says what the arguments are.

        Examples
        --------
        >>> from millstream.graph import Edge, Graph, Vertex
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_collection([Vertex(1, "a"), Vertex(2, "b")], [Edge(1, 2, 0.5)])
        ...     graph.get_edges().collect()
        [Edge(1, 2, 0.5)]
        """
        vertices, edges, function, context = inputs_of("from_collection", args, kwargs)
        env = context_of(context)
        data = env.from_collection([Edge(*map(plain, each)) for each in edges])
        own = None
        if vertices is not None:
            records = [Vertex(*map(plain, each)) for each in vertices]
            unique(records)
            own = Side(context, VERTEX_COLUMNS, env.from_collection(records))
        return cls._made(own, Side(context, EDGE_COLUMNS, data), function, context)

    @classmethod
    def from_csv_reader(cls, *args: Any, **kwargs: Any) -> GraphCsvReader:
        """Return a reader of CSV files: ``(vertices_path, edges_path, context)``, ``(edges_path,
        context)`` or ``(edges_path, vertex_value_initializer, context)``.

        ``vertices_path`` and ``edges_path`` are files, or folders of files; ``vertex_value_initializer``
        is a function of the id. Without ``context`` it uses the default environment.

        Examples
        --------
        See `GraphCsvReader`, whose methods say how files are read, and then give the graph.
        """
        from millstream.graph.graph_csv_reader import GraphCsvReader

        names = {"vertices_path": "vertices", "edges_path": "edges"}
        given = {names.get(name, name): value for name, value in kwargs.items()}
        vertices, edges, function, context = inputs_of("from_csv_reader", args, given)
        return GraphCsvReader(edges, vertices, function, context)

    @classmethod
    def from_arrow(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of `pyarrow.Table`: ``(vertices, edges, context)``, ``(edges, context)`` or
        ``(edges, vertex_value_initializer, context)``.

        Vertices have the columns ``id`` and ``value``, edges the columns ``source``, ``target`` and
        ``value``. A missing column of values counts as null.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_arrow(pa.table({"source": ["a", "b"], "target": ["b", "c"]}))
        ...     graph.vertex_columns()["id"].to_pylist()
        ['a', 'b', 'c']
        """
        return cls._from_columns("from_arrow", args, kwargs)

    @classmethod
    def from_dataframes(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of DataFrames of Spark, with the arguments and columns of `from_arrow`.

        ``src`` and ``dst``, the names of GraphFrames, can stand for ``source`` and ``target``.
        """
        return cls._from_columns("from_dataframes", args, kwargs)

    @classmethod
    def _from_columns(cls, method: str, args: Any, kwargs: Any) -> Graph[Any, Any, Any]:
        vertices, edges, function, context = inputs_of(method, args, kwargs)
        side = Side(context, EDGE_COLUMNS, columns=_selected(method, edges, EDGE_COLUMNS))
        own = None
        if vertices is not None:
            columns = _selected(method, vertices, VERTEX_COLUMNS)
            if isinstance(columns, pa.Table):
                _unique_columns(columns)
            own = Side(context, VERTEX_COLUMNS, columns=columns)
        return cls._made(own, side, function, context)


def unique(vertices: Iterable[Vertex[Any, Any]]) -> None:
    """Fail if two vertices have the same id, or if one has an id that can change.

    Examples
    --------
    >>> unique([Vertex(1), Vertex(2)])
    """
    seen: dict[Any, Vertex[Any, Any]] = {}
    for vertex in vertices:
        try:
            known = seen.get(vertex[0])
        except TypeError:
            raise bad_id(vertex[0]) from None
        if known is not None:
            raise duplicate_vertex(known, vertex)
        seen[vertex[0]] = vertex


def _unique_columns(columns: pa.Table) -> None:
    ids = columns["id"]
    if ids.type == pa.null():
        ids = ids.cast(pa.int64())
    if pc.count_distinct(ids, mode="all").as_py() == len(ids):
        return
    counts = pc.value_counts(ids)
    counts = counts.filter(pc.greater(counts.field(1), 1))
    chosen = columns.filter(pc.equal(ids, counts.field(0)[0])).slice(0, 2).select(VERTEX_COLUMNS)
    raise duplicate_vertex(*(Vertex(*row.values()) for row in chosen.to_pylist()))


def with_values(edges: Any) -> Any:
    """Edges with three fields, of such with two or three."""
    kind = edges.get_type()
    if len(getattr(kind, "field_types", ())) == 3:
        return edges
    return edges.map(as_edge, type_of_edges(kind))


_OTHER_NAMES = {"source": "src", "target": "dst"}


def _selected(method: str, columns: Any, names: Sequence[str]) -> Any:
    is_table = isinstance(columns, pa.Table)
    have = list(columns.column_names if is_table else columns.columns)
    chosen = [name if name in have else _OTHER_NAMES.get(name, name) for name in names]
    missing = [n for n, found in zip(names, chosen, strict=True) if found not in have]
    if any(name != "value" for name in missing):
        raise PlanError(
            "GRAPH_COLUMNS",
            f"{method}() needs columns {', '.join(names)}; there are: {', '.join(have) or 'none'}",
            location=user_location(),
            hint="rename the columns; those named value may be missing",
        )
    if is_table:
        found = {
            name: columns[of] if of in have else pa.nulls(columns.num_rows)
            for name, of in zip(names, chosen, strict=True)
        }
        if not columns.num_rows:
            # An empty DataFrame of pandas has numbers with fractions, which are no ids.
            for name in names:
                if name != "value" and pa.types.is_floating(found[name].type):
                    found[name] = pa.nulls(0)
        return pa.table(found)
    from pyspark.sql import functions as F

    return columns.select(
        *(
            (F.col(of) if of in have else F.lit(None)).alias(n)
            for n, of in zip(names, chosen, strict=True)
        )
    )
