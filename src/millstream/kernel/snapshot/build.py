"""From tables to the values in a slot's store: pages, panes, timers, held records.

The rows of an operator come shelf by shelf. A shelf is a range of key hashes, small enough for the
memory; pages are made so that none reaches beyond its shelf.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common._arrow_decode import whole
from millstream.common.errors import CheckpointError
from millstream.kernel.buffers import Hashes, Received, Records, encode, merged
from millstream.kernel.columns import Columns, as_list
from millstream.kernel.hashing import stable_hash, stable_hashes
from millstream.kernel.key_encoding import KeyEncodingError
from millstream.kernel.keyed import KeyedOperator
from millstream.kernel.keys import identities, map_identity
from millstream.kernel.order import COLUMNS as ORDER_COLUMNS
from millstream.kernel.order import Ints, OrderKeys, distinct
from millstream.kernel.pages import Directory, MemoryStore, Page, PageStore
from millstream.kernel.runtime import OperatorInfo
from millstream.kernel.sequenced import TimelineOperator
from millstream.kernel.slot_state import HEADER, SlotState, encoded_header
from millstream.kernel.snapshot.births import Births
from millstream.kernel.snapshot.export import OperatorState
from millstream.kernel.snapshot.layouts import WINDOWS, converter
from millstream.kernel.snapshot.tables import (
    BROADCAST,
    DETAIL,
    HASH,
    PANES,
    TIMERS,
    Table,
    TimerTable,
    is_broadcast,
    state_name,
)
from millstream.kernel.stages import HostedOperator, InEdge, KeyedProgram
from millstream.kernel.two_inputs.broadcast import BROADCAST as BROADCAST_INPUT
from millstream.kernel.two_inputs.broadcast import BroadcastMaps, BroadcastOperator
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.pane_store import PaneStore, by_pane

SHELF_ROWS = 50_000


def shelf_bits(rows: int, slots: int) -> int:
    """Into how many shelves, as a power of two, the rows of an operator are divided."""
    return max(0, (rows // (slots * SHELF_ROWS)).bit_length())


def shelves_of(hashes: Ints, bits: int) -> Ints:
    """The shelf of each hash."""
    shelves: Ints = hashes >> (32 - bits)
    return shelves


def slots_of(operator: KeyedOperator, hashes: Ints, slots: int) -> Ints:
    """The slots where keys with these hashes have their state."""
    if isinstance(operator, TimelineOperator) and operator.one_channel:
        return np.full(len(hashes), stable_hash(0) % slots, np.int64)
    return hashes % slots


ALWAYS_SO_HASHED = frozenset(
    {"STRING", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN"}
)
"""Types of keys whose encodings have been the same in all versions."""


def rehashed(rows: pa.Table, table: Table) -> pa.Table:
    """The rows of a table with the hashes that their keys have now; other versions had others."""
    kind, pickled = table.key.type_info, table.key.schema()[-1]
    same = kind is None or kind.kind in ALWAYS_SO_HASHED
    if same and rows.column(pickled.name).null_count == len(rows):
        return rows
    hashes = stable_hashes(table.key.decode(rows))
    return rows.set_column(0, HASH, pa.array(hashes, HASH.type))


def divided(
    rows: pa.Table, table: Table, operator: KeyedOperator, slots: int, bits: int
) -> Iterator[tuple[int, int, pa.Table]]:
    """The rows of a table by slot and shelf."""
    if "pane" not in rows.column_names:
        rows = rehashed(rows, table)
    hashes = rows.column("hash").to_numpy()
    places: Ints = slots_of(operator, hashes, slots) << 32 | shelves_of(hashes, bits)
    order = np.argsort(places, kind="stable")
    found, starts = np.unique(places[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    rows = rows.take(pa.array(order))
    for place, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
        yield place >> 32, place & 0xFFFFFFFF, rows.slice(start, end - start)


@dataclass(frozen=True)
class WaitingEdge:
    """An edge whose records may wait for other channels.

    ``everywhere``: every slot has them all. ``siblings``: how many edges lead to the same input.
    """

    edge: InEdge
    everywhere: bool
    siblings: int


def waiting_edges(stages: Sequence[KeyedProgram]) -> list[list[WaitingEdge]]:
    """For each stage of a job, the edges whose records may wait there.

    That is where the program holds them back. If it does not, as in batch mode or behind a new operator,
    what has waited so far waits where its operator is.
    """
    edges = [
        (_waiting(hosted, edge), stage)
        for stage in stages
        for hosted in stage.operators
        for edge in hosted.edges
    ]
    held = {tag: stage for stage in stages for tag in stage.held_edges}
    return [
        [waiting for waiting, own in edges if held.get(waiting.edge.tag, own) is stage]
        for stage in stages
    ]


def _waiting(hosted: HostedOperator, edge: InEdge) -> WaitingEdge:
    is_broadcast = isinstance(hosted.operator, BroadcastOperator) and edge.input == BROADCAST_INPUT
    siblings = sum(other.input == edge.input for other in hosted.edges)
    return WaitingEdge(edge, is_broadcast, siblings)


class SlotBuilder:
    """Fills the store of one slot of a stage.

    ``known`` says what the tables hold; ``bits`` is the number of shelves of an operator, see
    `shelf_bits`; ``edges`` are those of `waiting_edges`, of a job of one stage if not given; ``births``
    renumbers stored order keys. `take` hands over what is ready and forgets it.
    """

    def __init__(
        self,
        slot: int,
        program: KeyedProgram,
        known: Mapping[str, OperatorState],
        bits: Mapping[str, int],
        state: SlotState,
        edges: Sequence[WaitingEdge] | None = None,
        births: Births | None = None,
    ) -> None:
        self.slot = slot
        self.births = births or Births()
        self.program = program
        self.known = known
        self.bits = bits
        self.state = deepcopy(state)
        self.store = MemoryStore()
        self._operators = {
            hosted.operator.info.uid: hosted.operator for hosted in program.operators
        }
        # A pane's buffers are brought together now and then, so they stay in hand.
        self._panes: dict[str, PaneStore] = {}
        self._pane_values = MemoryStore()
        edges = waiting_edges([program])[0] if edges is None else edges
        self._edges = {waiting.edge.name: waiting for waiting in edges}

    def take(self) -> Iterator[tuple[str, bytes]]:
        """The values that are ready."""
        ready, self.store = self.store, MemoryStore()
        yield from ready.items()

    def finish(self) -> Iterator[tuple[str, bytes]]:
        """The rest, with the header."""
        for panes in self._panes.values():
            panes.close()
        self.store.put(HEADER, encoded_header(self.state))
        yield from self.take()
        yield from self._pane_values.items()

    # -- keys ------------------------------------------------------------------------------------

    def add(self, uid: str, tables: Mapping[str, pa.Table]) -> None:
        """Add the rows of an operator by state: those on one shelf, and those that every slot has."""
        everywhere = {state: table for state, table in tables.items() if is_broadcast(state)}
        if everywhere:
            self._add_broadcast(uid, everywhere)
        self._add_shelf(uid, {s: t for s, t in tables.items() if s not in everywhere})

    def _add_shelf(self, uid: str, tables: Mapping[str, pa.Table]) -> None:
        keyed = {state: t for state, t in tables.items() if state != PANES}
        if PANES in tables:
            self._add_panes(uid, tables[PANES])
        if not keyed:
            return
        directory = self._directory(uid)
        states = [table for table in keyed if table != TIMERS]
        pages = PageStore(self.store, uid, directory, list(map(state_name, states)))
        # An operator's own cells stay in its pages, whatever they are.
        declared = self.known[uid].states.values()
        growing = {info.name for info in declared if info.shape != "value" and not info.layout}
        pages.growing = [i for i, name in enumerate(pages.names) if name in growing]
        parts = {name: _Part(self.known[uid].table(name), rows) for name, rows in keyed.items()}
        self._convert(uid, parts)
        hashes = np.concatenate([part.hashes for part in parts.values()]).astype(np.uint32)
        pages.prepare(hashes, sum(rows.nbytes for rows in keyed.values()))
        # Buckets are renumbered when the directory doubles; the lowest hash of a page is not.
        firsts = distinct(directory.buckets(hashes))
        lowest = (firsts.astype(np.int64) << (32 - directory.depth)).tolist()
        for low in lowest:
            page = pages.load(low >> (32 - directory.depth))
            end = (page.prefix + 1) << (32 - page.depth)
            for place, state in enumerate(states):
                parts[state].fill(page, low, end, place, len(states))
            if TIMERS in parts:
                parts[TIMERS].fill(page, low, end, -1, len(states))
            pages.write(page)

    def _convert(self, uid: str, parts: Mapping[str, _Part]) -> None:
        """Make up the windows as the operator does now, if it is a window operator."""
        operator = self._operators[uid]
        if isinstance(operator, WindowOperator) and WINDOWS in parts:
            layout = self.known[uid].info(WINDOWS).layout
            convert = converter(layout, operator)
            for entry in parts[WINDOWS].fields[-1]:
                if entry[0] is not None:
                    if self.births.changes:
                        entry[0] = self.births.content(layout, entry[0])
                    entry[0] = convert(entry[0])

    def _directory(self, uid: str) -> Directory:
        directory = self.state.directories.get(uid)
        if directory is None:
            directory = self.state.directories[uid] = Directory()
            if self.bits.get(uid, 0):
                directory.split(0, 0, self.bits[uid])
        return directory

    # -- panes -----------------------------------------------------------------------------------

    def _add_panes(self, uid: str, table: pa.Table) -> None:
        operator = self._operators[uid]
        codec = operator.codec  # type: ignore[attr-defined]
        if uid not in self._panes:
            self._panes[uid] = PaneStore(self._pane_values, uid, codec, merged)
        numbers = [_ints(table, name) for name in ("ts", *ORDER_COLUMNS)]
        ts, stamp, born, channel, frag, pos = numbers
        paths = np.array(table.column("path").to_pylist(), np.bytes_)
        if self.births.changes:
            born = self.births.column(born, paths.tolist())
        fields = [c for c in table.column_names if c.startswith("field_")]
        arrays = [whole(table.column(name)) for name in fields]
        records = Records(
            Columns(codec.type_info, arrays),
            ts,
            OrderKeys(stamp, born, channel, frag, pos, paths),
            _ints(table, "hash").astype(np.uint32),
        )
        for pane, part in by_pane(records, _ints(table, "pane")).items():
            self._panes[uid].add(pane, part)

    # -- what has no key -------------------------------------------------------------------------

    def _add_broadcast(self, uid: str, tables: Mapping[str, pa.Table]) -> None:
        """Add broadcast state: every slot has all of it."""
        by_name = {name.removeprefix(f"{BROADCAST}/"): table for name, table in tables.items()}
        maps = BroadcastMaps(OperatorInfo(uid, uid), by_name)
        maps.load(self.store)
        for name, table in by_name.items():
            part = _Part(self.known[uid].table(f"{BROADCAST}/{name}"), table)
            maps.writable[name].put_all(dict(zip(*part.fields, strict=True)))
        maps.save()

    def add_held(self, table: pa.Table) -> None:
        """Add the records that wait for other channels, as far as they are this slot's."""
        for row in table.to_pylist():
            waiting = self._edge_of(row["edge"])
            if waiting is not None and (row["whole"] or not waiting.everywhere):
                self._hold(waiting, row["header"], row["payload"])

    def _edge_of(self, name: str) -> WaitingEdge | None:
        """The edge of records; edges into one input of an operator can stand in for each other."""
        input_name, _, number = name.rpartition(":")
        first = self._edges.get(f"{input_name}:0")
        is_gone = first is not None and int(number) >= first.siblings
        return first if is_gone else self._edges.get(name)

    def _hold(self, waiting: WaitingEdge, header: bytes, payload: bytes) -> None:
        edge = waiting.edge
        received = Received.of(header, payload)
        try:
            records = received.decoded(edge.codec)
        except Exception as error:
            raise other_records(edge.name) from error
        if not waiting.everywhere:
            hashes = received.hashes
            assert hashes is not None
            if edge.key is not None:
                hashes = records.hashes = _hashes_now(edge.key, as_list(records.values), hashes)
            mine = np.flatnonzero(hashes % self.program.slots == self.slot)
            if not len(mine):
                return
            records = records.take(mine)
        data = encode(records, edge.codec, raised=True)
        self.store.put(f"held/{self.state.next_held}", pickle.dumps(data))
        self.state.held[self.state.next_held] = edge.name
        self.state.next_held += 1


