"""Connected streams: two inputs in one order, one state per key for both, the clock of the slower."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.state import ValueStateDescriptor
from millstream.common.time import MIN_TIMESTAMP
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import JobGraph, KeyedNode, SideOutputNode, SinkNode
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob
from tests.support.kernel_support import first, source_of, values

EPOCHS = pytest.mark.parametrize("size", [1, 2, None])
SIDE = OutputTag("side")


class Both:
    """A function of two inputs, made of plain functions."""

    def __init__(self, one: Any, two: Any, on_timer: Any = None) -> None:
        self.one, self.two, self.timer = one, two, on_timer

    def open(self, context: Any) -> None:
        self.seen = context.get_state(ValueStateDescriptor("seen"))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self.one(self, value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return self.two(self, value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.timer(self, timestamp, ctx)


def job(
    one: Iterable[tuple[Any, int]],
    two: Iterable[tuple[Any, int]],
    function: Any,
    *,
    keys: tuple[Any, Any] = (first, first),
    timed: tuple[bool, bool] = (True, True),
    **options: Any,
) -> LocalJob:
    """Two sources of one channel each -> "op" -> sink "out"; what goes to SIDE -> sink "side"."""
    graph = JobGraph()
    inputs = (source_of(graph, one, timed=timed[0]), source_of(graph, two, timed=timed[1]))
    node = graph.add(
        KeyedNode,
        name="op",
        uid="the-uid",
        inputs=inputs,
        selector=keys[0],
        second=keys[1],
        kind="co_process",
        function=function,
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    side = graph.add(SideOutputNode, name="aside", inputs=(node.id,), tag="side")
    graph.add(SinkNode, name="side", inputs=(side.id,), sink=DiscardingSink())
    return LocalJob(graph, JobOptions(**{"parallelism": 1} | options))


def keep(function: Both, value: Any, ctx: Any) -> None:
    function.seen.update(value[1])


def tell(function: Both, value: Any, ctx: Any) -> list[Any]:
    return [(ctx.get_current_key(), value[1], function.seen.value())]


def nothing(function: Both, value: Any, ctx: Any) -> None:
    return None


@EPOCHS
def test_both_inputs_share_the_state_of_a_key(size: int | None) -> None:
    one = [(("a", 1), 1), (("b", 2), 3)]
    two = [(("b", 20), 2), (("a", 10), 2), (("b", 30), 4)]
    started = job(one, two, Both(keep, tell), channel_order="watermark", slots=2)
    assert values(started.run_all(size)) == [("b", 20, None), ("a", 10, 1), ("b", 30, 2)]


@EPOCHS
def test_each_input_has_a_selector_of_its_own(size: int | None) -> None:
    one, two = [(("a", 1), 1)], [((7, "a"), 2)]
    function = Both(keep, lambda f, value, ctx: [(value, f.seen.value())])
    started = job(
        one, two, function, keys=(first, lambda v: v[1]), slots=4, channel_order="watermark"
    )
    assert values(started.run_all(size)) == [((7, "a"), 1)]


def clock_after(one: list[int], two: list[int]) -> int:
    """What a record that comes then would see."""
    read: list[int] = []

    def see(function: Both, value: Any, ctx: Any) -> None:
        read.append(ctx.timer_service().current_watermark())

    started = job(
        [(("a", 0), ts) for ts in [*one, 1_000]],
        [(("a", 0), ts) for ts in [*two, 1_000]],
        Both(see, see),
    )
    started.epoch({(0, 0): len(one), (1, 0): len(two)})
    started.epoch({(0, 0): 1})
    return read[-1]


@pytest.mark.parametrize(
    ("one", "two", "clock"),
    [([5], [9], 4), ([9], [5], 4), ([9, 20], [5], 4), ([5], [], MIN_TIMESTAMP)],
)
def test_clock_is_the_minimum_of_both_inputs(one: list[int], two: list[int], clock: int) -> None:
    assert clock_after(one, two) == clock


@EPOCHS
def test_timer_of_one_input_fires_when_the_other_lets_time_pass(size: int | None) -> None:
    def register(function: Both, value: Any, ctx: Any) -> None:
        function.seen.update(value[1])
        ctx.timer_service().register_event_time_timer(value[1])

    def ring(function: Both, timestamp: int, ctx: Any) -> list[Any]:
        return [("timer", timestamp, ctx.get_current_key(), function.seen.value())]

    one = [(("a", 4), 1), (("a", 4), 50)]
    two = [(("b", 0), 2), (("b", 1), 6), (("b", 2), 50)]
    function = Both(register, lambda f, value, ctx: [value], ring)
    got = values(job(one, two, function, channel_order="watermark").run_all(size))
    assert got == [("b", 0), ("b", 1), ("timer", 4, "a", 4), ("b", 2)]


@EPOCHS
def test_what_is_yielded_with_a_tag_goes_aside(size: int | None) -> None:
    function = Both(
        lambda f, value, ctx: [(SIDE, value)], lambda f, value, ctx: [value, (SIDE, value)]
    )
    started = job([(("a", 1), 1)], [(("b", 2), 2)], function, channel_order="watermark")
    assert values(started.run_all(size)) == [("b", 2)]
    assert values(started.outputs, "side") == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("number", [0, 1])
def test_error_shows_the_record_and_not_the_pair(number: int) -> None:
    def fail(function: Both, value: Any, ctx: Any) -> None:
        raise ValueError("no")

    calls: list[Callable[..., Any]] = [nothing, nothing]
    calls[number] = fail
    started = job([(("a", "left"), 1)], [(("a", "right"), 1)], Both(*calls))
    with pytest.raises(UserCodeError) as info:
        started.run_all()
    assert info.value.record == repr(("a", ("left", "right")[number]))
    assert info.value.operator == "op"


def test_error_in_on_timer_shows_the_timer() -> None:
    def register(function: Both, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(3)

    def fail(function: Both, timestamp: int, ctx: Any) -> None:
        raise ValueError("no")

    started = job([(("a", 1), 1)], [(("a", 2), 1)], Both(register, nothing, fail))
    with pytest.raises(UserCodeError) as info:
        started.run_all()
    assert info.value.record == "'timer at 3'"


@pytest.mark.parametrize("timed", [(False, True), (True, False)])
def test_timers_need_timestamps_on_both_inputs(timed: tuple[bool, bool]) -> None:
    def register(function: Both, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(3)

    started = job([(("a", 1), 1)], [(("a", 2), 1)], Both(register, register), timed=timed)
    with pytest.raises(PlanError, match="not all of its inputs have timestamps"):
        started.run_all()


class TestWithoutKeys:
    """A function that reads the watermark is one operator, in slots by channel."""

    BY_CHANNEL = (Place.BY_CHANNEL, Place.BY_CHANNEL)

    def run(self, call: Any, size: int | None = None) -> list[Any]:
        class Reads:
            def process_element1(self, value: Any, ctx: Any) -> Any:
                return call("one", value, ctx)

            def process_element2(self, value: Any, ctx: Any) -> Any:
                return call("two", value, ctx)

        started = job(
            [("x", 5), ("y", 9)],
            [("z", 7)],
            Reads(),
            keys=self.BY_CHANNEL,
            slots=4,
            channel_order="watermark",
        )
        return values(started.run_all(size))

    @EPOCHS
    def test_watermark_is_the_minimum_of_both(self, size: int | None) -> None:
        def read(which: str, value: Any, ctx: Any) -> list[Any]:
            return [(which, value, ctx.timestamp(), ctx.timer_service().current_watermark())]

        got = self.run(read, size)
        assert [row[:3] for row in got] == [("one", "x", 5), ("two", "z", 7), ("one", "y", 9)]
        assert [row[3] for row in got] == [MIN_TIMESTAMP, MIN_TIMESTAMP, 4]

    def test_timers_and_keys_are_refused(self) -> None:
        with pytest.raises(PlanError, match="registers a timer"):
            self.run(lambda which, value, ctx: ctx.timer_service().register_event_time_timer(1))
        with pytest.raises(PlanError, match="asks for the current key"):
            self.run(lambda which, value, ctx: ctx.get_current_key())
