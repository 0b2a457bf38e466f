"""A smaller graph: vertices of the same value become one, and edges of the same value between two
of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.ids import IdIndex, merged_ids, pick_ids
from millstream.graph.kernel.program import SETUP, GraphProgram, Inbox, ids_of
from millstream.iteration import Outbox, Task

__all__ = ["SummaryProgram", "summary_schema"]


def summary_schema(ids: pa.DataType, vertex: pa.DataType, edge: pa.DataType) -> pa.Schema:
    """The columns of the result: those of vertices have no target."""
    fields = {"source": ids, "target": ids, "vertex_value": vertex, "edge_value": edge}
    return pa.schema({**fields, "count": pa.int64()})


def coded(column: pa.Array) -> tuple[pa.Array, Any]:
    """The distinct values of a column of any type, and for each row which one it has.

    Examples
    --------
    >>> coded(pa.array(["x", None, "x"]))[1]
    array([0, 1, 0])
    """
    if pa.types.is_nested(column.type):
        texts = pa.array([repr(value) for value in column.to_pylist()], pa.string())
        _, codes = coded(texts)
    else:
        encoded = column.dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy().astype(np.int64)
    if not len(codes):
        return column, codes
    # Where each code is for the first time.
    first = np.full(int(codes.max()) + 1, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    return column.take(pa.array(first)), codes


def key_texts(values: pa.Array) -> pa.Array:
    """Values as texts, to say which task has a value."""
    return pa.array([repr(value) for value in values.to_pylist()], pa.string())


def grouped(columns: list[Any], counts: Any) -> tuple[Any, Any]:
    """The first places of distinct rows, and the sums of their counts.

    Examples
    --------
    >>> grouped([np.array([1, 2, 1]), np.array([5, 5, 5])], np.array([1, 1, 2]))
    (array([0, 1]), array([3, 1]))
    """
    if not len(counts):
        return np.zeros(0, np.int64), counts
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), np.bool_)
    new[0] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    return order[starts], np.add.reduceat(counts[order], starts)


class SummaryProgram(GraphProgram):
    """Groups of vertices by their values, each under its smallest id, and the edges between them.

    Parameters
    ----------
    schema
        The columns of the result: `summary_schema`.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.groups: list[pa.Table] = []
        self.sent: Any = None

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        size = inputs["vertices"].num_rows
        kinds = self.schema
        value = self.vertex_values(inputs)
        self.value = pa.nulls(size, kinds.field("vertex_value").type) if value is None else value
        edges = inputs["out"]
        kind = kinds.field("edge_value").type
        has_values = "value" in edges.column_names and edges["value"].type != pa.null()
        found = edges["value"].combine_chunks() if has_values else pa.nulls(edges.num_rows, kind)
        self.edge_value = found

    def changing(self) -> dict[str, Any]:
        return {"groups": self.groups, "sent": self.sent}

    def first(self, task: Task) -> Outbox:
        """Send the values of the own vertices to the tasks that group them."""
        values, codes = coded(self.value)
        size = np.bincount(codes, minlength=len(values))
        # Vertices are in order of their ids.
        least = np.full(len(values), len(codes))
        np.minimum.at(least, codes, np.arange(len(codes)))
        texts = key_texts(values)
        owner = np.asarray(task.owner_of(texts)) if len(texts) else np.zeros(0, np.int64)
        parts: list[dict[str, Any] | None] = []
        order = []
        for number in range(task.count):
            chosen = np.flatnonzero(owner == number)
            order.append(chosen)
            ids = pick_ids(self.links.vertices.ids, least[chosen])
            values_of = values.take(pa.array(chosen))
            parts.append({"values": values_of, "ids": ids, "sizes": size[chosen]})
        self.sent = (codes, np.concatenate(order))
        return Outbox(parts, active=1)

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        number = task.superstep - SETUP
        if number == 1:
            return self._group(inbox)
        if number == 2:
            return self._tell(inbox)
        if number == 3:
            return self._edges(task, inbox)
        return self._merge(inbox)

    def _group(self, inbox: Inbox) -> Outbox:
        """Merge groups of the same value, and answer with their smallest ids."""
        parts = [part for part in inbox if part is not None]
        values, codes = coded(pa.concat_arrays([part["values"] for part in parts]))
        ids = merged_ids([part["ids"] for part in parts])
        index = IdIndex(ids)
        places = np.concatenate([index.find(part["ids"]) for part in parts])
        least = np.full(len(values), len(ids))
        np.minimum.at(least, codes, places)
        counts = np.bincount(codes, np.concatenate([p["sizes"] for p in parts]), len(values))
        self.groups.append(self._rows(pick_ids(ids, least), None, values, None, counts))
        answers: list[dict[str, Any] | None] = []
        low = 0
        for part in inbox:
            size = len(part["values"]) if part else 0
            answers.append({"ids": pick_ids(ids, least[codes[low : low + size]])})
            low += size
        return Outbox(answers, active=1)

    def _rows(self, source: Any, target: Any, vertex: Any, edge: Any, counts: Any) -> pa.Table:
        size = len(counts)
        columns = []
        for field, column in zip(self.schema, (source, target, vertex, edge), strict=False):
            columns.append(pa.nulls(size, field.type) if column is None else ids_of(column))
        columns.append(pa.array(counts.astype(np.int64)))
        return pa.table(columns, schema=self.schema)

    def _tell(self, inbox: Inbox) -> Outbox:
        """Tell the neighbours to which group the own vertices belong."""
        codes, order = self.sent
        answers = pa.concat_arrays([ids_of(part["ids"]) for part in inbox if part is not None])
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        group = answers.take(pa.array(place[codes]))
        self.sent = group
        return Outbox(
            [{"group": group.take(pa.array(there))} for there in self.links.inbound], active=1
        )

    def _edges(self, task: Task, inbox: Inbox) -> Outbox:
        """Group the own edges, and send them to the owners of their new sources."""
        targets = pa.concat_arrays([part["group"] for part in inbox if part is not None])
        source = self.sent.take(pa.array(self.links.near))
        target = targets.take(pa.array(self.links.far))
        values, codes = coded(self.edge_value)
        found = self._grouped(source, target, values, codes, np.ones(len(codes), np.int64))
        rows = found["source"].combine_chunks() if len(found) else found["source"]
        owner = np.asarray(task.owner_of(rows)) if len(found) else np.zeros(0, np.int64)
        parts = []
        for number in range(task.count):
            chosen = found.take(pa.array(np.flatnonzero(owner == number)))
            parts.append({name: chosen[name].combine_chunks() for name in chosen.column_names})
        return Outbox(parts, active=1)

    def _grouped(self, source: Any, target: Any, values: Any, codes: Any, counts: Any) -> pa.Table:
        sides = [coded(side)[1] for side in (source, target)]
        first, total = grouped([*sides, codes], counts)
        places = pa.array(first)
        edge = values.take(pa.array(codes[first]))
        return self._rows(source.take(places), target.take(places), None, edge, total)

    def _merge(self, inbox: Inbox) -> Outbox:
        parts = [part for part in inbox if part is not None]
        columns = {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
        values, codes = coded(columns["edge_value"])
        counts = columns["count"].to_numpy()
        source, target = columns["source"], columns["target"]
        self.groups.append(self._grouped(source, target, values, codes, counts))
        return Outbox()

    def result(self) -> pa.Table:
        return pa.concat_tables(self.groups) if self.groups else self.schema.empty_table()
