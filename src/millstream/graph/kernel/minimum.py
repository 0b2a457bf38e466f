"""Values that only get smaller, passed from neighbour to neighbour: components, distances, levels.

The workset of a superstep are the vertices whose value has changed. A task sends a slot the
smallest of the values that its edges have for it, and only if it is smaller than what was sent to
it or heard from it before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.graph.kernel.adjacency import Adjacency
from millstream.graph.kernel.ids import first_ids
from millstream.graph.kernel.links import Links, joined
from millstream.graph.kernel.program import (
    SETUP,
    GraphProgram,
    Inbox,
    LabelledProgram,
    numbers_of,
)
from millstream.iteration import Aggregator, Outbox, Task

__all__ = ["ComponentsProgram", "LevelsProgram", "PathsProgram", "largest", "lowered"]


def largest(dtype: Any) -> Any:
    """The value that is larger than all others of a type of numpy.

    Examples
    --------
    >>> int(largest(np.dtype(np.int64))) == 2**63 - 1, float(largest(np.dtype(float)))
    (True, inf)
    """
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


def lowered(values: Any, places: Any, candidates: Any) -> Any:
    """Lower values to the candidates that are smaller; the places that have changed, maybe several
    times.

    Examples
    --------
    >>> values = np.array([5, 1])
    >>> lowered(values, np.array([0, 1, 0]), np.array([4, 3, 2])), values
    (array([0, 0]), array([2, 1]))
    """
    smaller = candidates < values[places]
    places = places[smaller]
    np.minimum.at(values, places, candidates[smaller])
    return places


def distinct_places(several: list[Any], count: int) -> Any:
    """The distinct values of some arrays of places below ``count``, ascending.

    Examples
    --------
    >>> distinct_places([np.array([3, 1]), np.array([1])], 4)
    array([1, 3])
    """
    if not several:
        return np.zeros(0, np.int64)
    together = np.concatenate(several) if len(several) > 1 else several[0]
    if len(together) * 16 < count:
        return np.unique(together)
    flags = np.zeros(count, np.bool_)
    flags[together] = True
    return np.flatnonzero(flags)


class MinimumProgram(GraphProgram):
    """A value per vertex, the smallest of its own and those that come over its edges.

    Parameters
    ----------
    both_ways
        Whether values go along edges and against them.
    """

    def __init__(self, both_ways: bool) -> None:
        self.both_ways = both_ways
        self.values: Any = None
        # The smallest value that the vertex of a slot is known to have, or to have been sent.
        self.known: Any = None
        self.weights: Any = None

    def index(self, task: Task) -> None:
        links = self.links
        size = len(links.vertices)
        if self.weights is None:
            self.forward = Adjacency(links.near, links.far, size)
        else:
            self.forward = Adjacency(links.near, links.far, size, self.weights)
        if self.both_ways:
            self.backward = Adjacency(links.far, links.near, links.slots)

    def begin(self, values: Any, changed: Any) -> Outbox:
        """Send the first values."""
        self.values = values
        self.known = np.full(self.links.slots, largest(values.dtype))
        return self.send(changed)

    def changing(self) -> dict[str, Any]:
        return {"values": self.values, "known": self.known}

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        return self.send(self.receive(inbox))

    def receive(self, inbox: Inbox) -> Any:
        """Lower the own values; the places that have changed, ascending."""
        changed = []
        for places, values in self.links.from_slots("up", inbox):
            smaller = values < self.values[places]
            places = places[smaller]
            self.values[places] = values[smaller]
            changed.append(places)
        if self.both_ways:
            for slots, values in self.links.from_owners("down", inbox):
                # Also news to the other neighbours here if one of them has sent it there.
                self.known[slots] = np.minimum(self.known[slots], values)
                edges, slot = self.backward.of(slots)
                changed.append(lowered(self.values, self.backward.columns[edges], values[slot]))
        return distinct_places(changed, len(self.values))

    def send(self, changed: Any) -> Outbox:
        """Tell the neighbours of some vertices what their value is."""
        edges, vertex = self.forward.of(changed)
        candidates = self.over(self.values[changed], vertex, edges)
        slots = lowered(self.known, self.forward.columns[edges], candidates)
        slots = distinct_places([slots], self.links.slots)
        parts = self.links.to_owners("up", self.known, slots)
        if self.both_ways:
            parts = joined(parts, self.links.to_slots("down", self.values, changed))
        return Outbox(parts, active=len(changed))

    def over(self, values: Any, vertex: Any, edges: Any) -> Any:
        """The values that some edges carry: by default those of their near ends."""
        return values[vertex]


class ComponentsProgram(LabelledProgram, MinimumProgram):
    """Weakly connected components: the smallest label among all vertices that hang together."""

    def __init__(self, rounds: int) -> None:
        LabelledProgram.__init__(self, rounds)
        MinimumProgram.__init__(self, both_ways=True)

    def first(self, task: Task) -> Outbox:
        return self.begin(np.array(self.start), np.arange(len(self.start)))

    def found(self) -> Any:
        return self.values


class DistanceProgram(MinimumProgram):
    """Distances from one vertex."""

    def __init__(self, source: Any) -> None:
        super().__init__(both_ways=False)
        self.source = source

    def from_source(self, dtype: Any, task: Task) -> Outbox:
        """Begin with 0 at the source."""
        links = self.links
        place = links.vertices.place_of(self.source)
        owner = int(task.owner_of([self.source])[0])
        if place < 0 and owner == task.index:
            raise PlanError(
                "GRAPH_UNKNOWN_VERTEX",
                f"the source {self.source!r} is not a vertex of the graph",
                parameters={"source": self.source},
                hint="give the id of one of its vertices, of the same type as the ids",
            )
        values = np.full(len(links.vertices), largest(np.dtype(dtype)))
        changed = np.array([place] if place >= 0 else [], np.int64)
        values[changed] = 0
        return self.begin(values, changed)


class LevelsProgram(DistanceProgram):
    """The number of edges on the way from one vertex."""

    def first(self, task: Task) -> Outbox:
        return self.from_source(np.int64, task)

    def over(self, values: Any, vertex: Any, edges: Any) -> Any:
        return values[vertex] + 1

    def result(self) -> pa.Table:
        return self.vertex_table(self.values)


class PathsProgram(DistanceProgram):
    """The sum of weights on the shortest way from one vertex.

    Weights may be negative. A cycle of negative weight that the source reaches is found when
    distances still change after as many supersteps as there are vertices.

    Parameters
    ----------
    source
        The id of the vertex.
    unreached
        What a vertex without a way gets.
    """

    def __init__(self, source: Any, unreached: float) -> None:
        super().__init__(source)
        self.unreached = unreached
        self.total = 0

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        self.weights = weights_of(inputs["out"])

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {"vertices": Aggregator.sum()}

    def first(self, task: Task) -> Outbox:
        outbox = self.from_source(np.float64, task)
        outbox.aggregates = {"vertices": len(self.links.vertices)}
        return outbox

    def changing(self) -> dict[str, Any]:
        return {**super().changing(), "total": self.total}

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        round_ = task.superstep - SETUP
        if round_ == 1:
            self.total = task.aggregates["vertices"]
        changed = self.receive(inbox)
        if round_ >= self.total and len(changed):
            raise negative_cycle(self.links, changed)
        return self.send(changed)

    def over(self, values: Any, vertex: Any, edges: Any) -> Any:
        return values[vertex] + self.forward.weights[edges]

    def result(self) -> pa.Table:
        found = np.isfinite(self.values)
        return self.vertex_table(np.where(found, self.values, self.unreached))


def negative_cycle(links: Links, changed: Any) -> PlanError:
    """The error for distances that get smaller without end."""
    return PlanError(
        "GRAPH_NEGATIVE_CYCLE",
        "the source reaches a cycle whose weights add up to less than 0: there is no shortest path to "
        f"{first_ids(links.vertices.ids, changed)}",
        hint="remove the cycle, or use weights of at least 0",
    )


def weights_of(table: pa.Table) -> Any:
    """The values of edges as weights; NaN and minus infinity are errors."""
    weights = numbers_of(table["value"], "weights of edges").astype(np.float64)
    bad = np.flatnonzero(np.isnan(weights) | np.isneginf(weights))
    if len(bad):
        row = table.slice(int(bad[0]), 1).to_pylist()[0]
        raise PlanError(
            "GRAPH_WEIGHT_NAN",
            f"{len(bad)} edges have a weight that is NaN or minus infinity, such as "
            f"{row['source']!r} -> {row['target']!r}",
            hint="leave out such edges, or give them a weight",
        )
    return weights