def _hashes_now(key: Callable[[Any], Any], values: list[Any], before: Hashes) -> Hashes:
    """The hashes that the keys of records have now; other versions had others."""

    def one(value: Any, old: int) -> int:
        try:
            return stable_hash(key(value))
        except KeyEncodingError:
            raise
        except Exception:
            return old  # a record that its operator will skip

    found = [one(value, old) for value, old in zip(values, before.tolist(), strict=True)]
    return np.array(found, np.uint32)


def other_records(edge: str) -> CheckpointError:
    """The error of held records of another type than those of the program."""
    uid = edge.rsplit(":", 2)[0]
    return CheckpointError(
        "HELD_RECORDS_CHANGED",
        f"records wait for other channels on their way to operator {uid!r}, and they are of another "
        "type than those that it reads in this program",
        parameters={"uid": uid},
        hint="go on with the program as it was until they have been processed, then take a savepoint",
    )


class _Part:
    """The rows of one state on a shelf, sorted by hash and position."""

    def __init__(self, table: Table, rows: pa.Table) -> None:
        self.shape = table.state.shape
        rows = rows.combine_chunks()
        hashes = _ints(rows, "hash")
        keys: list[npt.NDArray[Any]] = [hashes]
        if self.shape != "value":
            keys.insert(0, _ints(rows, "position"))
        rows = rows.take(pa.array(np.lexsort(keys)))
        self.hashes = _ints(rows, "hash")
        self.keys = table.key.decode(rows)
        self.fields = [field.decode(rows) for field in table.fields]
        if self.shape == "map" and table.state.layout is None:
            self.fields[0] = list(map(map_identity, self.fields[0]))
        if table.state.expires:
            last = rows.column("last_used").to_pylist()
            self.fields[-1] = list(zip(self.fields[-1], last, strict=True))
        self.domains: list[str] = []
        if isinstance(table, TimerTable):
            self.domains = rows.column("domain").to_pylist()
            self.fields.append(DETAIL.decode(rows))

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


def _ints(table: pa.Table, name: str) -> Ints:
    found: Ints = whole(table.column(name)).to_numpy()
    return found
