"""The state of a whole job as tables, and the stores of another program made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from millstream.common.typeinfo import TypeInformation
from millstream.kernel.operators.reduce import REDUCED
from millstream.kernel.snapshot.births import Births
from millstream.kernel.snapshot.build import (
    SlotBuilder,
    divided,
    shelf_bits,
    waiting_edges,
)
from millstream.kernel.snapshot.export import OperatorState, SlotExporter, TableName
from millstream.kernel.snapshot.layouts import WINDOWS, agreed
from millstream.kernel.snapshot.tables import HELD, is_broadcast, waits_before
from millstream.kernel.stages.programs import KeyedProgram
from millstream.kernel.state.info import StateInfo
from millstream.kernel.state.pages import MemoryStore
from millstream.kernel.state.slot import HEADER, SlotState, States, decoded_header
from millstream.kernel.time.watermarks import TimeTable

Place = tuple[int, int]
"""(stage, slot)"""


@dataclass
class JobTime:
    """Where the clocks of a job stand: its channels, and each operator's own clock."""

    table: TimeTable = field(default_factory=TimeTable)
    clocks: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(headers: Iterable[SlotState]) -> JobTime:
        """The time in the headers of one slot of each stage, in the order of the stages.

        The last stage knows everything, also watermarks that are made in earlier stages.
        """
        time = JobTime()
        for header in headers:
            time.table = header.table
            time.clocks |= header.clocks
        return time

    @staticmethod
    def of_queries(times: Iterable[JobTime]) -> JobTime:
        """The time of a job whose queries each know of their own channels only."""
        whole = JobTime()
        for time in times:
            whole.table.channels |= time.table.channels
            whole.table.peaks |= time.table.peaks
            whole.table.ended |= time.table.ended
            whole.table.now_ms = max(whole.table.now_ms, time.table.now_ms)
            whole.clocks |= time.clocks
        return whole

    def within(self, timelines: frozenset[int]) -> TimeTable:
        """The channels of some timelines: those of a program that goes on."""
        table = self.table
        return TimeTable(
            {place: channel for place, channel in table.channels.items() if place[0] in timelines},
            {line: peak for line, peak in table.peaks.items() if line in timelines},
            table.ended & timelines,
            table.now_ms,
        )


@dataclass
class JobState:
    """All state of a job, apart from any program. ``depths``: those of its operators, see `Births`."""

    operators: dict[str, OperatorState]
    tables: dict[TableName, list[pa.Table]]
    time: JobTime
    depths: Mapping[str, int] = field(default_factory=dict)

    def rows(self, uid: str) -> int:
        return sum(t.num_rows for name, ts in self.tables.items() if name[0] == uid for t in ts)

    def with_waiting_records(self) -> set[str]:
        """The operators with records before them that wait for other channels, by uid."""
        tables = self.tables.get(("", HELD), [])
        return {waits_before(edge) for table in tables for edge in table["edge"].to_pylist()}


def operator_states(
    states: States,
    key_types: Mapping[str, TypeInformation | None],
    layouts: Mapping[str, str] | None = None,
    records: Mapping[str, TypeInformation | None] | None = None,
) -> dict[str, OperatorState]:
    """The operators with state, by the headers and the program's manifest."""
    return {
        uid: OperatorState(
            uid,
            key_type,
            {n: StateInfo.from_dict(d) for n, d in states.get(uid, {}).items()},
            (layouts or {}).get(uid),
            (records or {}).get(uid),
        )
        for uid, key_type in key_types.items()
    }


def exported(
    stores: Mapping[Place, Mapping[str, bytes]],
    key_types: Mapping[str, TypeInformation | None],
    depths: Mapping[str, int],
) -> JobState:
    """The state in the stores of all slots."""
    headers = {place: decoded_header(store[HEADER]) for place, store in sorted(stores.items())}
    states: States = {}
    for header in headers.values():
        for uid, infos in header.states.items():
            states.setdefault(uid, {}).update(infos)
    operators = operator_states(states, key_types)
    tables: dict[TableName, list[pa.Table]] = {}
    for (_, slot), store in sorted(stores.items()):
        exporter = SlotExporter(operators.values(), whole=slot == 0)
        for name, data in store.items():
            _gather(exporter.add(name, data), tables)
        _gather(exporter.finish(), tables)
    first_slots = [header for (_, slot), header in headers.items() if slot == 0]
    return JobState(operators, tables, JobTime.of(first_slots), depths)


