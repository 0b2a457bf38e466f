"""Skipped records are as if they had not come, whatever the program and however epochs are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import WatermarkStrategy
from millstream.common.output_tag import OutputTag
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import ListStateDescriptor, MapStateDescriptor
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.state import large, pages
from millstream.plan.graph import JobGraph, KeyedNode, OnError, SideOutputNode, SinkNode
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob, run_local
from tests.support.properties.oracle import Event
from tests.support.properties.programs import Outputs, Program, per_channel, programs
from tests.support.strategies import (
    LAYOUTS,
    Cut,
    Layout,
    even_cut,
    events,
    examples,
    uneven_channels,
    uneven_cut,
)

POISON = 99
"""The number of records that functions fail on; a fan makes one record of one."""
BAD = "bad"


class Poison(Exception):
    """What the functions raise."""


# -- poison in the input ---------------------------------------------------------------------------


@st.composite
def poisoned(draw: st.DrawFn, channel: list[Event]) -> list[Event]:
    """A channel with poison in between, which moves no watermark."""
    found: list[Event] = []
    for value, ts in channel:
        found.append((value, ts))
        # A fan makes nothing of some records, which then have not moved it either.
        before = [time for (_, number, _), time in found if number % 3 != 2]
        if before and draw(st.integers(0, 2)) == 0:
            name = draw(st.sampled_from("abz"))
            found.append(((name, POISON, ()), draw(st.sampled_from(before))))
    return found


def clean(channel: list[Event]) -> list[Event]:
    return [event for event in channel if event[0][1] != POISON]


# -- functions that fail ---------------------------------------------------------------------------


class Fragile:
    """A function that fails on poison: before, amid or after what it does; timers by their times."""

    def __init__(self, function: Any, results: int, timers: int | None) -> None:
        self.function = function
        self.results = results
        self.timers = timers

    def open(self, context: Any) -> None:
        self.function.open(context)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self._first_results(
            lambda: self.function.process_element(value, ctx), value[1] == POISON
        )

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        fails = self.timers is not None and timestamp % 5 == self.timers
        yield from self._first_results(lambda: self.function.on_timer(timestamp, ctx), fails)

    def _first_results(self, call: Callable[[], Any], fails: bool) -> Iterator[Any]:
        if fails and self.results == 0:
            raise Poison
        for number, result in enumerate(call() or (), start=1):
            yield result
            if fails and number == self.results:
                raise Poison
        if fails:
            raise Poison


class FragileKey:
    """A key selector that fails on poison."""

    def __init__(self, selector: Callable[[Any], Any]) -> None:
        self.selector = selector

    def __call__(self, value: Any) -> Any:
        if value[1] == POISON:
            raise Poison
        return self.selector(value)


@dataclass(frozen=True)
class Failing:
    """How the functions of a program fail."""

    results: int = 0
    in_selector: bool = False
    timers: int | None = None

    def job(
        self,
        program: Program,
        channels: Sequence[list[Event]],
        layout: Layout,
        *,
        order: ChannelOrder = "arrival",
        batch: bool = False,
    ) -> LocalJob:
        def dress(function: Any) -> Any:
            return Fragile(function, self.results, self.timers)

        if self.in_selector:
            program = replace(
                program,
                first_key=FragileKey(program.first_key),
                second_key=FragileKey(program.second_key),
            )
        graph = program.graph(channels, dress)
        for node in [node for node in graph if isinstance(node, KeyedNode)]:
            self._skip(graph, node)
        options = JobOptions(
            parallelism=layout.parallelism, slots=layout.slots, channel_order=order
        )
        return LocalJob(graph, options, batch=batch)

    def _skip(self, graph: JobGraph, node: KeyedNode) -> None:
        graph.update(node.id, on_error=OnError("skip", BAD))
        letters = graph.add(SideOutputNode, name="letters", inputs=(node.id,), tag=BAD)
        name = f"bad of {node.name}"
        graph.add(SinkNode, name=name, inputs=(letters.id,), sink=DiscardingSink())

    def run(
        self,
        program: Program,
        channels: Sequence[list[Event]],
        layout: Layout,
        cut: Cut,
        **how: Any,
    ) -> LocalJob:
        job = self.job(program, channels, layout, **how)
        for reads in cut:
            job.epoch(per_channel(reads), splits=layout.splits)
        job.epoch(0, end=True)
        return job


FAILING = st.builds(Failing, results=st.integers(0, 3), in_selector=st.booleans())


def bad_of(job: LocalJob, name: str = "first") -> list[Any]:
    return [letter.value for letter, _ in job.outputs[f"bad of {name}"]]


def poison_of(channels: Sequence[list[Event]]) -> list[Any]:
    return [value for channel in channels for value, _ in channel if value[1] == POISON]


def assert_same(got: Outputs, expected: Outputs, where: str) -> None:
    for sink, records in expected.items():
        assert got[sink] == records, f"sink {sink!r}, {where}"


def cuts(channels: Sequence[list[Event]], data: st.DataObject) -> list[Cut]:
    lengths = [len(channel) for channel in channels]
    return [
        even_cut(lengths, 1),
        data.draw(uneven_cut(lengths), label="cut"),
        even_cut(lengths, 1_000),
    ]


# -- keyed functions -------------------------------------------------------------------------------


@examples(50)
@given(programs() | programs(past=True), FAILING, events(), LAYOUTS, st.data())
def test_one_channel_any_program_any_cut(
    program: Program, failing: Failing, channel: list[Event], layout: Layout, data: st.DataObject
) -> None:
    bad = data.draw(poisoned(channel), label="poisoned")
    expected = program.expected([channel])
    for cut in cuts([bad], data):
        job = failing.run(program, [bad], layout, cut)
        assert_same(job.outputs, expected, f"epochs of {cut}")
        assert bad_of(job) == poison_of([bad])
    job = failing.job(program, [bad], layout, batch=True)
    assert_same(job.run_all(splits=layout.splits), expected, "batch")
    assert bad_of(job) == poison_of([bad])


@examples(40)
@given(programs(), FAILING, uneven_channels(), LAYOUTS, st.data())
def test_several_channels_any_program_any_cut(
    program: Program,
    failing: Failing,
    channels: list[list[Event]],
    layout: Layout,
    data: st.DataObject,
) -> None:
    bad = [data.draw(poisoned(channel), label="poisoned") for channel in channels]
    expected = program.expected(channels)
    batch = failing.job(program, bad, Layout(), batch=True)
    assert_same(batch.run_all(), expected, "batch")
    assert sorted(bad_of(batch)) == sorted(poison_of(bad))
    for cut in cuts(bad, data):
        job = failing.run(program, bad, layout, cut, order="watermark")
        assert_same(job.outputs, batch.outputs, f"epochs of {cut}")


@examples(40)
@given(
    programs() | programs(past=True),
    st.builds(Failing, results=st.integers(0, 3), timers=st.integers(0, 4)),
    events(),
    LAYOUTS,
    st.data(),
)
def test_timers_that_fail_any_cut(
    program: Program, failing: Failing, channel: list[Event], layout: Layout, data: st.DataObject
) -> None:
    bad = data.draw(poisoned(channel), label="poisoned")
    batch = failing.job(program, [bad], Layout(), batch=True).run_all()
    for cut in cuts([bad], data):
        assert_same(failing.run(program, [bad], layout, cut).outputs, batch, f"epochs of {cut}")


# -- large cells -----------------------------------------------------------------------------------


class Gather:
    """Changes long lists and big maps in all ways, and fails in the end if it is to."""

    def open(self, context: Any) -> None:
        self.list = context.get_list_state(ListStateDescriptor("list"))
        self.map = context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value: Any, ctx: Any) -> list[Any]:
        _, number, changes = value
        for change in changes:
            match change:
                case 0:
                    self.list.clear()
                case 1:
                    self.list.update([[change]])
                case 2:
                    self.map.clear()
                case 3 | 4 | 5:
                    self.map.remove(change)
                case 6 | 7 | 8:
                    for found in self.map.values():
                        found.append(change)
                case _:
                    self.list.add([change] * 3)
                    self.map.put(change % 20, [change] * 3)
        if number == POISON:
            raise Poison
        return [(list(self.list), list(self.map.items()))]


CHANGES = st.lists(st.integers(0, 60), min_size=1, max_size=12)


@examples(60)
@given(st.lists(st.tuples(st.booleans(), CHANGES), max_size=14), st.data())
def test_large_cells_are_put_back(calls: list[tuple[bool, list[int]]], data: st.DataObject) -> None:
    bad = [(("a", POISON if fails else 1, changes), 0) for fails, changes in calls]

    def run(channel: list[Event], cut: Cut) -> Any:
        program = Program(0, first=_Fixed())  # type: ignore[arg-type]
        return Failing().run(program, [channel], Layout(), cut).outputs["first"]

    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("LARGE_BYTES", 50), ("SEGMENT_BYTES", 40), ("PART_BYTES", 60)):
            patch.setattr(large, name, size)
        patch.setattr(pages, "SPLIT_BYTES", 60)
        expected = run(clean(bad), even_cut([len(clean(bad))], 1_000))
        for cut in cuts([bad], data):
            assert [value for value, _ in run(bad, cut)] == [value for value, _ in expected]


class _Fixed:
    """A block that is a function and nothing for the oracle."""

    def function(self) -> Gather:
        return Gather()


# -- windows ---------------------------------------------------------------------------------------


class Add(AggregateFunction):
    """Changes its accumulator before it fails."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value[1])
        if value[1] == POISON:
            raise Poison
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return list(accumulator)

    def merge(self, one: list[Any], other: list[Any]) -> list[Any]:
        one.extend(other)
        return one


