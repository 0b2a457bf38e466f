"""From a planned component to the programs its stages run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millstream.common._type_certainty import is_declared
from millstream.common.stored_values import holds_records
from millstream.common.time import to_millis
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.async_io import AsyncStep
from millstream.kernel.buffers import ArrowCodec, codec_for
from millstream.kernel.chain import (
    Chain,
    EdgeStep,
    Route,
    TimestampStep,
)
from millstream.kernel.keyed import KeyedOperator
from millstream.kernel.outputs import MAIN
from millstream.kernel.places import Place
from millstream.kernel.reduce import ReduceOperator
from millstream.kernel.runtime import OperatorInfo
from millstream.kernel.sequenced import ChannelOperator, TimelineOperator
from millstream.kernel.stages import HostedOperator, InEdge, KeyedProgram, SourceProgram
from millstream.kernel.steps import FilterStep, FlatMapStep, MapStep, ProcessStep, Step, StoredStep
from millstream.kernel.two_inputs.connected import PairKey
from millstream.kernel.windows.columnar import ColumnarWindowOperator, PartialEdge
from millstream.plan.columnar import ColumnarWindow, columnar_window, field_aggregate, kept_by
from millstream.plan.graph import (
    KeyedNode,
    Node,
    OnError,
    SideOutputNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
)
from millstream.plan.on_error import Kinds, default_policy, kinds_for
from millstream.plan.operators import key_selector, two_input_operator, window_operator
from millstream.plan.options import JobOptions
from millstream.plan.planner import PASSING, Component
from millstream.plan.specs import ChannelSpec, DataFrameSpec, SocketSpec, SourceSpec


@dataclass(frozen=True)
class SinkEdge:
    """An edge into a sink."""

    tag: int
    sink: int
    type_info: TypeInformation | None


@dataclass
class Programs:
    """All that a component's query runs."""

    sources: dict[int, SourceProgram] = field(default_factory=dict)
    stages: list[KeyedProgram] = field(default_factory=list)
    sink_edges: list[SinkEdge] = field(default_factory=list)


