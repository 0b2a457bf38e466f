"""Random programs of one or two keyed stages: how the oracle runs one, and how the kernel does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import strategies as st

from millstream.common.watermark_strategy import (
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.plan.graph import (
    JobGraph,
    KeyedNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
)
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob
from tests.support.properties.blocks import SIDE, Block, blocks
from tests.support.properties.oracle import SOURCE, Event, Operator, Stage, simulate
from tests.support.strategies import BOUNDS, Cut, Layout

Outputs = Mapping[str, Sequence[tuple[Any, int | None]]]
Dress = Callable[[Any], Any]
"""Puts something around a user function; the tests of recovery let it fail."""


def by_name(value: Any) -> str:
    return value[0]


def by_number(value: Any) -> int:
    return value[1] % 3


def fan(value: Any) -> list[Any]:
    """None, one or two records of one."""
    name, number, trace = value
    return [(name, number + i, trace) for i in range((number + 1) % 3)]


class Bounded(WatermarkGenerator):
    """What bounded out-of-orderness says, by hand: remembers on events, tells when asked."""

    def __init__(self, out_of_orderness: int) -> None:
        self.behind = out_of_orderness + 1
        self.latest: int | None = None

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        self.latest = timestamp if self.latest is None else max(self.latest, timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        if self.latest is not None:
            output.emit_watermark(Watermark(self.latest - self.behind))


@dataclass(frozen=True)
class Program:
    """source -> [fan] -> timestamps -> first -> [fan] -> [union with the source] -> second -> [fan].

    There is a union only where a stage follows: a record that goes straight to a sink does not wait for
    other channels. ``fan_early`` comes before timestamps are assigned, so it makes
    the records that have stamps. ``custom``: a generator of the user's makes the same watermarks, in a
    stage of its own. ``again``: timestamps are assigned again before the second stage, with this
    bound. ``meet``: the second stage reads the records as they were too; not for the oracle.
    """

    out_of_orderness: int
    first: Block
    first_key: Callable[[Any], Any] = by_name
    second: Block | None = None
    second_key: Callable[[Any], Any] = by_name
    fan_early: bool = False
    fan_between: bool = False
    fan_late: bool = False
    union: bool = False
    custom: bool = False
    again: int | None = None
    meet: bool = False

    # -- the oracle's reading --------------------------------------------------------------------

    def expected(self, channels: Sequence[list[Event]], epochs: Cut | None = None) -> Outputs:
        operators = [Operator("first", (SOURCE,), stage("first", self.first_key, self.first))]
        if self.fan_between:
            operators.append(Operator("between", ("first",), fan))
        sinks = {"first": "first", "side": f"first/{SIDE.tag_id}"}
        expand = _expand_with_fan if self.fan_early else _as_it_is
        inputs = (operators[-1].name, *([SOURCE] if self.union and self.second else []))
        if self.again is None:
            operators += self._behind(inputs)
            sinks["last"] = operators[-1].name
            return simulate(channels, self.out_of_orderness, operators, sinks, epochs, expand)
        # What comes to the second strategy, in order, is a channel of its own.
        operators.append(Operator("again", inputs, lambda value: [value]))
        sinks["last"] = "again"
        half = simulate(channels, self.out_of_orderness, operators, sinks, epochs, expand)
        behind = self._behind((SOURCE,))
        last = {"last": behind[-1].name if behind else SOURCE}
        return half | simulate([half["last"]], self.again, behind, last)

    def _behind(self, inputs: tuple[str, ...]) -> list[Operator]:
        """The second half of the program."""
        operators = []
        if self.second is not None:
            second = stage("second", self.second_key, self.second)
            operators.append(Operator("second", inputs, second))
        if self.fan_late:
            inputs = ("second",) if operators else inputs
            operators.append(Operator("late", inputs, fan))
        return operators

    # -- the kernel's ----------------------------------------------------------------------------

    def graph(self, channels: Sequence[list[Event]], dress: Dress = lambda f: f) -> JobGraph:
        graph = JobGraph()
        source = CollectionSource(
            tuple(tuple(value for value, _ in channel) for channel in channels),
            tuple(tuple(ts for _, ts in channel) for channel in channels),
        )
        start = graph.add(SourceNode, name="source", source=source).id
        if self.fan_early:
            start = flat(graph, start)
        strategy = self._strategy()
        start = graph.add(TimestampsNode, name="times", inputs=(start,), strategy=strategy).id
        first = keyed(graph, "first", start, self.first_key, dress(self.first.function()))
        side = graph.add(SideOutputNode, name="aside", inputs=(first,), tag=SIDE.tag_id).id
        last = self._second_half(graph, start, first, dress)
        for name, node in (("first", first), ("side", side), ("last", last)):
            graph.add(SinkNode, name=name, inputs=(node,), sink=DiscardingSink())
        return graph

    def _strategy(self) -> WatermarkStrategy:
        if self.custom:
            return WatermarkStrategy.for_generator(partial(Bounded, self.out_of_orderness))
        return WatermarkStrategy.for_bounded_out_of_orderness(self.out_of_orderness)

    def _second_half(self, graph: JobGraph, start: int, first: int, dress: Dress) -> int:
        stream = flat(graph, first) if self.fan_between else first
        if self.union and self.second is not None:
            stream = graph.add(UnionNode, name="union", inputs=(start, stream)).id
        if self.again is not None:
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(self.again)
            again = graph.add(TimestampsNode, name="again", inputs=(stream,), strategy=strategy).id
            meeting = (start, stream, again)
            stream = graph.add(UnionNode, name="all", inputs=meeting).id if self.meet else again
        if self.second is not None:
            stream = keyed(graph, "second", stream, self.second_key, dress(self.second.function()))
        return flat(graph, stream) if self.fan_late else stream

    def job(
        self,
        channels: Sequence[list[Event]],
        layout: Layout,
        *,
        order: ChannelOrder = "arrival",
        batch: bool = False,
        dress: Dress = lambda f: f,
    ) -> LocalJob:
        options = JobOptions(
            parallelism=layout.parallelism, slots=layout.slots, channel_order=order
        )
        return LocalJob(self.graph(channels, dress), options, batch=batch)

    def run(
        self,
        channels: Sequence[list[Event]],
        layout: Layout,
        cut: Cut,
        *,
        order: ChannelOrder = "arrival",
        restart: bool = False,
    ) -> Outputs:
        """Run in streaming mode; ``restart`` after every epoch."""
        job = self.job(channels, layout, order=order)
        for number, reads in enumerate(cut):
            end = layout.end_with_data and number == len(cut) - 1
            job.epoch(per_channel(reads), end=end, splits=layout.splits)
            if restart:
                job.start()
        if not (layout.end_with_data and cut):
            job.epoch(0, end=True)
        assert job.exhausted()
        return job.outputs

    def run_batch(self, channels: Sequence[list[Event]], layout: Layout) -> Outputs:
        return self.job(channels, layout, batch=True).run_all(splits=layout.splits)


def per_channel(reads: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """How many records a `LocalJob` reads of each channel of its one source."""
    return {(0, channel): number for channel, number in enumerate(reads)}


def stage(uid: str, key: Callable[[Any], Any], block: Any) -> Stage:
    namespace = getattr(block, "namespace", lambda time: 0)
    return Stage(uid, key, block.process, block.on_timer, namespace=namespace)


def _as_it_is(value: Any, ts: int) -> list[Event]:
    return [(value, ts)]


def _expand_with_fan(value: Any, ts: int) -> list[Event]:
    return [(part, ts) for part in fan(value)]


def flat(graph: JobGraph, stream: int) -> int:
    return graph.add(StatelessNode, name="fan", inputs=(stream,), kind="flat_map", function=fan).id


def keyed(graph: JobGraph, name: str, stream: int, key: Callable[[Any], Any], function: Any) -> int:
    return graph.add(
        KeyedNode,
        name=name,
        uid=name,
        inputs=(stream,),
        selector=key,
        kind="process",
        function=function,
    ).id


KEYS = st.sampled_from((by_name, by_number))


def programs(*, past: bool = False) -> st.SearchStrategy[Program]:
    """Random programs; with ``past`` timers are registered at or before the clock too."""
    return st.builds(
        Program,
        out_of_orderness=BOUNDS,
        first=blocks(past=past),
        first_key=KEYS,
        second=st.none() | blocks(past=past),
        second_key=KEYS,
        fan_early=st.booleans(),
        fan_between=st.booleans(),
        fan_late=st.booleans(),
        union=st.booleans(),
        custom=st.sampled_from((False, False, True)),
        again=st.none() | st.none() | BOUNDS,
    )
