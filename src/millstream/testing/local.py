"""A job in memory: the kernel's stages with dictionaries for the state store and lists for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError, PlanError
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.buffers import (
    DATA,
    NO_TIMESTAMP,
    REPORT,
    Records,
    Row,
    codec_for,
    decode,
    merged,
)
from millstream.kernel.pages import MemoryStore
from millstream.kernel.reports import TaskReport
from millstream.kernel.snapshot.job import JobState, exported, restored, without
from millstream.kernel.stages import Block, KeyedProgram, control_rows
from millstream.kernel.time import Control
from millstream.kernel.totals import Totals
from millstream.metrics import JobMetrics
from millstream.plan.compile import Compiler, Programs
from millstream.plan.graph import JobGraph, SourceNode
from millstream.plan.numbering import with_numbers
from millstream.plan.options import JobOptions
from millstream.plan.parts import job_parts
from millstream.plan.physical import NOTHING, Stored
from millstream.plan.planner import Component, plan
from millstream.plan.restoring import (
    Offsets,
    channel_offsets,
    depths,
    key_types,
    non_restored,
    panes_of_windows,
    record_types,
    refuse_ended,
    refuse_other_keys,
    refuse_other_layouts,
    refuse_other_offsets,
    state_layouts,
)
from millstream.plan.specs import ChannelSpec, refuse_shorter
from millstream.testing.copies import FunctionCopies
from millstream.testing.local_sinks import Attempts, LocalSinks
from millstream.testing.records import StreamRecord
from millstream.testing.sources import MarkedChannels, abort_error

Output = tuple[Any, int | None]
Place = tuple[int, int]
"""(source number, channel)"""
Reads = Mapping[Place, int] | int | None
"""How many records of each channel, one number for all, or None for everything."""


@dataclass
class Snapshot:
    """Everything that an epoch commits."""

    stores: dict[tuple[int, int], MemoryStore] = field(default_factory=dict)
    positions: dict[Place, int] = field(default_factory=dict)
    epoch: int = 0

    def copy(self) -> Snapshot:
        stores = {place: MemoryStore(store) for place, store in self.stores.items()}
        return Snapshot(stores, dict(self.positions), self.epoch)


@dataclass(frozen=True)
class LocalSavepoint:
    """A committed epoch apart from the program that made it."""

    state: JobState
    positions: Mapping[tuple[str, int], int]
    numbers: Mapping[str, int]
    layouts: Mapping[str, str]
    offsets: Offsets
    epoch: int
    now_ms: int
    records: Mapping[str, TypeInformation] = field(default_factory=dict)
    as_panes: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Gathered:
    """The records of an epoch, by sink and part, and the reports of its tasks."""

    parts: dict[int, dict[int, list[Records]]]
    reports: list[TaskReport]
    staged: dict[int, list[Any]] = field(default_factory=dict)


class LocalJob:
    """Runs a program's graph epoch by epoch; `run_local` is the comfortable way to use it.

    An epoch commits as a whole: if it fails, state and positions stay as they were, and running it
    again reads the same records. All state passes through bytes, so a test sees aliasing mistakes.

    Parameters
    ----------
    graph
        The graph of a program whose sources are collections or generators.
    options
        Parallelism, slots, channel order and so on.
    batch
        Compile as for batch mode; then run ``run_all`` only.
    component
        Which of several unconnected parts of the graph to run.
    copy_functions
        Run copies of the functions, new ones after each `start`, as on Spark.
    savepoint
        Go on from what another job's `savepoint` gave, which may be that of another program.
    allow_non_restored_state
        Continue without the state of operators that this program does not have, and without the
        states that their functions no longer ask for.
    totals
        Where the metrics of the whole job are added up, if it has other parts.
    write
        Run all sinks; by default only those that keep records for the program.
    attempts
        The identity of the job for its sinks, and how often it was started before.
    """

    def __init__(
        self,
        graph: JobGraph,
        options: JobOptions | None = None,
        *,
        batch: bool = False,
        component: int | None = None,
        copy_functions: bool = False,
        savepoint: LocalSavepoint | None = None,
        allow_non_restored_state: bool = False,
        totals: Totals | None = None,
        write: bool = False,
        attempts: Attempts | None = None,
    ) -> None:
        self.options = options or JobOptions(parallelism=1)
        if allow_non_restored_state:
            self.options = replace(self.options, allow_non_restored_state=True)
        if savepoint is not None:
            graph = with_numbers(graph, savepoint.numbers)
        self.batch = batch
        self._copies = FunctionCopies(graph) if copy_functions else None
        self._index = component
        self._stored = NOTHING
        if savepoint is not None:
            self._stored = Stored(savepoint.layouts, savepoint.as_panes)
        self.component: Component = self._planned(graph)
        self.now_ms = 0
        self.committed = Snapshot()
        self.outputs: dict[str, list[Output]] = {n.name: [] for n in self.component.sinks}
        self.records: dict[int, list[StreamRecord]] = {n.id: [] for n in self.component.sinks}
        self.totals = totals or totals_of([self.component])
        self._abort: MillstreamError | None = None
        self._sinks = LocalSinks(
            self.component, attempts or Attempts(), write=write, copies=copy_functions
        )
        self.start()
        if savepoint is not None:
            self._restore(savepoint, allow_non_restored_state)

    def _planned(self, graph: JobGraph) -> Component:
        components = plan(graph, self.options.configuration, self._stored).components
        if self._index is None and len(components) != 1:
            raise PlanError("LOCAL_COMPONENTS", "a local job takes one connected program")
        return components[self._index or 0]

    @property
    def metrics(self) -> JobMetrics:
        """The measurements of committed epochs."""
        return self.totals.metrics()

    def start(self) -> None:
        """Start or restart: functions are opened again, on the state of the last committed epoch."""
        if self._copies is not None:
            self.component = self._planned(self._copies.graph())
        compiler = Compiler(
            self.component, self.options, batch=self.batch, wall_clock_ms=lambda: self.now_ms
        )
        self.programs: Programs = compiler.compile()
        self._sinks.stop()
        self._starting = True

    def close(self) -> None:
        """Close the functions, as the end of their tasks does."""
        for source in self.programs.sources.values():
            source.close()
        for stage in self.programs.stages:
            stage.close()
        self._sinks.stop()

    def _sources(self) -> Iterable[tuple[SourceNode, ChannelSpec]]:
        for node in self.component.sources:
            assert isinstance(node.source, ChannelSpec)
            yield node, node.source

    def places(self) -> dict[Place, tuple[SourceNode, ChannelSpec]]:
        """All channels, by source number and channel."""
        return {
            (number, channel): (node, spec)
            for number, (node, spec) in enumerate(self._sources())
            for channel in spec.source.channels()
        }

    # -- savepoints ------------------------------------------------------------------------------

    def savepoint(self) -> LocalSavepoint:
        """Everything that was committed, separate from this program."""
        component, positions = self.component, {}
        for (number, channel), position in self.committed.positions.items():
            positions[component.uids[component.sources[number].id], channel] = position
        state = exported(self.committed.stores, key_types(component), depths(component))
        numbers = {component.uids[node_id]: node_id for node_id in component.live}
        return LocalSavepoint(
            state,
            positions,
            numbers,
            state_layouts(component),
            channel_offsets(component),
            self.committed.epoch,
            self.now_ms,
            record_types(component),
            panes_of_windows(component),
        )

    def _restore(self, savepoint: LocalSavepoint, allow_non_restored_state: bool) -> None:
        gone = non_restored(
            savepoint.state.operators,
            savepoint.state.with_waiting_records(),
            [self.component],
            allow_non_restored_state,
        )
        refuse_ended(savepoint.state.time.table.ended)
        refuse_other_layouts(savepoint.layouts, [self.component])
        refuse_other_offsets(savepoint.offsets, [self.component])
        stored = {uid: operator.key_type for uid, operator in savepoint.state.operators.items()}
        refuse_other_keys(stored, [self.component])
        state = without(savepoint.state, gone)
        state.operators = {
            uid: replace(o, layout=savepoint.layouts.get(uid), records=savepoint.records.get(uid))
            for uid, o in state.operators.items()
        }
        stores = restored(state, self.programs.stages, self.component.timelines())
        sources = {self.component.uids[n.id]: i for i, n in enumerate(self.component.sources)}
        positions = {
            (sources[uid], channel): position
            for (uid, channel), position in savepoint.positions.items()
            if uid in sources
        }
        self.committed = Snapshot(stores, positions, savepoint.epoch)
        self.now_ms = savepoint.now_ms

    # -- epochs ----------------------------------------------------------------------------------

    def epoch(
        self,
        reads: Reads = None,
        *,
        end: bool = False,
        now_ms: int | None = None,
        splits: int = 1,
    ) -> dict[str, list[Output]]:
        """Run one epoch.

        ``reads``: how many records of each (source number, channel), one number for all, or None
        for everything. ``splits`` cuts each range into that many fragments, read by tasks of their
        own. Returns what each sink got, by the sink's name.
        """
        if now_ms is not None:
            self.now_ms = now_ms
        work = self.committed.copy()
        self._sinks.start(self.programs.sink_edges, work.epoch)
        read = self._read(work, reads, splits)
        control = self._control(end and self._abort is None)
        rows = [*control_rows(control, self.options.slot_count), *read]
        for index, program in enumerate(self.programs.stages):
            rows = self._stage(index, program, rows, work)
        gathered = self._gather(rows)
        gathered.staged, reports = self._sinks.write(work.epoch, gathered.parts)
        gathered.reports += reports
        if self._abort is not None:
            # All of the epoch has run, and none of it may count: a crash just before the commit.
            raise self._abort
        return self._commit(work, gathered)

    def run_all(self, reads: int | None = None, **options: Any) -> dict[str, list[Output]]:
        """Read everything, at most ``reads`` records of each channel in an epoch, then end."""
        if self.batch:
            self.epoch(None, end=True, **options)
            return self.outputs
        while not self.exhausted():
            self.epoch(reads, **options)
        self.epoch(0, end=True)
        return self.outputs

    def exhausted(self) -> bool:
        """Whether all records have been read."""
        positions = self.committed.positions
        return all(
            positions.get(place, 0) >= (spec.source.end(place[1]) or 0)
            for place, (_, spec) in self.places().items()
        )

    def _control(self, end: bool) -> Control:
        return Control(
            started=self._starting,
            announced=self._announced() if self._starting else (),
            ended=self.component.timelines() if end else frozenset(),
        )

    def _announced(self) -> tuple[tuple[int, int], ...]:
        """All channels that may still bring something."""
        channels: dict[int, list[int]] = {}
        for place, (node, spec) in self.places().items():
            if self.committed.positions.get(place, 0) != spec.source.end(place[1]):
                channels.setdefault(node.id, []).append(node.id << 32 | place[1])
        return tuple(self.component.announced(channels))

    def _commit(self, work: Snapshot, gathered: _Gathered) -> dict[str, list[Output]]:
        epoch, work.epoch = work.epoch, work.epoch + 1
        self._sinks.commit(epoch, gathered.staged, gathered.parts)
        self.committed = work
        self._starting = False
        for report in gathered.reports:
            self.totals.add(report)
        self.totals.end_epoch(self.component.index, epoch)
        by_name: dict[str, list[Output]] = {}
        for node in self.component.sinks:
            parts = gathered.parts.get(node.id)
            if parts is not None:
                records = in_order([part for found in parts.values() for part in found])
                self.totals.add_written(self.component.uids[node.id], len(records))
                by_name.setdefault(node.name, []).extend(records)
                self.outputs[node.name].extend(records)
                self.records[node.id].extend(records)
        return by_name

    # -- one epoch, step by step -----------------------------------------------------------------

    def _read(self, work: Snapshot, reads: Reads, splits: int) -> list[Row]:
        rows: list[Row] = []
        self._abort = None
        for number, (node, spec) in enumerate(self._sources()):
            blocks = []
            for channel in spec.source.channels():
                start = work.positions.get((number, channel), 0)
                refuse_shorter(spec.source, channel, start, node.name, node.location)
                stop = _stop(reads, number, channel, start, spec.source.end(channel))
                stop = self._stop_at_mark(spec, channel, start, stop)
                work.positions[(number, channel)] = stop
                blocks += self._blocks(node, spec, channel, start, stop, splits)
            # Tasks in turn, as Spark's would be: which task reads a fragment must not matter.
            for task in range(self.options.parallelism):
                mine = blocks[task :: self.options.parallelism]
                if mine:
                    rows += self.programs.sources[node.id].run(mine, task)
        return rows

    def _stop_at_mark(self, spec: ChannelSpec, channel: int, start: int, stop: int) -> int:
        if self._abort is not None:
            return start  # The run has crashed before it came to this channel.
        if isinstance(spec.source, MarkedChannels):
            position = spec.source.abort(channel, start, stop)
            if position is not None:
                self._abort = abort_error(channel, position)
                return position
        return stop

    def _blocks(
        self, node: SourceNode, spec: ChannelSpec, channel: int, start: int, stop: int, splits: int
    ) -> list[Block]:
        borders = np.linspace(start, stop, splits + 1).astype(int).tolist()
        blocks = []
        for first, last in pairwise(borders):
            if last > first:
                values, times = spec.source.read(channel, first, last)
                ts = None
                if times is not None:
                    ts = np.array([MIN_TIMESTAMP if t is None else t for t in times], np.int64)
                done = last == spec.source.end(channel)
                blocks.append(Block(values, ts, node.id << 32 | channel, first, first, done))
        return blocks

    def _stage(
        self, index: int, program: KeyedProgram, rows: list[Row], work: Snapshot
    ) -> list[Row]:
        out: list[Row] = []
        for slot in range(self.options.slot_count):
            mine = [row for row in rows if row.slot == slot]
            if mine:
                store = work.stores.setdefault((index, slot), MemoryStore())
                out += program.run(slot, mine, store, self.now_ms)
        return out

    def _gather(self, rows: list[Row]) -> _Gathered:
        parts: dict[int, dict[int, list[Records]]] = {}
        reports = []
        edges = {edge.tag: edge for edge in self.programs.sink_edges}
        for row in rows:
            if row.kind == DATA:
                edge = edges[row.tag]
                records = decode(row.header, row.payload, codec_for(edge.type_info))
                part = row.slot % self.options.parallelism
                parts.setdefault(edge.sink, {}).setdefault(part, []).append(records)
            elif row.kind == REPORT:
                reports.append(TaskReport.from_bytes(row.payload))
        return _Gathered(parts, reports)

    def state_entries(self) -> int:
        """How many values the state store holds, headers apart: 0 when everything was cleaned up."""
        return sum(len([n for n in s if n != "header"]) for s in self.committed.stores.values())


def totals_of(components: Iterable[Component]) -> Totals:
    """The totals of a job in memory. Its time does not pass, so nothing has a rate."""
    return Totals(job_parts(components), now=lambda: 0.0)


def in_order(parts: list[Records]) -> list[StreamRecord]:
    """Records of several buffers, in the one order of the job."""
    records = merged(parts)
    times = [None if ts == NO_TIMESTAMP else ts for ts in records.ts.tolist()]
    return list(map(StreamRecord, records.values, times))


def _stop(reads: Reads, number: int, channel: int, start: int, end: int | None) -> int:
    if reads is None:
        wanted = (end if end is not None else start) - start
    elif isinstance(reads, int):
        wanted = reads
    else:
        wanted = reads.get((number, channel), 0)
    return start + wanted if end is None else min(start + wanted, end)
