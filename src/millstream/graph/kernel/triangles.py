"""Triangles of a graph, each found once: at its vertex of the lowest degree.

An edge is kept at its end of the lower degree, of equal ones at the smaller id. A task fetches the kept
edges of the higher ends of its own, and looks for the pairs that close a triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.adjacency import expand, pack
from millstream.graph.kernel.ids import IdIndex, pick_ids
from millstream.graph.kernel.neighbours import BOTH, NeighboursProgram, swapped
from millstream.graph.kernel.program import SETUP, Inbox, ids_of
from millstream.iteration import Outbox, Task

__all__ = ["ClusteringProgram", "Members", "TrianglesProgram"]

_CHUNK = 1 << 21
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Members:
    """A set of numbers that can be asked for many at once: a filter of one byte per entry, then a
    search.

    Examples
    --------
    >>> Members(np.array([3, 9], np.uint64)).find(np.array([9, 4], np.uint64))
    array([ 1, -1])
    """

    def __init__(self, values: Any) -> None:
        """Take numbers in ascending order."""
        self._values = values
        bits = max(10, len(values).bit_length() + 3)
        self._shift = np.uint64(64 - bits)
        self._filter = np.zeros(1 << bits, np.bool_)
        self._filter[self._slot(values)] = True

    def _slot(self, values: Any) -> Any:
        return ((values * _MIX) >> self._shift).astype(np.int64)

    def find(self, values: Any) -> Any:
        """The place of each number, -1 if it is not in the set."""
        found = np.full(len(values), -1, np.int64)
        if not len(self._values):
            return found
        maybe = np.flatnonzero(self._filter[self._slot(values)])
        asked = values[maybe]
        places = np.minimum(np.searchsorted(self._values, asked), len(self._values) - 1)
        found[maybe] = np.where(self._values[places] == asked, places, -1)
        return found


class TrianglesProgram(NeighboursProgram):
    """All triangles: three ids, of which the first has the lowest degree and the others are in
    order, and marks.
    """

    def __init__(self) -> None:
        # The number of each slot's vertex, and for each edge whether it is kept here.
        self.numbers: Any = None
        self.kept: Any = None
        # The triangles: the first vertex, the slots of the others, the marks of their edges.
        self.found: Any = None

    def changing(self) -> dict[str, Any]:
        return {"numbers": self.numbers, "kept": self.kept, "found": self.found}

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        number = task.superstep - SETUP
        if number == 1:
            return self._ask(inbox)
        if number == 2:
            return self._answer(inbox)
        if number == 3:
            self.found = self._search(inbox)
            return self.use_triangles(task)
        return self.after(task, inbox)

    def use_triangles(self, task: Task) -> Outbox:
        """Go on with the triangles of this task."""
        return Outbox()

    def after(self, task: Task, inbox: Inbox) -> Outbox:
        """Go on after that."""
        return Outbox()

    def _ask(self, inbox: Inbox) -> Outbox:
        """Keep edges at their lower ends, and ask for the kept edges of the higher ones."""
        degrees = self.hear("degree", inbox)
        self.numbers = self.hear("number", inbox)
        own, slots = self.order()
        low, high = self.degrees[self.rows], degrees[self.columns]
        before = own[self.rows] < slots[self.columns]
        self.kept = np.flatnonzero((low < high) | ((low == high) & before))
        wanted = np.unique(self.columns[self.kept])
        ends = np.searchsorted(wanted, self.links.cuts)
        parts = []
        for task, low_cut in enumerate(self.links.cuts[:-1].tolist()):
            at = (wanted[ends[task] : ends[task + 1]] - low_cut).astype(np.int32)
            parts.append({"wanted": at} if len(at) else None)
        return Outbox(parts, active=1)

    def _answer(self, inbox: Inbox) -> Outbox:
        """Send the kept edges of the vertices that are asked for."""
        rows = self.rows[self.kept]
        bounds = np.searchsorted(rows, np.arange(len(self.links.vertices) + 1))
        parts: list[dict[str, Any] | None] = []
        for sender, part in enumerate(inbox):
            if part is None:
                parts.append(None)
                continue
            places = self.links.inbound[sender][part["wanted"]]
            counts = np.diff(bounds)[places]
            edges, _ = expand(bounds[places], counts)
            edges = self.kept[edges]
            columns, marks = self.numbers[self.columns[edges]], self.edge_marks[edges]
            parts.append({"counts": counts, "numbers": columns, "marks": marks})
        return Outbox(parts, active=1)

    def _fetched(self, inbox: Inbox) -> tuple[Any, Any, Any]:
        """The answers: for each slot the bounds of its edges; their slots here, their marks."""
        counts = np.zeros(self.links.slots, np.int64)
        numbers, marks = [], []
        wanted = np.unique(self.columns[self.kept])
        ends = np.searchsorted(wanted, self.links.cuts)
        for task, part in enumerate(inbox):
            if part is not None:
                counts[wanted[ends[task] : ends[task + 1]]] = part["counts"]
                numbers.append(part["numbers"])
                marks.append(part["marks"])
        order = np.argsort(self.numbers)
        index = IdIndex(self.numbers[order])
        column = np.concatenate(numbers) if numbers else np.zeros(0, np.int64)
        places = index.find(column)
        slots = np.where(places >= 0, order[places], -1) if len(order) else places
        bounds = np.concatenate(([0], np.cumsum(counts)))
        return bounds, slots, np.concatenate(marks) if marks else np.zeros(0, np.uint8)

    def _search(self, inbox: Inbox) -> tuple[Any, ...]:
        bounds, far, marks = self._fetched(inbox)
        rows, columns = self.rows[self.kept], self.columns[self.kept]
        members = Members(pack(rows, columns))
        kept_marks = self.edge_marks[self.kept]
        sizes = bounds[columns + 1] - bounds[columns]
        pieces = [tuple(np.zeros(0, np.int64) for _ in range(6))]
        for low, high in chunks(sizes, _CHUNK):
            places, edge = expand(bounds[columns[low:high]], sizes[low:high])
            edge += low
            known = far[places] >= 0
            places, edge = places[known], edge[known]
            third = members.find(pack(rows[edge], far[places]))
            hit = np.flatnonzero(third >= 0)
            edge, places, third = edge[hit], places[hit], third[hit]
            pieces.append(
                (
                    rows[edge],
                    columns[edge],
                    columns[third],
                    kept_marks[edge].astype(np.int64),
                    kept_marks[third].astype(np.int64),
                    marks[places].astype(np.int64),
                )
            )
        found = tuple(np.concatenate(column) for column in zip(*pieces, strict=True))
        return self._in_order(*found)

    def _in_order(self, a: Any, b: Any, c: Any, ab: Any, ac: Any, bc: Any) -> tuple[Any, ...]:
        """The second vertex has the smaller id of the last two, as Gelly lists them."""
        _, ranks = self.order()
        turn = ranks[b] > ranks[c]
        b, c = np.where(turn, c, b), np.where(turn, b, c)
        ab, ac = np.where(turn, ac, ab), np.where(turn, ab, ac)
        return a, b, c, ab, ac, np.where(turn, swapped(bc), bc)

    def result(self) -> pa.Table:
        a, b, c, ab, ac, bc = self.found
        slots = self.links.slot_ids
        columns = {
            "id0": ids_of(pick_ids(self.links.vertices.ids, a)),
            "id1": ids_of(pick_ids(slots, b)),
            "id2": ids_of(pick_ids(slots, c)),
            "bitmask": pa.array((ab << 4) | (ac << 2) | bc, pa.int64()),
        }
        return pa.table(columns)


def chunks(sizes: Any, limit: int) -> list[tuple[int, int]]:
    """Ranges of entries whose sizes add up to about a limit each.

    Examples
    --------
    >>> chunks(np.array([3, 3, 3, 9]), 6)
    [(0, 2), (2, 3), (3, 4)]
    """
    total = np.cumsum(sizes)
    found, low = [], 0
    while low < len(sizes):
        before = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + limit, side="right")))
        found.append((low, high))
        low = high
    return found


class ClusteringProgram(TrianglesProgram):
    """For each vertex its degree and the triangles it is in, or the edges between its neighbours.

    Parameters
    ----------
    directed
        Whether two neighbours with edges both ways count twice.
    """

    def __init__(self, directed: bool) -> None:
        super().__init__()
        self.directed = directed
        self.counts: Any = None

    def changing(self) -> dict[str, Any]:
        return {**super().changing(), "counts": self.counts}

    def use_triangles(self, task: Task) -> Outbox:
        a, b, c, ab, ac, bc = self.found
        weights = [1 + (self.directed & (marks == BOTH)) for marks in (bc, ac, ab)]
        self.counts = np.bincount(a, weights[0], len(self.links.vertices)).astype(np.int64)
        size = self.links.slots
        slots = np.bincount(b, weights[1], size) + np.bincount(c, weights[2], size)
        return Outbox(self.links.to_owners("count", slots.astype(np.int64)), active=1)

    def after(self, task: Task, inbox: Inbox) -> Outbox:
        for places, counts in self.links.from_slots("count", inbox):
            self.counts[places] += counts
        return Outbox()

    def result(self) -> pa.Table:
        ids = ids_of(self.links.vertices.ids)
        return pa.table({"id": ids, "degree": self.degrees, "triangles": self.counts})
