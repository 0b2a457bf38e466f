"""Stages: what one task does in one epoch. A job is a source stage and a chain of keyed stages.

Both take and give `BufferRow`s and know nothing of who carries them: Spark streaming, Spark batch and
the harness run these two classes.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo, running
from millstream.kernel.calls.invoke import located
from millstream.kernel.calls.reports import Reports
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.buffers import (
    CONTROL,
    DATA,
    NO_TIMESTAMP,
    REPORT,
    BufferRow,
    Received,
    Records,
    merged,
)
from millstream.kernel.records.columns import Values
from millstream.kernel.records.order import Ints, OrderKeys, arrival_step
from millstream.kernel.records.sides import Sides
from millstream.kernel.records.sorted_input import Arrivals, Incoming, in_order
from millstream.kernel.stages.edges import InEdge, WaitingRoom
from millstream.kernel.state.cells import Cursor
from millstream.kernel.state.compatibility import refuse_other_type, renamed
from millstream.kernel.state.info import StateInfo
from millstream.kernel.state.pages import NEVER, PageStore, Store
from millstream.kernel.state.slot import (
    HEADER,
    SlotState,
    States,
    decoded_header,
    encoded_header,
)
from millstream.kernel.steps.chain import Chain
from millstream.kernel.steps.stateless import changes_refused
from millstream.kernel.time.clock import Clock
from millstream.kernel.time.watermarks import (
    ChannelId,
    Control,
    EpochTime,
    Fragment,
    data_after_end,
    merge_controls,
    wrapped,
)


@dataclass(slots=True)
class Block:
    """Consecutive records of one channel fragment, as a source reads them.

    ``positions``: theirs, if there are gaps between them.
    """

    values: Values
    ts: Ints | None
    channel: int
    frag: int
    first_pos: int
    finished: bool = False
    positions: Ints | None = None


P = ParamSpec("P")


def collecting_rarely(run: Callable[P, Iterator[BufferRow]]) -> Callable[P, Iterator[BufferRow]]:
    """A stage makes millions of acyclic objects: looking for cycles as often as usual costs a third."""

    @wraps(run)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Iterator[BufferRow]:
        usual = gc.get_threshold()
        gc.set_threshold(500_000, 20, 100)
        try:
            yield from run(*args, **kwargs)
        finally:
            gc.set_threshold(*usual)

    return wrapped


class Program:
    """Base of source and keyed stages: functions opened once, and reports."""

    def __init__(self, slots: int, parameters: Mapping[str, str]) -> None:
        self.slots = slots
        self.parameters = dict(parameters)
        self.reports = Reports()
        self.is_open = False
        self.subtask = 0
        self.new_states: States = {}

    def make_context(self, info: OperatorInfo, cursor: Cursor | None) -> KernelRuntimeContext:
        return KernelRuntimeContext(
            info, self.reports, self.subtask, self.slots, cursor, self.parameters
        )

    def report_row(self, slot: int, chains: Iterable[Chain], **more: Any) -> BufferRow:
        """The counts, with other fields of a `TaskReport`; its row is in a slot."""
        for chain in chains:
            chain.report(self.reports)
        news, self.new_states = self.new_states, {}
        report = self.reports.take(self.subtask, states=news, **more)
        return BufferRow(slot, REPORT, 0, b"", report.to_bytes())


class SourceProgram(Program):
    """The source stage of one source: stamps, the fused stateless steps, buffers, control.

    ``source_id``: given if a generator in the next stage has to know which channels have finished.
    ``timelines``: those that follow the source's channels, and how far each moves their numbers.
    """

    def __init__(
        self,
        uid: str,
        chain: Chain,
        slots: int,
        parameters: Mapping[str, str],
        *,
        source_id: int | None = None,
        timelines: Iterable[tuple[int, int]] = (),
    ) -> None:
        super().__init__(slots, parameters)
        self.uid = uid
        self.chain = chain
        self.source_id = source_id
        self.timelines = tuple(timelines)

    @collecting_rarely
    def run(
        self,
        blocks: Iterable[Block],
        task: int,
        *,
        announced: Iterable[int] = (),
        backlog: Iterable[int] = (),
    ) -> Iterator[BufferRow]:
        """Run the blocks of one task; ends with one control row for every slot.

        ``announced`` and ``backlog``: channels that are new, and those with more than the epoch reads.
        """
        ready: list[BufferRow] = []
        self.subtask = task
        if not self.is_open:
            self.chain.root.open(self.make_context)
            self.is_open = True
        self.chain.bind(ready.append, task % self.slots)
        fragments: dict[tuple[int, int], bool] = {}
        count = 0
        for block in blocks:
            self._push(block)
            place = (block.channel, block.frag)
            fragments[place] = fragments.get(place, False) or block.finished
            count += len(block.values)
            yield from ready
            ready.clear()
        self.chain.flush()
        yield from ready
        yield from self._control_rows(fragments, announced, backlog)
        yield self.report_row(task % self.slots, [self.chain], read={self.uid: count})

    def _push(self, block: Block) -> None:
        n = len(block.values)
        ts = block.ts if block.ts is not None else np.full(n, NO_TIMESTAMP, np.int64)
        stamps = np.full(n, MIN_TIMESTAMP, np.int64)
        keys = OrderKeys.of_fragment(stamps, block.channel, block.frag, block.first_pos)
        if block.positions is not None:
            keys = replace(keys, pos=block.positions)
        self.chain.push(block.values, ts, keys)

    def _control_rows(
        self,
        fragments: Mapping[tuple[int, int], bool],
        announced: Iterable[int],
        backlog: Iterable[int],
    ) -> Iterator[BufferRow]:
        ends = tuple(
            Fragment(
                clock.timeline,
                wrapped(channel + int(clock.channel_offset)),
                frag,
                clock.watermarks.get((channel, frag), MIN_TIMESTAMP),
                finished,
                clock.at_epoch_end,
            )
            for clock in self.chain.clocks
            for (channel, frag), finished in fragments.items()
        )
        finished: frozenset[tuple[int, int]] = frozenset()
        if self.source_id is not None:
            done = [channel for (channel, _), is_done in fragments.items() if is_done]
            finished = frozenset((self.source_id, channel) for channel in done)
        control = Control(
            fragments=ends,
            finished=finished,
            announced=self._in_timelines(announced),
            backlog=frozenset(self._in_timelines(backlog)),
        )
        if control != Control():
            yield from control_rows(control, self.slots)

    def _in_timelines(self, channels: Iterable[int]) -> tuple[ChannelId, ...]:
        """The channels of the source in all timelines that follow them."""
        return tuple(
            (timeline, wrapped(channel + offset))
            for channel in channels
            for timeline, offset in self.timelines
        )

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.chain.root.close()


def control_rows(control: Control, slots: int) -> list[BufferRow]:
    """A control message for every slot."""
    data = pickle.dumps(control, protocol=5)
    return [BufferRow(slot, CONTROL, 0, b"", data) for slot in range(slots)]


@dataclass
class HostedOperator:
    """A keyed operator in its stage: what comes in, whose clocks it follows, what goes out.

    ``records``: the type of its records, if it is known.
    """

    operator: KeyedOperator
    edges: list[InEdge]
    timelines: frozenset[int]
    untimed: frozenset[int]
    outputs: dict[str, Chain] = field(default_factory=dict)
    lag: int = 0
    records: TypeInformation | None = None


class KeyedProgram(Program):
    """A keyed stage: all keyed operators of one level, each after those that it reads.

    ``held_edges``: the edges whose records may wait here for other channels, or pass here to a sink that
    needs their stamps. ``ordered``: the timelines of the channels that records wait for, in all stages.
    ``ignores_unclaimed``: go on without the states that functions do not ask for any more.
    """

    def __init__(
        self,
        stage: int,
        operators: list[HostedOperator],
        slots: int,
        parameters: Mapping[str, str],
        *,
        idle_after: Mapping[int, int],
        held_edges: Iterable[InEdge] = (),
        ordered: frozenset[int] = frozenset(),
        is_last: bool,
        ignores_unclaimed: bool = False,
    ) -> None:
        super().__init__(slots, parameters)
        self.stage = stage
        self.operators = operators
        self.idle_after = dict(idle_after)
        self.ordered = ordered
        self.is_last = is_last
        self.ignores_unclaimed = ignores_unclaimed
        self.timelines = frozenset().union(*(h.timelines | h.untimed for h in operators))
        self.has_ended = False
        own = [edge for hosted in operators for edge in hosted.edges]
        self.waiting = WaitingRoom(held_edges, own, ordered)
        self.staying = frozenset(edge.tag for edge in own if edge.stays)
        self._told: dict[tuple[str, str], StateInfo] = {}

    @collecting_rarely
    def run(
        self, slot: int, rows: Iterable[BufferRow], store: Store, now_ms: int
    ) -> Iterator[BufferRow]:
        """One epoch of one slot."""
        ready: list[BufferRow] = []
        self._open(slot)
        controls: list[Control] = []
        buffers: dict[int, list[BufferRow]] = {}
        for row in rows:
            if row.kind == CONTROL:
                controls.append(pickle.loads(row.payload))
            elif row.kind == DATA and row.tag in self.waiting.known:
                buffers.setdefault(row.tag, []).append(row)
            else:
                yield row
        control = merge_controls(controls) if controls else Control()
        if slot == 0 and controls:
            # One slot speaks for all; behind the last stage a single row tells the writer.
            yield from control_rows(control, 1 if self.is_last else self.slots)
        state = self._load(store)
        self._compare_states(state)
        time = state.table.advance(control, now_ms, self.idle_after)
        if self.waiting.held or state.held:
            yield from self.waiting.pass_through(slot, buffers, state, store, time)
        for hosted in self.operators:
            for chain in hosted.outputs.values():
                chain.bind(ready.append, slot)
            hosted.operator.note_control(control)
            self._run_operator(hosted, buffers, state, store, time)
            yield from self._leaving(ready, buffers)
            ready.clear()
            news = hosted.operator.news()
            if news is not None:
                yield from control_rows(news, self.slots)
        self._compare_states(state)
        self.has_ended = state.table.ended >= self.timelines
        store.put(HEADER, encoded_header(state))
        chains = [chain for hosted in self.operators for chain in hosted.outputs.values()]
        yield self.report_row(slot, chains, due_ms=self._next_due(state))

    def _leaving(
        self, ready: list[BufferRow], buffers: dict[int, list[BufferRow]]
    ) -> Iterator[BufferRow]:
        """The rows that leave; a later operator of the stage finds the others in ``buffers``."""
        for row in ready:
            if row.tag in self.staying:
                buffers.setdefault(row.tag, []).append(row)
            else:
                yield row

    def _open(self, slot: int) -> None:
        self.subtask = slot
        for hosted in self.operators:
            for edge in hosted.edges:
                edge.handed.clear()  # of an epoch that has failed
            if hosted.operator.opened is None:
                hosted.operator.open(self.make_context)
                for chain in hosted.outputs.values():
                    chain.root.open(self.make_context)
            hosted.operator.opened.subtask = slot  # type: ignore[union-attr]

    def close(self) -> None:
        for hosted in self.operators:
            if hosted.operator.opened is not None:
                hosted.operator.close()
                for chain in hosted.outputs.values():
                    chain.root.close()

    def _load(self, store: Store) -> SlotState:
        data = store.get(HEADER)
        return SlotState() if data is None else decoded_header(data)

    def _compare_states(self, state: SlotState) -> None:
        """Note the states that functions have asked for; their types must fit what is stored."""
        for hosted in self.operators:
            info, opened = hosted.operator.info, hosted.operator.opened
            known = state.states.setdefault(info.uid, {})
            self._refuse_renamed(hosted.operator, known)
            hosted.operator.take_over(known)
            for name, asked in (opened.infos if opened is not None else {}).items():
                stored = known.get(name)
                if self._told.get((info.uid, name)) is asked and stored is not None:
                    continue
                if stored is not None:
                    refuse_other_type(StateInfo.from_dict(stored), asked, info)
                known[name] = asked.to_dict()
                self.new_states.setdefault(info.uid, {})[name] = known[name]
                self._told[info.uid, name] = asked

    def _refuse_renamed(self, operator: KeyedOperator, known: dict[str, dict[str, Any]]) -> None:
        """Refuse a program that asks for new states where it asked for others before."""
        assert operator.opened is not None
        asked = operator.opened.infos
        gone = [name for name, info in known.items() if info.get("opened") and name not in asked]
        new = [name for name in asked if name not in known]
        if gone and new and not self.ignores_unclaimed:
            raise renamed(gone, new, operator.info)
        for name in gone:
            # The function does without it; what there is of it stays.
            del known[name]["opened"]

    def _next_due(self, state: SlotState) -> int:
        """When the slot's next processing-time timer is due."""
        return min((int(d.tick_due.min()) for d in state.directories.values()), default=NEVER)

    def _run_operator(
        self,
        hosted: HostedOperator,
        buffers: Mapping[int, list[BufferRow]],
        state: SlotState,
        store: Store,
        time: EpochTime,
    ) -> None:
        operator = hosted.operator
        uid = operator.info.uid
        records = self._records(hosted, buffers, time)
        everything = hosted.timelines | hosted.untimed
        if records is not None and everything <= time.ended_before:
            raise data_after_end(operator.info.name)
        if records is not None and records.weights is not None and not operator.takes_weights:
            raise changes_refused(operator.info)
        before = state.clocks.get(uid, MIN_TIMESTAMP)
        goal = self._goal(hosted, time)
        clock = Clock(
            before=before,
            after=max(before, max(goal, MIN_TIMESTAMP + hosted.lag) - hosted.lag),
            now_ms=time.now_ms,
            ends=time.has_ended(everything),
            lag=hosted.lag,
        )
        directory = state.pages_of(uid)
        pages = PageStore(store, uid, directory, operator.names, state.sizes.get(uid))
        counts = self.reports.of(operator.info)

        def emit(tag: str, emitted: Records) -> None:
            counts.records_out += len(emitted)
            chain = hosted.outputs.get(tag)
            if chain is not None:
                chain.push(emitted.values, emitted.ts, emitted.keys, emitted.weights)

        if records is not None and operator.counts_records:
            counts.records_in += len(records)
        with located(operator.info), running(operator.opened):
            operator.run(records, pages, clock, emit)
        for chain in hosted.outputs.values():
            chain.flush()
        state.clocks[uid] = clock.last
        # All slots agree on the clock; one speaks for them.
        if self.subtask == 0 and MIN_TIMESTAMP < state.clocks[uid] < MAX_TIMESTAMP:
            counts.watermark = clock.after
        size = state.note_size(pages)
        counts.state = None if operator.keeps_panes else size

    def _goal(self, hosted: HostedOperator, time: EpochTime) -> int:
        """Where the operator's clock ends.

        Records that wait for other channels must find the clock where they left it. Behind a timeline
        that begins in a keyed stage no record waits: there the channels of sources do not count.
        """
        waits = not hosted.timelines.isdisjoint(self.ordered)
        timelines = hosted.timelines | self.ordered if waits else hosted.timelines
        return time.goal(timelines, hosted.untimed)

    def _records(
        self, hosted: HostedOperator, buffers: Mapping[int, list[BufferRow]], time: EpochTime
    ) -> Incoming | None:
        """The operator's records of this epoch, in order."""
        parts: list[tuple[InEdge, Received]] = []
        for edge in hosted.edges:
            for received in edge.arrived(buffers.get(edge.tag, ()), time):
                number = edge.index if edge.siblings > 1 else None
                step = arrival_step(hosted.operator.info.turn, number)
                received.keys = received.keys.through(step)
                parts.append((edge, received))
        if not parts:
            return None
        if hosted.operator.wants_sides:
            return Sides([_side(parts, number) for number in (0, 1)])
        if hosted.operator.has_two_inputs:
            return merged([received.decoded(edge.codec, edge.input) for edge, received in parts])
        buffers_of = [(edge.codec, received) for edge, received in parts]
        return in_order(buffers_of, as_columns=hosted.operator.wants_columns)


def _side(parts: list[tuple[InEdge, Received]], number: int) -> Arrivals | None:
    """The records of one input, as columns."""
    mine = [(edge.codec, received) for edge, received in parts if edge.input == number]
    if not mine:
        return None
    found = in_order(mine, as_columns=True)
    assert isinstance(found, Arrivals)
    return found
