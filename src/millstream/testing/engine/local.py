"""A job in memory: the kernel's stages with dictionaries for the state store and lists for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from millstream.common.errors import MillstreamError, PlanError
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.reading import Progress, Range, blocks, channel_number
from millstream.connectors.source import ChannelName, ChannelSource, Position
from millstream.connectors.source_calls import SourceCalls
from millstream.kernel.calls.reports import TaskReport
from millstream.kernel.calls.totals import Totals
from millstream.kernel.records.buffers import (
    DATA,
    NO_TIMESTAMP,
    REPORT,
    BufferRow,
    Records,
    codec_for,
    decode,
    merged,
)
from millstream.kernel.snapshot.job import JobState, exported, restored, without
from millstream.kernel.stages.programs import Block, KeyedProgram, control_rows
from millstream.kernel.state.pages import MemoryStore
from millstream.kernel.time.watermarks import Control
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
from millstream.testing.engine.copies import FunctionCopies
from millstream.testing.engine.local_sinks import Attempts, LocalSinks
from millstream.testing.engine.records import StreamRecord
from millstream.testing.sources import MarkedChannels, abort_error

Output = tuple[Any, int | None]
Place = tuple[int, Any]
"""(source number, name of the channel)"""
Reads = Mapping[Place, int] | int | None
"""How many records of each channel, one number for all, or None for everything."""


@dataclass
class Snapshot:
    """Everything that an epoch commits."""

    stores: dict[tuple[int, int], MemoryStore] = field(default_factory=dict)
    positions: dict[Place, Position] = field(default_factory=dict)
    epoch: int = 0

    def copy(self) -> Snapshot:
        stores = {place: MemoryStore(store) for place, store in self.stores.items()}
        return Snapshot(stores, dict(self.positions), self.epoch)


@dataclass(frozen=True)
class LocalSavepoint:
    """A committed epoch apart from the program that made it."""

    state: JobState
    positions: Mapping[tuple[str, Any], Position]
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
    open_ended
        Channels may have more records in the next run, so none of them is over.
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
        open_ended: bool = False,
    ) -> None:
        self.options = options or JobOptions(parallelism=1)
        self._open_ended = open_ended
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
        self._open: list[SourceCalls] = []
        self._progress = [
            Progress(source, node.id, name=node.name, location=node.location)
            for node, source in self._sources()
        ]
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
        if not self._open:
            for progress in self._progress:
                progress.calls.open()
                self._open.append(progress.calls)

    def close(self) -> None:
        """Close the functions, as the end of their tasks does."""
        for source in self.programs.sources.values():
            source.close()
        for stage in self.programs.stages:
            stage.close()
        while self._open:
            self._open.pop().close()
        self._sinks.stop()

    # -- channels --------------------------------------------------------------------------------

    def _sources(self) -> Iterable[tuple[SourceNode, ChannelSource]]:
        for node in self.component.sources:
            assert isinstance(node.source, ChannelSource)
            yield node, node.source

    def places(self) -> dict[Place, tuple[SourceNode, ChannelSource]]:
        """All channels that there are now, by source number and channel."""
        return {
            (number, progress.channel(name)): (node, source)
            for number, (node, source) in enumerate(self._sources())
            for progress in [self._progress[number]]
            for name in progress.latest(self._stands(number))
        }

    def _stands(self, number: int) -> dict[str, Position]:
        """The positions of a source, by the names of its channels."""
        positions = self.committed.positions.items()
        return {str(channel): at for (source, channel), at in positions if source == number}

    def latest(self, place: Place) -> Position | None:
        """How far a channel can be read, as it has said last; None: it has no end."""
        number, channel = place
        return self._progress[number].known()[str(channel)]

    def end(self, place: Place) -> Position | None:
        """Where a channel ends, None if it has no end."""
        is_final = self._progress[place[0]].is_final(str(place[1]))
        return self.latest(place) if is_final else None

    def _ends(self, place: Place, position: Position) -> bool:
        """Whether a channel ends at a position: nothing more can come of it, in a later run either."""
        return position == self.end(place) and not self._open_ended

    def position(self, place: Place) -> Position:
        """How far a channel has been read."""
        found = self.committed.positions.get(place)
        return self._progress[place[0]].first(str(place[1])) if found is None else found

    def ranges(self, reads: Reads) -> dict[Place, tuple[Position, Position]]:
        """The range of each channel that an epoch knows by its end; of those that wait it is empty."""
        return {
            (number, progress.channel(name)): found
            for number, progress in enumerate(self._progress)
            for name, found in self._ranges_of(number, progress, reads).items()
        }

    def _ranges_of(
        self, number: int, progress: Progress, reads: Reads
    ) -> dict[str, tuple[Position, Position]]:
        ranges: dict[str, tuple[Position, Position]] = {}

        def read(name: str, start: Position) -> Position:
            stop = self._stop((number, progress.channel(name)), reads, start)
            ranges[name] = start, stop
            return stop

        before = self._stands(number)
        known = progress.latest(before)
        if self.batch:
            # There is one epoch: no channel waits for its turn.
            for name in known:
                read(name, before[name] if name in before else progress.first(name))
            return ranges
        _, first = progress.take_turns(before, read)
        return {name: (at, at) for name, at in first.items()} | ranges

    def _stop(self, place: Place, reads: Reads, start: Position) -> Position:
        """How far an epoch reads a channel from a position on."""
        latest, progress = self.latest(place), self._progress[place[0]]
        progress.refuse_shorter(str(place[1]), start)
        wanted = reads.get(place, 0) if isinstance(reads, Mapping) else reads
        if wanted is None:
            return start if latest is None else latest
        if wanted == 0 or start == latest:
            return start
        if latest is None:
            return start + wanted
        return progress.calls.advance(place[1], start, latest, wanted)

    def _left(self, place: Place) -> bool:
        """Whether a channel has records that were not read."""
        latest, number = self.latest(place), self._progress[place[0]].calls.number
        return latest is not None and number(self.position(place)) < number(latest)

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
        control = self._control(work, end and self._abort is None)
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
        return not any(self._left(place) for place in self.places())

    def _control(self, work: Snapshot, end: bool) -> Control:
        return Control(
            started=self._starting,
            announced=self._announced(work),
            ended=self.component.timelines() if end else frozenset(),
        )

    def _announced(self, work: Snapshot) -> tuple[tuple[int, int], ...]:
        """All channels that may still bring something; after the start only those that are new."""
        channels: dict[int, list[int]] = {node.id: [] for node in self.component.sources}
        found = False
        for place, (node, source) in self.places().items():
            new = self._starting or place not in self.committed.positions
            if (
                place in work.positions
                and new
                and source.announces(place[1])
                and not self._ends(place, self.position(place))
            ):
                found = True
                channels[node.id].append(channel_number(node.id, place[1]))
        return tuple(self.component.announced(channels)) if found or self._starting else ()

    def _commit(self, work: Snapshot, gathered: _Gathered) -> dict[str, list[Output]]:
        epoch, work.epoch = work.epoch, work.epoch + 1
        self._sinks.commit(epoch, gathered.staged, gathered.parts)
        self.committed = work
        for number, progress in enumerate(self._progress):
            mine = {str(place[1]): at for place, at in work.positions.items() if place[0] == number}
            progress.commit(mine)
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

    def _read(self, work: Snapshot, reads: Reads, splits: int) -> list[BufferRow]:
        rows: list[BufferRow] = []
        self._abort = None
        found: dict[int, list[Block]] = {node.id: [] for node in self.component.sources}
        sources = list(self._sources())
        for place, (start, stop) in self.ranges(reads).items():
            node, source = sources[place[0]]
            stop = self._stop_at_mark(source, place[1], start, stop)
            work.positions[place] = stop
            found[node.id] += self._blocks(node, source, place, start, stop, splits)
        for node in self.component.sources:
            # Tasks in turn, as Spark's would be: which task reads a fragment must not matter.
            for task in range(self.options.parallelism):
                mine = found[node.id][task :: self.options.parallelism]
                if mine:
                    rows += self.programs.sources[node.id].run(mine, task)
        return rows

    def _stop_at_mark(
        self, source: ChannelSource, channel: ChannelName, start: Position, stop: Position
    ) -> Position:
        if self._abort is not None:
            return start  # The run has crashed before it came to this channel.
        if isinstance(source, MarkedChannels):
            position = source.abort(channel, start, stop)
            if position is not None:
                self._abort = abort_error(channel, position)
                return position
        return stop

    def _blocks(
        self,
        node: SourceNode,
        source: ChannelSource,
        place: Place,
        start: Position,
        stop: Position,
        splits: int,
    ) -> list[Block]:
        borders = [start, stop]
        calls = self._progress[place[0]].calls
        if isinstance(start, int) and calls.cuts_anywhere:
            borders = [start + (stop - start) * cut // splits for cut in range(splits + 1)]
        number = channel_number(node.id, place[1])
        ranges = [
            Range(place[1], number, first, last, finished=self._ends(place, last))
            for first, last in pairwise(borders)
            if calls.number(last) > calls.number(first)
        ]
        return list(blocks(source, ranges, node.name, node.location))

    def _stage(
        self, index: int, program: KeyedProgram, rows: list[BufferRow], work: Snapshot
    ) -> list[BufferRow]:
        out: list[BufferRow] = []
        for slot in range(self.options.slot_count):
            mine = [row for row in rows if row.slot == slot]
            if mine:
                store = work.stores.setdefault((index, slot), MemoryStore())
                out += program.run(slot, mine, store, self.now_ms)
        return out

    def _gather(self, rows: list[BufferRow]) -> _Gathered:
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
