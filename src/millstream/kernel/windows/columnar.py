"""Declared aggregates over aligned windows, by column: no Python object is made of a record.

The stage before already adds up what it has of each key and pane (`PartialEdge`). Here the partial sums
of a pane are kept as they came, as buffers in the state; when a window is over, those of its panes
are brought together. An epoch so writes what is new and nothing else.

Within a fragment of a channel, records of one pane that are not late by their own stamps are late all or
none by what earlier fragments and the clock say: a partial sum is late as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.typeinfo import Types
from millstream.common.typesystem.certainty import is_declared
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.invoke import apply_each
from millstream.kernel.calls.reports import KernelCounter
from millstream.kernel.keys.hashing import tie_breaker
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.buffers import (
    ArrowCodec,
    BufferRow,
    Records,
    merged,
)
from millstream.kernel.records.columns import Columns, Values, as_list
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints, OrderKeys
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sorted_input import Arrivals, Incoming
from millstream.kernel.state.pages import PageStore
from millstream.kernel.steps.chain import EdgeStep
from millstream.kernel.steps.stateless import Flow
from millstream.kernel.time.clock import Clock, limits_by_stamp
from millstream.kernel.windows.aggregates import (
    Fold,
    NoNumber,
    PaneAggregate,
    SumOverflow,
    aggregated,
    that_fit,
)
from millstream.kernel.windows.pane_store import PaneStore, by_pane, refuse_other_key
from millstream.kernel.windows.panes import Panes

GATHERED = 131_072
"""So many records are added up at once: the more, the fewer partial sums there are."""
PANE, FIRST, NUMBER = -3, -2, -1
"""The last columns of a partial sum: its pane, the first window it counts for, its records."""


def bad_record(fold: Fold, field: int | None, info: OperatorInfo, value: Any) -> PlanError:
    """The error of a record whose field has no number."""
    return PlanError(
        "NOT_A_NUMBER",
        f"operator {info.name!r}: field {field} of {value!r:.200} is no number, "
        f"so there is no {fold.kind} of it",
        location=info.location,
        hint="filter such records out before the window",
    )


def overflow(aggregate: PaneAggregate, info: OperatorInfo) -> PlanError:
    """The error of a sum that does not fit its declared type."""
    sums = [f for f in aggregate.folds if f.kind == "sum" and aggregate.taken[f.place] is not None]
    fields = " or ".join(str(aggregate.taken[fold.place]) for fold in sums)
    limit = Types.LONG() if aggregate.results is not None else aggregate.declared(sums[0])
    return PlanError(
        "SUM_OVERFLOW",
        f"operator {info.name!r}: a sum of field {fields} does not fit its declared type, {limit}",
        location=info.location,
        hint="declare the field as a wider type: Types.LONG(), or Types.BIG_INT(), which has no limit; "
        "or leave the type undeclared",
    )


class PartialEdge(EdgeStep):
    """A leaf that adds up records by key and pane before they leave."""

    counts_records = True

    def __init__(
        self, *args: Any, aggregate: PaneAggregate, panes: Panes, lag: int, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.lag = lag
        self.aggregate = aggregate
        self.takes_weights = aggregate.takes_weights
        self.panes = panes
        self.row_type = Types.TUPLE(aggregate.row_types())
        self.partial_type = aggregate.partial_type()
        self._gathered: list[Records] = []
        self._size = 0
        self._place: tuple[int, int] | None = None
        self._late: KernelCounter | None = None

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self._late = make_context(self.info, None).counts.late

    def bind(self, emit: Callable[[BufferRow], None], own_slot: int) -> None:
        super().bind(emit, own_slot)
        self._gathered, self._size = [], 0

    def _take(self, flow: Flow) -> None:
        records = self.leaving(flow)
        keys = records.keys
        place = None if self.raised else (int(keys.channel[0]), int(keys.frag[0]))
        if place != self._place or self._size >= GATHERED:
            self._add_up()
        self._place = place
        records.values = self._rows(records.values, records.weights)
        records.weights = None  # the numbers in the rows have them now
        self._gathered.append(records)
        self._size += len(records)

    def _rows(self, values: Values, weights: Ints | None) -> Columns:
        """The rows of records, checked to have numbers to add up."""
        aggregate = self.aggregate
        records = Columns(aggregate.type_info, ArrowCodec(aggregate.type_info).arrays(values))
        if not records.has_all() and not aggregate.key.alone:
            # A record is None: the selector that reads its fields says so.
            assert callable(self.route)
            apply_each(self.route, as_list(values), self.failure)
        self._check(records)
        try:
            rows = aggregate.rows(records.arrays, len(records), weights)
        except pa.ArrowInvalid:
            raise overflow(aggregate, self.info) from None
        return Columns(self.row_type, rows)

    def _finish(self) -> None:
        self._add_up()
        super()._finish()

    def _add_up(self) -> None:
        gathered, self._gathered, self._size = self._gathered, [], 0
        if not gathered:
            return
        # An operator may go from key to key; a group has the fields of its first record in the order.
        records = merged(gathered)
        ts, keys, values = records.ts, records.keys, records.values
        assert isinstance(values, Columns)
        panes = self.panes.at(ts)
        firsts = self.panes.first_windows(panes, limits_by_stamp(keys.stamp, self.lag))
        live = self._count_late(panes, firsts)
        if not live.all():
            rows = np.flatnonzero(live)
            values, ts, keys = values.take(rows), ts[rows], keys.take(rows)
            panes, firsts = panes[rows], firsts[rows]
        if len(ts):
            self._send(values, ts, keys, panes, firsts)

    def _check(self, values: Columns) -> None:
        for fold in self.aggregate.folds:
            field = self.aggregate.taken[fold.place]
            column = None if field is None else values.arrays[field]
            if column is not None and column.null_count:
                row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                value = values.take(np.array([row])).tolist()[0]
                raise bad_record(fold, field, self.info, value)

    def _count_late(self, panes: Ints, firsts: Ints) -> Any:
        live = firsts <= self.panes.last_windows(panes)
        late = len(live) - int(live.sum())
        if late and self._late is not None:
            self._late.inc(late)
        return live

    def _send(self, values: Columns, ts: Ints, keys: OrderKeys, panes: Ints, firsts: Ints) -> None:
        aggregate, arrays = self.aggregate, values.arrays
        groups = Groups.by([firsts, panes, aggregate.key.codes(arrays)])
        groups = that_fit(aggregate, arrays, groups)
        rows, fields = aggregated(aggregate, arrays, groups)
        numbers = groups.sizes(np.ones(len(ts), np.int64))
        partial = Columns(
            self.partial_type,
            [*fields, pa.array(panes[rows]), pa.array(firsts[rows]), pa.array(numbers)],
        )
        hashes = aggregate.key.hashes(fields)
        self._spread(Records(partial, ts[rows], keys.take(rows), hashes))

    def _shown(self, records: Records, row: int) -> Any:
        """Of a partial sum, the fields that its records have too."""
        return super()._shown(records, row)[:PANE]


class ColumnarWindowOperator(KeyedOperator):
    """Brings together the partial sums of windows, and emits them when they are over."""

    wants_columns = True
    gives_columns = True
    keeps_panes = True
    counts_records = False

    def __init__(
        self,
        info: OperatorInfo,
        aggregate: PaneAggregate,
        panes: Panes,
        selector: Callable[[Any], Any],
    ) -> None:
        super().__init__(info, None, selector, timed=True)
        self.aggregate = aggregate
        self.panes = panes
        self.codec = ArrowCodec(aggregate.partial_type())

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        assert self.opened is not None
        self.clock = clock
        store = PaneStore(pages.store, pages.uid, self.codec, self._added_up)
        new = {} if records is None else self._by_pane(records, clock)
        for windows, parts in store.epoch(new, self.panes, clock):
            self._emit(windows, parts, emit)

    def pane_rows(self, key: Any, value: Any, pane: int) -> Iterator[tuple[Any, ...]]:
        """The columns of what a window has that is one pane: a record, a number, or an accumulator.

        Sums that 64 bits cannot hold become several rows.
        """
        aggregate = self.aggregate
        if aggregate.results is None:
            refuse_other_key(self.info, self.selector(value), key)
            fields, number = list(value), 1
        else:
            folded = value if isinstance(value, tuple) else (value,)
            fields, number = [*((key,) if aggregate.key.alone else key), *folded], folded[0]
        for row in aggregate.split(fields):
            yield *row, pane, pane, number

    def _by_pane(self, records: Incoming, clock: Clock) -> dict[int, Records]:
        found = self._on_time(records, clock)
        return by_pane(found, _arrays(found)[PANE].to_numpy())

    def _on_time(self, records: Incoming, clock: Clock) -> Records:
        """The partial sums that are not late, with the first windows that they count for now."""
        assert isinstance(records, Arrivals)
        arrays = records.in_columns().arrays
        panes = arrays[PANE].to_numpy()
        limits = clock.limits(records.keys.stamp)
        firsts = np.maximum(arrays[FIRST].to_numpy(), self.panes.first_windows(panes, limits))
        live = firsts <= self.panes.last_windows(panes)
        arrays[FIRST] = pa.array(firsts)
        whole = Records(
            Columns(self.codec.type_info, arrays), records.ts, records.keys, records.hashes
        )
        if live.all():
            return whole
        late = int(arrays[NUMBER].to_numpy()[~live].sum())
        self.opened.counts.late.inc(late)  # type: ignore[union-attr]
        return whole.take(np.flatnonzero(live))

    # -- windows that are over -------------------------------------------------------------------

    def _added_up(self, parts: Sequence[Records]) -> Records:
        """Partial sums in the one order, one for each key, pane and first window."""
        records = merged(list(parts))
        arrays = _arrays(records)
        numbers = [self.aggregate.key.codes(arrays)]
        numbers += [arrays[i].to_numpy() for i in (FIRST, PANE)]
        groups = that_fit(self.aggregate, arrays, Groups.by(numbers))
        if len(groups.starts) == len(records):
            return records
        rows, fields = aggregated(self.aggregate, arrays[:PANE], groups)
        panes, firsts = (arrays[i].take(pa.array(rows)) for i in (PANE, FIRST))
        counts = groups.sizes(arrays[NUMBER].to_numpy())
        values = Columns(self.codec.type_info, [*fields, panes, firsts, pa.array(counts)])
        hashes = None if records.hashes is None else records.hashes[rows]
        sums = Records(values, records.ts[rows], records.keys.take(rows), hashes)
        return sums.take(np.argsort(rows))

    def _emit(self, windows: list[int], parts: Sequence[Records], emit: Emit) -> None:
        """Bring the partial sums of some windows together, each for all the windows it is in."""
        records = self._added_up(parts)
        arrays = _arrays(records)
        panes, firsts = arrays[PANE].to_numpy(), arrays[FIRST].to_numpy()
        rows, found = self.panes.memberships(panes, firsts, windows)
        if not len(rows):
            return
        groups = self._that_exist(
            Groups.by([self.aggregate.key.codes(arrays)[rows], found]), arrays, rows
        )
        if not len(groups.starts):
            return
        chosen = groups.firsts
        of_windows = Groups(rows[groups.order], groups.starts)
        results = self._results(arrays[:PANE], of_windows)
        assert records.hashes is not None
        bounds = np.array([self.panes.bounds(w) for w in windows], np.int64)
        starts, ends = bounds[np.searchsorted(windows, found[chosen])].T
        order = self._order(records, of_windows.firsts, starts, ends)
        emit(MAIN, Records(results, ends - 1, order))

    def _that_exist(self, groups: Groups, arrays: list[pa.Array], rows: Ints) -> Groups:
        """The groups that have records: of some, all records may have been taken back."""
        if not self.aggregate.takes_weights:
            return groups
        numbers = arrays[self.aggregate.number_place].to_numpy()[rows]
        exists = groups.sizes(numbers) != 0
        return groups if exists.all() else groups.some(exists)

    def _results(self, arrays: list[pa.Array], groups: Groups) -> Values:
        """The result of each group: columns, or objects if a sum is wider than its column.

        Only a declared type is enforced: a type that nobody declares widens.
        """
        try:
            _, columns = aggregated(self.aggregate, arrays, groups)
        except SumOverflow:
            _, columns = aggregated(self.aggregate, arrays, groups, exactly=True)
        except NoNumber as missing:
            # Only restored windows have such rows, and only of whole records.
            own, fold = self.aggregate.type_info, self.aggregate.folds[0]
            record = Columns(own, [array.slice(missing.row, 1) for array in arrays]).tolist()[0]
            raise bad_record(fold, fold.place, self.info, record) from None
        try:
            return self.aggregate.emitted(columns, limited=True)
        except pa.ArrowInvalid:
            if is_declared(self.aggregate.type_info):
                raise overflow(self.aggregate, self.info) from None
        return self.aggregate.emitted(columns, limited=False).tolist()

    def _order(self, records: Records, rows: Ints, starts: Ints, ends: Ints) -> OrderKeys:
        """The place of each result: that of a timer of its key at the end of the window."""
        assert records.hashes is not None
        hashes = records.hashes[rows].astype(np.int64)
        ties = self._ties(records)[rows]
        return self.origin.timers(ends - 1, self.clock, hashes, ties, starts).extended(None)

    def _ties(self, records: Records) -> Ints:
        """Tie breakers of keys with equal hashes. Computed only for them, because it costs time."""
        assert records.hashes is not None and isinstance(records.values, Columns)
        codes = self.aggregate.key.codes(_arrays(records))
        hash_of = np.zeros(int(codes.max()) + 1, records.hashes.dtype)
        hash_of[codes] = records.hashes
        _, place, times = np.unique(hash_of, return_inverse=True, return_counts=True)
        ties = np.zeros(len(records), np.int64)
        shared = np.flatnonzero((times[place] > 1)[codes])
        if len(shared):
            keys = self.aggregate.key.values(records.values.take(shared).arrays)
            ties[shared] = [tie_breaker(key) for key in keys]
        return ties


def _arrays(records: Records) -> list[pa.Array]:
    assert isinstance(records.values, Columns)
    return records.values.arrays
