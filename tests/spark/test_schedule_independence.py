"""design.md 1 on real Spark: epochs, tasks, slots and mode do not show in the results.

The kernel's own tests try thousands of programs against an oracle. Here a few programs run on Spark,
and have to give what the same graph gives in memory, event times and order included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pytest

from millstream.connectors import ChannelName, Limits
from millstream.connectors.collection import CollectionSource
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from millstream.plan.graph import JobGraph
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob
from tests.support.spark.spark_programs import LATE, Buckets, Trail, by_time, never
from tests.support.spark.spark_support import Collecting, Output, cancel, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
Cut = int | Mapping[int, tuple[int, ...]] | None
Event = tuple[str, int]

BOUND, WIDTH = 5, 10
ONE_CHANNEL: tuple[tuple[Event, ...], ...] = (
    (
        ("a", 3), ("b", 7), ("a", 12), ("a", 1), ("b", 18), ("a", 8),
        ("a", 21), ("b", 14), ("c", 33), ("a", 19), ("b", 29), ("c", 35),
    ),
)  # fmt: skip
UNEVEN_CHANNELS: tuple[tuple[Event, ...], ...] = (
    (("a", 3), ("a", 8), ("b", 5), ("a", 15), ("c", 22)),
    (("b", 30), ("c", 42), ("b", 38), ("a", 55), ("b", 35), ("c", 61)),
    (("c", 12),),
)
SINKS = ("buckets", "late", "trail")


class Channels(CollectionSource):
    """Collections as channels of one source, read in given pieces."""

    pieces: Mapping[Any, tuple[int, ...]]

    def __init__(self, channels: tuple[tuple[Event, ...], ...], cut: Cut = None) -> None:
        limits = Limits(per_epoch=cut if isinstance(cut, int) else None)
        super().__init__(channels, (None,) * len(channels), limits)
        object.__setattr__(self, "pieces", cut if isinstance(cut, Mapping) else {})

    def advance(self, channel: ChannelName, start: int, stop: int, records: int | None) -> int:
        borders = accumulate(self.pieces.get(channel, ()))
        end: int = super().advance(channel, start, stop, records)
        return min([end, *(border for border in borders if border > start)])


def build(env: StreamExecutionEnvironment, events: Any) -> dict[str, Collecting]:
    """Timers, late records aside, and a second keyed stage that sees the input beside the first."""
    sinks = {name: Collecting() for name in SINKS}
    first = events.key_by(lambda value: value[0]).process(Buckets(WIDTH)).uid("first")
    both = events.union(first)
    second = both.key_by(lambda value: "low" if value[0] < "c" else "high").process(Trail())
    streams = {"buckets": first, "late": first.get_side_output(LATE), "trail": second}
    for name, stream in streams.items():
        stream.sink_to(sinks[name]).name(name)
    return sinks


@dataclass(frozen=True)
class Schedule:
    """How a run is cut up and spread; nothing of it may show."""

    mode: str
    cut: Cut
    parallelism: int
    slots: int

    def __str__(self) -> str:
        cut = "uneven" if isinstance(self.cut, Mapping) else self.cut or "all"
        return f"{self.mode}, epochs of {cut}, {self.parallelism} tasks, {self.slots} slots"


def in_memory(channels: tuple[tuple[Event, ...], ...], order: ChannelOrder) -> dict[str, Any]:
    """What the same graph gives without Spark, in one epoch and one slot."""
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, env.from_source(Channels(channels), by_time(1, BOUND), "events"))
    job = LocalJob(graph_of(env), JobOptions(parallelism=1, channel_order=order))
    return job.run_all()


def graph_of(env: StreamExecutionEnvironment) -> JobGraph:
    return env._job_graph()


def on_spark(
    make_env: MakeEnv,
    channels: tuple[tuple[Event, ...], ...],
    order: ChannelOrder,
    schedule: Schedule,
) -> dict[str, list[Output]]:
    env = make_env(schedule.mode).set_channel_order(order)
    env.set_parallelism(schedule.parallelism).set_slots(schedule.slots)
    source = Channels(channels, schedule.cut)
    sinks = build(env, env.from_source(source, by_time(1, BOUND), "events"))
    env.execute(str(schedule))
    return {name: sink.records for name, sink in sinks.items()}


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("streaming", 1, 1, 1),
        Schedule("streaming", 7, 2, 4),
        Schedule("streaming", None, 4, 2),
        Schedule("batch", None, 2, 4),
    ],
    ids=str,
)
def test_one_channel_gives_the_same_under_every_schedule(
    make_env: MakeEnv, schedule: Schedule
) -> None:
    expected = in_memory(ONE_CHANNEL, "arrival")
    assert on_spark(make_env, ONE_CHANNEL, "arrival", schedule) == expected


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("streaming", 1, 2, 2),
        Schedule("streaming", {0: (1, 1, 3), 1: (4, 1, 1), 2: (1,)}, 4, 4),
        Schedule("streaming", 7, 1, 4),
        Schedule("batch", None, 4, 1),
    ],
    ids=str,
)
def test_uneven_channels_in_watermark_order_give_the_same_under_every_schedule(
    make_env: MakeEnv, schedule: Schedule
) -> None:
    expected = in_memory(UNEVEN_CHANNELS, "watermark")
    assert on_spark(make_env, UNEVEN_CHANNELS, "watermark", schedule) == expected


def test_the_expected_results_are_those_of_design_4() -> None:
    """What the others compare with, worked out by hand: the watermark is max - 5 - 1."""
    outputs = in_memory(ONE_CHANNEL, "arrival")
    told = sorted((value, ts) for value, ts in outputs["buckets"] if value[1] == "told")
    assert told == [
        (("a", "told", 1, 20), 20),
        (("a", "told", 1, 30), 30),
        (("a", "told", 2, 10), 10),
        (("b", "told", 1, 10), 10),
        (("b", "told", 1, 30), 30),
        (("b", "told", 2, 20), 20),
        (("c", "told", 2, 40), 40),
    ]
    assert outputs["late"] == [(("a", "late", 8, 12), 8), (("a", "late", 19, 27), 19)]


def test_an_idle_channel_leaves_the_minimum_as_it_does_in_memory(make_env: MakeEnv) -> None:
    """One channel has said all it has; the other is announced, never speaks, and never ends."""

    def events(env: StreamExecutionEnvironment) -> Any:
        silent = DataGeneratorSource(never, None, RateLimiterStrategy.per_second(0.0001))
        strategy = by_time(1, BOUND).with_idleness("300 ms")
        speaking = env.from_source(Channels(ONE_CHANNEL), strategy, "speaking")
        return speaking.union(env.from_source(silent, strategy, "silent"))

    memory = StreamExecutionEnvironment.get_execution_environment()
    build(memory, events(memory))
    job = LocalJob(graph_of(memory), JobOptions(parallelism=1))
    job.epoch(None, now_ms=0)
    assert [v for v, _ in job.outputs["buckets"] if v[1] == "told"] == [], "the channel is not idle"
    job.epoch(0, now_ms=1_000)
    assert len([v for v, _ in job.outputs["buckets"] if v[1] == "told"]) == 4

    env = make_env()
    sinks = build(env, events(env))
    client = env.execute_async("idle")
    wanted = {name: len(records) for name, records in job.outputs.items()}
    wait_for_job(lambda: _sizes(sinks) == wanted, client, "the timers of an idle channel")
    cancel(client)
    assert {name: sink.records for name, sink in sinks.items()} == job.outputs


def _sizes(sinks: Mapping[str, Collecting]) -> dict[str, int]:
    return {name: len(sink.records) for name, sink in sinks.items()}
