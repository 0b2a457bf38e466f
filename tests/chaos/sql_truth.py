"""What the SQL job of chaos has to write, worked out without SQL, and what it has written."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.sql_job import BEST, UPSERTS, WIDTH, Item, change, event
from tests.chaos.truth import epoch_of

Row = tuple[Any, ...]
Tables = dict[str, dict[Row, Row]]
"""By the name of a table the rows of the database, by key."""


@dataclass(frozen=True)
class SqlOutput:
    """The lines of the files, each as often as it is there, and the tables of the database."""

    files: Counter[Row]
    tables: Tables

    def __add__(self, other: SqlOutput) -> SqlOutput:
        """What is there if another job has written after this one."""
        both = {name: rows | other.tables[name] for name, rows in self.tables.items()}
        return SqlOutput(self.files + other.files, both)

    def difference(self, wanted: SqlOutput) -> str:
        """What is missing and what is too much, in words; nothing if both are equal."""
        found = []
        pairs = {"files": (self.files, wanted.files)}
        for name, rows in self.tables.items():
            pairs[name] = (Counter(rows.values()), Counter(wanted.tables[name].values()))
        for name, (here, there) in pairs.items():
            missing, surplus = there - here, here - there
            if missing or surplus:
                found.append(
                    f"{name}: {missing.total()} missing {list(missing)[:5]}, "
                    f"{surplus.total()} too many {list(surplus)[:5]}"
                )
        return "; ".join(found)


SEQUENCES = ("event", "change")


def expected(records: int, lost: tuple[str, int] | None = None) -> SqlOutput:
    """The output for so many rows of each table, or for all but one of them."""
    events = [event(n) for n in range(records) if ("event", n) != lost]
    items: Counter[Item] = Counter()
    for before, after in (change(n) for n in range(records) if ("change", n) != lost):
        items.update({row: sign for row, sign in ((before, -1), (after, 1)) if row is not None})
    left = sorted(items.elements())
    tables = {"totals": _totals(items), "best": _best(left), "joined": _joined(events, left)}
    return SqlOutput(_windows(events), {name: _keyed(name, rows) for name, rows in tables.items()})


def _keyed(name: str, rows: Iterable[Row]) -> dict[Row, Row]:
    width = len(UPSERTS[name][1].split(","))
    return {row[:width]: row for row in rows}


def _groups(items: Iterable[Item]) -> dict[str, list[Item]]:
    groups: defaultdict[str, list[Item]] = defaultdict(list)
    for each in items:
        groups[each.k].append(each)
    return groups


def _totals(items: Counter[Item]) -> Iterator[Row]:
    """Counts and sums by weights: a row that is taken back and never came would show, too."""
    for k, group in _groups(items).items():
        there = [each.v for each in group if items[each] > 0]
        number = sum(items[each] for each in group)
        total = sum(items[each] * each.v for each in group)
        if number:
            yield k, number, total, max(there, default=None), len({v % 5 for v in there})


def _best(items: list[Item]) -> Iterator[Row]:
    for k, group in _groups(items).items():
        best = sorted(group, key=lambda each: (-each.v, each.id))[:BEST]
        yield from ((k, place, each.id, each.v) for place, each in enumerate(best, start=1))


def _joined(events: list[tuple[int, str, int]], items: list[Item]) -> list[Row]:
    values = {each.id: each.v for each in items}
    return [(number, key, values.get(number)) for number, key, _ in events]


def _windows(events: list[tuple[int, str, int]]) -> Counter[Row]:
    found: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for number, key, time in events:
        found[key, (time // WIDTH + 1) * WIDTH].append(number)
    return Counter((key, end, len(numbers), sum(numbers)) for (key, end), numbers in found.items())


# -- what is there ---------------------------------------------------------------------------------


def output(folder: Path, last_epoch: float = float("inf")) -> SqlOutput:
    """What any reader finds now; of the files, what there is of the epochs up to one."""
    files: Counter[Row] = Counter()
    for path in (folder / "out").glob("*"):
        if path.name[0] not in "_." and epoch_of(path) <= last_epoch:
            files.update(map(_line, path.read_text().splitlines()))
    with closing(sqlite3.connect(folder / "db" / "rows.sqlite")) as database:
        tables = {
            name: _keyed(name, database.execute(f"select * from {name}").fetchall())
            for name in UPSERTS
        }
    return SqlOutput(files, tables)


def _line(text: str) -> Row:
    """A line of a file, its time as in `event`."""
    found = json.loads(text)
    clock = found["ends"].partition(" ")[2]
    _, minutes, seconds = clock.split(":")
    end = int(minutes) * 60_000 + round(float(seconds) * 1_000) - 1_000
    return found["k"], end, found["n"], found["total"]
