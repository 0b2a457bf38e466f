"""The job that chaos is made of: a program as a user writes it, and what its output has to be.

``python job.py FOLDER --records 60 --per-epoch 6 [--fail-at 31] [--attempts 3]`` writes to
``FOLDER/out`` and keeps its checkpoint in ``FOLDER/checkpoint``. Every record is counted per key, and
a timer closes each key's bucket of event time; both show in the output, so that a record, a count or
a timer that is lost or comes twice shows as well.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    RateLimiterStrategy,
)
from millstream.datastream.state import ValueStateDescriptor

KEYS = "abcdefg"
BOUND, WIDTH = 40, 100
Event = tuple[str, int, int]
"""key, number, event time"""

Line = tuple[str, int, int]
"""key, event time or end of a bucket, count"""


def event(number: int) -> Event:
    """The record with a number: out of order, some of them late. The same in every attempt."""
    scatter = number * 7_919 % 97
    return KEYS[scatter % len(KEYS)], number, number * 10 - scatter


def bucket_end(time: int) -> int:
    return (time // WIDTH + 1) * WIDTH


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
        if number == self.fail_at and not Path(self.marker).exists():
            Path(self.marker).touch()
            raise RuntimeError(f"chaos at record {number}")
        total = (self.total.value() or 0) + 1
        self.total.update(total)
        end = bucket_end(time)
        buckets = self.buckets.value() or {}
        buckets[end] = buckets.get(end, 0) + 1
        self.buckets.update(buckets)
        ctx.timer_service().register_event_time_timer(end)
        yield key, time, total

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Line]:
        buckets = self.buckets.value()
        count = buckets.pop(timestamp)
        self.buckets.update(buckets)
        yield ctx.get_current_key(), timestamp, -count


def expected(records: int) -> list[Line]:
    """The output by the rules of DESIGN 4 for one channel, record by record."""
    lines: list[Line] = []
    totals: dict[str, int] = {}
    buckets: dict[tuple[str, int], int] = {}
    clock = -(2**63)

    def fire_until(now: float) -> None:
        for key, end in [place for place in buckets if place[1] <= now]:
            lines.append((key, end, -buckets.pop((key, end))))

    for number in range(records):
        key, _, time = event(number)
        fire_until(clock)
        totals[key] = totals.get(key, 0) + 1
        lines.append((key, time, totals[key]))
        place = (key, bucket_end(time))
        buckets[place] = buckets.get(place, 0) + 1
        fire_until(clock)
        clock = max(clock, time - BOUND - 1)
    fire_until(float("inf"))
    return sorted(lines)


def output(folder: Path) -> list[Line]:
    """What any reader finds in the folder now."""
    files = [path for path in (folder / "out").glob("*") if path.name[0] not in "_."]
    lines = (line for path in files for line in path.read_text().splitlines())
    return sorted(tuple(json.loads(line)) for line in lines)


def build(folder: Path, records: int, per_epoch: int, fail_at: int | None) -> Any:
    """The program; returns the environment to execute it with."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    source = DataGeneratorSource(event, records, RateLimiterStrategy.per_checkpoint(per_epoch))
    times = WatermarkStrategy.for_bounded_out_of_orderness(BOUND).with_timestamp_assigner(
        lambda value, _: value[2]
    )
    events = env.from_source(source, times, "events")
    counted = events.key_by(lambda value: value[0]).process(
        CountInBuckets(fail_at, str(folder / "failed-once"))
    )
    counted.uid("count").sink_to(FileSink.text(str(folder / "out"), json.dumps)).uid("files")
    return env


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--per-epoch", type=int, required=True)
    parser.add_argument("--fail-at", type=int)
    parser.add_argument("--attempts", type=int, default=1, help="in this process, one by one")
    options = parser.parse_args()
    for left in reversed(range(options.attempts)):
        env = build(options.folder, options.records, options.per_epoch, options.fail_at)
        try:
            env.execute("chaos")
            return
        except Exception as error:
            if not left:
                raise
            print(f"failed, {left} attempts left: {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
