"""Two streams: results do not depend on the schedule, and are what naive simulators say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.output_tag import OutputTag
from millstream.common.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.operators.two_inputs import interval_join
from millstream.kernel.operators.two_inputs.specs import BroadcastSpec, IntervalJoinSpec
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import (
    JobGraph,
    KeyedNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    StatelessNode,
    UnionNode,
)
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob
from tests.support.properties.oracle import key_hash
from tests.support.strategies import (
    BOUNDS,
    LAYOUTS,
    Cut,
    Event,
    Layout,
    even_cut,
    events,
    examples,
    uneven_cut,
)

EVERYTHING = 1_000
LATE = (OutputTag("left late"), OutputTag("right late"))
Outputs = dict[str, list[Event]]


def name_of(value: Any) -> str:
    return value[0]


def source(graph: JobGraph, channels: list[list[Event]], bound: int) -> int:
    spec = CollectionSource(
        tuple(tuple(value for value, _ in channel) for channel in channels),
        tuple(tuple(ts for _, ts in channel) for channel in channels),
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    node = graph.add(SourceNode, name="s", source=spec, strategy=strategy)
    return node.id


def run(
    graph: JobGraph,
    cut: Cut | None,
    layout: Layout,
    sides: list[list[list[Event]]],
    order: ChannelOrder = "arrival",
    *,
    restart: bool = False,
) -> LocalJob:
    """Run a graph whose sources have these channels; ``cut`` None: as a batch."""
    options = JobOptions(parallelism=layout.parallelism, slots=layout.slots, channel_order=order)
    job = LocalJob(graph, options, batch=cut is None)
    if cut is None:
        job.run_all(splits=layout.splits)
        return job
    places = [(n, c) for n, channels in enumerate(sides) for c in range(len(channels))]
    for number, reads in enumerate(cut):
        end = layout.end_with_data and number == len(cut) - 1
        job.epoch(dict(zip(places, reads, strict=True)), end=end, splits=layout.splits)
        if restart:
            job.start()
    if not (layout.end_with_data and cut):
        job.epoch(0, end=True)
    return job


def cuts(sides: list[list[list[Event]]], data: st.DataObject) -> dict[str, Cut]:
    lengths = [len(channel) for channels in sides for channel in channels]
    return {
        "1": even_cut(lengths, 1),
        "3": even_cut(lengths, 3),
        "random": data.draw(uneven_cut(lengths), label="cut"),
        "all": even_cut(lengths, EVERYTHING),
    }


def stamped(channel: list[Event], bound: int) -> Iterator[tuple[int, Any, int]]:
    """The channel's watermark before each record, with the record."""
    watermark = MIN_TIMESTAMP
    for value, ts in channel:
        yield watermark, value, ts
        watermark = max(watermark, ts - bound - 1)


# -- interval joins --------------------------------------------------------------------------------


class Pair:
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        yield left, right, ctx.get_left_timestamp(), ctx.get_right_timestamp()


@dataclass(frozen=True)
class Join:
    bound: int
    lower: int
    upper: int

    def graph(self, sides: list[list[list[Event]]]) -> JobGraph:
        graph = JobGraph()
        spec = IntervalJoinSpec(
            function=Pair(), lower_ms=self.lower, upper_ms=self.upper, late_tags=LATE
        )
        node = graph.add(
            KeyedNode,
            name="join",
            inputs=tuple(source(graph, channels, self.bound) for channels in sides),
            selector=name_of,
            second=name_of,
            kind="interval_join",
            function=spec,
        )
        graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
        for tag in LATE:
            side = graph.add(SideOutputNode, name=tag.tag_id, inputs=(node.id,), tag=tag.tag_id)
            graph.add(SinkNode, name=tag.tag_id, inputs=(side.id,), sink=DiscardingSink())
        return graph

    def expected(self, sides: list[list[list[Event]]]) -> dict[str, Counter[Event]]:
        """All pairs that satisfy the bounds among the records that are not late."""
        on_time: list[list[Event]] = [[], []]
        late: list[Counter[Event]] = [Counter(), Counter()]
        for number, channels in enumerate(sides):
            for channel in channels:
                for stamp, value, ts in stamped(channel, self.bound):
                    if ts < stamp:
                        late[number][(value, ts)] += 1
                    else:
                        on_time[number].append((value, ts))
        pairs = Counter(
            ((left, right, left_ts, right_ts), max(left_ts, right_ts))
            for left, left_ts in on_time[0]
            for right, right_ts in on_time[1]
            if left[0] == right[0] and self.lower <= right_ts - left_ts <= self.upper
        )
        return {"out": pairs, "left late": late[0], "right late": late[1]}


