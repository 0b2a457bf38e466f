"""Random programs of three to five operators that read each other in any way: chains, diamonds, unions
of different depth, side outputs, flat maps in between, windows with several triggers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from blocks import SIDE, Block, blocks
from hypothesis import strategies as st
from oracle import MAIN, SOURCE, Call, Emitted, Event, Operator, simulate
from programs import KEYS, Outputs, fan, flat, keyed, stage

from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.datastream.window import CountTrigger, EventTimeTrigger, TumblingEventTimeWindows
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.graph import (
    JobGraph,
    KeyedNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    UnionNode,
)
from millstream.plan.specs import ChannelSpec, CollectionSource, DiscardSpec
from strategies import BOUNDS, Cut


@dataclass(frozen=True)
class Tumble:
    """Tumbling windows that fire at their end, or with every ``count`` records."""

    size: int
    count: int | None = None

    def process(self, value: Any, call: Call) -> list[Emitted]:
        end = (call.ts // self.size + 1) * self.size - 1
        if end <= call.clock:
            return []
        call.timers.add(end)
        seen = call.state.setdefault(end, [])
        seen.append(value[1])
        if self.count is None or len(seen) % self.count:
            return []
        return [(MAIN, _summed(call.key, seen), end)]

    def on_timer(self, time: int, call: Call) -> list[Emitted]:
        seen = call.state.pop(time)
        return [(MAIN, _summed(call.key, seen))] if self.count is None else []

    def node(self, graph: JobGraph, name: str, stream: int, key: Any) -> int:
        trigger = EventTimeTrigger() if self.count is None else CountTrigger(self.count)
        windows = TumblingEventTimeWindows.of(self.size)
        spec = WindowSpec(assigner=windows, trigger=trigger, function=Summed())
        options = {"selector": key, "kind": "window", "function": spec}
        return graph.add(KeyedNode, name=name, uid=name, inputs=(stream,), **options).id


def _summed(key: Any, numbers: list[int]) -> tuple[str, int, Any]:
    return str(key), sum(numbers), ("window", tuple(numbers))


class Summed:
    """What a window function of `Tumble` does."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> list[Any]:
        return [_summed(key, [value[1] for value in elements])]

    def clear(self, context: Any) -> None:
        pass


@dataclass(frozen=True)
class Part:
    """An operator; ``inputs`` are numbers of streams, those of the parts before it."""

    does: Block | Tumble | None
    inputs: tuple[int, ...]
    key: Any


@dataclass(frozen=True)
class DeepProgram:
    """Stream 0 is the source; part n gives the streams 2n + 1 and, aside, 2n + 2.

    What has no ``does`` is a flat map, which gives nothing aside.
    """

    out_of_orderness: int
    parts: tuple[Part, ...]

    def expected(self, channels: Sequence[list[Event]], epochs: Cut | None = None) -> Outputs:
        """What the oracle says that the keyed parts give."""
        operators = []
        for number, part in enumerate(self.parts):
            name, does = f"op{number}", part.does
            inputs = tuple(_stream(i) for i in part.inputs)
            operators.append(
                Operator(name, inputs, fan if does is None else stage(name, part.key, does))
            )
        sinks = {op.name: op.name for op in operators if op.does is not fan}
        return simulate(channels, self.out_of_orderness, operators, sinks, epochs)

    def graph(self, channels: Sequence[list[Event]]) -> JobGraph:
        graph = JobGraph()
        source = CollectionSource(
            tuple(tuple(value for value, _ in channel) for channel in channels),
            tuple(tuple(ts for _, ts in channel) for channel in channels),
        )
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(self.out_of_orderness)
        spec = ChannelSpec(source=source)
        streams = {0: graph.add(SourceNode, name=SOURCE, source=spec, strategy=strategy).id}
        for number, part in enumerate(self.parts):
            name = f"op{number}"
            node = self._part(graph, name, part, [streams[i] for i in part.inputs])
            streams[2 * number + 1] = node
            if part.does is not None and not isinstance(part.does, Tumble):
                aside = graph.add(SideOutputNode, name="aside", inputs=(node,), tag=SIDE.tag_id)
                streams[2 * number + 2] = aside.id
            if part.does is not None:
                graph.add(SinkNode, name=name, inputs=(node,), sink=DiscardSpec())
        return graph

    def _part(self, graph: JobGraph, name: str, part: Part, inputs: list[int]) -> int:
        stream = inputs[0]
        if len(inputs) > 1:
            stream = graph.add(UnionNode, name="union", inputs=tuple(inputs)).id
        if part.does is None:
            return flat(graph, stream)
        if isinstance(part.does, Tumble):
            return part.does.node(graph, name, stream, part.key)
        return keyed(graph, name, stream, part.key, part.does.function())


def _stream(number: int) -> str:
    if number == 0:
        return SOURCE
    part, aside = divmod(number - 1, 2)
    return f"op{part}/{SIDE.tag_id}" if aside else f"op{part}"


TUMBLES = st.builds(Tumble, st.sampled_from((1, 5, 10)), st.none() | st.integers(1, 3))


@st.composite
def deep_programs(draw: st.DrawFn, *, windows: bool = True) -> DeepProgram:
    """Random programs; timers may be registered at or before the clock too."""
    parts: list[Part] = []
    streams = [0]
    for number in range(draw(st.integers(3, 5))):
        kinds = [blocks(past=True), blocks(), *([TUMBLES] if windows else [])]
        does = draw(st.one_of(*kinds, st.none() if number else st.nothing()))
        # A record that only runs into itself twice has no order of its own there.
        some = draw(st.lists(st.sampled_from(streams), min_size=1, max_size=3, unique=True))
        parts.append(Part(does, tuple(some), draw(KEYS)))
        streams.append(2 * number + 1)
        if does is not None and not isinstance(does, Tumble):
            streams.append(2 * number + 2)
    return DeepProgram(draw(BOUNDS), tuple(parts))
