"""A job in memory: the kernel's stages with dictionaries for the state store and lists for Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from millstream.common.errors import PlanError
from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.buffers import (
    DATA,
    NO_TIMESTAMP,
    REPORT,
    Records,
    Row,
    codec_for,
    concat_records,
    decode,
)
from millstream.kernel.pages import MemoryStore
from millstream.kernel.stages import Block, KeyedProgram, control_rows
from millstream.kernel.time import Control
from millstream.plan.compile import Compiler, Programs
from millstream.plan.graph import JobGraph, SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component, plan
from millstream.plan.specs import ChannelSpec

Output = tuple[Any, int | None]


@dataclass
class _Snapshot:
    """All that an epoch commits."""

    stores: dict[tuple[int, int], MemoryStore] = field(default_factory=dict)
    positions: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy(self) -> _Snapshot:
        stores = {place: MemoryStore(store) for place, store in self.stores.items()}
        return _Snapshot(stores, dict(self.positions))


class LocalJob:
    """Runs a program's graph epoch by epoch.

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
    """

    def __init__(
        self, graph: JobGraph, options: JobOptions | None = None, *, batch: bool = False
    ) -> None:
        self.options = options or JobOptions(parallelism=1)
        self.batch = batch
        components = plan(graph).components
        if len(components) != 1:
            raise PlanError("LOCAL_COMPONENTS", "a local job takes one connected program")
        self.component: Component = components[0]
        self.now_ms = 0
        self.committed = _Snapshot()
        self.outputs: dict[str, list[Output]] = {n.name: [] for n in self.component.sinks}
        self.counters: dict[str, int] = {}
        self.start()

    def start(self) -> None:
        """Start or restart: fresh functions, the state of the last committed epoch."""
        compiler = Compiler(
            self.component, self.options, batch=self.batch, wall_clock_ms=lambda: self.now_ms
        )
        self.programs: Programs = compiler.compile()
        channels = {
            node.id: [node.id << 32 | c for c in spec.source.channels() if spec.source.end(c) != 0]
            for node, spec in self._sources()
        }
        self._pending = Control(started=True, announced=tuple(self.component.announced(channels)))

    def _sources(self) -> Iterable[tuple[SourceNode, ChannelSpec]]:
        for node in self.component.sources:
            assert isinstance(node.source, ChannelSpec)
            yield node, node.source

    # -- epochs ----------------------------------------------------------------------------------

    def epoch(
        self,
        reads: Mapping[tuple[int, int], int] | int | None = None,
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
        rows = list(control_rows(self._control(end), self.options.slot_count))
        rows += self._read(work, reads, splits)
        for index, program in enumerate(self.programs.stages):
            rows = self._stage(index, program, rows, work)
        outputs = self._sinks(rows)
        self.committed = work
        self._pending = Control()
        for name, records in outputs.items():
            self.outputs[name].extend(records)
        return outputs

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
        for number, (_, spec) in enumerate(self._sources()):
            for channel in spec.source.channels():
                if self.committed.positions.get((number, channel), 0) < (
                    spec.source.end(channel) or 0
                ):
                    return False
        return True

    def _control(self, end: bool) -> Control:
        if not end:
            return self._pending
        return Control(
            started=self._pending.started,
            announced=self._pending.announced,
            ended=self.component.timelines(),
        )

    def _read(
        self, work: _Snapshot, reads: Mapping[tuple[int, int], int] | int | None, splits: int
    ) -> list[Row]:
        rows: list[Row] = []
        for number, (node, spec) in enumerate(self._sources()):
            blocks = []
            for channel in spec.source.channels():
                start = work.positions.get((number, channel), 0)
                stop = _stop(reads, number, channel, start, spec.source.end(channel))
                work.positions[(number, channel)] = stop
                blocks += self._blocks(node, spec, channel, start, stop, splits)
            # Tasks in turn, as Spark's would be: which task reads a fragment must not matter.
            for task in range(self.options.parallelism):
                mine = blocks[task :: self.options.parallelism]
                if mine:
                    rows += self.programs.sources[node.id].run(mine, task)
        return rows

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
        self, index: int, program: KeyedProgram, rows: list[Row], work: _Snapshot
    ) -> list[Row]:
        out: list[Row] = []
        for slot in range(self.options.slot_count):
            mine = [row for row in rows if row.slot == slot]
            if mine:
                store = work.stores.setdefault((index, slot), MemoryStore())
                out += program.run(slot, mine, store, self.now_ms)
        return out

    def _sinks(self, rows: list[Row]) -> dict[str, list[Output]]:
        parts: dict[int, list[Records]] = {}
        edges = {edge.tag: edge for edge in self.programs.sink_edges}
        for row in rows:
            if row.kind == DATA:
                edge = edges[row.tag]
                parts.setdefault(edge.sink, []).append(
                    decode(row.header, row.payload, codec_for(edge.type_info))
                )
            elif row.kind == REPORT:
                self._count(row)
        outputs: dict[str, list[Output]] = {}
        for node in self.component.sinks:
            if node.id in parts:
                records = concat_records(parts[node.id])
                order = records.keys.argsort()
                records = records if order is None else records.take(order)
                times = [None if ts == NO_TIMESTAMP else ts for ts in records.ts.tolist()]
                outputs[node.name] = list(zip(records.values, times, strict=True))
        return outputs

    def _count(self, row: Row) -> None:
        counters, _ = pickle.loads(row.payload)
        for name, number in counters.items():
            before = 0 if name.startswith("clock:") else self.counters.get(name, 0)
            self.counters[name] = before + number

    def state_entries(self) -> int:
        """How many values the state store holds, headers apart: 0 when everything was cleaned up."""
        return sum(len([n for n in s if n != "header"]) for s in self.committed.stores.values())


def _stop(
    reads: Mapping[tuple[int, int], int] | int | None,
    number: int,
    channel: int,
    start: int,
    end: int | None,
) -> int:
    if reads is None:
        wanted = (end if end is not None else start) - start
    elif isinstance(reads, int):
        wanted = reads
    else:
        wanted = reads.get((number, channel), 0)
    return start + wanted if end is None else min(start + wanted, end)