def _gather(
    found: Iterator[tuple[TableName, pa.Table]], tables: dict[TableName, list[pa.Table]]
) -> None:
    for name, table in found:
        tables.setdefault(name, []).append(table)


def first_header(
    stage: KeyedProgram,
    time: JobTime,
    operators: Mapping[str, OperatorState],
    timelines: frozenset[int],
) -> SlotState:
    """The header that every slot of a stage starts with."""
    uids = [hosted.operator.info.uid for hosted in stage.operators]
    clocks = {uid: time.clocks[uid] for uid in uids if uid in time.clocks}
    states = {
        hosted.operator.info.uid: _states(operators[hosted.operator.info.uid], hosted.operator)
        for hosted in stage.operators
        if hosted.operator.info.uid in operators
    }
    return SlotState(table=time.within(timelines), clocks=clocks, states=states)


def _states(known: OperatorState, operator: Any) -> dict[str, dict[str, Any]]:
    infos = dict(known.states)
    if operator.keeps_rows:
        infos[REDUCED] = operator.row_info
    elif REDUCED in infos and infos[REDUCED].layout is not None:
        del infos[REDUCED]
    if not operator.keeps_windows:
        if operator.keeps_panes:
            infos.pop(WINDOWS, None)
    elif known.panes is not None:
        infos[WINDOWS] = StateInfo.own(WINDOWS, known.panes.content_of(operator))
    elif WINDOWS in infos:
        infos[WINDOWS] = replace(infos[WINDOWS], layout=agreed(infos[WINDOWS].layout, operator))
    return {name: info.to_dict() for name, info in infos.items()}


def restored(
    state: JobState, stages: Sequence[KeyedProgram], timelines: frozenset[int]
) -> dict[Place, MemoryStore]:
    """The stores of a program's slots that hold the state."""
    found: dict[Place, MemoryStore] = {}
    edges = waiting_edges(stages)
    births = Births.between(state.depths, stages)
    for index, stage in enumerate(stages):
        uids = [hosted.operator.info.uid for hosted in stage.operators]
        bits = {uid: shelf_bits(state.rows(uid), stage.slots) for uid in uids}
        header = first_header(stage, state.time, state.operators, timelines)
        parts = _parts(state, stage, bits)
        for slot in range(stage.slots):
            builder = SlotBuilder(slot, stage, state.operators, bits, header, edges[index], births)
            found[index, slot] = MemoryStore(_values(builder, parts[slot], state))
    return found


Parts = dict[tuple[str, int], dict[str, list[pa.Table]]]
"""By operator and shelf, the rows of each state."""


def _parts(state: JobState, stage: KeyedProgram, bits: Mapping[str, int]) -> list[Parts]:
    """The rows of each slot of a stage."""
    parts: list[Parts] = [{} for _ in range(stage.slots)]
    operators = {hosted.operator.info.uid: hosted.operator for hosted in stage.operators}
    for (uid, name), tables in state.tables.items():
        for table in tables if uid in operators else ():
            if is_broadcast(name):
                rows = [(slot, 0, table) for slot in range(stage.slots)]
            else:
                known = state.operators[uid].table(name)
                rows = list(divided(table, known, operators[uid], stage.slots, bits[uid]))
            for slot, shelf, part in rows:
                parts[slot].setdefault((uid, shelf), {}).setdefault(name, []).append(part)
    return parts


def _values(builder: SlotBuilder, parts: Parts, state: JobState) -> Iterator[tuple[str, bytes]]:
    for table in state.tables.get(("", HELD), []):
        builder.add_held(table)
    for (uid, _), tables in sorted(parts.items()):
        builder.add(uid, {name: pa.concat_tables(found) for name, found in tables.items()})
        yield from builder.take()
    yield from builder.finish()


def without(state: JobState, uids: frozenset[str]) -> JobState:
    """The state without that of some operators."""
    tables = {name: found for name, found in state.tables.items() if name[0] not in uids}
    operators = {uid: o for uid, o in state.operators.items() if uid not in uids}
    return replace(state, tables=tables, operators=operators)


__all__ = ["JobState", "JobTime", "exported", "restored", "without"]
