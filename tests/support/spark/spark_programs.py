"""User functions of the Spark tests. Workers import this module, so it imports little."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    SinkFunction,
)
from millstream.datastream.state import ValueStateDescriptor

ODD = OutputTag("odd", Types.LONG())
LATE = OutputTag("late")


def by_time(field: int, out_of_orderness_ms: int = 0) -> WatermarkStrategy:
    """Event times from a field, records at most so late."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(out_of_orderness_ms)
    return strategy.with_timestamp_assigner(lambda value, _: value[field])


class Count(KeyedProcessFunction):
    """(key, how many so far) for each record."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class Delay(KeyedProcessFunction):
    """Says when a record comes, and so many milliseconds of processing time later."""

    def __init__(self, millis: int) -> None:
        self.millis = millis

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + self.millis)
        yield "set", value, now

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "fired", ctx.get_current_key(), ctx.timer_service().current_processing_time()


class ReadClock(KeyedProcessFunction):
    """(record, watermark just before it) for each record."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


class Buckets(KeyedProcessFunction):
    """Counts a key's records in buckets of time; a timer at the end of each tells the count.

    Records of a bucket that has been told go to the side output of late ones. Every record also
    tells the clock it saw, so that nothing about time can go wrong unseen.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    def open(self, runtime_context: Any) -> None:
        self.counts = runtime_context.get_state(ValueStateDescriptor("counts"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        end = (ctx.timestamp() // self.width + 1) * self.width
        clock = ctx.timer_service().current_watermark()
        if end <= clock:
            yield LATE, (value[0], "late", ctx.timestamp(), clock)
            return
        counts = self.counts.value() or {}
        counts[end] = counts.get(end, 0) + 1
        self.counts.update(counts)
        ctx.timer_service().register_event_time_timer(end)
        yield value[0], "seen", counts[end], clock

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        counts = self.counts.value()
        yield ctx.get_current_key(), "told", counts.pop(timestamp), timestamp
        if counts:
            self.counts.update(counts)
        else:
            self.counts.clear()


class Trail(KeyedProcessFunction):
    """The second of two keyed stages: numbers what it sees and remembers what came last."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        number, before = self.last.value() or (0, None)
        self.last.update((number + 1, value))
        yield number, before, value, ctx.timer_service().current_watermark()


class SplitOdd(ProcessFunction):
    """Even numbers to the stream, odd ones to the side output."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


class Tally(MapFunction):
    """Counts with an accumulator, a histogram and a metric what it passes on."""

    def open(self, runtime_context: Any) -> None:
        self.lines = runtime_context.get_int_counter("lines")
        self.lengths = runtime_context.get_histogram("lengths")
        self.metric = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: str) -> str:
        self.lines.add(1)
        self.lengths.add(len(value))
        self.metric.inc()
        return value


class Opened(MapFunction):
    """Writes down in which processes it was opened."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, runtime_context: Any) -> None:
        with open(self.path, "a") as file:
            file.write(f"{os.getpid()}\n")

    def map(self, value: Any) -> Any:
        return value


def numbered(number: int) -> tuple[str, int]:
    """The record with a number, for generators: two keys, a second apart."""
    return "ab"[number % 2], number * 1_000


def never(number: int) -> tuple[str, int]:
    """A generator nobody may ask for a record."""
    raise AssertionError("the silent channel has spoken")


def plain(row: Any) -> tuple[Any, ...]:
    """A row and the rows in it as tuples."""
    return tuple(plain(value) if hasattr(value, "as_dict") else value for value in row)


def fails_on_bad(value: str) -> str:
    """Fails on one record; the tests look for this frame."""
    if value.startswith("bad"):
        raise ValueError(f"cannot take {value[:3]}")
    return value


# -- for the tests of sinks ------------------------------------------------------------------------


def text_of(pair: tuple[str, int]) -> str:
    """A pair as a line."""
    return f"{pair[0]} {pair[1]}"


class FailsOnce:
    """Makes a line of a pair; fails on one of them as long as its marker is not there."""

    def __init__(self, marker: str, time: int) -> None:
        self.marker = marker
        self.time = time

    def __call__(self, pair: tuple[str, int]) -> str:
        if pair[1] == self.time and not Path(self.marker).exists():
            Path(self.marker).touch()
            raise RuntimeError("fails once")
        return text_of(pair)


class Recording(KeyedProcessFunction):
    """Passes on what comes in the order of its key's state: a gap or a repetition fails."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        last = self.last.value()
        assert last is None or value[1] == last + 2_000, f"{value} after {last}"
        self.last.update(value[1])
        yield value


class Appending(SinkFunction):
    """Appends a line for each pair to a file that ``open`` makes and ``close`` marks as whole."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, runtime_context: Any) -> None:
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".txt")
        os.close(handle)
        self.path = Path(name)

    def invoke(self, value: tuple[str, int]) -> None:
        with self.path.open("a") as file:
            file.write(text_of(value) + "\n")

    def close(self) -> None:
        self.path.with_suffix(".closed").touch(exist_ok=False)


# -- for the tests of errors -----------------------------------------------------------------------


class Alarm(KeyedProcessFunction):
    """A timer for each record; fails where it is told to."""

    def __init__(self, fails_in: str = "") -> None:
        self.fails_in = fails_in

    def open(self, runtime_context: Any) -> None:
        if self.fails_in == "open":
            raise RuntimeError("no open")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self.fails_in == "process_element":
            raise RuntimeError("no process_element")
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.fails_in == "on_timer":
            raise RuntimeError("no on_timer")
        yield ctx.get_current_key(), timestamp
