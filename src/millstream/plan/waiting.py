"""Which records wait for other channels, in which stage, and for which channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from millstream.kernel.stages.edges import InEdge
from millstream.plan.graph import Node
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component

NONE: frozenset[int] = frozenset()


class Waiting:
    """The rules of channel order "watermark" for the stages of a component.

    ``in_edges``: by operator, the edges into it. ``ordered``: the timelines of the sources whose
    channels wait for each other; empty if records go as they come.
    """

    def __init__(
        self,
        component: Component,
        options: JobOptions,
        in_edges: Mapping[int, Sequence[InEdge]],
        *,
        batch: bool,
    ) -> None:
        self.component = component
        self.in_edges = in_edges
        self.batch = batch
        self.is_on = options.channel_order == "watermark" or self._splits_one_source()
        found = (edge.ordered_by for edge in self._all() if self.is_on)
        self.ordered = frozenset(timeline for timeline in found if timeline is not None)

    def edges(self, index: int) -> list[InEdge]:
        """The edges whose records may wait in a stage; a batch has no reason to wait."""
        if self.batch or not self.is_on:
            return []
        held = [edge for node in self.component.levels[index] for edge in self._meeting(node)]
        if index == self.first_stage:
            from_sources = [edge for edge in self._all() if edge.ordered_by is not None]
            held += [replace(edge, waits_for=self.ordered) for edge in from_sources]
        return held

    @property
    def first_stage(self) -> int:
        """The first stage after custom generators on sources, which alone come before it."""
        for index, level in enumerate(self.component.levels):
            if not all(self.component.begins_time(node) for node in level):
                return index
        return len(self.component.levels)

    def _all(self) -> list[InEdge]:
        return [edge for edges in self.in_edges.values() for edge in edges]

    def _meeting(self, node: Node) -> list[InEdge]:
        """The edges into an operator where a timeline that began in a keyed stage meets another.

        Results wait for the timelines that they do not follow. Records of sources wait for all: they
        may have waited in the first stage, which a changed program may not have.
        """
        if not timelines_meet(self.component, node):
            return []
        edges = self.in_edges[node.id]
        met = self._with_ordered(NONE.union(*(edge.timelines for edge in edges)))
        return [
            replace(
                edge,
                waits_for=met - self._with_ordered(edge.timelines)
                if edge.ordered_by is None
                else met,
            )
            for edge in edges
        ]

    def _with_ordered(self, timelines: frozenset[int]) -> frozenset[int]:
        """Timelines with all that their records have waited for."""
        return timelines if timelines.isdisjoint(self.ordered) else timelines | self.ordered

    def _splits_one_source(self) -> bool:
        """Whether the only source has several strategies: their channels move together.

        One channel read twice is two; they wait for each other, so that results do not depend on
        how epochs are cut, as with one channel.
        """
        component = self.component
        if len(component.sources) != 1:
            return False
        timelines = component.timelines_of_source(component.sources[0].id)
        followed = [component.timing[n.id].timelines for level in component.levels for n in level]
        return len(timelines & NONE.union(*followed)) > 1


def timelines_meet(component: Component, node: Node) -> bool:
    """Whether a timeline that began in a keyed stage meets another in a node."""
    met = NONE.union(*(component.timing[other].timelines for other in node.inputs))
    return len(met) > 1 and not all(component.follows_source(component.graph[t]) for t in met)
