"""Poison records on Spark: streaming and batch skip the same ones, and give the same dead letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.common import DeadLetter, WatermarkStrategy
from millstream.common.output_tag import OutputTag
from millstream.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import ListStateDescriptor
from millstream.datastream.window import TumblingEventTimeWindows
from tests.support.spark.spark_support import Collecting

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
BAD = OutputTag("bad")
LINES = [f"{'abc'[n % 3]} {n} {n % 5}" for n in range(30)]
LINES[4] = LINES[17] = "poison"


def parse(line: str) -> tuple[str, int, int]:
    name, time, number = line.split()
    return name, int(time), int(number)


class Shares(KeyedProcessFunction):
    """Fails on zeros, after it has changed its state; so do its timers at times that end in 8."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value[2])
        ctx.timer_service().register_event_time_timer(value[1] + 4)
        yield value[0], value[1], list(self.seen), 12 // value[2]

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, list(self.seen), timestamp
        if timestamp % 10 == 8:
            raise ValueError(timestamp)


class Fragile(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        times = [element[1] for element in elements]
        yield key, times
        if 11 in times:
            raise ValueError(11)

    def clear(self, context: Any) -> None:
        pass


def run(env: StreamExecutionEnvironment) -> dict[str, list[Any]]:
    """Run the program; what its streams had, and their dead letters without the lines of code."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    parsed = env.from_collection(LINES).map(parse)
    timed = parsed.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, _: value[1])
    )
    shares = timed.key_by(lambda value: value[0]).process(Shares())
    windows = shares.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(6))
    streams = {"parsed": parsed, "shares": shares, "windows": windows.process(Fragile())}
    sinks: dict[str, Collecting] = {}
    for name, stream in streams.items():
        stream.on_error("skip", BAD)
        for kind, part in ((name, stream), (f"bad {name}", stream.get_side_output(BAD))):
            sinks[kind] = _collected(part)
    env.execute("poison")
    return {name: list(map(_shown, sink.records)) for name, sink in sinks.items()}


def _collected(stream: DataStream) -> Collecting:
    sink = Collecting()
    stream.sink_to(sink)
    return sink


def _shown(record: Any) -> Any:
    value, ts = record
    if isinstance(value, DeadLetter):
        assert value.traceback.startswith(value.error)
        return value.value, value.timestamp, value.operator, value.error, ts
    return value, ts


def test_streaming_and_batch_give_the_same_dead_letters(make_env: MakeEnv) -> None:
    settings = {"millstream.epoch.max-records": 7}
    streaming, batch = run(make_env("streaming", settings)), run(make_env("batch"))
    assert streaming == batch
    assert [value for value, *_ in batch["bad parsed"]] == ["poison", "poison"]
    zeros = [parse(line) for line in LINES if line.endswith(" 0")]
    skipped = [value for value, *_ in batch["bad shares"]]
    assert [value for value in skipped if value[0] != "timer"] == zeros
    assert {value[1] % 10 for value in skipped if value[0] == "timer"} == {8}
    assert [value for value, *_ in batch["bad windows"]]
