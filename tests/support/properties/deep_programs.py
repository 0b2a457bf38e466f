"""Random programs of three to five operators that read each other in any way: chains, diamonds, unions
of different depth, side outputs, flat maps in between, windows with several triggers, broadcasts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from millstream.common.state import ValueStateDescriptor
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.datastream.window import CountTrigger, EventTimeTrigger, TumblingEventTimeWindows
from millstream.kernel.operators.two_inputs.specs import BroadcastSpec
from millstream.kernel.steps.routing import Place
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.graph import (
    JobGraph,
    KeyedNode,
    ReinterpretNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    TimestampsNode,
    UnionNode,
)
from tests.support.properties.blocks import SIDE, Block, blocks
from tests.support.properties.oracle import (
    MAIN,
    SOURCE,
    Call,
    Emitted,
    Event,
    Operator,
    States,
    simulate,
)
from tests.support.properties.programs import KEYS, Outputs, by_name, fan, flat, keyed, stage
from tests.support.strategies import BOUNDS, Cut


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

    def namespace(self, time: int) -> int:
        """The start of the window that ends with an instant."""
        return time + 1 - self.size

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
class Ruled:
    """Counts per key, and tells all counts with each broadcast record."""

    delay: int

    def process(self, value: Any, call: Call) -> list[Emitted]:
        call.state["count"] = call.state.get("count", 0) + 1
        call.timers.add(max(call.ts + self.delay, call.clock + 1))
        return [(MAIN, (str(call.key), call.state["count"], ("ruled", value[2])))]

    def on_timer(self, time: int, call: Call) -> list[Emitted]:
        return [(MAIN, (str(call.key), call.state.pop("count", 0), ("rang", time)))]

    def rule(self, value: Any, states: States) -> list[Emitted]:
        found: list[Emitted] = []
        for key, state in states:
            if "count" in state:
                found.append((MAIN, (str(key), state["count"], ("told",))))
                found.append((SIDE.tag_id, (str(key), state["count"], ("aside",))))
        return [(MAIN, (value[0], value[1], ("rule",))), *found, (MAIN, value)]

    def node(self, graph: JobGraph, name: str, streams: tuple[int, int], key: Any) -> int:
        spec = BroadcastSpec(RuledFunction(self), ("rules",))
        options = {"selector": key, "second": Place.EVERY_SLOT, "kind": "broadcast"}
        return graph.add(
            KeyedNode, name=name, uid=name, inputs=streams, function=spec, **options
        ).id


class RuledFunction:
    def __init__(self, block: Ruled) -> None:
        self.block = block

    def open(self, context: Any) -> None:
        self.count = context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        time = max(ctx.timestamp() + self.block.delay, timers.current_watermark() + 1)
        timers.register_event_time_timer(time)
        yield str(ctx.get_current_key()), self.count.value(), ("ruled", value[2])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield str(ctx.get_current_key()), self.count.value() or 0, ("rang", timestamp)
        self.count.clear()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value[0], value[1], ("rule",)
        ctx.apply_to_keyed_state(COUNT, self.tell)
        yield value

    def tell(self, key: Any, count: Any) -> Iterable[Any]:
        yield str(key), count.value(), ("told",)
        yield SIDE, (str(key), count.value(), ("aside",))


COUNT = ValueStateDescriptor("count")


@dataclass(frozen=True)
class Again:
    """Watermarks are assigned again, a few times in a row; the oracle does not know it.

    ``fans``: with a flat map between two strategies.
    """

    bounds: tuple[int, ...]
    fans: bool

    def node(self, graph: JobGraph, name: str, stream: int) -> int:
        for number, bound in enumerate(self.bounds):
            if number and self.fans:
                stream = flat(graph, stream)
            own = f"{name} {number}" if number else name
            stream = graph.add(
                TimestampsNode,
                name=own,
                uid=own,
                inputs=(stream,),
                strategy=WatermarkStrategy.for_bounded_out_of_orderness(bound),
            ).id
        return stream


@dataclass(frozen=True)
class Part:
    """An operator; ``inputs`` are numbers of streams, those of the parts before it.

    ``rules``: a stream that is broadcast to it.
    """

    does: Block | Tumble | Ruled | Again | None

    inputs: tuple[int, ...]
    key: Any
    rules: int | None = None

    @property
    def is_keyed(self) -> bool:
        return self.does is not None and not isinstance(self.does, Again)

    @property
    def has_side(self) -> bool:
        return self.is_keyed and not isinstance(self.does, Tumble)


@dataclass(frozen=True)
class DeepProgram:
    """Stream 0 is the source; part n gives the streams 2n + 1 and, aside, 2n + 2.

    Each keyed part has a sink, and the sink "all" gets all streams. What has no ``does`` is a flat map,
    which gives nothing aside. ``promises``: the program says where keys are kept.
    """

    out_of_orderness: int
    parts: tuple[Part, ...]
    promises: bool = False

    def expected(self, channels: Sequence[list[Event]], epochs: Cut | None = None) -> Outputs:
        """What the oracle says that the keyed parts give."""
        operators = []
        for number, part in enumerate(self.parts):
            name, does = f"op{number}", part.does
            inputs = tuple(_stream(i) for i in part.inputs)
            if does is None:
                operators.append(Operator(name, inputs, fan))
                continue
            rules = () if part.rules is None else (_stream(part.rules),)
            rule = getattr(does, "rule", None)
            own = replace(stage(name, part.key, does), rule=rule)
            operators.append(Operator(name, inputs, own, rules))
        sinks: dict[str, Any] = {op.name: op.name for op in operators if op.does is not fan}
        sinks["all"] = tuple(map(_stream, self.streams()))
        return simulate(channels, self.out_of_orderness, operators, sinks, epochs)

    def streams(self) -> list[int]:
        """The source and all that the parts give."""
        found = [0]
        for number, part in enumerate(self.parts):
            found += [2 * number + 1, *([2 * number + 2] if part.has_side else [])]
        return found

    def graph(self, channels: Sequence[list[Event]]) -> JobGraph:
        graph = JobGraph()
        source = CollectionSource(
            tuple(tuple(value for value, _ in channel) for channel in channels),
            tuple(tuple(ts for _, ts in channel) for channel in channels),
        )
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(self.out_of_orderness)
        spec = source
        streams = {0: graph.add(SourceNode, name=SOURCE, source=spec, strategy=strategy).id}
        for number, part in enumerate(self.parts):
            name = f"op{number}"
            rules = None if part.rules is None else streams[part.rules]
            inputs = [self._kept(graph, part, i, streams[i]) for i in part.inputs]
            node = self._part(graph, name, part, inputs, rules)
            streams[2 * number + 1] = node
            if part.has_side:
                aside = graph.add(SideOutputNode, name="aside", inputs=(node,), tag=SIDE.tag_id)
                streams[2 * number + 2] = aside.id
            if part.is_keyed:
                graph.add(SinkNode, name=name, inputs=(node,), sink=DiscardingSink())
        everything = tuple(streams[number] for number in self.streams())
        union = graph.add(UnionNode, name="all", inputs=everything).id
        graph.add(SinkNode, name="all", inputs=(union,), sink=DiscardingSink())
        return graph

    def _kept(self, graph: JobGraph, part: Part, number: int, stream: int) -> int:
        """A stream, with the promise that its keys are kept, if that is so."""
        if not (self.promises and part.is_keyed and part.key is by_name and self._keeps(number)):
            return stream
        return graph.add(ReinterpretNode, name="promise", inputs=(stream,), selector=part.key).id

    def _keeps(self, number: int) -> bool:
        """Whether the records of a stream have the names by which their operators are keyed.

        What a broadcast record makes an operator emit, it emits where it has no key.
        """
        if number == 0:
            return True
        part = self.parts[(number - 1) // 2]
        if part.does is None:
            return all(map(self._keeps, part.inputs))
        return isinstance(part.does, Again) or (
            part.key is by_name and not isinstance(part.does, Ruled)
        )

    def _part(
        self, graph: JobGraph, name: str, part: Part, inputs: list[int], rules: int | None
    ) -> int:
        stream = inputs[0]
        if len(inputs) > 1:
            stream = graph.add(UnionNode, name="union", inputs=tuple(inputs)).id
        if part.does is None:
            return flat(graph, stream)
        if isinstance(part.does, Again):
            return part.does.node(graph, name, stream)
        if isinstance(part.does, Ruled):
            assert rules is not None
            return part.does.node(graph, name, (stream, rules), part.key)
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
def deep_programs(
    draw: st.DrawFn, *, windows: bool = True, again: bool = False, promises: bool | None = None
) -> DeepProgram:
    """Random programs; timers may be registered at or before the clock too."""
    promised = draw(st.booleans()) if promises is None else promises
    keys = st.one_of(st.just(by_name), KEYS) if promised else KEYS
    parts: list[Part] = []
    streams = [0]
    for number in range(draw(st.integers(3, 5))):
        kinds: list[st.SearchStrategy[Any]] = [
            blocks(past=True),
            blocks(),
            *([TUMBLES] if windows else []),
        ]
        if number:
            kinds += [st.none(), st.builds(Ruled, st.integers(0, 12))]
        if again:
            bounds = st.lists(BOUNDS, min_size=1, max_size=4).map(tuple)
            kinds += [st.builds(Again, bounds, st.booleans())] * 2
        does = draw(st.one_of(*kinds))
        some = draw(st.lists(st.sampled_from(streams), min_size=1, max_size=3, unique=True))
        rules = None
        if isinstance(does, Ruled):
            rules = some.pop() if len(some) > 1 else draw(st.sampled_from(streams))
            some = [stream for stream in streams if stream != rules][:1] if rules in some else some
        parts.append(Part(does, tuple(some), draw(keys), rules))
        streams += [2 * number + 1, *([2 * number + 2] if parts[-1].has_side else [])]
    return DeepProgram(draw(BOUNDS), tuple(parts), promised)
