"""A program with every kind of state, and what a savepoint of it is compared by."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.common.time import Time
from millstream.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from tests.support.spark.spark_support import data_files

COUNT = 120
PER_EPOCH = 10
EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
Event = tuple[str, int]


def event(number: int) -> Event:
    return "abcde"[number * 7 % 5], number * 10 - number * 7_919 % 37


class Remember(KeyedProcessFunction):
    """Keeps a count, a list, a map and a timer for each key."""

    def __init__(self, type_info: Any = None) -> None:
        self.type_info = type_info or Types.INT()

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", self.type_info))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.last = runtime_context.get_map_state(MapStateDescriptor("last"))

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value[1])
        self.last.put(value[1] % 3, (value[1], self.count.value()))
        ctx.timer_service().register_event_time_timer(value[1] + 200)
        yield "process", *value, self.count.value(), sum(self.seen), sorted(self.last.items())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.count.value()


class Counting(KeyedProcessFunction):
    """The running count of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


class Contents(ProcessWindowFunction):
    """The records of a window."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield "window", key, context.window().start, [value[1] for value in elements]


class Pairs(ProcessJoinFunction):
    """The pairs of a join."""

    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterator[Any]:
        yield "join", left, right


class Ruled(KeyedBroadcastProcessFunction):
    """Counts records by what the rules say of their keys."""

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        yield "ruled", *value, ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: Event, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


def events(env: StreamExecutionEnvironment, uid: str = "events") -> Any:
    limit = RateLimiterStrategy.per_checkpoint(PER_EPOCH)
    source = DataGeneratorSource(event, COUNT, limit, EVENT)
    times = WatermarkStrategy.for_bounded_out_of_orderness(40).with_timestamp_assigner(
        lambda value, _: value[1]
    )
    return env.from_source(source, times, uid).uid(uid)


def key_of(value: Event) -> str:
    """The key, by a function that the planner cannot read: windows are not computed by column."""
    key = value[0]
    return key


def everything(
    env: StreamExecutionEnvironment,
    folder: Path,
    *,
    without: str = "",
    count_type: Any = None,
    key: Callable[[Event], str] = lambda value: value[0],
) -> StreamExecutionEnvironment:
    """Every kind of state over one ordered source, all results as lines of one folder."""
    stream = events(env)
    keyed = stream.key_by(key)
    window = TumblingEventTimeWindows.of(Time.milliseconds(150))
    others = stream.map(lambda v: (v[0], v[1] + 30), output_type=EVENT).key_by(lambda v: v[0])
    rules = stream.filter(lambda value: value[1] % 4 == 0).broadcast(RULES)
    branches = {
        "remember": lambda: keyed.process(Remember(count_type)),
        "sums": lambda: keyed.window(window).sum(1),
        "contents": lambda: keyed.window(window).process(Contents()),
        "sessions": lambda: keyed.window(
            EventTimeSessionWindows.with_gap(Time.milliseconds(60))
        ).reduce(lambda one, other: (one[0], one[1] + other[1])),
        "join": lambda: (
            keyed.interval_join(others)
            .between(Time.milliseconds(-50), Time.milliseconds(50))
            .process(Pairs())
        ),
        "ruled": lambda: keyed.connect(rules).process(Ruled()),
    }
    results = []
    for uid, make in branches.items():
        if uid != without:
            results.append(make().uid(uid).map(json.dumps, output_type=Types.STRING()))
    results[0].union(*results[1:]).sink_to(FileSink.text(str(folder))).uid("lines")
    return env


def lines(folder: Path, *, until: int | None = None) -> list[str]:
    """What a reader finds, or the lines of the epochs until one."""
    found = []
    for path in data_files(folder):
        epoch = int(re.search(r"-(\d{8})-\d{4}\.", path.name)[1])  # type: ignore[index]
        if until is None or epoch <= until:
            found += path.read_text().splitlines()
    return sorted(found)