class Show(ProcessWindowFunction):
    """Emits what a window holds, and how often the key has fired; fails at some sizes."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        found = list(elements)
        fired = context.global_state().get_list_state(ListStateDescriptor("fired"))
        fired.add(len(found))
        yield key, found, list(fired)
        if self.fails_at is not None and sum(map(_number, found)) % 3 == self.fails_at:
            raise Poison

    def clear(self, context: Any) -> None:
        pass


def _number(element: Any) -> int:
    return sum(element) if isinstance(element, list) else element[1]


ASSIGNERS = st.sampled_from(
    (
        TumblingEventTimeWindows.of(10),
        SlidingEventTimeWindows.of(12, 4),
        EventTimeSessionWindows.with_gap(6),
        GlobalWindows.create(),
    )
)


@dataclass(frozen=True)
class Windows:
    """A program of windows; ``folds``: into one value, by a function that fails on poison."""

    assigner: Any
    lateness: int
    folds: bool
    fails_at: int | None = None

    def stream(self, env: StreamExecutionEnvironment, channel: list[Event]) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(5)
        stream = env.from_collection(channel).assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda event, _: event[1])
        )
        windows = stream.map(lambda event: event[0]).key_by(lambda value: value[0])
        windowed = windows.window(self.assigner)
        if isinstance(self.assigner, GlobalWindows):
            windowed = windowed.trigger(CountTrigger.of(3))
        else:
            windowed = windowed.allowed_lateness(self.lateness)
        show = Show(self.fails_at)
        return windowed.aggregate(Add(), show) if self.folds else windowed.process(show)

    def run(self, channel: list[Event], epochs: Any, *, skips: bool, **how: Any) -> Any:
        def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
            stream = self.stream(env, channel)
            if not skips:
                return {"main": stream}
            tag = OutputTag(BAD)
            return {"main": stream.on_error("skip", tag), BAD: stream.get_side_output(tag)}

        return run_local(program, epochs=epochs, **how)


WINDOWS = st.builds(Windows, ASSIGNERS, st.sampled_from((0, 0, 7)), st.booleans())


@examples(40)
@given(WINDOWS, events(), st.integers(1, 4), st.data())
def test_windows_any_cut(
    windows: Windows, channel: list[Event], slots: int, data: st.DataObject
) -> None:
    bad = data.draw(poisoned(channel), label="poisoned") if windows.folds else channel
    expected = windows.run(channel, "all", skips=False).records("main")
    for cut in cuts([bad], data):
        results = windows.run(bad, [reads for (reads,) in cut], skips=True, slots=slots)
        assert results.records("main") == expected
        # Of a record that is late for all windows nothing is asked.
        assert {letter.value[1] for letter in results.values(BAD)} <= {POISON}


@examples(40)
@given(WINDOWS, st.integers(0, 2), events(), st.integers(1, 4), st.data())
def test_window_functions_that_fail_any_cut(
    windows: Windows, fails_at: int, channel: list[Event], slots: int, data: st.DataObject
) -> None:
    windows = replace(windows, fails_at=fails_at)
    expected = windows.run(channel, "all", skips=True)
    for cut in cuts([channel], data):
        results = windows.run(channel, [reads for (reads,) in cut], skips=True, slots=slots)
        assert results.sinks == expected.sinks
    fired = replace(windows, fails_at=None).run(channel, "all", skips=True).records("main")
    assert len(fired) == len(expected.records("main")) + len(expected.records(BAD))
