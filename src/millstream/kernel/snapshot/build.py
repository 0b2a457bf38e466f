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
import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.recognition import fields_read_by
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typesystem.arrow_decode import whole
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.encoding import KeyEncodingError
from millstream.kernel.keys.hashing import stable_hash, stable_hashes
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import REDUCED
from millstream.kernel.operators.two_inputs.broadcast_maps import BroadcastMaps
from millstream.kernel.records.buffers import (
    ARROW_STREAM,
    ArrowCodec,
    Codec,
    Hashes,
    PickleCodec,
    Received,
    Records,
    encode,
    merged,
)
from millstream.kernel.records.columns import Columns, as_list
from millstream.kernel.records.order import COLUMNS as ORDER_COLUMNS
from millstream.kernel.records.order import Ints, OrderKeys, arrival_step, distinct
from millstream.kernel.records.selected import NotSelected, Selected
from millstream.kernel.snapshot.births import Births
from millstream.kernel.snapshot.export import OperatorState, received_table
from millstream.kernel.snapshot.layouts import WINDOWS, converter
from millstream.kernel.snapshot.pane_windows import held_panes, ints
from millstream.kernel.snapshot.parts import Part, renew_timers
from millstream.kernel.snapshot.row_values import rows_of
from millstream.kernel.snapshot.tables import (
    HASH,
    PANES,
    TIMERS,
    StateTable,
    is_broadcast,
    state_name,
    table_name,
    waits_before,
)
from millstream.kernel.snapshot.window_panes import records_of
from millstream.kernel.stages.edges import InEdge
from millstream.kernel.stages.programs import HostedOperator, KeyedProgram
from millstream.kernel.state.info import BROADCAST
from millstream.kernel.state.pages import Directory, MemoryStore, PageStore
from millstream.kernel.state.slot import HEADER, SlotState, encoded_header
from millstream.kernel.tables.arrangement import PointArrangement, Visit
from millstream.kernel.tables.sections import SECTIONS, SectionArrangement, SectionVisit
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
    if operator.in_one_slot:
        return np.full(len(hashes), stable_hash(0) % slots, np.int64)
    return hashes % slots


