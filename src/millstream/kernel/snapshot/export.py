"""From the values in a slot's store to tables.

Values come in any order, one by one, for all of them at once may not fit the memory. A page can be
taken apart as it comes, unless some of its lists and maps lie outside of it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.keys.hashing import stable_hash, stable_hashes
from millstream.kernel.keys.identity import shown
from millstream.kernel.operators.reduce import REDUCED
from millstream.kernel.operators.two_inputs.broadcast_maps import decoded_maps
from millstream.kernel.operators.two_inputs.interval_join import CELLS, OLDER, Segments
from millstream.kernel.records.buffers import Received
from millstream.kernel.records.order import COLUMNS as ORDER_COLUMNS
from millstream.kernel.snapshot.pane_windows import PaneRows
from millstream.kernel.snapshot.tables import (
    DETAIL,
    HELD,
    HELD_SCHEMA,
    PANES,
    TIMER_INFO,
    TIMERS,
    StateTable,
    TimerTable,
    is_broadcast,
    pane_schema,
    state_name,
    table_name,
)
from millstream.kernel.state.info import BROADCAST, StateInfo
from millstream.kernel.state.large import BigMap, LargeCell
from millstream.kernel.state.pages import MemoryStore, PageContent, Timers, decoded_page
from millstream.kernel.state.slot import HEADER, SlotState, decoded_header
from millstream.kernel.tables.arrangement import ROWS as ROW_PAGES
from millstream.kernel.tables.rows import decoded_rows
from millstream.kernel.tables.sections import SECTIONS, exported_tables
from millstream.kernel.windows.pane_layout import PaneLayout

ROWS = 65_536
SIDES = [(*CELLS[2 * side : 2 * side + 2], CELLS[OLDER + side]) for side in (0, 1)]
"""Times, records and older records of the sides of an interval join."""
TableName = tuple[str, str]
"""(uid, table); held records belong to no operator."""


@dataclass(frozen=True)
class OperatorState:
    """The state of an operator as the manifest describes it.

    ``layout``: how it keeps its state. ``records``: the type of the records that it reads.
    """

    uid: str
    key_type: TypeInformation | None = None
    states: Mapping[str, StateInfo] = field(default_factory=dict)
    layout: str | None = None
    records: TypeInformation | None = None

    @property
    def panes(self) -> PaneRows | None:
        """The content that it keeps by pane, None if it keeps something else."""
        layout = PaneLayout.read(self.layout)
        return None if layout is None else PaneRows(self.uid, layout, self.records)

    def info(self, table: str) -> StateInfo:
        """The description of the state in a table."""
        if is_broadcast(table):
            return StateInfo(table, "map")
        state = state_name(table)
        return self.states.get(state) or StateInfo.own(state)

    def keeps_none(self, table: str) -> bool:
        """Whether None is a value in a table: what a rolling reduce has come to, or its first record."""
        known = self.states.get(REDUCED)
        return table == table_name(REDUCED) and (known is None or known.layout is not None)

    def table(self, name: str) -> StateTable:
        """The columns of a table."""
        if name == TIMERS:
            return TimerTable(self.uid, TIMER_INFO, self.key_type)
        return StateTable(self.uid, self.info(name), self.key_type)


@dataclass
class _Rows:
    """Rows of a table that are not written yet, by column."""

    hashes: list[Any] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    fields: list[list[Any]] = field(default_factory=list)
    numbers: list[list[int]] = field(default_factory=list)


class SlotExporter:
    """Takes the values of a slot's store, and gives tables by uid and state.

    ``whole``: whether this slot speaks for all about what every slot has, such as broadcast state.
    """

    def __init__(self, operators: Iterable[OperatorState], *, whole: bool) -> None:
        self._operators = {operator.uid: operator for operator in operators}
        self._by_length = sorted(self._operators, key=len, reverse=True)
        self._whole = whole
        self._rows: dict[TableName, _Rows] = {}
        self._outside = MemoryStore()
        self._broadcast: list[tuple[str, bytes]] = []
        self._pages_left: list[tuple[str, bytes]] = []
        self._held: dict[int, bytes] = {}
        self.header: SlotState | None = None

    def add(self, name: str, data: bytes) -> Iterator[tuple[TableName, pa.Table]]:
        """Take a value; gives the tables that have become large enough to be written."""
        if name == HEADER:
            self.header = decoded_header(data)
        elif (number := name.removeprefix("held/")).isdecimal():
            self._held[int(number)] = data
        else:
            uid = next(uid for uid in self._by_length if name.startswith(f"{uid}/"))
            yield from self._add_of(uid, name.removeprefix(f"{uid}/"), name, data)

    def _add_of(
        self, uid: str, own: str, name: str, data: bytes
    ) -> Iterator[tuple[TableName, pa.Table]]:
        if own == PANES:
            return  # which buffers there are shows in their names
        if own.startswith("pane/"):
            pane = int(own.removeprefix("pane/").partition(".")[0])
            yield (uid, PANES), pane_table(pane, data)
        elif own.startswith(f"{ROW_PAGES}/"):
            keys, hashes, values = decoded_rows(data, uid)
            self._add_cells(uid, table_name(REDUCED), keys, hashes, values)
            yield from self._large_enough()
        elif own.startswith(f"{SECTIONS}/"):
            for table, rows in exported_tables(data, uid):
                yield (uid, table), rows
        elif own == BROADCAST:
            if self._whole:
                self._broadcast.append((uid, data))
        elif "/" in own:
            if self._whole or not is_broadcast(own):
                self._outside.put(name, data)
        else:
            yield from self._add_page(uid, data)

    def finish(self) -> Iterator[tuple[TableName, pa.Table]]:
        """The tables of everything that is left."""
        for uid, data in self._broadcast:
            self._add_broadcast(uid, data)
        for uid, data in self._pages_left:
            self._take_apart(uid, decoded_page(data, uid))
        for name in list(self._rows):
            yield name, self._table(name)
        if self._held and self.header is not None:
            yield ("", HELD), self._held_table(self.header)

    # -- pages -----------------------------------------------------------------------------------

    def _add_page(self, uid: str, data: bytes) -> Iterator[tuple[TableName, pa.Table]]:
        page = decoded_page(data, uid)
        if page.with_large:
            self._pages_left.append((uid, data))
            return
        self._take_apart(uid, page)
        yield from self._large_enough()

    def _large_enough(self) -> Iterator[tuple[TableName, pa.Table]]:
        for name, rows in list(self._rows.items()):
            if len(rows.hashes) >= ROWS:
                yield name, self._table(name)

    def _take_apart(self, uid: str, page: PageContent) -> None:
        hashes = stable_hashes(page.keys)
        # A page of nothing but timers has no columns.
        columns = dict(zip(page.names, page.columns, strict=False))
        keys = [shown(key) for key in page.keys]
        for state, cells in self._with_older(uid, columns).items():
            self._add_cells(uid, table_name(state), keys, hashes, cells)
        for domain, timers in (("event", page.event_timers), ("processing", page.tick_timers)):
            if timers:
                of_key = dict(zip(page.keys, hashes, strict=True))
                self._add_timers(uid, domain, timers, of_key)

    def _with_older(self, uid: str, columns: dict[str, Any]) -> dict[str, Any]:
        """Long sides of an interval join as if they had never become long."""
        for names in SIDES:
            if any(isinstance(cell, Segments) for cell in columns.get(names[-1], ())):
                times, values, older = (list(columns[name]) for name in names)
                for row, segments in enumerate(older):
                    if isinstance(segments, Segments):
                        segments.bind(self._outside, uid)
                        times[row], values[row] = _joined(segments, times[row], values[row])
                columns |= zip(names, (times, values, [None] * len(older)), strict=True)
        return columns

    def _add_cells(
        self, uid: str, table: str, keys: list[Any], hashes: list[int], cells: Iterable[Any]
    ) -> None:
        cells = list(cells)
        keeps_none = self._operators[uid].keeps_none(table)
        found = [row for row, cell in enumerate(cells) if keeps_none or cell is not None]
        if not found:
            return
        rows = self._of((uid, table))
        info = self._operators[uid].info(table)
        if info.shape == "value":
            if len(found) < len(cells):
                keys, hashes, cells = ([part[i] for i in found] for part in (keys, hashes, cells))
            _extend(rows, keys, hashes)
            _add_values(rows, info, [cells], [])
            return
        for i in found:
            content = self._content(uid, cells[i])
            _extend(rows, [keys[i]] * len(content), [hashes[i]] * len(content))
            parts = _entries(content) if info.shape == "map" else [content]
            _add_values(rows, info, parts, [range(len(content))])

    def _content(self, uid: str, cell: Any) -> Any:
        if isinstance(cell, LargeCell):
            cell.bind(self._outside, uid)
            return dict(cell.items()) if isinstance(cell, BigMap) else list(cell)  # type: ignore[call-overload]
        return cell

    def _add_timers(self, uid: str, domain: str, timers: Timers, of_key: dict[Any, int]) -> None:
        rows = self._of((uid, TIMERS))
        for key, times in timers.items():
            hashed = of_key[key] if key in of_key else stable_hash(key)
            _extend(rows, [shown(key)] * len(times), [hashed] * len(times))
            due = [timer[0] for timer in times]
            details = [None if timer[1:] == (None,) else timer[1:] for timer in times]
            _append(rows.fields, [due, [domain] * len(times), details])
            _append(rows.numbers, [range(len(times))])

    # -- what has no key -------------------------------------------------------------------------

    def _add_broadcast(self, uid: str, data: bytes) -> None:
        for state, cell in decoded_maps(data, uid).items():
            content = self._content(uid, cell)
            rows = self._of((uid, f"{BROADCAST}/{state}"))
            _extend(rows, [None] * len(content), [0] * len(content))
            info = self._operators[uid].info(f"{BROADCAST}/{state}")
            _add_values(rows, info, _entries(content), [range(len(content))])

    def _held_table(self, header: SlotState) -> pa.Table:
        rows = [
            (edge, *pickle.loads(self._held[number]), self._whole)
            for number, edge in sorted(header.held.items())
        ]
        columns = list(zip(*rows, strict=True))
        arrays = [pa.array(c, f.type) for c, f in zip(columns, HELD_SCHEMA, strict=True)]
        return pa.Table.from_arrays(arrays, schema=HELD_SCHEMA)

    # -- tables ----------------------------------------------------------------------------------

    def _of(self, name: TableName) -> _Rows:
        return self._rows.setdefault(name, _Rows())

    def _table(self, name: TableName) -> pa.Table:
        rows = self._rows.pop(name)
        table = self._operators[name[0]].table(name[1])
        arrays = [pa.array(rows.hashes, pa.int64()), *table.key.encode(rows.keys)]
        for part, values in zip(table.fields, rows.fields, strict=False):
            arrays += part.encode(values)
        arrays += [pa.array(numbers, pa.int64()) for numbers in rows.numbers]
        if isinstance(table, TimerTable):
            arrays += [pa.array(rows.fields[1], pa.string()), *DETAIL.encode(rows.fields[2])]
        return pa.Table.from_arrays(arrays, schema=table.schema())


def _joined(older: Segments, times: list[int], values: list[Any]) -> tuple[list[int], list[Any]]:
    """The records of a side in the order of their times; equal times as they have come."""
    pairs = [*older.between(MIN_TIMESTAMP, MAX_TIMESTAMP), *zip(times, values, strict=True)]
    pairs.sort(key=itemgetter(0))
    return [time for time, _ in pairs], [value for _, value in pairs]


def _entries(content: Mapping[Any, Any]) -> list[list[Any]]:
    """Keys and values of a map."""
    return [[shown(key) for key in content], list(content.values())]


def _extend(rows: _Rows, keys: list[Any], hashes: list[int]) -> None:
    rows.keys.extend(keys)
    rows.hashes.extend(hashes)


def _add_values(rows: _Rows, info: StateInfo, parts: list[Any], numbers: list[Any]) -> None:
    if info.expires:
        # The value, or each element or entry, is a pair with the time of its last use.
        pairs = parts[-1]
        parts = [*parts[:-1], [pair[0] for pair in pairs]]
        numbers = [*numbers, [pair[1] for pair in pairs]]
    _append(rows.fields, parts)
    _append(rows.numbers, numbers)


def _append(columns: list[list[Any]], parts: list[Any]) -> None:
    if not columns:
        columns.extend([] for _ in parts)
    for column, part in zip(columns, parts, strict=True):
        column.extend(part)


def pane_table(pane: int, data: bytes) -> pa.Table:
    """A buffer of a pane as rows."""
    return received_table(Received.of(*pickle.loads(data)), pane)


def received_table(received: Received, pane: int | None = None) -> pa.Table:
    """A buffer of panes as rows; if it is of several, its last column but two says of which."""
    batch = pa.ipc.open_stream(received.data).read_next_batch()
    n, keys = batch.num_rows, received.keys
    assert received.hashes is not None
    paths = [keys.path] * n if isinstance(keys.path, bytes) else keys.path.tolist()
    panes = batch.column(batch.num_columns - 3) if pane is None else np.full(n, pane)
    numbers = [received.hashes, panes, received.ts]
    numbers += [getattr(keys, name) for name in ORDER_COLUMNS]
    arrays = [pa.array(np.asarray(column, np.int64)) for column in numbers]
    schema = pane_schema(batch.schema)
    columns = chain(arrays, [pa.array(paths, pa.binary())], batch.columns)
    return pa.Table.from_arrays(list(columns), schema=schema)
