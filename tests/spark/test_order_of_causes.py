"""On Spark, where slots run in processes of their own: the order of causes, and what each slot knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from millstream.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import MapStateDescriptor, ValueStateDescriptor
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.testing import collect
from tests.support.spark.spark_programs import by_time

pytestmark = pytest.mark.spark

RULES = MapStateDescriptor("rules")
COUNT = ValueStateDescriptor("count")
KEYS = "abcdefgh"
RECORDS = [*((key, number) for number, key in enumerate(KEYS)), ("!", 20), ("!", 30)]


class Counting(KeyedBroadcastProcessFunction):
    """Tells the counts of all keys with each broadcast record."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        found: list[Any] = []
        ctx.apply_to_keyed_state(COUNT, lambda key, count: found.append((key, count.value())))
        yield from found
        yield value


class Keeping(BroadcastProcessFunction):
    """Tells what the instance has kept."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def process_element(self, value: Any, ctx: Any) -> None:
        self.kept.append(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        while self.kept:
            yield self.kept.pop() + "!"


class Door(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())
        yield value[0], "opened"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), "closed"


def key_of(record: Any) -> Any:
    return record[0]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_causes_come_first_and_every_slot_is_heard(
    make_env: Callable[..., StreamExecutionEnvironment], mode: str
) -> None:
    stream = make_env(mode).from_collection(RECORDS).assign_timestamps_and_watermarks(by_time(1))
    rules = stream.filter(lambda r: r[0] == "!").broadcast(RULES)
    records = stream.filter(lambda r: r[0] != "!")
    windows = records.key_by(key_of).window(TumblingEventTimeWindows.of(10)).reduce(lambda a, b: a)
    counted = collect(records.key_by(key_of).connect(rules).process(Counting()))
    kept = collect(records.connect(rules).process(Keeping()))
    doors = collect(windows.key_by(key_of).process(Door()))
    stream.get_execution_environment().execute("causes")
    found = [(key, 1) for key in KEYS]
    assert sorted(counted.values()) == sorted([*found * 2, ("!", 20), ("!", 30)])
    assert sorted(kept.values()) == [f"{key}!" for key in KEYS]
    for key in KEYS:
        assert [what for k, what in doors.values() if k == key] == ["opened", "closed"]
