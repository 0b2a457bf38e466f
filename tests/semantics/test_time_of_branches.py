"""Branches of one source, each with timestamps of its own: the clock of a branch is its own.

Windows of one branch must not see the time of another, nor lose records to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.time import MIN_TIMESTAMP as MIN
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.testing import TestSource, rebatch, run_local
from tests.support.strategies import schedules

EVENTS = [("x", 0), ("y", 0), ("x", 100), ("y", 5), ("x", 200), ("y", 300), ("y", 301), ("x", 400)]
CLOCKS = {"x": [MIN, -1, 99, 199], "y": [MIN, -1, 4, 299]}
"""What the records of a branch see: the one before them, less 1."""


class Clock(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> list[int]:
        return [ctx.timer_service().current_watermark()]


class OneBehind(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        output.emit_watermark(Watermark(timestamp - 1))

    def on_periodic_emit(self, output: Any) -> None:
        pass


STRATEGIES: dict[str, Callable[[], WatermarkStrategy]] = {
    "monotonous": WatermarkStrategy.for_monotonous_timestamps,
    "custom": lambda: WatermarkStrategy.for_generator(OneBehind),
}


def clocks(stream: Any, strategy: str, name: str) -> Any:
    """What the clock reads before each record of a branch."""
    timed = STRATEGIES[strategy]().with_timestamp_assigner(lambda event, _: event[1])
    own = stream.filter(lambda event: event[0] == name).assign_timestamps_and_watermarks(timed)
    return own.key_by(lambda event: event[0], Types.STRING()).process(Clock())


@pytest.mark.parametrize("epochs", [1, 3, "all"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_branches_of_one_source_have_clocks_of_their_own(strategy: str, epochs: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> dict[str, Any]:
        events = env.from_collection(EVENTS)
        return {name: clocks(events, strategy, name) for name in CLOCKS}

    results = run_local(program, epochs=epochs)
    assert {name: results.values(name) for name in CLOCKS} == CLOCKS


@pytest.mark.parametrize("epochs", [1, "all"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_timestamps_behind_a_source_that_says_it_has_none(strategy: str, epochs: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        nothing = WatermarkStrategy.no_watermarks()
        return clocks(env.from_source(TestSource(EVENTS), nothing, "events"), strategy, "x")

    assert run_local(program, epochs=epochs).values() == CLOCKS["x"]


class Seen(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> list[Any]:
        return [(value, ctx.timestamp())]


@pytest.mark.parametrize("timed", ["one branch", "the source"])
def test_a_branch_without_watermarks_meets_one_with_watermarks(timed: str) -> None:
    """Without watermarks a record has no place between those with stamps; see "One order"."""

    def program(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(2).with_timestamp_assigner(
            lambda event, _: event[1]
        )
        events = env.from_collection([("x", at) for at in (5, 1, 9, 3, 20, 7)])
        if timed == "the source":
            events = times = events.assign_timestamps_and_watermarks(strategy)
        else:
            times = events.assign_timestamps_and_watermarks(strategy)
        both = events.map(lambda event: (*event, "a")).union(times.map(lambda e: (*e, "b")))
        return both.key_by(lambda event: event[0]).process(Seen())

    rebatch(program, **schedules(compare="unordered"))
    if timed == "the source":
        rebatch(program, **schedules())
    else:
        with pytest.raises(AssertionError, match="only the order differs"):
            rebatch(program, **schedules())