class Compiler:
    """Builds the step trees of one component. ``batch``: one epoch, then the end."""

    def __init__(
        self,
        component: Component,
        options: JobOptions,
        *,
        batch: bool,
        wall_clock_ms: Callable[[], int],
    ) -> None:
        self.component = component
        self.options = options
        self.batch = batch
        self.wall_clock_ms = wall_clock_ms
        self.slots = options.slot_count
        self.programs = Programs()
        self.in_edges: dict[int, list[InEdge]] = {}
        self.lags: dict[int, int] = {}
        self.next_tag = 1

    def compile(self) -> Programs:
        for source in self.component.sources:
            self.programs.sources[source.id] = self._source(source)
        outputs: dict[int, dict[str, Chain]] = {}
        for level in self.component.levels:
            for node in level:
                outputs[node.id] = self._outputs(node)
        self._number_siblings()
        for index, level in enumerate(self.component.levels):
            hosted = [self._hosted(node, outputs[node.id]) for node in level]
            self.programs.stages.append(self._stage(index, hosted))
        return self.programs

    # -- entries ---------------------------------------------------------------------------------

    def _source(self, source: SourceNode) -> SourceProgram:
        root = Step(self._info(source))
        parent, timeline = root, None
        if source.strategy is not None:
            parent = self._timestamps(source, source.strategy, root, source)
            timeline = _timeline(source, source.strategy)
        self._grow(source, parent, source, timeline)
        return SourceProgram(
            source.name,
            Chain(root),
            self.slots,
            self.options.configuration,
            source_id=source.id if self._has_generator() else None,
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
            operator, edges, timing.timelines, timing.untimed, outputs, self._lag(node)
        )

    def _lag(self, node: Node) -> int:
        """How far behind the channels an operator's clock is: by an instant for each merging window."""
        if node.id not in self.lags:
            self.lags[node.id] = self._lag_behind(node)
        return self.lags[node.id]

    def _lag_behind(self, node: Node) -> int:
        lags = [0]
        for other in (self.component.graph[node_id] for node_id in node.inputs):
            if isinstance(other, TimestampsNode | SourceNode):
                continue
            waits = isinstance(other, KeyedNode) and waits_for_its_end(other)
            lags.append(self._lag(other) + int(waits))
        return max(lags)

    def _operator(self, node: Node, *, timed: bool) -> KeyedOperator:
        info, kinds = self._info(node), self._kinds(node)
        of_type = node.output_type
        freeze = of_type is None or not is_declared(of_type) or not of_type.is_immutable
        if isinstance(node, TimestampsNode):
            one_channel = not self.component.follows_source(node)
            return kinds(TimelineOperator)(
                info,
                node.id,
                node.strategy,
                offsets={
                    source.id: self.component.channel_offset(source.id, node.id)
                    for source in self.component.sources
                    if node.id in self.component.timelines_of_source(source.id)
                },
                one_channel=one_channel,
            )
        if isinstance(node, StatelessNode):
            return kinds(ChannelOperator)(info, node.function, timed=timed, freeze=freeze)
        assert isinstance(node, KeyedNode)
        selector = key_selector(node.selector)
        if node.kind == "reduce":
            return kinds(ReduceOperator)(
                info,
                node.function,
                selector,
                timed=timed,
                freeze=freeze,
                last_only=self.batch,
            )
        columnar = self._columnar(node)
        if columnar is not None:
            return ColumnarWindowOperator(info, columnar.aggregate, columnar.panes, selector)
        if node.kind == "window":
            by_channel = node.selector is Place.BY_CHANNEL
            if node.second is not None:
                selector = PairKey(selector, key_selector(node.second))
            return window_operator(node, self._input_type(node), kinds)(
                info,
                node.function,
                selector,
                timed=timed,
                freeze=freeze,
                in_order=by_channel or self._comes_in_order(),
                two_inputs=node.second is not None,
                by_channel=by_channel,
                may_change=self._may_change(node),
            )
        if node.second is not None:
            may_change = self._may_change(node)
            return two_input_operator(node, info, kinds, may_change, timed=timed, freeze=freeze)
        return kinds(KeyedOperator)(info, node.function, selector, timed=timed, freeze=freeze)

    def _may_change(self, node: KeyedNode) -> bool:
        """Whether a function could change the records that it is given."""
        types = [self.component.graph[number].output_type for number in node.inputs]
        return any(kind is None or not kind.is_immutable for kind in types)

    def _comes_in_order(self) -> bool:
        """Whether records come in the one order from epoch to epoch, not only within one."""
        if self.batch or self.options.channel_order == "watermark":
            return True
        return [_channels(source.source) for source in self.component.sources] == [1]

    def _route(self, reader: Node, number: int) -> Route:
        if isinstance(reader, KeyedNode):
            return reader.selector_of(number)
        if isinstance(reader, TimestampsNode) and not self.component.follows_source(reader):
            return Place.ONE_SLOT
        return Place.BY_CHANNEL

    def _stage(self, index: int, hosted: list[HostedOperator]) -> KeyedProgram:
        ordered = self.options.channel_order == "watermark" or self._splits_one_source()
        hold = ordered and not self.batch and index == self._first_clocked_level()
        edges = [edge for edges in self.in_edges.values() for edge in edges]
        return KeyedProgram(
            index,
            hosted,
            self.slots,
            self.options.configuration,
            idle_after=self._idle_after(),
            held_edges=[edge for edge in edges if edge.ordered_by is not None] if hold else (),
            ordered=frozenset(
                edge.ordered_by for edge in edges if ordered and edge.ordered_by is not None
            ),
            is_last=index == len(self.component.levels) - 1,
            ignores_unclaimed=self.options.allow_non_restored_state,
        )

    def _splits_one_source(self) -> bool:
        """Whether the only source has several strategies: their channels move together.

        One channel read twice is two; they wait for each other, so that results do not depend on
        how epochs are cut, as with one channel.
        """
        if len(self.component.sources) != 1:
            return False
        timelines = self.component.timelines_of_source(self.component.sources[0].id)
        followed = [
            self.component.timing[n.id].timelines for lvl in self.component.levels for n in lvl
        ]
        return len(timelines & frozenset().union(*followed)) > 1

    def _has_generator(self) -> bool:
        return any(
            isinstance(node, TimestampsNode) for level in self.component.levels for node in level
        )

    def _first_clocked_level(self) -> int:
        """The first level after custom generators on sources, which alone come before it."""
        for index, level in enumerate(self.component.levels):
            if not all(
                isinstance(n, TimestampsNode) and self.component.follows_source(n) for n in level
            ):
                return index
        return len(self.component.levels)

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
                step = self._timestamps(reader, reader.strategy, parent, entry)
                self._grow(reader, step, entry, _timeline(reader, reader.strategy))
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
        info, kinds = self._info(node), self._kinds(node)
        if node.kind == "process":
            return kinds(ProcessStep)(info, node.function, self.wall_clock_ms)
        steps = {"map": MapStep, "filter": FilterStep, "flat_map": FlatMapStep, "async": AsyncStep}
        return kinds(steps[node.kind])(info, node.function)

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

    def _timestamps(self, node: Node, strategy: Any, parent: Step, entry: Node) -> Step:
        step = self._kinds(node)(TimestampStep)(
            self._info(node),
            node.id,
            strategy,
            self._moves_at_epoch_end(entry),
            self.component.channel_offset(entry.id, node.id),
        )
        parent.children.append(step)
        return step

    def _moves_at_epoch_end(self, entry: Node) -> bool:
        if self.options.auto_watermark_interval_ms > 0:
            return True
        spec = entry.source if isinstance(entry, SourceNode) else None
        if isinstance(spec, DataFrameSpec):
            return spec.channel is None
        return isinstance(spec, SocketSpec)

    def _edge(
        self, node: Node, reader: Node, number: int, entry: Node, timeline: int | None
    ) -> EdgeStep:
        """What takes records of a node to input ``number`` of a hosted operator or sink."""
        tag, self.next_tag = self.next_tag, self.next_tag + 1
        from_source = isinstance(entry, SourceNode)
        route: Route = Place.ANYWHERE
        codec = codec_for(node.output_type)
        if (columnar := self._columnar(reader)) is not None:
            codec = ArrowCodec(columnar.aggregate.partial_type())
        elif node.output_type is not None and self._reads_columns(reader):
            codec = ArrowCodec(node.output_type)
        if reader.id in self.component.hosted:
            route = self._route(reader, number)
            ordered_by = self._ordered_by(entry, timeline)
            known = self.in_edges.setdefault(reader.id, [])
            same = sum(edge.input == number for edge in known)
            name = f"{self.component.uids[reader.id]}:{number}:{same}"
            key = None if isinstance(route, Place) or columnar is not None else route
            known.append(
                InEdge(tag, codec, timeline, number, ordered_by=ordered_by, name=name, key=key)
            )
        elif isinstance(reader, SinkNode):
            self.programs.sink_edges.append(SinkEdge(tag, reader.id, node.output_type))
        if columnar is not None:
            return PartialEdge(
                self._info(reader),
                tag,
                codec,
                self.slots,
                route,
                raised=not from_source,
                aggregate=columnar.aggregate,
                panes=columnar.panes,
                lag=self._lag(reader),
            )
        kinds = self._kinds(reader) if isinstance(reader, KeyedNode) else kinds_for(OnError("fail"))
        return kinds(EdgeStep)(
            self._info(reader),
            tag,
            codec,
            self.slots,
            route,
            raised=not from_source,
            channel_offset=self._offset(reader, entry),
        )

    def _offset(self, reader: Node, entry: Node) -> int:
        """What sets the channels of a timeline that a reader begins apart from its source's others."""
        begins = isinstance(reader, TimestampsNode) and isinstance(entry, SourceNode)
        return self.component.channel_offset(entry.id, reader.id) if begins else 0

    def _columnar(self, node: Node) -> ColumnarWindow | None:
        """How a window is computed by column, if it can be."""
        if not isinstance(node, KeyedNode) or node.kind != "window":
            return None
        return columnar_window(node, self._input_type(node))

    def _reads_columns(self, node: Node) -> bool:
        """Whether a window keeps its records as columns, or folds them by column."""
        if not isinstance(node, KeyedNode) or node.kind != "window":
            return False
        type_info = self._input_type(node)
        if kept_by(node, type_info) is not None:
            return True
        return (
            node.function.session_gap is not None and field_aggregate(node, type_info) is not None
        )

    def _input_type(self, node: Node) -> TypeInformation | None:
        return self.component.graph[node.inputs[0]].output_type

    def _ordered_by(self, entry: Node, timeline: int | None) -> int | None:
        if isinstance(entry, TimestampsNode) and self.component.follows_source(entry):
            return entry.id
        return timeline

    def _number_siblings(self) -> None:
        for edges in self.in_edges.values():
            for index, edge in enumerate(edges):
                edge.index, edge.siblings = index, len(edges)

    def _kinds(self, node: Node) -> Kinds:
        return kinds_for(node.on_error or default_policy(self.options.configuration))

    def _info(self, node: Node) -> OperatorInfo:
        uid, rank = self.component.uids[node.id], self.component.ranks[node.id]
        return OperatorInfo(node.name, uid, node.location, rank.depth, rank.turn)


def waits_for_its_end(node: KeyedNode) -> bool:
    """Whether an operator emits an instant later than others: windows that merge do."""
    return node.kind == "window" and bool(node.function.waits_for_its_end())


def _channels(spec: SourceSpec) -> int | None:
    """How many channels a source has, None if that cannot be known before it is read."""
    if isinstance(spec, ChannelSpec):
        return len(spec.source.channels())
    if isinstance(spec, SocketSpec) or (isinstance(spec, DataFrameSpec) and spec.channel is None):
        return 1
    return None


def _timeline(node: Node, strategy: Any) -> int | None:
    """The timeline a strategy at a node makes; none if it gives no watermarks."""
    return None if strategy.kind == "none" else node.id
