"""What the chaos job has to write, worked out record by record, and what it has written."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.job import (
    BOUND,
    KEYS,
    LOWER,
    UPPER,
    WIDE,
    Event,
    Line,
    bucket_end,
    event,
    offer,
    order,
)

EPOCH_OF_FILE = re.compile(r"-(\d{8})-\d{4}\.")


@dataclass(frozen=True)
class Output:
    """The lines of both sinks, each as often as it is there."""

    files: Counter[Line]
    rows: Counter[Line]

    def __add__(self, other: Output) -> Output:
        return Output(self.files + other.files, self.rows + other.rows)

    def difference(self, wanted: Output) -> str:
        """What is missing and what is too much, in words; nothing if both are equal."""
        found = []
        for name in ("files", "rows"):
            here, there = getattr(self, name), getattr(wanted, name)
            missing, surplus = there - here, here - there
            if missing or surplus:
                found.append(
                    f"{name}: {missing.total()} missing {sorted(missing)[:5]}, "
                    f"{surplus.total()} too many {sorted(surplus)[:5]}"
                )
        return "; ".join(found)


# -- what has to be there, by the rules of time for one channel -----------------------------------


SEQUENCES: dict[str, Callable[[int], Event]] = {"event": event, "offer": offer, "order": order}
Sequences = dict[str, list[Event]]


def expected(records: int, lost: tuple[str, int] | None = None) -> Output:
    """The output for so many records of each sequence, or for all but one of them."""
    read = {
        name: [make(number) for number in range(records) if (name, number) != lost]
        for name, make in SEQUENCES.items()
    }
    events = list(_stamped(read["event"]))
    sums = list(_sums("sum", events))
    wide = list(_wide(sums))
    counts = [*_counts(events), *_numbered("offer", read), *_numbered("order", read)]
    # The files of the third sequence are channels of their own, and none of its records is late.
    orders = _sums("order sum", ((record, MIN_CLOCK) for record in read["order"]))
    pairs = _pairs(events, list(_stamped(read["offer"])))
    return Output(Counter([*counts, *sums, *wide]), Counter([*sums, *wide, *pairs, *orders]))


MIN_CLOCK = -(2**63)
Stamped = tuple[Event, int]
"""A record with what its channel's watermark was before it."""


def _stamped(records: list[Event]) -> Iterator[Stamped]:
    watermark = MIN_CLOCK
    for record in records:
        yield record, watermark
        watermark = max(watermark, record[2] - BOUND - 1)


def _numbered(what: str, read: Sequences) -> Iterator[Line]:
    seen: Counter[str] = Counter()
    for key, number, time in read[what]:
        seen[key] += 1
        yield what, key, time, number
        yield f"{what} of key", key, 0, seen[key]


def _counts(events: list[Stamped]) -> Iterator[Line]:
    totals: Counter[str] = Counter()
    buckets: Counter[tuple[str, int]] = Counter()

    def fire_until(now: float) -> Iterator[Line]:
        for key, end in [place for place in buckets if place[1] <= now]:
            yield "bucket", key, end, buckets.pop((key, end))

    for (key, _, time), clock in events:
        yield from fire_until(clock)
        totals[key] += 1
        yield "count", key, time, totals[key]
        buckets[key, bucket_end(time)] += 1
        yield from fire_until(clock)
    yield from fire_until(float("inf"))


def _sums(what: str, records: Iterable[Stamped]) -> Iterator[Line]:
    windows: defaultdict[tuple[str, int], int] = defaultdict(int)
    for (key, number, time), clock in records:
        end = bucket_end(time)
        if end - 1 > clock:  # else it is late
            windows[key, end] += number
    for (key, end), total in windows.items():
        yield what, key, end, total


def _wide(sums: list[Line]) -> Iterator[Line]:
    windows: defaultdict[int, int] = defaultdict(int)
    for _, _, end, total in sums:
        windows[bucket_end(end - 1, WIDE)] += total
    for end, total in windows.items():
        yield "wide", "all", end, total


def _pairs(events: list[Stamped], offers: list[Stamped]) -> Iterator[Line]:
    left, right = (
        [record for record, clock in records if record[2] >= clock] for records in (events, offers)
    )
    for key in KEYS:
        for _, number, time in (one for one in left if one[0] == key):
            for _, other, then in (one for one in right if one[0] == key):
                if time + LOWER <= then <= time + UPPER:
                    yield "pair", key, max(time, then), number * 1_000 + other


# -- what is there --------------------------------------------------------------------------------


def output(folder: Path, last_epoch: float = float("inf")) -> Output:
    """What any reader finds now, or what there is of the epochs up to one."""
    files: Counter[Line] = Counter()
    for path in (folder / "out").glob("*"):
        if path.name[0] not in "_." and epoch_of(path) <= last_epoch:
            files.update(tuple(json.loads(line)) for line in path.read_text().splitlines())
    rows: Counter[Line] = Counter()
    database = folder / "db" / "rows.sqlite"
    if database.exists():
        with closing(sqlite3.connect(database)) as connection:
            wanted = "select what, key, time, number from line where epoch <= ?"
            limit = min(last_epoch, 2**62)
            rows.update(connection.execute(wanted, (int(limit),)).fetchall())
    return Output(files, rows)


def epoch_of(path: Path) -> int:
    """The epoch in which the file sink has written a file."""
    found = EPOCH_OF_FILE.search(path.name)
    assert found is not None, f"{path} is no file of the sink's"
    return int(found[1])
