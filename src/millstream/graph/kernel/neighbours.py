"""The distinct neighbours of every vertex, for edges of both directions, with the degrees of both
ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.adjacency import Adjacency, pack, run_starts
from millstream.graph.kernel.ids import distinct_ids
from millstream.graph.kernel.links import joined
from millstream.graph.kernel.program import GraphProgram, Inbox, ids_of, joined_ids
from millstream.iteration import Outbox, Task

__all__ = ["BACKWARD", "BOTH", "FORWARD", "CoresProgram", "DegreesProgram", "NeighboursProgram"]

FORWARD = 2
BACKWARD = 1
BOTH = 3
"""Gelly's marks of an edge: from the first end to the second one, back, both ways."""

_LOW = np.uint64(0xFFFFFFFF)
_BITS = np.uint64(32)


def swapped(marks: Any) -> Any:
    """The marks of edges seen from their other ends.

    Examples
    --------
    >>> swapped(np.array([1, 2, 3])).tolist()
    [2, 1, 3]
    """
    return ((marks & 1) << 1) | (marks >> 1)


class NeighboursProgram(GraphProgram):
    """The beginning of algorithms on simple graphs.

    Several edges between two vertices are one edge, with a mark of its directions. Edges from a
    vertex to itself are left out, unless ``loops`` says otherwise.

    The vertices of all tasks have numbers: ``place * tasks + task``.
    """

    sides: ClassVar[tuple[str, ...]] = ("out", "in")
    loops: ClassVar[bool] = False

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        out, back = (inputs[side].num_rows for side in self.sides)
        self.marks = np.repeat(np.array([FORWARD, BACKWARD], np.uint8), [out, back])

    def index(self, task: Task) -> None:
        links = self.links
        packed = pack(links.near, links.far)
        order = np.argsort(packed)
        packed, marks = packed[order], self.marks[order]
        starts = run_starts(packed)
        if len(starts):
            packed, marks = packed[starts], np.bitwise_or.reduceat(marks, starts)
        rows, columns = (packed >> _BITS).astype(np.int64), (packed & _LOW).astype(np.int64)
        if not self.loops and len(rows):
            keep = self._different(task, rows, columns)
            rows, columns, marks = rows[keep], columns[keep], marks[keep]
        self.rows, self.columns, self.edge_marks = rows, columns, marks
        size = len(links.vertices)
        self.bounds = np.searchsorted(rows, np.arange(size + 1))
        self.degrees = np.diff(self.bounds)

    def _different(self, task: Task, rows: Any, columns: Any) -> Any:
        """The edges that have two ends. Slots of own vertices are in the order of the vertices."""
        links = self.links
        low, high = int(links.cuts[task.index]), int(links.cuts[task.index + 1])
        inside = (columns >= low) & (columns < high)
        # What this task has announced to itself: the own vertices that are slots here.
        own = links.vertices.find(_slice(links.slot_ids, low, high))
        same = np.zeros(len(rows), np.bool_)
        same[inside] = own[columns[inside] - low] == rows[inside]
        return ~same

    def first(self, task: Task) -> Outbox:
        return self.tell_degrees(task)

    def tell_degrees(self, task: Task) -> Outbox:
        """Tell the neighbours the degree and the number of every vertex."""
        links = self.links
        numbers = np.arange(len(links.vertices)) * task.count + task.index
        parts = joined(links.to_slots("degree", self.degrees), links.to_slots("number", numbers))
        return Outbox(parts, active=1)

    def hear(self, name: str, inbox: Inbox, dtype: Any = np.int64) -> Any:
        """A value per slot, from the owners."""
        values = np.zeros(self.links.slots, dtype)
        for slots, found in self.links.from_owners(name, inbox):
            values[slots] = found
        return values

    def order(self) -> tuple[Any, Any]:
        """Numbers for the own vertices and the slots that are in the order of their ids."""
        own = self.links.vertices.ids
        _, places = distinct_ids(joined_ids([own, self.links.slot_ids]))
        return places[: len(own)], places[len(own) :]

    def changing(self) -> dict[str, Any]:
        return {}


def _slice(ids: Any, low: int, high: int) -> Any:
    return ids[low:high] if isinstance(ids, np.ndarray) else ids.slice(low, high - low)


class DegreesProgram(NeighboursProgram):
    """The degrees of all vertices: neighbours, those that edges lead to, and those that edges come
    from.
    """

    loops: ClassVar[bool] = True

    def first(self, task: Task) -> Outbox:
        return Outbox()

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        return Outbox()

    def result(self) -> pa.Table:
        size = len(self.links.vertices)
        out = np.bincount(self.rows[(self.edge_marks & FORWARD) > 0], minlength=size)
        back = np.bincount(self.rows[(self.edge_marks & BACKWARD) > 0], minlength=size)
        ids = ids_of(self.links.vertices.ids)
        return pa.table({"id": ids, "degree": self.degrees, "out": out, "in": back})


class CoresProgram(NeighboursProgram):
    """The core number of every vertex: the largest k for which it is in a part where all degrees
    are k or more.

    A vertex begins with its degree. It lowers its number to the largest h for which h neighbours have
    a number of at least h, until no number changes.
    """

    def __init__(self) -> None:
        self.cores: Any = None
        self.heard: Any = None

    def index(self, task: Task) -> None:
        super().index(task)
        self.backward = Adjacency(self.columns, self.rows, self.links.slots)

    def changing(self) -> dict[str, Any]:
        return {"cores": self.cores, "heard": self.heard}

    def first(self, task: Task) -> Outbox:
        self.cores = self.degrees.copy()
        self.heard = np.zeros(self.links.slots, np.int64)
        return Outbox(self.links.to_slots("core", self.cores), active=1)

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        heard = []
        for slots, cores in self.links.from_owners("core", inbox):
            self.heard[slots] = cores
            heard.append(slots)
        rows = np.zeros(0, np.int64)
        if heard:
            edges, _ = self.backward.of(np.concatenate(heard))
            rows = np.unique(self.backward.columns[edges])
        lower = self._lower(rows)
        changed = rows[lower < self.cores[rows]]
        self.cores[rows] = lower
        return Outbox(self.links.to_slots("core", self.cores, changed), active=len(changed))

    def _lower(self, rows: Any) -> Any:
        if not len(rows):
            return rows
        starts = self.bounds[rows]
        counts = self.bounds[rows + 1] - starts
        places = np.arange(int(counts.sum()))
        first = np.cumsum(counts) - counts
        owner = np.repeat(np.arange(len(rows)), counts)
        slots = self.columns[places + (starts - first)[owner]]
        cores = np.minimum(self.heard[slots], self.cores[rows][owner])
        # In descending order within a row, the i-th is at least i for the first h of them.
        packed = np.sort(pack(owner, int(_LOW) - cores))
        descending = int(_LOW) - (packed & _LOW).astype(np.int64)
        enough = descending >= places - first[owner] + 1
        return np.add.reduceat(enough, first).astype(np.int64)

    def result(self) -> pa.Table:
        return self.vertex_table(self.cores)