def joins() -> st.SearchStrategy[Join]:
    bounds = st.tuples(st.integers(-40, 40), st.integers(-40, 40)).map(sorted)
    return st.builds(lambda bound, b: Join(bound, b[0], b[1]), BOUNDS, bounds)


def both_sides(most: int) -> st.SearchStrategy[list[list[list[Event]]]]:
    """For each of two streams its channels."""
    channels = st.lists(events(8), min_size=1, max_size=most)
    return st.tuples(channels, channels).map(list)


@examples(40)
@given(joins(), both_sides(3), LAYOUTS, st.data())
def test_interval_join_is_what_the_naive_join_finds(
    join: Join, sides: list[list[list[Event]]], layout: Layout, data: st.DataObject
) -> None:
    expected = join.expected(sides)
    for name, cut in [*cuts(sides, data).items(), ("batch", None)]:
        job = run(join.graph(sides), cut, layout, sides)
        got = {sink: Counter(records) for sink, records in job.outputs.items()}
        assert got == expected, f"epochs of {name}"
        assert job.state_entries() == 0


def dense_sides() -> st.SearchStrategy[list[list[list[Event]]]]:
    """Two streams of one key and one channel each, whose times are near each other."""
    channel = st.lists(st.integers(0, 20), min_size=4, max_size=16)
    numbered = channel.map(lambda times: [(("a", n), ts) for n, ts in enumerate(times)])
    return st.tuples(numbered, numbered).map(lambda sides: [[side] for side in sides])


@examples(60)
@given(st.integers(-4, 2), st.integers(0, 4), dense_sides(), LAYOUTS, st.data())
def test_interval_join_with_long_sides_changes_nothing(
    lower: int,
    width: int,
    sides: list[list[list[Event]]],
    layout: Layout,
    data: st.DataObject,
) -> None:
    join = Join(6, lower, lower + width)
    expected = run(join.graph(sides), None, Layout(), sides).outputs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_join, "SEGMENT", 1)
        for name, cut in cuts(sides, data).items():
            restart = name == "random"
            job = run(join.graph(sides), cut, layout, sides, "watermark", restart=restart)
            assert job.outputs == expected, f"epochs of {name}"
            assert job.state_entries() == 0


@examples(40)
@given(joins(), both_sides(2), LAYOUTS, st.data())
def test_interval_join_in_watermark_order_comes_in_one_order(
    join: Join, sides: list[list[list[Event]]], layout: Layout, data: st.DataObject
) -> None:
    expected = run(join.graph(sides), None, Layout(), sides).outputs
    for name, cut in cuts(sides, data).items():
        restart = name == "random"
        job = run(join.graph(sides), cut, layout, sides, "watermark", restart=restart)
        assert job.outputs == expected, f"epochs of {name}"


# -- connected streams -----------------------------------------------------------------------------


