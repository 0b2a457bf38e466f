"""Steps over columns that are the same in memory and on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.graph.graph import Graph
from millstream.graph.library.base import ids_of, schema_of
from millstream.graph.operations.sides import Side

__all__ = [
    "at_least",
    "both_ways",
    "counted",
    "distinct_edges",
    "edges_of",
    "filled",
    "graph_of",
    "joined",
    "renamed",
    "selected",
    "without",
    "without_loops",
]

Columns = Any
_ENDS = ("source", "target")


def graph_of(
    graph: Graph[Any, Any, Any], vertices: Columns, edges: Columns
) -> Graph[Any, Any, Any]:
    """A graph of other columns in the environment of a graph."""
    sides = [
        Side(graph.get_context(), side.names, columns=columns, pickled=side.pickled() & {"value"})
        for side, columns in ((graph._vertices, vertices), (graph._edges, edges))
    ]
    make: Any = Graph
    return make(*sides, graph.get_context())  # type: ignore[no-any-return]


def edges_of(graph: Graph[Any, Any, Any]) -> Columns:
    """The edges of a graph, whose ids can be compared; others are an error.

    Examples
    --------
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     edges_of(Graph.from_collection([(1, 2, None)])).to_pylist()
    [{'source': 1, 'target': 2, 'value': None}]
    """
    pickled = (graph._edges.pickled() - {"value"}) | (graph._vertices.pickled() & {"id"})
    edges = graph.edge_columns()
    kinds = {schema_of(edges).field(name).type for name in _ENDS} - {pa.null()}
    kinds = kinds or {schema_of(graph.vertex_columns()).field("id").type}
    if pickled or len(kinds) > 1 or any(map(pa.types.is_nested, kinds)):
        ids_of(graph)
    if isinstance(edges, pa.Table):
        # Columns without values have no type; those of a graph without edges may be such.
        kind = next(iter(kinds - {pa.null()}), pa.int64())
        for place, name in enumerate(_ENDS):
            if edges[name].type == pa.null():
                edges = edges.set_column(place, name, edges[name].cast(kind))
    return edges


def renamed(columns: Columns, names: Sequence[str]) -> Columns:
    """Columns with other names.

    Examples
    --------
    >>> renamed(pa.table({"a": [1]}), ["b"]).to_pydict()
    {'b': [1]}
    """
    if isinstance(columns, pa.Table):
        return columns.rename_columns(list(names))
    return columns.toDF(*names)


def both_ways(edges: Columns) -> Columns:
    """Edges, and the same ones back.

    Examples
    --------
    >>> both_ways(pa.table({"source": [1], "target": [2], "value": ["a"]})).to_pylist()[1]
    {'source': 2, 'target': 1, 'value': 'a'}
    """
    names = ["source", "target", "value"]
    back = renamed(selected(edges, ["target", "source", "value"]), names)
    if isinstance(edges, pa.Table):
        return pa.concat_tables([edges, back], promote_options="permissive")
    return edges.unionAll(back)


def _selection(columns: Columns, names: list[str]) -> list[Any]:
    return [names] if isinstance(columns, pa.Table) else names


def without_loops(edges: Columns, *, descending: bool = False) -> Columns:
    """Edges between two vertices; if ``descending`` those from a larger to a smaller id only.

    Examples
    --------
    >>> edges = pa.table({"source": [1, 1, 2], "target": [1, 2, 1], "value": [7, 8, 9]})
    >>> without_loops(edges)["value"].to_pylist()
    [8, 9]
    >>> without_loops(edges, descending=True)["value"].to_pylist()
    [9]
    """
    if isinstance(edges, pa.Table):
        compare = pc.greater if descending else pc.not_equal
        return edges.filter(compare(edges["source"], edges["target"]))
    source, target = edges["source"], edges["target"]
    return edges.where(source > target if descending else source != target)


def distinct_edges(edges: Columns) -> Columns:
    """One edge of those with the same ends: the one with the smallest value.

    Examples
    --------
    >>> edges = pa.table({"source": [1, 1], "target": [2, 2], "value": [9, 8]})
    >>> distinct_edges(edges).to_pylist()
    [{'source': 1, 'target': 2, 'value': 8}]
    """
    if isinstance(edges, pa.Table):
        kind = edges["value"].type
        if kind == pa.null():
            ends = edges.select(list(_ENDS)).group_by(list(_ENDS)).aggregate([])
            return ends.append_column("value", pa.nulls(len(ends)))
        order = edges.sort_by([(name, "ascending") for name in ("source", "target", "value")])
        first = np.ones(len(order), np.bool_)
        if len(order) > 1:
            same = np.ones(len(order) - 1, np.bool_)
            for name in _ENDS:
                column = order[name].combine_chunks()
                equal = pc.equal(column.slice(1), column.slice(0, len(column) - 1))
                same &= equal.to_numpy(zero_copy_only=False)
            first[1:] = ~same
        return order.filter(pa.array(first))
    from pyspark.sql import functions as F

    if edges.schema["value"].dataType.simpleString() == "void":
        return edges.select(*_ENDS).distinct().withColumn("value", F.lit(None))
    return edges.groupBy(*_ENDS).agg(F.min("value").alias("value"))


def counted(columns: Columns, key: str, name: str) -> Columns:
    """The values of a column, as ``id``, and how often each of them comes.

    Examples
    --------
    >>> counted(pa.table({"source": ["a", "a"]}), "source", "value").to_pylist()
    [{'id': 'a', 'value': 2}]
    """
    if isinstance(columns, pa.Table):
        found = columns.group_by(key).aggregate([([], "count_all")])
        return renamed(found.select([key, "count_all"]), ["id", name])
    return renamed(columns.groupBy(key).count(), ["id", name])


def joined(left: Columns, right: Columns, key: str, *, outer: bool = False) -> Columns:
    """Rows of both sides whose keys are equal; ``outer`` keeps the others of the left side, too.

    The key of the right side is its column ``id``.

    Examples
    --------
    >>> left = pa.table({"source": [1, 2], "value": ["a", "b"]})
    >>> joined(left, pa.table({"id": [1], "degree": [5]}), "source").to_pylist()
    [{'source': 1, 'value': 'a', 'degree': 5}]
    """
    right = renamed(right, [key, *_names(right)[1:]])
    if isinstance(left, pa.Table):
        return _arrow_join(left, right, key, outer)
    return left.join(right, key, "left" if outer else "inner").select(
        *_names(left), *_names(right)[1:]
    )


def _arrow_join(left: pa.Table, right: pa.Table, key: str, outer: bool) -> pa.Table:
    # Arrow joins no columns of nulls or of records: rows are joined by their places.
    places = pc.index_in(left[key], value_set=right[key].combine_chunks())
    if not outer:
        keep = pc.is_valid(places)
        left, places = left.filter(keep), places.filter(keep)
    for name in right.column_names[1:]:
        left = left.append_column(name, right[name].take(places))
    return left


def _names(columns: Columns) -> list[str]:
    return list(columns.column_names if isinstance(columns, pa.Table) else columns.columns)


def filled(columns: Columns, names: Sequence[str]) -> Columns:
    """Columns of numbers with 0 in place of nulls.

    Examples
    --------
    >>> filled(pa.table({"degree": pa.array([None, 2])}), ["degree"]).to_pydict()
    {'degree': [0, 2]}
    """
    if not isinstance(columns, pa.Table):
        return columns.fillna(0, list(names))
    for name in names:
        place = columns.column_names.index(name)
        columns = columns.set_column(place, name, columns[name].fill_null(0))
    return columns


def selected(columns: Columns, names: list[str]) -> Columns:
    """Some of the columns.

    Examples
    --------
    >>> selected(pa.table({"id": [1], "value": [2]}), ["id"]).to_pydict()
    {'id': [1]}
    """
    return columns.select(*_selection(columns, names))


def at_least(columns: Columns, name: str, least: int) -> Columns:
    """The rows whose number is at least another one.

    Examples
    --------
    >>> at_least(pa.table({"degree": [1, 2]}), "degree", 2).to_pydict()
    {'degree': [2]}
    """
    if isinstance(columns, pa.Table):
        return columns.filter(pc.greater_equal(columns[name], least))
    return columns.where(columns[name] >= least)


def without(left: Columns, ids: Columns, key: str) -> Columns:
    """The rows of the left side whose key is not among some ids.

    Examples
    --------
    >>> without(pa.table({"source": [1, 2]}), pa.table({"id": [1]}), "source").to_pydict()
    {'source': [2]}
    """
    if isinstance(left, pa.Table):
        found = pc.index_in(left[key], value_set=ids["id"].combine_chunks())
        return left.filter(pc.is_null(found))
    return left.join(renamed(ids, [key]), key, "left_anti").select(*_names(left))
