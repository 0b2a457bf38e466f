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

from millstream.common._type_certainty import is_declared
from millstream.common.errors import PlanError
from millstream.kernel.arrivals import Arrivals, Incoming
from millstream.kernel.buffers import (
    ArrowCodec,
    Records,
    Row,
    concat_records,
    merged,
)
from millstream.kernel.calls import hash_keys
from millstream.kernel.chain import EdgeStep
from millstream.kernel.clock import Clock, limits_by_stamp
from millstream.kernel.columns import Columns, Values, field_types
from millstream.kernel.hashing import tie_breaker
from millstream.kernel.keyed import KeyedOperator
from millstream.kernel.order import Ints, OrderKeys
from millstream.kernel.outputs import MAIN, Emit
from millstream.kernel.pages import PageStore
from millstream.kernel.reports import KernelCounter
from millstream.kernel.runtime import KernelRuntimeContext, OperatorInfo
from millstream.kernel.steps import Flow
from millstream.kernel.windows.pane_store import PaneStore, by_pane, refuse_other_key
from millstream.kernel.windows.panes import (
    FieldAggregate,
    Groups,
    NoNumber,
    Panes,
    SumOverflow,
    aggregated,
    codes_of,
    in_64_bits,
    summed_objects,
    that_fit,
    widened,
)

GATHERED = 131_072
"""So many records are added up at once: the more, the fewer partial sums there are."""
PANE, FIRST, NUMBER = -3, -2, -1
"""The last columns of a partial sum: its pane, the first window it counts for, its records."""


def bad_record(aggregate: FieldAggregate, info: OperatorInfo, value: Any) -> PlanError:
    """The error of a record whose field has no number."""
    return PlanError(
        "NOT_A_NUMBER",
        f"operator {info.name!r}: field {aggregate.field} of {value!r:.200} is no number, "
        f"so there is no {aggregate.kind} of it",
        location=info.location,
        hint="filter such records out before the window",
    )


def overflow(aggregate: FieldAggregate, info: OperatorInfo) -> PlanError:
    """The error of a sum that does not fit its declared type."""
    declared = field_types(aggregate.type_info)[aggregate.field]
    return PlanError(
        "SUM_OVERFLOW",
        f"operator {info.name!r}: a sum of field {aggregate.field} does not fit its declared type, "
        f"{declared}",
        location=info.location,
        hint="declare the field as a wider type: Types.LONG(), or Types.BIG_INT(), which has no limit; "
        "or leave the type undeclared",
    )


