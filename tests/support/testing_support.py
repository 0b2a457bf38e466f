"""Functions and programs that the tests of the test kit run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.testing import TestSource

LATE = OutputTag("late")
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
NONE = WatermarkStrategy.no_watermarks()


def new_env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def same(value: Any) -> Any:
    return value


class Count(KeyedProcessFunction):
    """How often a key has come."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class Sessions(KeyedProcessFunction):
    """Gathers the values of a key until it is silent for 10 ms; late values go aside."""

    GAP = 10

    def open(self, runtime_context: Any) -> None:
        self.values = runtime_context.get_list_state(ListStateDescriptor("values", Types.LONG()))
        self.times = runtime_context.get_map_state(
            MapStateDescriptor("times", Types.LONG(), Types.LONG())
        )
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.seen = runtime_context.get_int_counter("seen")
        self.aside = runtime_context.get_metrics_group().counter("aside")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers, timestamp = ctx.timer_service(), ctx.timestamp()
        self.seen.add(1)
        if timestamp <= timers.current_watermark():
            self.aside.inc()
            yield LATE, value
            return
        self.values.add(value[1])
        self.times.put(timestamp, value[1])
        last = self.last.value()
        if last is None or timestamp > last:
            if last is not None:
                timers.delete_event_time_timer(last + self.GAP)
            self.last.update(timestamp)
            timers.register_event_time_timer(timestamp + self.GAP)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), list(self.values.get()), sorted(self.times.keys())
        self.values.clear()
        self.times.clear()
        self.last.clear()


class Ticker(KeyedProcessFunction):
    """Rings in processing time, 5 ms after each value."""

    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


class Odd(ProcessFunction):
    """Sends odd numbers aside."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (LATE, value) if value % 2 else (value, ctx.timestamp())


class Attribute(KeyedProcessFunction):
    """Counts in an attribute instead of state."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.counts[value] = self.counts.get(value, 0) + 1
        yield value, self.counts[value]


CALLS = [0]


def numbered(value: Any) -> tuple[Any, int]:
    """Counts its calls in a global."""
    CALLS[0] += 1
    return value, CALLS[0]


class Clocked(KeyedProcessFunction):
    """Reads processing time."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_processing_time()


EVENTS = [
    (("a", 1), 1),
    (("b", 2), 4),
    (("a", 3), 6),
    (("a", 4), 30),
    (("b", 5), 3),
    (("b", 6), 31),
    (("c", 7), 50),
    (("a", 8), 45),
    (("b", 9), 60),
]


def sessions(events: Iterable[Any] = tuple(EVENTS)) -> Callable[[StreamExecutionEnvironment], Any]:
    """A program with timers, state and a side output."""

    def program(env: StreamExecutionEnvironment) -> Any:
        source = TestSource(list(events), timestamped=True)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(3)
        stream = env.from_source(source, strategy, "events")
        found = stream.key_by(lambda value: value[0]).process(Sessions())
        return {"sessions": found, "late": found.get_side_output(LATE)}

    return program


def counts(*elements: Any) -> Callable[[StreamExecutionEnvironment], Any]:
    """A program that counts what a test source reads."""

    def program(env: StreamExecutionEnvironment) -> Any:
        source = TestSource(list(elements))
        return env.from_source(source, NONE, "elements").key_by(same).process(Count())

    return program
