"""The job that chaos is made of: a program as a user writes it.

``python job.py FOLDER --records 60 --per-epoch 6`` reads two sequences of records, and a third one
from the files of ``FOLDER/in``. It counts the first per key, with a timer for each bucket of event
time; sums it in windows, and those sums in wider windows; joins it with the second; and sums the
third. Every record of the second and third also goes through an operator that numbers it. Counts,
numbers and windows go to ``FOLDER/out`` through the file sink, windows and pairs to the database
``FOLDER/db/rows.sqlite``, one transaction per epoch. So a record, a count, a timer or a state that is
lost or comes twice shows in the output; `tests.chaos.truth` says what has to be there.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    FencingToken,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    RateLimiterStrategy,
)
from millstream.datastream.state import ValueStateDescriptor
from millstream.datastream.window import TumblingEventTimeWindows
from tests.chaos.program import POLL_SECONDS, environment, run

KEYS = "abcdefg"
BOUND, WIDTH, WIDE = 40, 100, 300
LOWER, UPPER = -60, 70
Event = tuple[str, int, int]
"""key, number, event time"""

Line = tuple[str, str, int, int]
"""what it is, key, event time, number"""

LINE = Types.ROW_NAMED(
    ["what", "key", "time", "number"],
    [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()],
)


def event(number: int) -> Event:
    """A record of the first sequence: out of order, some of them late. The same in every attempt."""
    scatter = number * 7_919 % 97
    return KEYS[scatter % len(KEYS)], number + 1, number * 10 - scatter


def offer(number: int) -> Event:
    """A record of the second sequence."""
    scatter = number * 31 % 61
    return KEYS[scatter % len(KEYS)], number + 1, number * 11 - scatter


def order(number: int) -> Event:
    """A record of the third sequence: out of order, none of them late."""
    scatter = number * 17 % 37
    return KEYS[scatter % len(KEYS)], number + 1, number * 9 - scatter


def write_orders(folder: Path, records: int, per_file: int) -> None:
    """Write the files of the third sequence."""
    folder.mkdir()
    for first in range(0, records, per_file):
        lines = (",".join(map(str, order(n))) for n in range(first, min(first + per_file, records)))
        (folder / f"orders-{first:06d}.csv").write_text("\n".join(lines) + "\n")


def parsed(line: str) -> Event:
    key, number, time = line.split(",")
    return key, int(number), int(time)


def bucket_end(time: int, width: int = WIDTH) -> int:
    return (time // width + 1) * width


class CountInBuckets(KeyedProcessFunction):
    """Counts records of a key, and those of each bucket of time until its timer tells the count."""

    def __init__(self, fail_at: int | None, marker: str) -> None:
        self.fail_at = fail_at
        self.marker = marker

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.buckets = runtime_context.get_state(ValueStateDescriptor("buckets"))

    def process_element(self, value: Event, ctx: Any) -> Iterator[Line]:
        key, number, time = value
        if number - 1 == self.fail_at and not Path(self.marker).exists():
            Path(self.marker).touch()
            raise RuntimeError(f"chaos at record {number}")
        total = (self.total.value() or 0) + 1
        self.total.update(total)
        end = bucket_end(time)
        buckets = self.buckets.value() or {}
        buckets[end] = buckets.get(end, 0) + 1
        self.buckets.update(buckets)
        ctx.timer_service().register_event_time_timer(end)
        yield "count", key, time, total

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Line]:
        buckets = self.buckets.value()
        count = buckets.pop(timestamp)
        self.buckets.update(buckets)
        yield "bucket", ctx.get_current_key(), timestamp, count


class Numbered(KeyedProcessFunction):
    """Each record once more, with the number that its key's state gives it.

    Records of several files may come in any order, so a number stands apart from its record.
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Event, ctx: Any) -> Iterator[Line]:
        key, number, time = value
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield self.what, key, time, number
        yield f"{self.what} of key", key, 0, seen


class Sum(ProcessWindowFunction):
    """The sum of a field over a window."""

    def __init__(self, what: str, place: int) -> None:
        self.what = what
        self.place = place

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Line]:
        yield self.what, key, context.window().end, sum(one[self.place] for one in elements)


