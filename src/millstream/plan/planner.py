"""From the logical graph to stages: which operators run where, and the edges between them.

The rules, in the order they apply:

1. only what leads to a sink counts;
2. parts of the graph that share no node become queries of their own;
3. a keyed operator's level is one more than the highest level among what it reads, and the same level
   where records are in the slots of its keys already (`chaining`); all keyed operators of a level
   share a keyed stage;
4. everything else fuses into the stage that produces its input, once per path from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from millstream.common.errors import PlanError
from millstream.connectors.sink import Changelog, refuse_sink
from millstream.kernel.time.watermarks import wrapped
from millstream.plan.chaining import Chaining, Link
from millstream.plan.graph import (
    ExchangeNode,
    JobGraph,
    KeyedNode,
    Node,
    OnError,
    ReinterpretNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
    has_side_outputs,
)
from millstream.plan.on_error import default_policy
from millstream.plan.options import chains_operators
from millstream.plan.physical import NOTHING, Choice, Stored, choices
from millstream.plan.ranks import Rank, ranks_of
from millstream.plan.watermark_reads import reads_watermark


@dataclass(frozen=True)
class Timing:
    """Whose watermarks a node's records follow: places with a strategy, and sources without one."""

    timelines: frozenset[int] = frozenset()
    untimed: frozenset[int] = frozenset()

    def __or__(self, other: Timing) -> Timing:
        return Timing(self.timelines | other.timelines, self.untimed | other.untimed)


HostedNode = Node
"""A node that a keyed stage hosts: it has keys, follows channels, or reads the watermark."""


@dataclass(frozen=True)
class Component:
    """A connected part of the job: one query.

    ``in_turn``: the operators of keyed stages in the order in which their edges are numbered, which does
    not depend on what is chained. ``choices``: how they run, by id. ``on_error``: the policy of
    operators that have none of their own.
    """

    index: int
    graph: JobGraph
    sources: tuple[SourceNode, ...]
    sinks: tuple[SinkNode, ...]
    levels: tuple[tuple[HostedNode, ...], ...]
    in_turn: tuple[HostedNode, ...]
    timing: dict[int, Timing]
    uids: dict[int, str]
    live: frozenset[int]
    hosted: frozenset[int]
    ranks: dict[int, Rank]
    choices: dict[int, Choice]
    on_error: OnError

    def consumers(self, node_id: int) -> Iterator[tuple[Node, int]]:
        """Live readers of a node, with the number of the input by which they read it."""
        yield from self._readers.get(node_id, ())

    @cached_property
    def _readers(self) -> dict[int, list[tuple[Node, int]]]:
        found: dict[int, list[tuple[Node, int]]] = {}
        for node in self.graph:
            if node.id in self.live:
                for number, other in enumerate(node.inputs):
                    found.setdefault(other, []).append((node, number))
        return found

    def timelines_of_source(self, source_id: int) -> frozenset[int]:
        """The timelines with a source's channels, and the source itself: they end when it does."""
        return self._source_timelines[source_id]

    @cached_property
    def _source_timelines(self) -> dict[int, frozenset[int]]:
        return {source.id: self._timelines_behind(source.id) for source in self.sources}

    def _timelines_behind(self, source_id: int) -> frozenset[int]:
        found, todo = {source_id}, [source_id]
        while todo:
            for node, _ in self.consumers(todo.pop()):
                if self.begins_time(node):
                    found.add(node.id)
                if node.id not in self.hosted:
                    todo.append(node.id)
        return frozenset(found)

    def has_clock(self, source_id: int) -> bool:
        """Whether any timeline follows the source's channels."""
        return bool(self.clocks_of_source(source_id))

    def follows_source(self, node: Node) -> bool:
        """Whether no hosted operator lies between a node and its sources."""
        before = [self.graph[node_id] for node_id in node.inputs]
        return all(n.id not in self.hosted and self.follows_source(n) for n in before)

    def gets_results(self, node: Node) -> bool:
        """Whether a node gets what hosted operators emit, apart from those that begin time."""
        before = [self.graph[node_id] for node_id in node.inputs]
        return any(
            not self.begins_time(n) if n.id in self.hosted else self.gets_results(n) for n in before
        )

    def begins_time(self, node: Node) -> bool:
        """Whether a node assigns timestamps to records of sources."""
        return isinstance(node, TimestampsNode) and self.follows_source(node)

    def timelines(self) -> frozenset[int]:
        """All timelines, with the sources that have none."""
        found = {
            node_id
            for node_id in self.live
            if isinstance(self.graph[node_id], TimestampsNode | SourceNode)
        }
        return frozenset(found)

    def channel_offset(self, source_id: int, timeline: int) -> int:
        """The offset of a timeline's channels from those of the source's first timeline.

        Two strategies over one source make two channels of each of its own.
        """
        timed = sorted(self.timelines_of_source(source_id) - {source_id})
        source = self.graph[source_id]
        if isinstance(source, SourceNode) and source_id in self.timing[source_id].timelines:
            timed.insert(0, source_id)
        return timed.index(timeline) << 56 if timeline in timed else 0

    def announced(self, channels: Mapping[int, list[int]]) -> list[tuple[int, int]]:
        """(timeline, channel) of all channels that are known before the first record.

        ``channels``: the channels known of each source.
        """
        known = [
            (timeline, wrapped(channel + offset))
            for source in self.sources
            for timeline, offset in self.clocks_of_source(source.id)
            for channel in channels.get(source.id, ())
        ]
        for node_id in sorted(self.live):
            node = self.graph[node_id]
            if isinstance(node, TimestampsNode) and not self.follows_source(node):
                if node_id in self.timing[node_id].timelines:
                    known.append((node_id, node_id << 32))
        return known

    def clocks_of_source(self, source_id: int) -> list[tuple[int, int]]:
        """The timelines that follow a source's channels, each with its channel offset."""
        return [
            (timeline, self.channel_offset(source_id, timeline))
            for timeline in sorted(self.timelines_of_source(source_id))
            if timeline in self.timing[timeline].timelines
        ]


