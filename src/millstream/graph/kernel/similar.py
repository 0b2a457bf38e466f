"""Pairs of vertices that have neighbours in common, and what these neighbours add up to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.adjacency import expand, pack, run_starts
from millstream.graph.kernel.ids import pick_ids
from millstream.graph.kernel.neighbours import NeighboursProgram
from millstream.graph.kernel.program import SETUP, Inbox, ids_of
from millstream.graph.kernel.triangles import chunks
from millstream.iteration import Aggregator, Outbox, Task

__all__ = ["AdamicAdarProgram", "JaccardProgram", "PairsProgram"]

_CHUNK = 1 << 21
_LOW = np.uint64(0xFFFFFFFF)
_BITS = np.uint64(32)


def summed(keys: Any, values: Any) -> tuple[Any, Any]:
    """The distinct keys in ascending order, and the sum of the values of each.

    Examples
    --------
    >>> summed(np.array([7, 3, 7]), np.array([1, 2, 3]))
    (array([3, 7]), array([2, 4]))
    """
    if not len(keys):
        return keys, values
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = run_starts(keys)
    return keys[starts], np.add.reduceat(values[order], starts)


class PairsProgram(NeighboursProgram):
    """Sums over the common neighbours of two vertices.

    A vertex finds all pairs of its neighbours. The sum of a pair is made at the owner of its
    smaller id.
    """

    def __init__(self) -> None:
        # The pairs of this task: own vertices, numbers and degrees of the others, sums; at last
        # their ids.
        self.pairs: Any = None
        self.others: Any = None

    @abstractmethod
    def shares(self) -> Any:
        """The share that each own vertex adds to the sum of two of its neighbours."""

    @abstractmethod
    def wanted(self, task: Task, first: Any, second: Any, sums: Any) -> Any:
        """The pairs that are in the result, by the degrees of both vertices and their sum."""

    def changing(self) -> dict[str, Any]:
        return {"pairs": self.pairs, "others": self.others}

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        number = task.superstep - SETUP
        if number == 1:
            return self._meet(inbox)
        if number == 2:
            return self._keep(task, inbox)
        if number == 3:
            return self._name(inbox)
        return self._read_names(inbox)

    def _meet(self, inbox: Inbox) -> Outbox:
        """Send all pairs of neighbours to the owners of the smaller ids."""
        degrees, numbers = self.hear("degree", inbox), self.hear("number", inbox)
        _, ranks = self.order()
        slot_of_rank = np.zeros(int(ranks.max()) + 1 if len(ranks) else 0, np.int64)
        slot_of_rank[ranks] = np.arange(len(ranks))
        keys, sums = self._wedges(ranks)
        first, second = slot_of_rank[keys >> _BITS], slot_of_rank[keys & _LOW]
        order = np.argsort(first, kind="stable")
        first, second, sums = first[order], second[order], sums[order]
        ends = np.searchsorted(first, self.links.cuts)
        parts: list[dict[str, Any] | None] = []
        for task, low in enumerate(self.links.cuts[:-1].tolist()):
            chosen = slice(int(ends[task]), int(ends[task + 1]))
            if chosen.start == chosen.stop:
                parts.append(None)
                continue
            other = second[chosen]
            parts.append(
                {
                    "at": (first[chosen] - low).astype(np.int32),
                    "number": numbers[other],
                    "degree": degrees[other],
                    "sum": sums[chosen],
                }
            )
        return Outbox(parts, active=1)

    def _wedges(self, ranks: Any) -> tuple[Any, Any]:
        """All pairs of neighbours of the own vertices, in order of their ids, as one number;
        their sums.
        """
        packed = np.sort(pack(self.rows, ranks[self.columns]))
        rows = (packed >> _BITS).astype(np.int64)
        names = packed & _LOW
        shares = self.shares()
        before = np.arange(len(rows)) - self.bounds[rows]
        keys, sums = np.zeros(0, np.uint64), np.zeros(0, shares.dtype)
        for low, high in chunks(before, _CHUNK):
            places, edge = expand(self.bounds[rows[low:high]], before[low:high])
            edge += low
            found = summed((names[places] << _BITS) | names[edge], shares[rows[edge]])
            keys, sums = summed(np.concatenate([keys, found[0]]), np.concatenate([sums, found[1]]))
        return keys, sums

    def _keep(self, task: Task, inbox: Inbox) -> Outbox:
        """Add up what all tasks have found, and ask for the ids of the other vertices."""
        parts = [(s, p) for s, p in enumerate(inbox) if p is not None]
        if not parts:
            empty = np.zeros(0, np.int64)
            self.pairs = (empty, empty, empty, np.zeros(0, self.shares().dtype))
            return Outbox([None] * task.count, active=1)
        place = np.concatenate([self.links.inbound[s][p["at"]] for s, p in parts])
        number, degree, sums = (
            np.concatenate([p[name] for _, p in parts]) for name in ("number", "degree", "sum")
        )
        keys = pack(place, number)
        order = np.argsort(keys, kind="stable")
        starts = run_starts(keys[order])
        one = order[starts]
        place, number, degree = place[one], number[one], degree[one]
        sums = np.add.reduceat(sums[order], starts)
        keep = self.wanted(task, self.degrees[place], degree, sums)
        place, number, degree, sums = place[keep], number[keep], degree[keep], sums[keep]
        self.pairs = (place, number, degree, sums)
        asked = np.unique(number)
        wanted: list[dict[str, Any] | None] = []
        for owner in range(task.count):
            at = asked[asked % task.count == owner] // task.count
            wanted.append({"place": at} if len(at) else None)
        return Outbox(wanted, active=1)

    def _name(self, inbox: Inbox) -> Outbox:
        """Answer with the ids of own vertices."""
        ids = self.links.vertices.ids
        return Outbox([p and {"ids": pick_ids(ids, p["place"])} for p in inbox], active=1)

    def _read_names(self, inbox: Inbox) -> Outbox:
        number = self.pairs[1]
        asked = np.unique(number)
        order = np.argsort(asked % len(inbox), kind="stable")
        place = np.empty(len(asked), np.int64)
        place[order] = np.arange(len(asked))
        columns = [ids_of(part["ids"]) for part in inbox if part is not None]
        if columns:
            at = place[np.searchsorted(asked, number)]
            self.others = pa.concat_arrays(columns).take(pa.array(at))
        else:
            self.others = ids_of(self.links.vertices.ids).slice(0, 0)
        return Outbox()

    def first_ids(self) -> Any:
        """The ids of the first vertices of the pairs."""
        return ids_of(pick_ids(self.links.vertices.ids, self.pairs[0]))


class JaccardProgram(PairsProgram):
    """How many neighbours two vertices share, and how many both have together.

    Parameters
    ----------
    lowest, highest
        Fractions: shared neighbours of all of them are at least the first, at most the second;
        None: no bound.
    """

    def __init__(
        self, lowest: tuple[int, int] | None = None, highest: tuple[int, int] | None = None
    ) -> None:
        super().__init__()
        self.lowest = lowest
        self.highest = highest

    def shares(self) -> Any:
        return np.ones(len(self.links.vertices), np.int64)

    def wanted(self, task: Task, first: Any, second: Any, sums: Any) -> Any:
        together = first + second - sums
        keep = np.ones(len(sums), np.bool_)
        if self.lowest is not None:
            keep &= sums * self.lowest[1] >= together * self.lowest[0]
        if self.highest is not None:
            keep &= sums * self.highest[1] <= together * self.highest[0]
        return keep

    def result(self) -> pa.Table:
        place, _, degree, sums = self.pairs
        together = self.degrees[place] + degree - sums
        columns = {"id0": self.first_ids(), "id1": self.others}
        return pa.table({**columns, "shared": sums, "distinct": together})


class AdamicAdarProgram(PairsProgram):
    """The sum of 1 / log(degree) over the common neighbours.

    Parameters
    ----------
    score
        The least sum of a pair in the result.
    ratio
        The least sum as a multiple of the average over all common neighbours.
    """

    def __init__(self, score: float, ratio: float) -> None:
        super().__init__()
        self.score = score
        self.ratio = ratio

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {"scores": Aggregator.sum(0.0), "neighbours": Aggregator.sum()}

    def shares(self) -> Any:
        # A common neighbour has at least two neighbours.
        return 1.0 / np.log(np.maximum(self.degrees, 2))

    def _meet(self, inbox: Inbox) -> Outbox:
        outbox = super()._meet(inbox)
        pairs = self.degrees * (self.degrees - 1) // 2
        scores = float((self.shares() * pairs).sum())
        outbox.aggregates = {"scores": scores, "neighbours": int(pairs.sum())}
        return outbox

    def wanted(self, task: Task, first: Any, second: Any, sums: Any) -> Any:
        average = task.aggregates["scores"] / max(task.aggregates["neighbours"], 1)
        return sums >= max(self.score, average * self.ratio)

    def result(self) -> pa.Table:
        return pa.table({"id0": self.first_ids(), "id1": self.others, "score": self.pairs[3]})
