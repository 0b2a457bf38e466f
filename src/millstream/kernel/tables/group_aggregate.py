"""Group aggregates: what an epoch changes, as rows that are taken back and rows that come.

An epoch's records of a group are added up, to each other and to what is stored, before anything is
emitted: for each group whose result has changed, the old result with weight -1 and the new one with 1.
Nothing but the table counts, so a record and the same record taken back in one epoch leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.common.time import MAX_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.records.buffers import NO_TIMESTAMP, Records
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.pages import PageStore
from millstream.kernel.steps.columns import Made
from millstream.kernel.tables.aggregates.base import Marks
from millstream.kernel.tables.aggregates.calls import AggregateCall, Aggregates
from millstream.kernel.tables.operator import (
    Delta,
    Emission,
    TableOperator,
    rows_equal,
)
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.time.clock import Clock

__all__ = ["GroupAggregateOperator", "GroupAggregateSpec", "PartialStep"]


@dataclass(frozen=True)
class GroupAggregateSpec(TableSpec):
    """GROUP BY: the columns of the key, and behind them a column for each aggregate.

    Parameters
    ----------
    row
        The type of the rows that come in.
    key
        The places of the columns to group by; NULL is a value like any other. None: one group of all
        rows; as in Flink it has no result while there are no rows, but in batch mode it has one.
    aggregates
        What is computed of each group. None: the distinct keys.
    names
        The names of the output's columns: those of the key and those of the aggregates.
    changes
        Whether rows may be taken back. If they only come, MIN, MAX and others keep one value.
    every_update
        Emit the result after each record, not that of an epoch.
    partial
        Records are states that `PartialStep` has made of records: the key, and the states of the
        aggregates.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    aggregates: tuple[AggregateCall, ...]
    names: tuple[str, ...]
    changes: bool = True
    every_update: bool = False
    partial: bool = False

    @cached_property
    def folded(self) -> Aggregates:
        """All aggregates together."""
        return Aggregates(self.row, self.aggregates, self.changes)

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return (self.states if self.partial else self.row,)

    @cached_property
    def states(self) -> RowTypeInfo:
        """The type of stored rows: the key, and the states of the aggregates."""
        names = self.row.get_field_names()
        own = [self.row.field_types[place] for place in self.key]
        states = [ArrowTypeInfo(kind) for kind in self.folded.state_types]
        kept = [*(names[place] for place in self.key), *self.folded.state_names]
        return RowTypeInfo([*own, *states], kept)

    @property
    def output(self) -> RowTypeInfo:
        own = [self.row.field_types[place] for place in self.key]
        made = [ArrowTypeInfo(kind) for kind in self.folded.result_types]
        return RowTypeInfo([*own, *made], self.names)

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(len(self.key))) if self.partial else self.key,)

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return (self.changes,)

    @property
    def placed_by(self) -> tuple[int, ...]:
        return tuple(range(len(self.key)))

    @property
    def layout(self) -> str:
        return "groups of a table"

    def describe(self) -> str:
        names = self.row.get_field_names()
        key = ", ".join(names[place] for place in self.key) or "one group"
        found = ", ".join(call.function for call in self.aggregates) or "distinct keys"
        how = "; each update is emitted" if self.every_update else ""
        return f"group by {key}: {found}; it keeps a row for each group{how}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return GroupAggregateOperator(info, self, batch=batch)


