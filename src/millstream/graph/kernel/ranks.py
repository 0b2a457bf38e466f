"""Scores that vertices pass on: PageRank, and hubs and authorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.graph.kernel.adjacency import Adjacency
from millstream.graph.kernel.program import SETUP, GraphProgram, Inbox, ids_of
from millstream.iteration import Aggregator, Outbox, Task

__all__ = ["HitsProgram", "PageRankProgram"]


class SumsProgram(GraphProgram):
    """Sums over edges: every slot has at least one edge, and the edges are in order of their slots."""

    def index(self, task: Task) -> None:
        links = self.links
        self.by_slot = Adjacency(links.far, links.near, links.slots)

    def sums_of_slots(self, values: Any) -> Any:
        """For each slot the sum of the values of the near ends of its edges."""
        if not self.links.slots:
            return np.zeros(0)
        return np.add.reduceat(values[self.by_slot.columns], self.by_slot.bounds[:-1])

    def received(self, name: str, inbox: Inbox) -> Any:
        """For each own vertex the sum of what tasks have sent."""
        total = np.zeros(len(self.links.vertices))
        for places, values in self.links.from_slots(name, inbox):
            total[places] += values
        return total


class PageRankProgram(SumsProgram):
    """PageRank: a vertex passes its score on over its edges, in equal parts.

    A surfer goes on over an edge with the probability ``damping``, else somewhere else; from a
    vertex without edges always somewhere else. Somewhere else is any vertex, or one of those given.

    Parameters
    ----------
    damping
        The probability.
    iterations
        The most iterations.
    threshold
        The loop ends when the scores change by this at most, all together; None: never.
    sources
        Ids of vertices and their shares of what goes somewhere else; None: all vertices, equally.
    """

    def __init__(
        self,
        damping: float,
        iterations: int,
        threshold: float | None,
        sources: Mapping[Any, float] | None = None,
    ) -> None:
        self.damping = damping
        self.iterations = iterations
        self.threshold = threshold
        self.sources = sources
        self.scores: Any = None
        self.total = 0

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {
            "vertices": Aggregator.sum(),
            "stranded": Aggregator.sum(0.0),
            "change": Aggregator.sum(0.0),
        }

    def finished(self, step: int, aggregates: Mapping[str, Any], active: int) -> bool:
        if active == 0:
            return True
        if self.threshold is None or step <= SETUP:
            return False
        return bool(aggregates["change"] <= self.threshold)

    def index(self, task: Task) -> None:
        super().index(task)
        size = len(self.links.vertices)
        degrees = np.bincount(self.links.near, minlength=size)
        self.ends = np.flatnonzero(degrees == 0)
        self.shares = 1.0 / np.maximum(degrees, 1)
        self.elsewhere = None if self.sources is None else self._elsewhere(task, size)

    def _elsewhere(self, task: Task, size: int) -> Any:
        found = np.zeros(size)
        keys = list(self.sources or {})
        for key, owner in zip(keys, task.owner_of(keys).tolist(), strict=True):
            if owner == task.index:
                place = self.links.vertices.place_of(key)
                if place < 0:
                    raise PlanError(
                        "GRAPH_UNKNOWN_VERTEX",
                        f"the source {key!r} is not a vertex of the graph",
                        parameters={"source": key},
                        hint="give ids of its vertices, of the same type as the ids",
                    )
                found[place] = (self.sources or {})[key]
        return found

    def first(self, task: Task) -> Outbox:
        # The number of vertices is known in the next superstep; until then the scores add up to it.
        if self.elsewhere is None:
            self.scores = np.ones(len(self.links.vertices))
        else:
            self.scores = self.elsewhere.copy()
        return self._send({"vertices": len(self.links.vertices)})

    def changing(self) -> dict[str, Any]:
        return {"scores": self.scores, "total": self.total}

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        first = task.superstep == SETUP + 1
        if first:
            self.total = task.aggregates["vertices"]
        scale = 1.0 / self.total if first and self.elsewhere is None and self.total else 1.0
        passed = self.received("score", inbox) * scale
        stranded = task.aggregates["stranded"] * scale
        leaving = (1.0 - self.damping) + self.damping * stranded
        there = 1.0 / max(self.total, 1) if self.elsewhere is None else self.elsewhere
        scores = leaving * there + self.damping * passed
        change = float(np.abs(scores - self.scores * scale).sum())
        self.scores = scores
        if task.superstep - SETUP >= self.iterations:
            return Outbox(aggregates={"change": change})
        return self._send({"change": change})

    def _send(self, aggregates: dict[str, Any]) -> Outbox:
        sums = self.sums_of_slots(self.scores * self.shares)
        aggregates["stranded"] = float(self.scores[self.ends].sum())
        return Outbox(self.links.to_owners("score", sums), aggregates, active=1)

    def result(self) -> pa.Table:
        return self.vertex_table(self.scores)


class HitsProgram(SumsProgram):
    """Hubs and authorities: the score of a hub is the sum of the authorities it leads to, and the
    other way.

    An iteration takes two supersteps. In the first one the scores of authorities come to the hubs,
    in the second one those of hubs to the authorities. Their norms are known one superstep later.

    Parameters
    ----------
    iterations
        The most iterations.
    threshold
        The loop ends when the scores change by this at most, all together; None: never.
    """

    def __init__(self, iterations: int, threshold: float | None) -> None:
        self.iterations = iterations
        self.threshold = threshold
        # The newest scores, before they are divided by their norms.
        self.new_hubs: Any = None
        self.new_authorities: Any = None
        # The newest scores.
        self.hubs: Any = None
        self.authorities: Any = None

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {name: Aggregator.sum(0.0) for name in ("squares", "change")}

    def finished(self, step: int, aggregates: Mapping[str, Any], active: int) -> bool:
        if active == 0:
            return True
        number = step - SETUP
        # The change of the first iteration does not count: the scores before it have no norm.
        if self.threshold is None or number % 2 or number < 6:
            return False
        return bool(aggregates["change"] <= self.threshold)

    def index(self, task: Task) -> None:
        super().index(task)
        self.by_vertex = Adjacency(self.links.near, self.links.far, len(self.links.vertices))

    def first(self, task: Task) -> Outbox:
        size = len(self.links.vertices)
        self.hubs, self.authorities = np.zeros(size), np.zeros(size)
        self.new_hubs = np.ones(size)
        return Outbox(self.links.to_owners("hub", self.sums_of_slots(self.new_hubs)), active=1)

    def changing(self) -> dict[str, Any]:
        names = ("hubs", "authorities", "new_hubs", "new_authorities")
        return {name: getattr(self, name) for name in names}

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        number = task.superstep - SETUP
        if number == 1:
            return self._authorities(inbox, {})
        if number % 2:
            return self._authorities(inbox, {"change": self._normal_hubs(task)})
        return self._hubs(task, inbox, number // 2)

    def _normal_hubs(self, task: Task) -> float:
        hubs = _divided(self.new_hubs, task.aggregates["squares"])
        change = float(np.abs(hubs - self.hubs).sum())
        self.hubs = hubs
        return change

    def _authorities(self, inbox: Inbox, aggregates: dict[str, Any]) -> Outbox:
        self.new_authorities = self.received("hub", inbox)
        aggregates["squares"] = float(np.square(self.new_authorities).sum())
        parts = self.links.to_slots("authority", self.new_authorities)
        return Outbox(parts, aggregates, active=1)

    def _hubs(self, task: Task, inbox: Inbox, iteration: int) -> Outbox:
        squares = task.aggregates["squares"]
        change = 0.0
        if iteration > 1:
            authorities = _divided(self.new_authorities, squares)
            change = float(np.abs(authorities - self.authorities).sum())
            change += task.aggregates["change"] if task.index == 0 else 0.0
            self.authorities = authorities
        if iteration > self.iterations:
            return Outbox(aggregates={"change": change})
        slots = np.zeros(self.links.slots)
        for places, values in self.links.from_owners("authority", inbox):
            slots[places] = values
        weights = _divided(slots, squares)[self.by_vertex.columns]
        size = len(self.links.vertices)
        self.new_hubs = np.bincount(self.by_vertex.rows, weights, size).astype(np.float64)
        parts = self.links.to_owners("hub", self.sums_of_slots(self.new_hubs))
        found = float(np.square(self.new_hubs).sum())
        return Outbox(parts, {"squares": found, "change": change}, active=1)

    def result(self) -> pa.Table:
        ids = ids_of(self.links.vertices.ids)
        return pa.table({"id": ids, "hub": self.hubs, "authority": self.authorities})


def _divided(scores: Any, squares: float) -> Any:
    return scores / np.sqrt(squares) if squares else scores
