"""From a planned component to the programs its stages run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from millstream.common.stored_values import holds_records
from millstream.common.time import to_millis
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.certainty import is_declared
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.buffers import ArrowCodec, Codec, codec_for
from millstream.kernel.records.outputs import MAIN
from millstream.kernel.stages.edges import InEdge
from millstream.kernel.stages.programs import HostedOperator, KeyedProgram, SourceProgram
from millstream.kernel.steps.async_io import AsyncStep
from millstream.kernel.steps.chain import (
    Chain,
    EdgeStep,
    Route,
    Stay,
    TimestampStep,
)
from millstream.kernel.steps.columns import ColumnsStep
from millstream.kernel.steps.counting import CountingEdge
from millstream.kernel.steps.decode import DecodeStep
from millstream.kernel.steps.routing import Place
from millstream.kernel.steps.stateless import (
    ChangelogStep,
    FilterStep,
    FlatMapStep,
    MapStep,
    ProcessStep,
    RowKindsStep,
    Step,
    StoredStep,
)
from millstream.kernel.windows.columnar import PartialEdge
from millstream.kernel.windows.partial_sums import PartialSums
from millstream.plan.chaining import Link
from millstream.plan.changes import refuse_changes
from millstream.plan.graph import (
    KeyedNode,
    Node,
    SideOutputNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
)
from millstream.plan.on_error import policy_of
from millstream.plan.operators import Surroundings, operator_of
from millstream.plan.options import JobOptions
from millstream.plan.physical import Choice
from millstream.plan.planner import PASSING, Component
from millstream.plan.waiting import Waiting, timelines_meet

S = TypeVar("S", bound=Step)


@dataclass(frozen=True)
class SinkEdge:
    """An edge into a sink."""

    tag: int
    sink: int
    type_info: TypeInformation | None


@dataclass
class Programs:
    """Everything that a component's query runs."""

    sources: dict[int, SourceProgram] = field(default_factory=dict)
    stages: list[KeyedProgram] = field(default_factory=list)
    sink_edges: list[SinkEdge] = field(default_factory=list)