class PartialEdge(EdgeStep):
    """A leaf that adds up records by key and pane before they leave."""

    counts_records = True

    def __init__(
        self, *args: Any, aggregate: FieldAggregate, panes: Panes, lag: int, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.lag = lag
        self.aggregate = aggregate
        self.panes = panes
        self.partial_type = aggregate.partial_type()
        self._gathered: list[Records] = []
        self._size = 0
        self._place: tuple[int, int] | None = None
        self._late: KernelCounter | None = None

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self._late = make_context(self.info, None).counts.late

    def bind(self, emit: Callable[[Row], None], own_slot: int) -> None:
        super().bind(emit, own_slot)
        self._gathered, self._size = [], 0

    def _take(self, flow: Flow) -> None:
        records = self.leaving(flow)
        keys = records.keys
        place = None if self.raised else (int(keys.channel[0]), int(keys.frag[0]))
        if place != self._place or self._size >= GATHERED:
            self._add_up()
        self._place = place
        records.values = self._columns(records.values)
        self._gathered.append(records)
        self._size += len(records)

    def _columns(self, values: Values) -> Columns:
        own, counted = self.aggregate.type_info, self.aggregate.counted
        if counted is None:
            return Columns(own, ArrowCodec(own).arrays(values))
        key = ArrowCodec(counted[0]).arrays(values)[counted[1]]
        return Columns(own, [key, pa.array(np.ones(len(key), np.int64))])

    def _finish(self) -> None:
        self._add_up()
        super()._finish()

    def _add_up(self) -> None:
        gathered, self._gathered, self._size = self._gathered, [], 0
        if not gathered:
            return
        records = concat_records(gathered)
        ts, keys, values = records.ts, records.keys, records.values
        assert isinstance(values, Columns)
        self._check(values)
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
        column = values.arrays[self.aggregate.field]
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise bad_record(self.aggregate, self.info, values.take(np.array([row])).tolist()[0])

    def _count_late(self, panes: Ints, firsts: Ints) -> Any:
        live = firsts <= self.panes.last_windows(panes)
        late = len(live) - int(live.sum())
        if late and self._late is not None:
            self._late.inc(late)
        return live

    def _send(self, values: Columns, ts: Ints, keys: OrderKeys, panes: Ints, firsts: Ints) -> None:
        arrays = widened(self.aggregate, values)
        if arrays[self.aggregate.key].null_count:
            key_values = values.field_values(self.aggregate.key) or []
            hash_keys(key_values, self.cache, self.info)  # refuses a key that is None
        groups = Groups.by([firsts, panes, codes_of(arrays[self.aggregate.key])])
        groups = that_fit(self.aggregate, arrays, groups)
        rows, fields = aggregated(self.aggregate, arrays, groups)
        numbers = groups.sizes(np.ones(len(ts), np.int64))
        partial = Columns(
            self.partial_type,
            [*fields, pa.array(panes[rows]), pa.array(firsts[rows]), pa.array(numbers)],
        )
        hashes = hash_keys(partial.field_values(self.aggregate.key) or [], self.cache, self.info)
        self._spread(Records(partial, ts[rows], keys.take(rows), hashes))


class ColumnarWindowOperator(KeyedOperator):
    """Brings together the partial sums of windows, and emits them when they are over."""

    wants_columns = True
    keeps_panes = True
    counts_records = False

    def __init__(
        self,
        info: OperatorInfo,
        aggregate: FieldAggregate,
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
        """The columns of a sum, or of a number of records, in a window that is one pane.

        A sum that 64 bits cannot hold becomes several.
        """
        if self.aggregate.counted is not None:
            yield key, value, pane, pane, value
            return
        refuse_other_key(self.info, value[self.aggregate.key], key)
        fields = list(value)
        for part in in_64_bits(fields[self.aggregate.field]):
            fields[self.aggregate.field] = part
            yield *fields, pane, pane, 1

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
        numbers = [codes_of(arrays[self.aggregate.key])]
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
        groups = Groups.by([codes_of(arrays[self.aggregate.key])[rows], found])
        chosen = groups.firsts
        of_windows = Groups(rows[groups.order], groups.starts)
        results = self._results(arrays[:PANE], of_windows)
        assert records.hashes is not None
        bounds = np.array([self.panes.bounds(w) for w in windows], np.int64)
        starts, ends = bounds[np.searchsorted(windows, found[chosen])].T
        order = self._order(records, of_windows.firsts, starts, ends)
        emit(MAIN, Records(results, ends - 1, order))

    def _results(self, arrays: list[pa.Array], groups: Groups) -> Values:
        """The result of each group: columns, or objects if a sum is wider than its column.

        Only a declared type is enforced: a type that nobody declares widens.
        """
        own = self.aggregate.type_info
        narrow = field_types(own)[self.aggregate.field].to_arrow()
        try:
            _, fields = aggregated(self.aggregate, arrays, groups)
            fields[self.aggregate.field] = fields[self.aggregate.field].cast(narrow)
            return Columns(own, fields)
        except (SumOverflow, pa.ArrowInvalid):
            if is_declared(own):
                raise overflow(self.aggregate, self.info) from None
        except NoNumber as missing:
            record = Columns(own, [array.slice(missing.row, 1) for array in arrays]).tolist()[0]
            raise bad_record(self.aggregate, self.info, record) from None
        return summed_objects(self.aggregate, arrays, groups)

    def _order(self, records: Records, rows: Ints, starts: Ints, ends: Ints) -> OrderKeys:
        """The place of each result: that of a timer of its key at the end of the window."""
        assert records.hashes is not None
        hashes = records.hashes[rows].astype(np.int64)
        ties = self._ties(records)[rows]
        return self.origin.timers(ends - 1, self.clock, hashes, ties, starts).extended(None)

    def _ties(self, records: Records) -> Ints:
        """Tie breakers of keys with equal hashes. Computed only for them, because it costs time."""
        assert records.hashes is not None and isinstance(records.values, Columns)
        codes = codes_of(_arrays(records)[self.aggregate.key])
        hash_of = np.zeros(int(codes.max()) + 1, records.hashes.dtype)
        hash_of[codes] = records.hashes
        _, place, times = np.unique(hash_of, return_inverse=True, return_counts=True)
        ties = np.zeros(len(records), np.int64)
        shared = np.flatnonzero((times[place] > 1)[codes])
        if len(shared):
            keys = records.values.take(shared).field_values(self.aggregate.key) or []
            ties[shared] = [tie_breaker(key) for key in keys]
        return ties


def _arrays(records: Records) -> list[pa.Array]:
    assert isinstance(records.values, Columns)
    return records.values.arrays