class GroupAggregateOperator(TableOperator):
    """Keeps a row for each group: the key, and the states of the aggregates."""

    def __init__(self, info: OperatorInfo, spec: GroupAggregateSpec, *, batch: bool) -> None:
        self.aggregates = spec.folded
        self.width = len(spec.key)
        super().__init__(info, spec, [SectionForm("groups", spec.states, self.aggregates.nothing)])
        self.key = spec.keys[0]
        self.partial = spec.partial
        self.one_by_one = spec.every_update and not batch
        # A batch query without GROUP BY has a row even if there is nothing.
        self.keeps_nothing = batch and not self.width

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        super().run(records, pages, clock, emit)
        nothing_came = records is None or not len(records)
        if self.keeps_nothing and nothing_came and clock.ends and self._speaks():
            self._emit_of_nothing(clock, emit)

    def _speaks(self) -> bool:
        """Whether this is the slot that has the one group of all rows."""
        assert self.opened is not None
        slots = self.opened.get_number_of_parallel_subtasks()
        return self.opened.subtask == stable_hash(0) % slots

    def _emit_of_nothing(self, clock: Clock, emit: Emit) -> None:
        """Emit the result of no rows."""
        results = self.aggregates.results(self.aggregates.nothing(1))
        none = np.zeros(1, np.int64)
        keys = self.origin.timers(np.array([MAX_TIMESTAMP]), clock, none, none, none)
        ts = np.array([NO_TIMESTAMP], np.int64)
        emit(MAIN, Records(Columns(self.spec.output, results), ts, keys))

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (delta,) = deltas
        keys = [delta.arrays[place] for place in self.key]
        states = delta.arrays[self.width :]
        if not self.partial:
            states = self.aggregates.rows(delta.arrays, delta.weights)
        new = Rows([*keys, *states], delta.hashes)
        if not self.one_by_one:
            return [self._turn(visit.sections[0], new, delta.causes, emission)]
        stored = visit.sections[0]
        for places in self._turns(new):
            stored = self._turn(stored, new.take(places), delta.causes[places], emission)
        return [stored]

    def _turns(self, new: Rows) -> list[Ints]:
        """The first records of all groups, then the second ones, and so on."""
        groups = Groups.of_codes(self._codes(new))
        inside = np.empty(len(new), np.int64)
        inside[groups.order] = np.arange(len(new)) - np.repeat(groups.starts, groups.lengths)
        return [np.flatnonzero(inside == turn) for turn in range(int(inside.max()) + 1)]

    def _codes(self, rows: Rows) -> Ints:
        if not self.width:
            return np.zeros(len(rows), np.int64)
        return row_codes(rows.arrays[: self.width])

    def _turn(self, stored: Rows, new: Rows, causes: Ints, emission: Emission) -> Rows:
        """The groups after some records; emits what has changed."""
        table = concat_rows([stored, new])
        codes = self._codes(table)
        # Stored groups all differ, so they have the first numbers.
        touched = np.zeros(int(codes.max()) + 1, np.bool_)
        touched[codes[len(stored) :]] = True
        numbers = np.cumsum(touched) - 1
        kept = np.flatnonzero(touched[codes])
        groups = Groups.of_codes(numbers[codes[kept]])
        groups.order = kept[groups.order]
        after = self.aggregates.fold(table.arrays[self.width :], groups)
        own = [array.take(pa.array(groups.firsts)) for array in table.arrays[: self.width]]
        lasts = causes[groups.order[groups.starts + groups.lengths - 1] - len(stored)]
        before = np.flatnonzero(touched[: len(stored)])
        old = stored.take(before)
        change = _Change(self, old.arrays[self.width :], after, numbers[before])
        change.emit(own, lasts, emission)
        rows = Rows([*own, *after], table.hashes[groups.firsts])
        if not self.keeps_nothing:
            left = ~self.aggregates.is_empty(after)
            rows = rows if left.all() else rows.take(np.flatnonzero(left))
        untouched = np.flatnonzero(~touched[: len(stored)])
        return rows if not len(untouched) else concat_rows([stored.take(untouched), rows])


@dataclass(frozen=True)
class PartialStep:
    """States of groups in a part of an epoch, made before an exchange: fewer rows have to travel.

    Rows must only come. The state of a group stands where its last record was.
    """

    spec: GroupAggregateSpec

    @property
    def output(self) -> RowTypeInfo:
        return self.spec.states

    def run(self, batch: pa.RecordBatch) -> Made:
        aggregates, key = self.spec.folded, self.spec.key
        keys = [batch.column(place) for place in key]
        count = batch.num_rows
        if not count:
            return Made([pa.array([], kind.to_arrow()) for kind in self.output.field_types])
        states = aggregates.rows(batch.columns, np.ones(count, np.int64))
        codes = row_codes(keys) if keys else np.zeros(count, np.int64)
        groups = Groups.of_codes(codes)
        lasts = groups.order[groups.starts + groups.lengths - 1]
        order = np.argsort(lasts, kind="stable")
        places = pa.array(order)
        firsts = pa.array(groups.firsts)
        arrays = [*(each.take(firsts) for each in keys), *aggregates.fold(states, groups)]
        return Made([each.take(places) for each in arrays], lasts[order])

    def kept(self, place: int) -> int | None:
        return self.spec.key.index(place) if place in self.spec.key else None

    def describe(self) -> str:
        return "states of groups before the exchange"


class _Change:
    """The results of groups before and after some records.

    ``old``: the number of each group that was there before, among those that are there now.
    """

    def __init__(
        self,
        operator: GroupAggregateOperator,
        before: Sequence[pa.Array],
        after: Sequence[pa.Array],
        old: Ints,
    ) -> None:
        self._operator = operator
        self._before, self._after, self._old = before, after, old

    def emit(self, keys: list[pa.Array], causes: Ints, emission: Emission) -> None:
        aggregates = self._operator.aggregates
        had, has = self._exists(self._before), self._exists(self._after)
        old, new = aggregates.results(self._before), aggregates.results(self._after)
        gone, come = np.flatnonzero(had), np.flatnonzero(has)
        both = np.flatnonzero(had & has[self._old])
        if len(both):
            same = self._same(old, new, both)
            had[both[same]] = False
            has[self._old[both[same]]] = False
            gone, come = np.flatnonzero(had), np.flatnonzero(has)
        numbers = np.concatenate([self._old[gone], come])
        if not len(numbers):
            return
        weights = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
        arrays = [key.take(pa.array(numbers)) for key in keys]
        for one, other in zip(old, new, strict=True):
            parts = [one.take(pa.array(gone)), other.take(pa.array(come))]
            arrays.append(pa.concat_arrays(parts))
        emission.send(arrays, weights, causes[numbers])

    def _same(self, old: list[pa.Array], new: list[pa.Array], both: Ints) -> Marks:
        if not old:
            return np.ones(len(both), np.bool_)
        one, other = pa.array(both), pa.array(self._old[both])
        return rows_equal([a.take(one) for a in old], [b.take(other) for b in new])

    def _exists(self, state: Sequence[pa.Array]) -> Marks:
        numbers = self._operator.aggregates.numbers(state)
        return np.ones(len(numbers), np.bool_) if self._operator.keeps_nothing else numbers > 0
