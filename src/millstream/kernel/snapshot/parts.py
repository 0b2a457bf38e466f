"""Rows of a state on a shelf, ready to be put into pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.windows import TimeWindow
from millstream.kernel.keys.identity import identities, map_identity
from millstream.kernel.records.order import Ints
from millstream.kernel.snapshot.layouts import WINDOWS
from millstream.kernel.snapshot.pane_windows import KeyWindow, ints
from millstream.kernel.snapshot.tables import DETAIL, TIMERS, StateTable, TimerTable
from millstream.kernel.state.pages import Page
from millstream.kernel.windows.operator import WindowOperator


@dataclass
class Part:
    """The rows of one state on a shelf, sorted by hash and position. ``domains``: those of timers."""

    shape: str
    hashes: Ints
    keys: list[Any]
    fields: list[list[Any]]
    domains: list[str] = field(default_factory=list)

    @staticmethod
    def of(table: StateTable, rows: pa.Table) -> Part:
        shape = table.state.shape
        rows = rows.combine_chunks()
        order: list[npt.NDArray[Any]] = [ints(rows, "hash")]
        if shape != "value":
            order.insert(0, ints(rows, "position"))
        rows = rows.take(pa.array(np.lexsort(order)))
        fields = [field.decode(rows) for field in table.fields]
        if shape == "map" and table.state.layout is None:
            fields[0] = list(map(map_identity, fields[0]))
        if table.state.expires:
            last = rows.column("last_used").to_pylist()
            fields[-1] = list(zip(fields[-1], last, strict=True))
        domains: list[str] = []
        if isinstance(table, TimerTable):
            domains = rows.column("domain").to_pylist()
            fields.append(DETAIL.decode(rows))
        return Part(shape, ints(rows, "hash"), table.key.decode(rows), fields, domains)

    @staticmethod
    def of_windows(found: list[KeyWindow]) -> Part:
        hashes = np.array([window.hash for window in found], np.int64)
        windows, entries = [w.window for w in found], [w.entry for w in found]
        return Part("map", hashes, [w.key for w in found], [windows, entries])

    def take(self, places: list[int]) -> None:
        """Keep the rows at some places."""
        self.hashes = self.hashes[places]
        self.keys = [self.keys[i] for i in places]
        self.fields = [[field[i] for i in places] for field in self.fields]

    def fill(self, page: Page, low: int, end: int, place: int, width: int) -> None:
        """Give a page the rows whose hashes are from low to end."""
        first, last = np.searchsorted(self.hashes, [low, end]).tolist()
        keys = identities(self.keys[first:last])
        if self.domains:
            due, details = (field[first:last] for field in self.fields)
            rows = zip(self.domains[first:last], keys, due, details, strict=True)
            for domain, key, time_ms, detail in rows:
                timers = page.event_timers if domain == "event" else page.tick_timers
                timer = (time_ms, None) if detail is None else (time_ms, *detail)
                timers.setdefault(key, []).append(timer)
            return
        entries = page.entries
        parts = [field[first:last] for field in self.fields]
        if self.shape == "value" and not entries:
            # What is so often the only state of an operator need not ask for each key.
            before, after = [None] * place, [None] * (width - place - 1)
            entries.update((k, [*before, v, *after]) for k, v in zip(keys, parts[0], strict=True))
            return
        for key, *content in zip(keys, *parts, strict=True):
            cells = entries.get(key)
            if cells is None:
                cells = entries[key] = [None] * width
            if self.shape == "value":
                cells[place] = content[0]
            elif self.shape == "list":
                if cells[place] is None:
                    cells[place] = []
                cells[place].append(content[0])
            else:
                if cells[place] is None:
                    cells[place] = {}
                cells[place][content[0]] = content[1]


def renew_timers(parts: dict[str, Part], operator: WindowOperator, clock: int) -> None:
    """Give windows that fire by the time alone the timers that they have in this program.

    How late records may be can have changed. A window that is over, or empty, goes. One that time alone
    never fired, as a global window, stays as it is.
    """
    windows = parts[WINDOWS]
    kept: list[int] = []
    rows: list[tuple[int, Any, int, Any]] = []
    for place, (window, entry) in enumerate(zip(*windows.fields, strict=True)):
        by_time = isinstance(window, TimeWindow) and entry[0] is not None
        timers = operator.timers_of(window, clock) if by_time else []
        if timers or not isinstance(window, TimeWindow):
            kept.append(place)
            hashed, key = int(windows.hashes[place]), windows.keys[place]
            rows += [(hashed, key, due, tuple(detail)) for due, *detail in timers]
    windows.take(kept)
    rows.sort(key=lambda row: (row[0], row[2], row[3][0]))
    hashes, keys, due, details = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    domain = "event" if operator.event_time else "processing"
    parts[TIMERS] = Part(
        "list", np.array(hashes, np.int64), keys, [due, details], [domain] * len(rows)
    )
