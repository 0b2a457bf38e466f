"""Watermarks that are assigned again, and again: the last strategy before a keyed operator counts, and
nothing depends on how epochs are cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.common.time import MIN_TIMESTAMP
from millstream.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob, rebatch
from tests.support.properties.blocks import Alarm
from tests.support.properties.oracle import Event
from tests.support.properties.programs import Outputs, by_name, per_channel
from tests.support.properties.strategy_chains import (
    Keyed,
    Link,
    StrategyChain,
    Times,
    strategy_chains,
)
from tests.support.strategies import (
    LAYOUTS,
    Cut,
    Layout,
    even_cut,
    events,
    examples,
    schedules,
    uneven_channels,
    uneven_cut,
)


def run(
    program: StrategyChain,
    channels: list[list[Event]],
    layout: Layout,
    cut: Cut | None,
    order: ChannelOrder = "arrival",
    *,
    restart: bool = False,
) -> Outputs:
    """What the kernel gives; without a cut in batch mode; ``restart`` after every epoch."""
    options = JobOptions(parallelism=layout.parallelism, slots=layout.slots, channel_order=order)
    job = LocalJob(program.graph(channels), options, batch=cut is None)
    if cut is None:
        return job.run_all(splits=layout.splits)
    for reads in cut:
        job.epoch(per_channel(reads), splits=layout.splits)
        if restart:
            job.start()
    job.epoch(0, end=True)
    return job.outputs


def cuts(channels: list[list[Event]], data: st.DataObject) -> dict[str, Cut]:
    lengths = [len(channel) for channel in channels]
    random = data.draw(uneven_cut(lengths), label="cut")
    return {"1": even_cut(lengths, 1), "random": random, "all": even_cut(lengths, 1_000)}


@examples(80)
@given(strategy_chains(), events(), LAYOUTS, st.booleans(), st.data())
def test_one_channel_any_cut(
    program: StrategyChain,
    channel: list[Event],
    layout: Layout,
    restart: bool,
    data: st.DataObject,
) -> None:
    expected = program.expected([channel])
    assert run(program, [channel], layout, None) == expected
    for name, cut in cuts([channel], data).items():
        got = run(program, [channel], layout, cut, restart=restart)
        assert got == expected, f"epochs of {name}"


@examples(60)
@given(strategy_chains(by_channel=True), uneven_channels(), LAYOUTS, st.data())
def test_several_channels_each_with_the_last_strategy(
    program: StrategyChain, channels: list[list[Event]], layout: Layout, data: st.DataObject
) -> None:
    expected = program.expected(channels)
    assert run(program, channels, layout, None) == expected
    for name, cut in cuts(channels, data).items():
        got = run(program, channels, layout, cut, "watermark")
        assert got == expected, f"epochs of {name}"


@examples(60)
@given(strategy_chains(), uneven_channels(), LAYOUTS, st.booleans(), st.data())
def test_several_channels_any_cut(
    program: StrategyChain,
    channels: list[list[Event]],
    layout: Layout,
    restart: bool,
    data: st.DataObject,
) -> None:
    expected = run(program, channels, Layout(), None)
    for name, cut in cuts(channels, data).items():
        got = run(program, channels, layout, cut, "watermark", restart=restart)
        assert got == expected, f"epochs of {name}"


ALARM = Keyed(Alarm(delay=1, step=1, hops=0), by_name)
CHAINS: dict[str, tuple[Link, ...]] = {
    "three": (Times(0), Times(9), Times(2), ALARM),
    "four, with flat maps": (Times(0), None, Times(9), Times(1), None, Times(2), ALARM),
    "a generator behind one": (Times(0), Times(2, custom=True), ALARM),
    "a generator behind two": (Times(0), Times(9), Times(2, custom=True), ALARM),
    "three behind a keyed operator": (Times(0), ALARM, Times(0), Times(9), Times(2), ALARM),
}


@pytest.mark.parametrize("splits", [1, 2, 3])
@pytest.mark.parametrize("links", CHAINS.values(), ids=CHAINS.keys())
def test_the_last_of_several_counts(links: tuple[Link, ...], splits: int) -> None:
    """Other strategies would make other records late, and their order another one."""
    program = StrategyChain(links)
    channel = [(("a", 0, ()), ts) for ts in (0, 7, 3, 5, 1, 12, 9, 2)]
    expected = program.expected([channel])
    layout = Layout(slots=2, parallelism=2, splits=splits)
    for cut in (even_cut([8], 1), even_cut([8], 3), even_cut([8], 8), None):
        assert run(program, [channel], layout, cut) == expected


def test_sums_by_column_behind_three_strategies() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        kind = Types.TUPLE([Types.STRING(), Types.LONG()])
        stream = env.from_collection([("a", ts) for ts in (0, 7, 3, 12, 1, 30, 2)], kind)
        for bound in (0, 9, 5):
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
            stream = stream.assign_timestamps_and_watermarks(
                strategy.with_timestamp_assigner(lambda record, _: record[1])
            )
        return (
            stream.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(10)).sum(1)
        )

    expected = [(("a", 11), 9), (("a", 12), 19), (("a", 30), 39)]
    assert [
        tuple(record) for record in rebatch(program, **schedules()).results.records()
    ] == expected


class Clocks(KeyedProcessFunction):
    """Gives each record with the clock before it."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()


def test_a_strategy_gets_a_record_on_both_ways_before_the_next_one() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(0)
        strategy = strategy.with_timestamp_assigner(lambda time, _: time)
        times = env.from_collection([10, 20]).assign_timestamps_and_watermarks(strategy)
        both = times.union(times.assign_timestamps_and_watermarks(strategy))
        again = both.assign_timestamps_and_watermarks(strategy)
        return again.key_by(lambda _: "all").process(Clocks())

    expected = [(10, MIN_TIMESTAMP), (10, 9), (20, 9), (20, 19)]
    assert rebatch(program, **schedules()).results.values() == expected