@dataclass(frozen=True)
class JobPlan:
    """The components of a job, and notes on what was decided for the user to read."""

    components: tuple[Component, ...]
    notes: tuple[str, ...] = field(default=())


def plan(
    graph: JobGraph,
    configuration: Mapping[str, str] | None = None,
    stored: Stored = NOTHING,
) -> JobPlan:
    """Plan a job.

    ``configuration``: that of the job, which says what operators do on errors. ``stored``: what is known
    of the state that the job goes on from.
    """
    settings = configuration or {}
    on_error = default_policy(settings)
    live = live_nodes(graph)
    _check_side_outputs(graph, live)
    _refuse_sinks(graph, live)
    uids = assign_uids(graph, live)
    timing = _timings(graph, live)
    chains = Chaining(graph, uids, chains_operators(settings), stored.levels)
    levels = _levels(graph, live, timing, chains)
    ranks = ranks_of(list(_of(graph, live)))
    components = []
    for index, members in enumerate(_connected(graph, live)):
        keyed = [node for node in _of(graph, members) if node.id in levels.links]
        depth = max((levels.of[node.id] for node in keyed), default=0)
        chosen = choices(graph, {n.id: uids[n.id] for n in keyed}, on_error, stored)
        components.append(
            Component(
                index=index,
                graph=graph,
                sources=tuple(n for n in _of(graph, members) if isinstance(n, SourceNode)),
                sinks=tuple(n for n in _of(graph, members) if isinstance(n, SinkNode)),
                levels=tuple(
                    tuple(node for node in keyed if levels.of[node.id] == level)
                    for level in range(1, depth + 1)
                ),
                in_turn=tuple(sorted(keyed, key=lambda node: levels.unchained[node.id])),
                hosted=frozenset(levels.links),
                timing=timing,
                uids=uids,
                live=frozenset(members),
                ranks=ranks,
                choices={i: replace(c, links=levels.links[i]) for i, c in chosen.items()},
                on_error=on_error,
            )
        )
    return JobPlan(tuple(components))


def _of(graph: JobGraph, members: set[int]) -> Iterator[Node]:
    """Nodes in the order of their creation: each comes after what it reads."""
    return (node for node in graph if node.id in members)


def _refuse_sinks(graph: JobGraph, live: set[int]) -> None:
    for node in _of(graph, live):
        if isinstance(node, SinkNode):
            type_info = graph[node.inputs[0]].output_type
            changes = node.changelog if node.changelog != "append" else _changes(graph, node)
            refuse_sink(node.sink, node.name, changes, type_info, node.location)


def _changes(graph: JobGraph, sink: SinkNode) -> Changelog:
    """The changes that come to a sink: those of a changelog, if no keyed operator is in between."""
    todo, seen = [sink.id], set[int]()
    while todo:
        node = graph[todo.pop()]
        if isinstance(node, StatelessNode) and node.kind == "changelog":
            return "retract"
        if isinstance(node, StatelessNode) and node.kind == "row_kinds":
            continue
        if node.id not in seen and not isinstance(node, KeyedNode):
            seen.add(node.id)
            todo.extend(node.inputs)
    return "append"


def live_nodes(graph: JobGraph) -> set[int]:
    """The nodes that lead to a sink."""
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
    group = {node.id: {node.id} for node in _of(graph, live)}
    for node in _of(graph, live):
        for other in node.inputs:
            if group[other] is not group[node.id]:
                merged = group[other] | group[node.id]
                for member in merged:
                    group[member] = merged
    unique = {id(members): members for members in group.values()}
    return list(unique.values())


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
            return f"keyed-{node.kind}".replace("_", "-")
        case StatelessNode():
            return node.kind.replace("_", "-")
        case _:
            return type(node).__name__.removesuffix("Node").lower()