class Pair(ProcessJoinFunction):
    """Both records in one number."""

    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterator[Line]:
        yield "pair", left[0], ctx.get_timestamp(), left[1] * 1_000 + right[1]


class Database:
    """Writes each epoch in one transaction: what was there of it, or after it, goes.

    The transaction takes nothing from a driver that was replaced.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "db" / "rows.sqlite"
        self.marks = folder / "marks"
        for path in (self.path.parent, self.marks):
            path.mkdir(parents=True, exist_ok=True)

    def __call__(self, frame: Any, epoch: int, token: FencingToken) -> None:
        rows = [(epoch, *row) for row in frame.collect()]
        (self.marks / f"called-{epoch:08d}").touch()
        # Long enough to be stopped here: behind all checks, before any effect.
        threading.Event().wait(2 * POLL_SECONDS)
        with closing(sqlite3.connect(self.path)) as database:
            with database:
                database.execute(
                    "create table if not exists line "
                    "(epoch integer, what text, key text, time integer, number integer)"
                )
                database.execute("create table if not exists writer (attempt integer)")
                # A write comes first: it locks the others out until the end of the transaction.
                database.execute("delete from writer where attempt <= ?", (token.attempt,))
                if database.execute("select count(*) from writer").fetchone()[0]:
                    token.check()
                    raise AssertionError("a later attempt has written, and the lease holds")
                database.execute("insert into writer values (?)", (token.attempt,))
                database.execute("delete from line where epoch >= ?", (epoch,))
                database.executemany("insert into line values (?, ?, ?, ?, ?)", rows)
                (self.marks / f"writing-{epoch:08d}").touch()
            (self.marks / f"written-{epoch:08d}").touch()


def source(make: Callable[[int], Event], options: argparse.Namespace) -> DataGeneratorSource:
    limit = RateLimiterStrategy.per_checkpoint(options.per_epoch)
    return DataGeneratorSource(make, options.records, limit)


def build(options: argparse.Namespace) -> StreamExecutionEnvironment:
    """The program; returns the environment to execute it with."""
    folder, env = options.folder, environment(options)
    env.configure({"millstream.epoch.max-files": "1"})
    no_times = WatermarkStrategy.no_watermarks()
    times = WatermarkStrategy.for_bounded_out_of_orderness(BOUND).with_timestamp_assigner(
        lambda value, _: value[2]
    )
    events = env.from_source(source(event, options), times, "events").uid("events")
    offers = env.from_source(source(offer, options), times, "offers").uid("offers")
    orders = env.from_source(FileSource.text(str(folder.parent / "in")), no_times, "orders").uid(
        "orders"
    )
    orders = orders.map(parsed).assign_timestamps_and_watermarks(times).uid("times of orders")
    keyed, offered, ordered = (
        stream.key_by(lambda value: value[0]) for stream in (events, offers, orders)
    )

    counted = keyed.process(
        CountInBuckets(options.fail_at, str(folder / "failed-once")), output_type=LINE
    ).uid("count")
    sums = (
        keyed.window(TumblingEventTimeWindows.of(WIDTH))
        .process(Sum("sum", 1), output_type=LINE)
        .uid("sums")
    )
    wide = (
        sums.key_by(lambda line: "all")
        .window(TumblingEventTimeWindows.of(WIDE))
        .process(Sum("wide", 3), output_type=LINE)
        .uid("wide")
    )
    pairs = (
        keyed.interval_join(offered)
        .between(LOWER, UPPER)
        .process(Pair(), output_type=LINE)
        .uid("pairs")
    )
    echoes = [
        stream.process(Numbered(what), output_type=LINE).uid(what)
        for what, stream in (("offer", offered), ("order", ordered))
    ]
    order_sums = (
        ordered.window(TumblingEventTimeWindows.of(WIDTH))
        .process(Sum("order sum", 1), output_type=LINE)
        .uid("order sums")
    )
    to_files = counted.union(sums, wide, *echoes)
    to_files.sink_to(FileSink.text(str(folder / "out"), lambda line: json.dumps(tuple(line)))).uid(
        "files"
    )
    sums.union(wide, pairs, order_sums).foreach_batch(Database(folder)).uid("database")
    return env


if __name__ == "__main__":
    run(lambda options: build(options).execute_async("chaos"))