ALWAYS_SO_HASHED = frozenset(
    {"STRING", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN"}
)
"""Types of keys whose encodings have been the same in all versions."""


def rehashed(rows: pa.Table, table: StateTable) -> pa.Table:
    """The rows of a table with the hashes that their keys have now; other versions had others."""
    kind, pickled = table.key.type_info, table.key.schema()[-1]
    same = kind is None or kind.kind in ALWAYS_SO_HASHED
    if same and rows.column(pickled.name).null_count == len(rows):
        return rows
    hashes = stable_hashes(table.key.decode(rows))
    return rows.set_column(0, HASH, pa.array(hashes, HASH.type))


def divided(
    rows: pa.Table, table: StateTable, operator: KeyedOperator, slots: int, bits: int
) -> Iterator[tuple[int, int, pa.Table]]:
    """The rows of a table by slot and shelf."""
    if "pane" not in rows.column_names and not operator.keeps_sections:
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
    held = {tag: stage for stage in stages for tag in stage.waiting.held}
    return [
        [waiting for waiting, own in edges if held.get(waiting.edge.tag, own) is stage]
        for stage in stages
    ]


def _waiting(hosted: HostedOperator, edge: InEdge) -> WaitingEdge:
    everywhere = edge.input == hosted.operator.copied_input
    siblings = sum(other.input == edge.input for other in hosted.edges)
    return WaitingEdge(edge, everywhere, siblings)


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
        # A pane's buffers are brought together now and then, so they stay in memory.
        self._panes: dict[str, PaneStore] = {}
        self._pane_values = MemoryStore()
        edges = waiting_edges([program])[0] if edges is None else edges
        self._edges = {waiting.edge.name: waiting for waiting in edges}
        # Sums that waited for other channels, for operators that keep windows in pages now.
        self._held_panes: dict[str, pa.Table] = {}

    def take(self) -> Iterator[tuple[str, bytes]]:
        """The values that are ready."""
        ready, self.store = self.store, MemoryStore()
        yield from ready.items()

    def finish(self) -> Iterator[tuple[str, bytes]]:
        """The rest, with the header."""
        for uid, panes in list(self._held_panes.items()):
            for shelf in distinct(shelves_of(ints(panes, "hash"), self.bits[uid])).tolist():
                self._add_shelf(uid, self._with_held(uid, {}, shelf))
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
        on_shelf = {s: t for s, t in tables.items() if s not in everywhere}
        if on_shelf and uid in self._held_panes:
            some = ints(next(iter(on_shelf.values())), "hash")[:1]
            on_shelf = self._with_held(uid, on_shelf, int(shelves_of(some, self.bits[uid])[0]))
        self._add_shelf(uid, on_shelf)

    def _with_held(self, uid: str, tables: dict[str, pa.Table], shelf: int) -> dict[str, pa.Table]:
        """The tables of a shelf, with the sums that waited to be added there."""
        held = self._held_panes[uid]
        mine = shelves_of(ints(held, "hash"), self.bits[uid]) == shelf
        self._held_panes[uid] = held.filter(pa.array(~mine))
        panes = [tables[PANES]] if PANES in tables else []
        return tables | {PANES: pa.concat_tables([*panes, held.filter(pa.array(mine))])}

    def _add_shelf(self, uid: str, tables: Mapping[str, pa.Table]) -> None:
        if self._operators[uid].keeps_sections:
            self._add_sections(uid, tables)
            return
        parts = self._parts(uid, tables)
        if not parts:
            return
        if self._operators[uid].keeps_rows:
            self._add_rows(uid, parts[table_name(REDUCED)])
            return
        directory = self._directory(uid)
        states = [table for table in parts if table != TIMERS]
        pages = PageStore(self.store, uid, directory, list(map(state_name, states)))
        pages.size = self.state.sizes[uid]
        # An operator's own cells stay in its pages, whatever they are.
        declared = self.known[uid].states.values()
        growing = {info.name for info in declared if info.shape != "value" and not info.layout}
        pages.growing = [i for i, name in enumerate(pages.names) if name in growing]
        hashes = np.concatenate([part.hashes for part in parts.values()]).astype(np.uint32)
        pages.prepare(hashes, sum(rows.nbytes for rows in tables.values()))
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
        self.state.note_size(pages)

    def _add_rows(self, uid: str, part: Part) -> None:
        """Add the values of keys to an operator that keeps them as rows of columns."""
        operator: Any = self._operators[uid]
        pages = PageStore(self.store, uid, self._directory(uid), [], self.state.sizes[uid])
        rows = rows_of(operator, part.keys, part.fields[0])
        PointArrangement(pages, operator.form).replace(Visit(rows), rows)
        self.state.note_size(pages)

    def _add_sections(self, uid: str, tables: Mapping[str, pa.Table]) -> None:
        """Add the rows of tables to an operator that keeps them in pages of sections."""
        operator: Any = self._operators[uid]
        pages = PageStore(self.store, uid, self._directory(uid), [], self.state.sizes[uid])
        sections = []
        for form in operator.form.sections:
            table = tables.get(f"{SECTIONS}/{form.name}")
            sections.append(form.nothing() if table is None else form.of_table(table, uid))
        arrangement = SectionArrangement(pages, operator.form, operator.page_bytes)
        arrangement.put(SectionVisit(sections, 0, 1 << 32, whole=True), sections)
        operator.note_dues(pages.directory, sections)
        self.state.note_size(pages)

    def _parts(self, uid: str, tables: Mapping[str, pa.Table]) -> dict[str, Part]:
        """The rows on a shelf as the operator keeps them now; what it keeps by pane is stored here."""
        operator: Any = self._operators[uid]
        keyed = {state: table for state, table in tables.items() if state != PANES}
        parts = {name: Part.of(self.known[uid].table(name), t) for name, t in keyed.items()}
        if operator.keeps_panes:
            if PANES in tables:
                self._add_panes(uid, tables[PANES])
            if WINDOWS in parts:
                self._add_windows(uid, parts.pop(WINDOWS))
                parts.pop(TIMERS, None)
            return parts
        if PANES in tables:
            parts[WINDOWS] = self._windows_of(uid, tables[PANES], operator)
        if operator.keeps_windows and WINDOWS in parts:
            if PANES not in tables:
                self._convert(uid, parts[WINDOWS], operator)
            if PANES in tables or operator.fires_by_time_alone:
                renew_timers(parts, operator, self.state.clocks.get(uid, MIN_TIMESTAMP))
        return {name: part for name, part in parts.items() if len(part.hashes)}

    def _windows_of(self, uid: str, panes: pa.Table, operator: WindowOperator) -> Part:
        """The windows of the panes on a shelf."""
        known = self.known[uid].panes
        assert known is not None
        hosted = next(h for h in self.program.operators if h.operator is operator)
        clock = self.state.clocks.get(uid, MIN_TIMESTAMP)
        found = known.or_of(hosted.records).windows(panes, operator, clock, self.births)
        return Part.of_windows(found)

    def _convert(self, uid: str, part: Part, operator: WindowOperator) -> None:
        """Make up the windows as the operator does now."""
        layout = self.known[uid].info(WINDOWS).layout
        convert = converter(layout, operator)
        for entry in part.fields[-1]:
            if entry[0] is not None:
                if self.births.changes:
                    entry[0] = self.births.content(layout, entry[0])
                entry[0] = convert(entry[0])

    def _directory(self, uid: str) -> Directory:
        is_new = uid not in self.state.directories
        directory = self.state.pages_of(uid)
        if is_new and self.bits.get(uid, 0):
            directory.split(0, 0, self.bits[uid])
        return directory

    # -- panes -----------------------------------------------------------------------------------

    def _pane_store(self, uid: str) -> PaneStore:
        if uid not in self._panes:
            codec = self._operators[uid].codec  # type: ignore[attr-defined]
            self._panes[uid] = PaneStore(self._pane_values, uid, codec, merged)
        return self._panes[uid]

    def _add_windows(self, uid: str, windows: Part) -> None:
        """Add windows of single records to an operator that keeps panes."""
        operator: Any = self._operators[uid]
        layout, clock = (
            self.known[uid].info(WINDOWS).layout,
            self.state.clocks.get(uid, MIN_TIMESTAMP),
        )
        records, panes = records_of(windows, layout, operator, clock, self.births)
        for pane, part in by_pane(records, np.array(panes, np.int64)).items() if panes else ():
            self._pane_store(uid).add(pane, part)

    def _add_panes(self, uid: str, table: pa.Table) -> None:
        codec = self._operators[uid].codec  # type: ignore[attr-defined]
        numbers = [ints(table, name) for name in ("ts", *ORDER_COLUMNS)]
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
            ints(table, "hash").astype(np.uint32),
        )
        for pane, part in by_pane(records, ints(table, "pane")).items():
            self._pane_store(uid).add(pane, part)

    # -- what has no key -------------------------------------------------------------------------

    def _add_broadcast(self, uid: str, tables: Mapping[str, pa.Table]) -> None:
        """Add broadcast state: every slot has all of it."""
        by_name = {name.removeprefix(f"{BROADCAST}/"): table for name, table in tables.items()}
        maps = BroadcastMaps(OperatorInfo(uid, uid), by_name)
        maps.load(self.store)
        for name, table in by_name.items():
            part = Part.of(self.known[uid].table(f"{BROADCAST}/{name}"), table)
            maps.writable[name].put_all(dict(zip(*part.fields, strict=True)))
        maps.save()

    def add_held(self, table: pa.Table) -> None:
        """Add the records that wait for other channels, as far as they are this slot's."""
        for row in table.to_pylist():
            uid = waits_before(row["edge"])
            if self._becomes_windows(uid):
                self._hold_sums(uid, row["edge"], row["header"], row["payload"])
                continue
            waiting = self._edge_of(row["edge"])
            if waiting is not None and (row["whole"] or not waiting.everywhere):
                self._hold(waiting, row["header"], row["payload"])

    def _becomes_windows(self, uid: str) -> bool:
        """Whether sums waited for an operator that has windows of single records now."""
        known = self.known[uid].panes if uid in self.known else None
        if known is None or known.layout.content == "columns":
            return False
        edges = [waiting.edge for waiting in self._edges.values()]
        edges += [edge for hosted in self.program.operators for edge in hosted.edges]
        return all(edge.sums is None or waits_before(edge.name) != uid for edge in edges)

    def _hold_sums(self, uid: str, edge_name: str, header: bytes, payload: bytes) -> None:
        """Add sums that waited to the panes of their operator, if it is one of this stage."""
        hosted = next((h for h in self.program.operators if h.operator.info.uid == uid), None)
        known = self.known[uid].panes
        if hosted is None or known is None:
            return
        received = Received.of(header, payload)
        edge = next((e for e in hosted.edges if e.name == edge_name), hosted.edges[0])
        number = edge.index if edge.siblings > 1 else None
        received.keys = received.keys.through(arrival_step(hosted.operator.info.turn, number))
        panes = held_panes(received_table(received), known.layout, hosted.lag)
        mine = ints(panes, "hash") % self.program.slots == self.slot
        found = [self._held_panes[uid]] if uid in self._held_panes else []
        self._held_panes[uid] = pa.concat_tables([*found, panes.filter(pa.array(mine))])

    def _edge_of(self, name: str) -> WaitingEdge | None:
        """The edge of records; edges into one input of an operator can stand in for each other."""
        input_name, _, number = name.rpartition(":")
        first = self._edges.get(f"{input_name}:0")
        is_gone = first is not None and int(number) >= first.siblings
        return first if is_gone else self._edges.get(name)

    def _codec_of(self, edge: InEdge, received: Received) -> Codec:
        """How records that waited were encoded: as columns of their type then, or pickled."""
        in_columns = received.data[:4] == ARROW_STREAM
        is_other = edge.sums is not None and not self._was_sums(edge)
        if in_columns == isinstance(edge.codec, ArrowCodec) and not is_other:
            return edge.codec
        known = self.known.get(waits_before(edge.name))
        if in_columns and known is not None and known.records is not None:
            return ArrowCodec(known.records)
        return edge.codec if in_columns else PickleCodec()

    def _was_sums(self, edge: InEdge) -> bool:
        known = self.known.get(waits_before(edge.name))
        panes = None if known is None else known.panes
        # What says nothing of its layout was made by the same program.
        return known is None or known.layout is None or panes is not None

    def _hold(self, waiting: WaitingEdge, header: bytes, payload: bytes) -> None:
        edge = waiting.edge
        received = Received.of(header, payload)
        try:
            records = received.decoded(self._codec_of(edge, received))
        except Exception as error:
            raise other_records(edge.name) from error
        if not waiting.everywhere:
            hashes = received.hashes
            assert hashes is not None
            if edge.key is not None:
                hashes = _rehashed(records, edge.key, hashes)
            mine = np.flatnonzero(hashes % self.program.slots == self.slot)
            if not len(mine):
                return
            records = records.take(mine)
        if edge.sums is not None and not self._was_sums(edge):
            sums = edge.sums.of(records)
            if sums is None:
                return
            records = sums
        data = encode(records, edge.codec, raised=True)
        self.store.put(f"held/{self.state.next_held}", pickle.dumps(data))
        self.state.held[self.state.next_held] = edge.name
        self.state.next_held += 1


def _rehashed(records: Records, selector: Callable[[Any], Any], before: Hashes) -> Hashes:
    """Give records the keys and hashes that they have now; other programs and versions had others."""
    keys, hashes = [], []
    for value, old in zip(as_list(records.values), before.tolist(), strict=True):
        try:
            key = selector(value)
            hashed = stable_hash(key)
        except KeyEncodingError:
            raise
        except Exception:
            key, hashed = NotSelected.UNASKED, old  # a record that its operator will skip
        keys.append(key)
        hashes.append(hashed)
    records.hashes = np.array(hashes, np.uint32)
    records.selected = None if fields_read_by(selector) is not None else Selected.of(keys)
    return records.hashes


def other_records(edge: str) -> CheckpointError:
    """The error of held records of another type than those of the program."""
    uid = waits_before(edge)
    return CheckpointError(
        "HELD_RECORDS_CHANGED",
        f"records wait for other channels on their way to operator {uid!r}, and they are of another "
        "type than those that it reads in this program",
        parameters={"uid": uid},
        hint="go on with the program as it was until they have been processed, then take a savepoint",
    )