class Compiler:
    """Builds the step trees of one component.

    ``batch``: one epoch, then the end. ``forgetful``: the sinks whose records nobody reads.
    """

    def __init__(
        self,
        component: Component,
        options: JobOptions,
        *,
        batch: bool,
        wall_clock_ms: Callable[[], int],
        forgetful: Collection[int] = (),
    ) -> None:
        self.component = component
        self.options = options
        self.batch = batch
        self.wall_clock_ms = wall_clock_ms
        self.forgetful = forgetful
        self.slots = options.slot_count
        self.programs = Programs()
        self.in_edges: dict[int, list[InEdge]] = {}
        self.through: list[InEdge] = []
        self.next_tag = 1

    def compile(self) -> Programs:
        for source in self.component.sources:
            self.programs.sources[source.id] = self._source(source)
        outputs: dict[int, dict[str, Chain]] = {}
        for node in self.component.in_turn:
            outputs[node.id] = self._outputs(node)
        self._number_siblings()
        for index, level in enumerate(self.component.levels):
            hosted = [self._hosted(node, outputs[node.id]) for node in level]
            self.programs.stages.append(self._stage(index, hosted))
        refuse_changes(self.programs.sources.values(), self.programs.stages)
        return self.programs

    # -- entries ---------------------------------------------------------------------------------

    def _source(self, source: SourceNode) -> SourceProgram:
        root = Step(self._info(source))
        parent, timeline = root, None
        decode = None
        if source.decoder is not None:
            decode = self._with_policy(source, DecodeStep(self._info(source), source.decoder))
            root.children.append(decode)
            parent = self._stored(source, decode)
        if source.strategy is not None:
            parent = clock = self._timestamps(source, source.strategy, parent, source)
            timeline = _timeline(source, source.strategy)
            if decode is not None:
                decode.clock = clock
                decode = None
        self._grow(source, parent, source, timeline, aside=decode)
        return SourceProgram(
            self.component.uids[source.id],
            Chain(root),
            self.slots,
            self.options.configuration,
            source_id=source.id if self._has_generator() else None,
            timelines=self.component.clocks_of_source(source.id),
        )

    def _outputs(self, node: Node) -> dict[str, Chain]:
        """The chains behind a keyed operator, by output tag; branches of one tag share a chain."""
        roots: dict[str, Step] = {MAIN: Step(self._info(node))}
        self._grow(node, self._stored(node, roots[MAIN]), node, None, skip_sides=True)
        for reader, _ in self.component.consumers(node.id):
            if isinstance(reader, SideOutputNode):
                root = roots.setdefault(reader.tag, Step(self._info(reader)))
                self._grow(reader, self._stored(reader, root), node, None)
        return {tag: Chain(root) for tag, root in roots.items()}

    def _hosted(self, node: Node, outputs: dict[str, Chain]) -> HostedOperator:
        timing = self.component.timing[node.id]
        edges = self.in_edges.get(node.id, [])
        operator = self._operator(node, timed=not timing.untimed)
        return HostedOperator(
            operator,
            edges,
            timing.timelines,
            timing.untimed,
            outputs,
            self.component.choices[node.id].lag,
            self.component.graph[node.inputs[0]].output_type,
        )

    def _operator(self, node: Node, *, timed: bool) -> KeyedOperator:
        of_type = node.output_type
        around = Surroundings(
            self._info(node),
            timed=timed,
            freeze=of_type is None or not is_declared(of_type) or not of_type.is_immutable,
            last_only=self.batch,
            in_order=self._comes_in_order(node),
            may_change=self._may_change(node),
            offsets=self._offsets(node),
            one_channel=not self.component.follows_source(node),
        )
        return operator_of(node, self.component.choices[node.id], around)

    def _offsets(self, node: Node) -> dict[int, int]:
        """For each source of a timeline, how far its channels have been moved."""
        return {
            source.id: self.component.channel_offset(source.id, node.id)
            for source in self.component.sources
            if node.id in self.component.timelines_of_source(source.id)
        }

    def _may_change(self, node: Node) -> bool:
        """Whether a function could change the records that it is given."""
        types = [self.component.graph[number].output_type for number in node.inputs]
        return any(kind is None or not kind.is_immutable for kind in types)

    def _comes_in_order(self, node: Node) -> bool:
        """Whether records come in the one order from epoch to epoch, not only within one."""
        if self.batch or self.options.channel_order == "watermark":
            return True
        return self._channel_counts == [1] and not timelines_meet(self.component, node)

    @cached_property
    def _channel_counts(self) -> list[int | None]:
        return [source.source.channel_count() for source in self.component.sources]

    def _route(self, reader: Node, number: int) -> Route:
        if isinstance(reader, KeyedNode):
            return reader.selector_of(number)
        if isinstance(reader, TimestampsNode) and not self.component.follows_source(reader):
            return Place.ONE_SLOT
        return Place.BY_CHANNEL

    def _stage(self, index: int, hosted: list[HostedOperator]) -> KeyedProgram:
        waiting = Waiting(self.component, self.options, self.in_edges, batch=self.batch)
        through = self.through if index == waiting.first_stage else []
        return KeyedProgram(
            index,
            hosted,
            self.slots,
            self.options.configuration,
            idle_after=self._idle_after(),
            held_edges=[*waiting.edges(index), *through],
            ordered=waiting.ordered,
            is_last=index == len(self.component.levels) - 1,
            ignores_unclaimed=self.options.allow_non_restored_state,
        )

    def _has_generator(self) -> bool:
        return any(
            isinstance(node, TimestampsNode) for level in self.component.levels for node in level
        )

    def _idle_after(self) -> dict[int, int]:
        timeouts = {}
        for node_id in self.component.live:
            strategy = getattr(self.component.graph[node_id], "strategy", None)
            if strategy is not None and strategy.idleness_ms is not None:
                timeouts[node_id] = to_millis(strategy.idleness_ms)
        return timeouts

    # -- step trees ------------------------------------------------------------------------------

    def _grow(
        self,
        node: Node,
        parent: Step,
        entry: Node,
        timeline: int | None,
        *,
        skip_sides: bool = False,
        aside: Step | None = None,
    ) -> None:
        """Add what reads a node below its step.

        ``entry`` is the source or keyed node behind it, ``timeline`` where a source's records got
        their timestamps on the way here. ``aside``: the step with the side outputs, if another.
        """
        for reader, number in self.component.consumers(node.id):
            if isinstance(reader, SideOutputNode):
                if not skip_sides:
                    self._side(reader, aside or parent, entry, timeline)
            elif isinstance(reader, PASSING):
                self._grow(reader, parent, entry, timeline)
            elif reader.id in self.component.hosted or isinstance(reader, SinkNode):
                parent.children.append(self._edge(node, reader, number, entry, timeline))
            elif isinstance(reader, TimestampsNode):
                timed = self._timestamps(reader, reader.strategy, parent, entry)
                self._grow(reader, timed, entry, _timeline(reader, reader.strategy))
            else:
                assert isinstance(reader, StatelessNode)
                step = self._stateless(reader)
                parent.children.append(step)
                self._grow(reader, self._stored(reader, step), entry, timeline, aside=step)

    def _side(
        self, reader: SideOutputNode, parent: Step, entry: Node, timeline: int | None
    ) -> None:
        root = parent.sides.setdefault(reader.tag, Step(self._info(reader)))
        self._grow(reader, self._stored(reader, root), entry, timeline)

    def _stateless(self, node: StatelessNode) -> Step:
        info = self._info(node)
        if node.kind == "async":
            # It has retries of its own, and no other policy.
            return AsyncStep(info, node.function)
        if node.kind == "process":
            return self._with_policy(node, ProcessStep(info, node.function, self.wall_clock_ms))
        if node.kind == "changelog":
            return ChangelogStep(info)
        if node.kind == "row_kinds":
            return RowKindsStep(info, node.function)
        if node.kind == "columns":
            type_info = self.component.graph[node.inputs[0]].output_type
            assert type_info is not None
            return ColumnsStep(info, node.function, type_info, self.wall_clock_ms)
        steps = {"map": MapStep, "filter": FilterStep, "flat_map": FlatMapStep}
        return self._with_policy(node, steps[node.kind](info, node.function))

    def _with_policy(self, node: Node, step: S) -> S:
        """A step that does what the program says when a function of the node fails."""
        step.policy = policy_of(node.on_error or self.component.on_error, step.info)
        return step

    def _stored(self, node: Node, step: Step) -> Step:
        """Behind a function whose type holds rows or tuples: it may return lists instead.

        Plain values need no step: a buffer's codec checks them, and nothing would change.
        """
        passes_on = isinstance(node, TimestampsNode) or getattr(node, "kind", "") == "filter"
        type_info = None if passes_on else node.output_type
        if type_info is None or not is_declared(type_info) or not holds_records(type_info):
            return step
        stored = StoredStep(self._info(node), type_info)
        step.children.append(stored)
        return stored

    def _timestamps(self, node: Node, strategy: Any, parent: Step, entry: Node) -> TimestampStep:
        step = TimestampStep(
            self._info(node),
            node.id,
            strategy,
            self._moves_at_epoch_end(entry),
            self.component.channel_offset(entry.id, node.id),
        )
        parent.children.append(self._with_policy(node, step))
        return step

    def _moves_at_epoch_end(self, entry: Node) -> bool:
        if self.options.auto_watermark_interval_ms > 0:
            return True
        return isinstance(entry, SourceNode) and not entry.source.keeps_order

    def _edge(
        self, node: Node, reader: Node, number: int, entry: Node, timeline: int | None
    ) -> EdgeStep:
        """The edge from a node to input ``number`` of a hosted operator or sink."""
        tag, self.next_tag = self.next_tag, self.next_tag + 1
        info, raised = self._info(reader), not isinstance(entry, SourceNode)
        offset = self._offset(reader, entry, timeline)
        if isinstance(reader, SinkNode):
            self.programs.sink_edges.append(SinkEdge(tag, reader.id, node.output_type))
            codec, place = codec_for(node.output_type), Place.ANYWHERE
            if timeline is not None and self.component.gets_results(reader):
                # The sink has all in one order, for which these records need their whole stamps.
                place = Place.THROUGH_A_STAGE
                self.through.append(InEdge(tag, codec, timeline))
            counts = reader.id in self.forgetful and place is Place.ANYWHERE
            kind = CountingEdge if counts else EdgeStep
            return kind(
                info,
                tag,
                codec,
                self.slots,
                place,
                raised=raised,
                channel_offset=offset,
                by_position=place is Place.ANYWHERE and not raised,
            )
        begins_time = self.component.begins_time(reader)
        if begins_time:
            timeline = None  # it replaces the strategies before it
        choice, route = self.component.choices[reader.id], self._route(reader, number)
        codec = _codec(choice, node.output_type)
        edge = InEdge(
            tag,
            codec,
            timeline,
            number,
            ordered_by=self._ordered_by(entry, timeline),
            timelines=self._followed(entry, timeline),
        )
        self._add_in_edge(reader, edge)
        link = choice.link(entry.id, number)
        edge.stays = link.chained
        options: dict[str, Any] = {
            "raised": raised,
            "channel_offset": offset,
            "stay": self._stay(link, edge),
        }
        columns = choice.by_column
        if columns is not None and choice.edge == "partial sums":
            sums: dict[str, Any] = {
                "aggregate": columns.aggregate,
                "panes": columns.panes,
                "lag": choice.lag,
            }
            edge.sums = PartialSums(info, tag, codec, self.slots, route, raised=True, **sums)
            return PartialEdge(info, tag, codec, self.slots, route, **options, **sums)
        edge.key = None if isinstance(route, Place) else route
        step = EdgeStep(info, tag, codec, self.slots, route, by_position=begins_time, **options)
        return self._with_policy(reader, step) if isinstance(reader, KeyedNode) else step

    def _stay(self, link: Link, edge: InEdge) -> Stay | None:
        """Of a link without an exchange, the line that promises that keys are kept."""
        node = self.component.graph[link.promise or link.reader]
        return Stay(node.location, edge.handed) if link.chained else None

    def _add_in_edge(self, reader: Node, edge: InEdge) -> None:
        known = self.in_edges.setdefault(reader.id, [])
        same = sum(other.input == edge.input for other in known)
        edge.name = f"{self.component.uids[reader.id]}:{edge.input}:{same}"
        known.append(edge)

    def _offset(self, reader: Node, entry: Node, timeline: int | None) -> int:
        """How far an edge moves the channels of a source: those of one timeline are its own.

        That is the timeline that the reader begins, or else the last one before it.
        """
        if not isinstance(entry, SourceNode):
            return 0
        own = reader.id if self.component.begins_time(reader) else timeline
        return 0 if own is None else self.component.channel_offset(entry.id, own)

    def _ordered_by(self, entry: Node, timeline: int | None) -> int | None:
        return entry.id if self.component.begins_time(entry) else timeline

    def _followed(self, entry: Node, timeline: int | None) -> frozenset[int]:
        """The timelines that the stamps behind an entry may be of."""
        if isinstance(entry, SourceNode):
            return frozenset(() if timeline is None else (timeline,))
        return self.component.timing[entry.id].timelines

    def _number_siblings(self) -> None:
        for edges in self.in_edges.values():
            for index, edge in enumerate(edges):
                edge.index, edge.siblings = index, len(edges)

    def _info(self, node: Node) -> OperatorInfo:
        uid, rank = self.component.uids[node.id], self.component.ranks[node.id]
        return OperatorInfo(node.name, uid, node.location, rank.depth, rank.turn)


def _codec(choice: Choice, type_info: TypeInformation | None) -> Codec:
    """How records travel to a hosted operator."""
    columns = choice.by_column
    if choice.edge == "partial sums" and columns is not None and columns.aggregate is not None:
        return ArrowCodec(columns.aggregate.partial_type())
    if choice.edge == "columns" and type_info is not None:
        return ArrowCodec(type_info)
    return codec_for(type_info)


def _timeline(node: Node, strategy: Any) -> int | None:
    """The timeline a strategy at a node makes; none if it gives no watermarks."""
    return None if strategy.kind == "none" else node.id