def _timings(graph: JobGraph, live: set[int]) -> dict[int, Timing]:
    timing: dict[int, Timing] = {}
    for node in _of(graph, live):
        if isinstance(node, TimestampsNode | SourceNode):
            timed = node.strategy is not None and node.strategy.kind != "none"
            ids = frozenset({node.id})
            timing[node.id] = Timing(timelines=ids) if timed else Timing(untimed=ids)
            continue
        timing[node.id] = Timing()
        for other in node.inputs:
            timing[node.id] |= timing[other]
    return timing


@dataclass
class _Levels:
    """The levels of nodes.

    ``of``: the level of the stage that produces a node (sources: 0). ``unchained``: the level that it
    would have with an exchange before each operator. ``links``: the ways into hosted nodes.
    """

    of: dict[int, int] = field(default_factory=dict)
    unchained: dict[int, int] = field(default_factory=dict)
    links: dict[int, tuple[Link, ...]] = field(default_factory=dict)

    def add(self, node: Node, links: list[Link], least: int) -> None:
        """Add a hosted node. A link is chained only if it does not leave its stage."""
        self.unchained[node.id] = max(self._below(self.unchained, node), least) + 1
        steps = [self.of[link.origin] + (not link.chained) for link in links]
        level = self.of[node.id] = max([*steps, least + 1])
        self.links[node.id] = tuple(
            replace(link, chained=False, reason="it also reads what a later stage emits")
            if link.chained and self.of[link.origin] < level
            else link
            for link in links
        )

    def pass_on(self, node: Node) -> None:
        """Add a node that fuses into the stage before it."""
        self.of[node.id] = self._below(self.of, node)
        self.unchained[node.id] = self._below(self.unchained, node)

    def _below(self, levels: Mapping[int, int], node: Node) -> int:
        return max((levels[other] for other in node.inputs), default=0)


def _levels(
    graph: JobGraph, live: set[int], timing: Mapping[int, Timing], chains: Chaining
) -> _Levels:
    """The levels of all nodes.

    Strategies on sources that need a stage come first, alone: no other operator's clock is known before
    they have spoken.
    """
    levels = _Levels()
    apart = any(_needs_stage(graph, node) for node in _of(graph, live))
    for node in _of(graph, live):
        if isinstance(node, TimestampsNode):
            follows_results = any(levels.of[other] for other in node.inputs)
            hosted, least = follows_results or _needs_stage(graph, node), 0
        else:
            hosted, least = isinstance(node, KeyedNode) or reads_watermark(node), int(apart)
        if hosted:
            meet = _timelines_meet(node, timing, levels)
            levels.add(node, chains.links(node, may_chain=not meet), least)
        else:
            levels.pass_on(node)
        chains.place(node, hosted=hosted)
    return levels


def _needs_stage(graph: JobGraph, node: Node) -> bool:
    """Whether a strategy on sources cannot be a step of the source's task.

    Custom generators are stateful. A strategy that gets the records of a source on several ways sees
    them in one order only behind an exchange: a task sends many records along one way, then the next.
    """
    if not isinstance(node, TimestampsNode):
        return False
    ways = Counter(_ways_from_sources(graph, node))
    return node.strategy.kind == "custom" or max(ways.values(), default=0) > 1


def _ways_from_sources(graph: JobGraph, node: Node) -> Iterator[int]:
    """The source of each way that records take to a node without a keyed operator in between."""
    if isinstance(node, SourceNode):
        yield node.id
    for other in node.inputs:
        if not isinstance(graph[other], KeyedNode):
            yield from _ways_from_sources(graph, graph[other])


def _timelines_meet(node: Node, timing: Mapping[int, Timing], levels: _Levels) -> bool:
    """Whether records of several timelines may wait for each other before an operator."""
    met = frozenset[int]().union(*(timing[other].timelines for other in node.inputs))
    return len(met) > 1 and any(timeline in levels.links for timeline in met)


def _check_side_outputs(graph: JobGraph, live: set[int]) -> None:
    for node in _of(graph, live):
        if not isinstance(node, SideOutputNode):
            continue
        producer = graph[node.inputs[0]]
        if not has_side_outputs(producer):
            raise PlanError(
                "NO_SIDE_OUTPUT",
                f"operator {producer.name!r} has no side outputs (asked for {node.tag!r})",
                location=node.location,
                hint="call get_side_output on the result of process(...) itself",
            )


PASSING = (UnionNode, ExchangeNode, ReinterpretNode)
"""Nodes that leave records as they are."""
