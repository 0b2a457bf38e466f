"""Labels that vertices take over from their neighbours: the most frequent one, or the one with
the highest score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.adjacency import Adjacency, pack, run_starts
from millstream.graph.kernel.minimum import weights_of
from millstream.graph.kernel.program import Inbox, LabelledProgram
from millstream.iteration import Outbox, Task

__all__ = ["CommunitiesProgram", "FrequentLabelProgram", "LabelPropagationProgram"]

_LOW = np.uint64(0xFFFFFFFF)
_BITS = np.uint64(32)


def most_frequent(rows: Any, codes: Any, least: bool) -> tuple[Any, Any, Any]:
    """For each row its most frequent code, and how often it comes.

    Parameters
    ----------
    rows, codes
        Pairs of numbers below 2**32, in any order.
    least
        Of equally frequent codes take the smallest, else the largest.

    Examples
    --------
    >>> most_frequent(np.array([1, 1, 1, 4]), np.array([7, 8, 8, 2]), False)
    (array([1, 4]), array([8, 2]), array([2, 1]))
    """
    packed = np.sort(pack(rows, codes))
    starts = run_starts(packed)
    times = np.diff(np.append(starts, len(packed))).astype(np.uint64)
    pairs = packed[starts]
    codes = pairs & _LOW
    rank = (times << _BITS) | (_LOW - codes if least else codes)
    rows = pairs >> _BITS
    first = run_starts(rows)
    best = np.maximum.reduceat(rank, first) if len(first) else rank
    codes = best & _LOW
    codes = _LOW - codes if least else codes
    signed = (rows[first].astype(np.int64), codes.astype(np.int64))
    return *signed, (best >> _BITS).astype(np.int64)


class LabelsProgram(LabelledProgram):
    """A label per vertex, of which the neighbours hear."""

    def __init__(self, rounds: int) -> None:
        super().__init__(rounds)
        # What the neighbours have said.
        self.heard: Any = None

    def index(self, task: Task) -> None:
        links = self.links
        self.by_vertex = Adjacency(links.near, links.far, len(links.vertices))

    def changing(self) -> dict[str, Any]:
        return {"labels": self.labels, "heard": self.heard}


class LabelPropagationProgram(LabelsProgram):
    """Gelly's rule: the most frequent label of the vertices that send, the largest of several.

    If no label comes twice, the own label is one of those. A vertex sends to the targets of its
    edges as long as it has received something in the superstep before.
    """

    sides: ClassVar[tuple[str, ...]] = ("in",)

    def __init__(self, rounds: int) -> None:
        super().__init__(rounds)
        # Who sends: vertices, and slots.
        self.sending: Any = None

    def changing(self) -> dict[str, Any]:
        return {"labels": self.labels, "heard": self.heard, "sending": self.sending}

    def first(self, task: Task) -> Outbox:
        self.labels = np.array(self.start)
        self.heard = np.zeros(self.links.slots, self.labels.dtype)
        self.sending = np.ones(len(self.labels), np.bool_)
        return Outbox(self.links.to_slots("label", self.labels), active=1)

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        heard_now = np.zeros(self.links.slots, np.bool_)
        for slots, labels in self.links.from_owners("label", inbox):
            self.heard[slots] = labels
            heard_now[slots] = True
        edges = slice(None) if heard_now.all() else heard_now[self.by_vertex.columns]
        slots = self.by_vertex.columns[edges]
        names, codes = np.unique(self.heard, return_inverse=True)
        rows, best, times = most_frequent(self.by_vertex.rows[edges], codes[slots], least=False)
        labels = names[best]
        labels = np.where(times > 1, labels, np.maximum(labels, self.labels[rows]))
        changed = int((labels != self.labels[rows]).sum())
        self.labels[rows] = labels
        sending = np.zeros(len(self.labels), np.bool_)
        sending[rows] = True
        # Nothing will ever change when labels and senders stay as they are.
        changed += int((sending != self.sending).sum())
        self.sending = sending
        return Outbox(
            self.links.to_slots("label", self.labels, np.flatnonzero(sending)), {}, changed
        )


class FrequentLabelProgram(LabelsProgram):
    """Graphalytics' rule: the most frequent label of all neighbours, the smallest of several.

    A neighbour to which there are edges both ways counts twice.
    """

    sides: ClassVar[tuple[str, ...]] = ("out", "in")

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        """The first labels are the ids, whatever values there are."""

    def first(self, task: Task) -> Outbox:
        self.labels = np.array(self.start)
        self.heard = np.zeros(self.links.slots, self.labels.dtype)
        return Outbox(self.links.to_slots("label", self.labels), active=1)

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        for slots, labels in self.links.from_owners("label", inbox):
            self.heard[slots] = labels
        names, codes = np.unique(self.heard, return_inverse=True)
        by_vertex = self.by_vertex
        rows, best, _ = most_frequent(by_vertex.rows, codes[by_vertex.columns], least=True)
        labels = names[best]
        changed = rows[labels != self.labels[rows]]
        self.labels[rows] = labels
        return Outbox(self.links.to_slots("label", self.labels, changed), active=len(changed))


class CommunitiesProgram(LabelsProgram):
    """Labels with scores: the label with the highest sum of scores is taken over, and loses some of
    its score.

    Parameters
    ----------
    delta
        How much of its score a label loses when it is taken over, divided by the number of the
        superstep.
    """

    sides: ClassVar[tuple[str, ...]] = ("out", "in")

    def __init__(self, rounds: int, delta: float) -> None:
        super().__init__(rounds)
        self.delta = delta
        self.scores: Any = None
        self.round = 1

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        super().read(task, inputs)
        self.weights = np.concatenate([weights_of(inputs[side]) for side in self.sides])

    def index(self, task: Task) -> None:
        links = self.links
        self.by_vertex = Adjacency(links.near, links.far, len(links.vertices), self.weights)

    def changing(self) -> dict[str, Any]:
        return {"labels": self.labels, "scores": self.scores, "round": self.round}

    def first(self, task: Task) -> Outbox:
        self.labels = np.array(self.start)
        self.scores = np.ones(len(self.labels))
        self.round = 1
        return self._send(1)

    def _send(self, active: int) -> Outbox:
        parts = self.links.to_slots("label", self.labels)
        for part, scores in zip(parts, self.links.to_slots("score", self.scores), strict=True):
            if part is not None and scores is not None:
                part.update(scores)
        return Outbox(parts, active=active)

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        labels_of, scores_of = (
            np.zeros(self.links.slots, self.labels.dtype),
            np.zeros(self.links.slots),
        )
        for slots, labels in self.links.from_owners("label", inbox):
            labels_of[slots] = labels
        for slots, scores in self.links.from_owners("score", inbox):
            scores_of[slots] = scores
        names, codes = np.unique(labels_of, return_inverse=True)
        columns = self.by_vertex.columns
        scores = scores_of[columns] * self.by_vertex.weights
        rows, best, highest = best_scores(self.by_vertex.rows, codes[columns], scores)
        labels = names[best]
        moved = labels != self.labels[rows]
        highest = highest - np.where(moved, self.delta / self.round, 0.0)
        changed = int((moved | (highest != self.scores[rows])).sum())
        self.labels[rows] = labels
        self.scores[rows] = highest
        self.round += 1
        return self._send(changed)


def best_scores(rows: Any, codes: Any, scores: Any) -> tuple[Any, Any, Any]:
    """For each row the code with the highest sum of scores, the smallest of several, and its
    highest score.

    Examples
    --------
    >>> best_scores(np.array([1, 1, 1]), np.array([7, 8, 8]), np.array([2.0, 1.5, 1.0]))
    (array([1]), array([8]), array([1.5]))
    """
    # Sums do not depend on the order in which the scores come.
    order = np.argsort(scores, kind="stable")
    packed = pack(rows, codes)[order]
    order = order[np.argsort(packed, kind="stable")]
    packed, scores = pack(rows, codes)[order], scores[order]
    starts = run_starts(packed)
    if not len(starts):
        empty = np.zeros(0, np.int64)
        return empty, empty, np.zeros(0)
    sums = np.add.reduceat(scores, starts)
    highest = np.maximum.reduceat(scores, starts)
    pairs = packed[starts]
    rows = (pairs >> _BITS).astype(np.int64)
    first = run_starts(rows)
    lengths = np.diff(np.append(first, len(rows)))
    best = np.repeat(np.maximum.reduceat(sums, first), lengths)
    # The first of each row that has its best sum; codes are ascending.
    candidates = np.flatnonzero(sums == best)
    chosen = candidates[run_starts(rows[candidates])]
    return rows[chosen], (pairs[chosen] & _LOW).astype(np.int64), highest[chosen]