class Enrich:
    """Input 1 sets what input 2 reads; both register timers, and timers tell what they see."""

    def open(self, context: Any) -> None:
        self.last = context.get_state(ValueStateDescriptor("last"))
        self.seen = context.get_list_state(ListStateDescriptor("seen"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.last.update(value[1])
        timers = ctx.timer_service()
        timers.register_event_time_timer(
            max(ctx.timestamp() + value[1], timers.current_watermark())
        )
        if value[1] % 2:
            yield "one", value, timers.current_watermark()

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.add(value[1])
        clock = ctx.timer_service().current_watermark()
        yield "two", value, self.last.value(), list(self.seen.get()), clock

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.last.value(), list(self.seen.get())
        self.seen.clear()


class Untagged(Enrich):
    """The same on a union of both inputs, whose records tell where they come from."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        number, record = value
        return (self.process_element1, self.process_element2)[number](record, ctx)


def connected(sides: list[list[list[Event]]], bound: int) -> JobGraph:
    graph = JobGraph()
    node = graph.add(
        KeyedNode,
        name="op",
        uid="op",
        inputs=tuple(source(graph, channels, bound) for channels in sides),
        selector=name_of,
        second=name_of,
        kind="co_process",
        function=Enrich(),
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    return graph


def united(sides: list[list[list[Event]]], bound: int) -> JobGraph:
    graph = JobGraph()
    sources = [source(graph, channels, bound) for channels in sides]
    parts = [
        graph.add(
            StatelessNode,
            name="tag",
            inputs=(stream,),
            kind="map",
            function=lambda value, number=number: (number, value),
        ).id
        for number, stream in enumerate(sources)
    ]
    union = graph.add(UnionNode, name="union", inputs=tuple(parts))
    node = graph.add(
        KeyedNode,
        name="op",
        uid="op",
        inputs=(union.id,),
        selector=lambda value: value[1][0],
        kind="process",
        function=Untagged(),
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    return graph


@examples(40)
@given(BOUNDS, both_sides(2), LAYOUTS, st.data())
def test_connected_streams_are_a_union_with_two_methods(
    bound: int, sides: list[list[list[Event]]], layout: Layout, data: st.DataObject
) -> None:
    for name, cut in [*cuts(sides, data).items(), ("batch", None)]:
        got = run(connected(sides, bound), cut, layout, sides).outputs
        assert got == run(united(sides, bound), cut, Layout(), sides).outputs, f"epochs of {name}"


@examples(40)
@given(BOUNDS, both_sides(2), LAYOUTS, st.data())
def test_connected_streams_in_watermark_order_any_cut(
    bound: int, sides: list[list[list[Event]]], layout: Layout, data: st.DataObject
) -> None:
    expected = run(connected(sides, bound), None, Layout(), sides).outputs
    for name, cut in cuts(sides, data).items():
        restart = name == "random"
        job = run(connected(sides, bound), cut, layout, sides, "watermark", restart=restart)
        assert job.outputs == expected, f"epochs of {name}"


# -- broadcast state -------------------------------------------------------------------------------

RULES = MapStateDescriptor("rules")
COUNT = ValueStateDescriptor("count")


class Ruled:
    """Counts per key, tells the rules it sees, and rings; a rule of 5 begins all counts anew.

    Rules of 3 and 4 tell the counts of all keys: by what the function for a key yields, or in a list.
    """

    def open(self, context: Any) -> None:
        self.count = context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        timers.register_event_time_timer(
            max(ctx.timestamp() + value[1], timers.current_watermark())
        )
        yield "element", value, self.count.value(), list(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[0], (rules.get(value[0]) or 0) + value[1])
        if value[1] == 0:
            rules.remove(value[0])
        if value[1] == 5:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.clear())
        if value[1] == 3:
            ctx.apply_to_keyed_state(COUNT, self.tell)
        yield "rule", value, ctx.current_watermark()
        if value[1] == 4:
            found: list[Any] = []
            ctx.apply_to_keyed_state(COUNT, lambda key, state: found.extend(self.tell(key, state)))
            ctx.apply_to_keyed_state(COUNT, self.tell)
            yield from found
            yield "done", value

    def tell(self, key: Any, state: Any) -> Iterable[Any]:
        yield "has", key, state.value()
        if state.value() % 2:
            yield "odd", key

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        rules = list(ctx.get_broadcast_state(RULES).items())
        yield "timer", ctx.get_current_key(), timestamp, self.count.value(), rules


class Simulated:
    """What `Ruled` does, on plain dicts: one thing after the other, all keys together."""

    def __init__(self) -> None:
        self.rules: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.timers: set[tuple[int, int, str]] = set()
        self.clock = MIN_TIMESTAMP
        self.out: list[Event] = []

    def move(self, clock: int) -> None:
        while self.timers and min(self.timers)[0] <= clock:
            self._ring(min(self.timers))
        self.clock = max(self.clock, clock)

    def _ring(self, timer: tuple[int, int, str]) -> None:
        self.timers.remove(timer)
        time, _, key = timer
        seen = ("timer", key, time, self.counts.get(key), list(self.rules.items()))
        self.out.append((seen, time))

    def element(self, value: Any, ts: int) -> None:
        key = value[0]
        self.counts[key] = self.counts.get(key, 0) + 1
        self.out.append((("element", value, self.counts[key], list(self.rules.items())), ts))
        timer = (max(ts + value[1], self.clock), key_hash(key), key)
        self.timers.add(timer)
        if timer[0] <= self.clock:
            self._ring(timer)

    def rule(self, value: Any, ts: int) -> None:
        self.rules[value[0]] = self.rules.get(value[0], 0) + value[1]
        if value[1] == 0:
            del self.rules[value[0]]
        if value[1] == 5:
            self.counts.clear()
        if value[1] == 3:
            self._tell(ts)
        self.out.append((("rule", value, self.clock), ts))
        if value[1] == 4:
            self._tell(ts)
            self._tell(ts)
            self.out.append((("done", value), ts))

    def _tell(self, ts: int) -> None:
        for _, key in sorted((key_hash(key), key) for key in self.counts):
            self.out.append((("has", key, self.counts[key]), ts))
            if self.counts[key] % 2:
                self.out.append((("odd", key), ts))


def simulated(sides: list[list[list[Event]]], bound: int) -> list[Event]:
    """The one total order: by stamp, then by channel, then by position."""
    channels = [(number, channel) for number, side in enumerate(sides) for channel in side]
    records = [
        (stamp, place, position, number, value, ts)
        for place, (number, channel) in enumerate(channels)
        for position, (stamp, value, ts) in enumerate(stamped(channel, bound))
    ]
    run = Simulated()
    for stamp, _, _, number, value, ts in sorted(records, key=lambda record: record[:3]):
        run.move(stamp)
        (run.element, run.rule)[number](value, ts)
    run.move(MAX_TIMESTAMP)
    return run.out


def ruled(sides: list[list[list[Event]]], bound: int) -> JobGraph:
    graph = JobGraph()
    node = graph.add(
        KeyedNode,
        name="op",
        uid="op",
        inputs=tuple(source(graph, channels, bound) for channels in sides),
        selector=name_of,
        second=Place.EVERY_SLOT,
        kind="broadcast",
        function=BroadcastSpec(Ruled(), ("rules",)),
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    return graph


@examples(40)
@given(BOUNDS, both_sides(2), LAYOUTS, st.data())
def test_broadcast_state_in_watermark_order_is_what_the_simulator_says(
    bound: int, sides: list[list[list[Event]]], layout: Layout, data: st.DataObject
) -> None:
    expected = simulated(sides, bound)
    for name, cut in [*cuts(sides, data).items(), ("batch", None)]:
        restart = name == "random"
        job = run(ruled(sides, bound), cut, layout, sides, "watermark", restart=restart)
        assert job.outputs["out"] == expected, f"epochs of {name}"


@examples(30)
@given(BOUNDS, both_sides(2), LAYOUTS, st.data())
def test_broadcast_state_does_not_depend_on_the_slots(
    bound: int, sides: list[list[list[Event]]], layout: Layout, data: st.DataObject
) -> None:
    for name, cut in cuts(sides, data).items():
        expected = run(ruled(sides, bound), cut, Layout(), sides).outputs
        assert run(ruled(sides, bound), cut, layout, sides).outputs == expected, f"epochs of {name}"
