"""From the logical graph to stages: which operators run where, and the edges between them.

The rules, in the order they apply:

1. only what leads to a sink counts;
2. parts of the graph that share no node become queries of their own;
3. a keyed operator's level is one more than the highest level among what it reads; all keyed
   operators of a level share a keyed stage;
4. everything else fuses into the stage that produces its input, once per path from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from millstream.common.errors import PlanError
from millstream.plan.graph import (
    ExchangeNode,
    JobGraph,
    KeyedNode,
    Node,
    SideOutputNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
)


@dataclass(frozen=True)
class Timing:
    """Whose watermarks a node's records follow: places with a strategy, and sources without one."""

    timelines: frozenset[int] = frozenset()
    untimed: frozenset[int] = frozenset()

    def __or__(self, other: Timing) -> Timing:
        return Timing(self.timelines | other.timelines, self.untimed | other.untimed)


@dataclass(frozen=True)
class Component:
    """A connected part of the job: one query."""

    index: int
    graph: JobGraph
    sources: tuple[SourceNode, ...]
    sinks: tuple[SinkNode, ...]
    levels: tuple[tuple[KeyedNode, ...], ...]
    timing: dict[int, Timing]
    uids: dict[int, str]
    live: frozenset[int]

    def consumers(self, node_id: int) -> Iterator[Node]:
        """Live readers of a node, one for each time they read it."""
        for node in self.graph:
            if node.id in self.live:
                for _ in range(node.inputs.count(node_id)):
                    yield node

    def timelines_of_source(self, source_id: int) -> frozenset[int]:
        """The timelines a source feeds, itself included: they end when it does."""
        found, todo = {source_id}, [source_id]
        while todo:
            for node in self.consumers(todo.pop()):
                if isinstance(node, TimestampsNode):
                    found.add(node.id)
                if not isinstance(node, KeyedNode):
                    todo.append(node.id)
        return frozenset(found)


@dataclass(frozen=True)
class JobPlan:
    """The components of a job, and notes on what was decided for the user to read."""

    components: tuple[Component, ...]
    notes: tuple[str, ...] = field(default=())


def plan(graph: JobGraph) -> JobPlan:
    """Plan a job."""
    live = _live(graph)
    _check_side_outputs(graph, live)
    uids = assign_uids(graph, live)
    timing = {node_id: _timing(graph, node_id) for node_id in live}
    levels = _levels(graph, live)
    _check_timestamps(graph, live, levels)
    components = []
    for index, members in enumerate(_connected(graph, live)):
        keyed = [graph[i] for i in sorted(members) if isinstance(graph[i], KeyedNode)]
        depth = max((levels[node.id] for node in keyed), default=0)
        components.append(
            Component(
                index=index,
                graph=graph,
                sources=tuple(n for n in _of(graph, members) if isinstance(n, SourceNode)),
                sinks=tuple(n for n in _of(graph, members) if isinstance(n, SinkNode)),
                levels=tuple(
                    tuple(
                        node
                        for node in keyed
                        if isinstance(node, KeyedNode) and levels[node.id] == level
                    )
                    for level in range(1, depth + 1)
                ),
                timing=timing,
                uids=uids,
                live=frozenset(members),
            )
        )
    return JobPlan(tuple(components))


def _of(graph: JobGraph, members: set[int]) -> Iterator[Node]:
    return (graph[node_id] for node_id in sorted(members))


def _live(graph: JobGraph) -> set[int]:
    todo = [node.id for node in graph if isinstance(node, SinkNode)]
    if not todo:
        raise PlanError(
            "NO_SINK",
            "the job has no sink: nothing would be computed",
            hint="end a stream with print(), sink_to(...) or execute_and_collect()",
        )
    live: set[int] = set()
    while todo:
        node_id = todo.pop()
        if node_id not in live:
            live.add(node_id)
            todo.extend(graph[node_id].inputs)
    return live


def _connected(graph: JobGraph, live: set[int]) -> list[set[int]]:
    group = {node_id: {node_id} for node_id in live}
    for node_id in sorted(live):
        for other in graph[node_id].inputs:
            if group[other] is not group[node_id]:
                merged = group[other] | group[node_id]
                for member in merged:
                    group[member] = merged
    unique = {id(members): members for members in group.values()}
    return sorted(unique.values(), key=min)


def assign_uids(graph: JobGraph, live: set[int]) -> dict[int, str]:
    """A uid for every operator: the user's, or one made of its kind and place in the program."""
    taken = {node.uid for node in graph if node.uid is not None}
    uids: dict[int, str] = {}
    counts: dict[str, int] = {}
    for node in _of(graph, live):
        if node.uid is not None:
            uids[node.id] = node.uid
            continue
        kind = _kind(node)
        while True:
            counts[kind] = counts.get(kind, 0) + 1
            uid = f"{kind}-{counts[kind]}"
            if uid not in taken:
                break
        uids[node.id] = uid
    return uids


def _kind(node: Node) -> str:
    match node:
        case SourceNode():
            return "source"
        case SinkNode():
            return "sink"
        case KeyedNode():
            return f"keyed-{node.kind}"
        case StatelessNode():
            return node.kind.replace("_", "-")
        case _:
            return type(node).__name__.removesuffix("Node").lower()


def _timing(graph: JobGraph, node_id: int) -> Timing:
    node = graph[node_id]
    if isinstance(node, TimestampsNode):
        if node.strategy.kind == "none":
            return Timing(untimed=frozenset({node_id}))
        return Timing(timelines=frozenset({node_id}))
    if isinstance(node, SourceNode):
        timed = node.strategy is not None and node.strategy.kind != "none"
        ids = frozenset({node_id})
        return Timing(timelines=ids) if timed else Timing(untimed=ids)
    result = Timing()
    for other in node.inputs:
        result |= _timing(graph, other)
    return result


def _levels(graph: JobGraph, live: set[int]) -> dict[int, int]:
    """For each node the level of the stage that produces it; sources are level 0."""
    levels: dict[int, int] = {}
    for node in _of(graph, live):
        below = max((levels[other] for other in node.inputs), default=0)
        levels[node.id] = below + 1 if isinstance(node, KeyedNode) else below
    return levels


def _check_side_outputs(graph: JobGraph, live: set[int]) -> None:
    for node in _of(graph, live):
        if not isinstance(node, SideOutputNode):
            continue
        producer = graph[node.inputs[0]]
        has_sides = isinstance(producer, KeyedNode) and producer.kind == "process"
        has_sides |= isinstance(producer, StatelessNode) and producer.kind == "process"
        if not has_sides:
            raise PlanError(
                "NO_SIDE_OUTPUT",
                f"operator {producer.name!r} has no side outputs (asked for {node.tag!r})",
                location=node.location,
                hint="call get_side_output on the result of process(...) itself",
            )


def _check_timestamps(graph: JobGraph, live: set[int], levels: dict[int, int]) -> None:
    for node in _of(graph, live):
        if isinstance(node, TimestampsNode) and levels[node.id] > 0:
            raise PlanError(
                "TIMESTAMPS_AFTER_KEYED",
                "timestamps are assigned after a keyed operator",
                location=node.location,
                hint="assign timestamps and watermarks before key_by",
            )


PASSING = (UnionNode, ExchangeNode)
"""Nodes that leave records as they are."""
