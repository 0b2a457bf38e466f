"""The operators of OVER: by row time, by arrival, and over rows that change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import equal_codes, row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import Marks, numbers_in_order
from millstream.kernel.tables.bags import Bag, SortColumn, bag_form, sort_columns
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.timed.frames import (
    Partitions,
    WindowCall,
    folded_frames,
)
from millstream.kernel.tables.timed.lateness import firing_times, in_order
from millstream.kernel.tables.timed.operator import Firing, TimedOperator
from millstream.kernel.tables.timed.over import OverSpec
from millstream.kernel.tables.timed.times import milliseconds

__all__ = ["ArrivalOverOperator", "RowtimeOverOperator", "UpdatingOverOperator"]


def partition_codes(arrays: Sequence[pa.Array], key: Sequence[int], number: int) -> Ints:
    """A number for the partition of each row."""
    return row_codes([arrays[i] for i in key]) if key else np.zeros(number, np.int64)


def range_values(column: pa.Array, *, descending: bool) -> Ints:
    """The numbers that RANGE offsets count in; NULL is far away from all values."""
    is_time = pa.types.is_timestamp(column.type)
    found = milliseconds(column) if is_time else numbers_in_order(column).astype(np.int64)
    found = -found if descending else found
    far = -(1 << 61)
    return np.where(column.is_null().to_numpy(zero_copy_only=False), far, found)


def results_of(spec: OverSpec, arrays: Sequence[pa.Array], rows: Partitions) -> list[pa.Array]:
    """The columns of all calls, for rows that stand partition by partition in their order."""
    number = len(rows.codes)
    aggregates = spec.aggregates
    found: list[pa.Array] = []
    if aggregates.calls:
        state = aggregates.rows(arrays, np.ones(number, np.int64))
        low, high = rows.frames(spec.frame)
        if spec.frame.start is None and spec.frame.end == 0:
            whole = aggregates.prefixes(state, rows.firsts)
            lasts = pa.array(high - 1)
            found = aggregates.results([column.take(lasts) for column in whole])
        else:
            found = folded_frames(aggregates, state, low, high)
    values = iter(found)
    by_time = spec.mode == "rowtime" and spec.frame.unit == "RANGE"
    place = _places_by_time if by_time else Partitions.call
    return [
        place(rows, call, arrays) if isinstance(call, WindowCall) else next(values)
        for call in spec.calls
    ]


def _places_by_time(rows: Partitions, call: WindowCall, arrays: Sequence[pa.Array]) -> pa.Array:
    """The values of a function of places by row time, as Flink gives them.

    Only ROW_NUMBER looks at single rows. For the others all rows of one time are added, and then each of
    them has the value of the last one; ranks count rows.
    """
    if call.function == "ROW_NUMBER":
        return rows.call(call, arrays)
    if call.function in ("RANK", "DENSE_RANK"):
        call = replace(call, function="ROW_NUMBER")
    return rows.call(call, arrays).take(pa.array(rows.peer_ends - 1))


def _needs_values(spec: OverSpec) -> bool:
    frame = spec.frame
    return frame.unit == "RANGE" and any(bound for bound in (frame.start, frame.end))


class UpdatingOverOperator(TableOperator):
    """Keeps all rows; computes touched partitions before and after an epoch, emits the difference."""

    spec: OverSpec

    def __init__(self, info: OperatorInfo, spec: OverSpec) -> None:
        super().__init__(info, spec, [bag_form("rows", spec.row)])

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        bag = Bag.of(stored, delta, changes=self.spec.changes)
        codes = partition_codes(bag.arrays, self.spec.key, len(bag.hashes))
        touched = np.unique(codes[bag.causes >= 0])
        mine = bag.take(np.flatnonzero(np.isin(codes, touched)))
        self._emit(mine, emission)
        return [bag.rows()]

    def _emit(self, bag: Bag, emission: Emission) -> None:
        number = len(bag.hashes)
        codes = partition_codes(bag.arrays, self.spec.key, number)
        old, new = self._computed(bag, bag.before, codes), self._computed(bag, bag.after, codes)
        arrays = [pa.concat_arrays([a, b]) for a, b in zip(old[0], new[0], strict=True)]
        signs = np.repeat(np.array([-1, 1]), [len(old[1]), len(new[1])])
        if not len(signs) or not number:
            return
        # What was last touched in a partition is the cause of all that changes there.
        causes = emission.last_of(Groups.of_codes(codes), bag.causes)
        of_rows = causes[codes[np.concatenate([old[1], new[1]])]]
        groups = Groups.of_codes(row_codes(arrays))
        weights = groups.sizes(signs)
        changed = np.flatnonzero(weights)
        firsts = groups.firsts[changed]
        taken = pa.array(firsts)
        emission.send([array.take(taken) for array in arrays], weights[changed], of_rows[firsts])

    def _computed(self, bag: Bag, weights: Ints, codes: Ints) -> tuple[list[pa.Array], Ints]:
        """The result rows where each row is there as often as its weight says, and where they are."""
        spec = self.spec
        order = [*sort_columns(bag.arrays, self._order()), codes]
        sorted_rows = np.lexsort(order)
        places = np.repeat(sorted_rows, np.maximum(weights[sorted_rows], 0))
        taken = pa.array(places)
        arrays = [array.take(taken) for array in bag.arrays]
        by = [arrays[column.place] for column in spec.order]
        peers = equal_codes(by) if by else np.zeros(len(places), np.int64)
        values = None
        if _needs_values(spec):
            values = range_values(by[0], descending=spec.order[0].descending)
        rows = Partitions(codes[places], peers, values)
        return [*arrays, *results_of(spec, arrays, rows)], places

    def _order(self) -> list[SortColumn]:
        """Among equal rows the values of the row decide, where rows change; else who came first."""
        spec = self.spec
        if not spec.changes:
            return list(spec.order)
        return [*spec.order, *(SortColumn(i) for i in range(len(spec.row.field_types)))]


class _StatefulOver(TimedOperator):
    """The common part of OVER by row time and by arrival: rows that come, behind a past.

    The past of a partition is one state where frames begin with the first row, else the rows that
    frames may still see.
    """

    spec: OverSpec

    def __init__(self, info: OperatorInfo, spec: OverSpec, *, waits: bool) -> None:
        kinds, names = spec.row.field_types, spec.row.get_field_names()
        number = ArrowTypeInfo(pa.int64())
        rows = RowTypeInfo([*kinds, number], [*names, "$time"])
        past = rows
        if spec.keeps_states:
            aggregates = spec.aggregates
            past = RowTypeInfo(
                [*(kinds[i] for i in spec.key), *map(ArrowTypeInfo, aggregates.state_types)],
                [*(names[i] for i in spec.key), *aggregates.state_names],
            )
        forms = [SectionForm("past", past), *([SectionForm("waiting", rows)] if waits else [])]
        super().__init__(info, spec, forms)

    def passed(self, past: Rows, new: Rows) -> tuple[list[pa.Array], Rows, Ints]:
        """The results of new rows, what their partitions have as a past now, and the rows sorted.

        New rows are in their order, and come in the order of the last value: places among them.
        """
        return self._by_state(past, new) if self.spec.keeps_states else self._by_rows(past, new)

    def _by_state(self, past: Rows, new: Rows) -> tuple[list[pa.Array], Rows, Ints]:
        spec, aggregates = self.spec, self.spec.aggregates
        width = len(spec.key)
        keys = [
            pa.concat_arrays([past.arrays[i], new.arrays[place]])
            for i, place in enumerate(spec.key)
        ]
        states = aggregates.rows(new.arrays[:-1], np.ones(len(new), np.int64))
        states = [
            pa.concat_arrays([a, b]) for a, b in zip(past.arrays[width:], states, strict=True)
        ]
        number = len(past) + len(new)
        codes = partition_codes(keys, range(width), number)
        times = np.concatenate([np.full(len(past), -MAX_TIMESTAMP), new.arrays[-1].to_numpy()])
        order = np.lexsort((times, codes))
        taken = pa.array(order)
        rows = Partitions(codes[order], times[order])
        whole = aggregates.prefixes([column.take(taken) for column in states], rows.firsts)
        high = rows.peer_ends if self._has_peers else rows.every + 1
        fresh = np.flatnonzero(order >= len(past))
        lasts = pa.array(high[fresh] - 1)
        results = aggregates.results([column.take(lasts) for column in whole])
        ends = np.unique(rows.ends) - 1
        own = [key.take(pa.array(order[ends])) for key in keys]
        hashes = np.concatenate([past.hashes, new.hashes])[order[ends]]
        kept = Rows([*own, *(column.take(pa.array(ends)) for column in whole)], hashes)
        return results, kept, order[fresh] - len(past)

    @property
    def _has_peers(self) -> bool:
        return self.spec.frame.unit == "RANGE" and self.spec.mode == "rowtime"

    def _by_rows(self, past: Rows, new: Rows) -> tuple[list[pa.Array], Rows, Ints]:
        spec = self.spec
        both = concat_rows([past, new]) if len(past) else new
        codes = partition_codes(both.arrays, spec.key, len(both))
        times = both.arrays[-1].to_numpy()
        others = sort_columns(both.arrays, spec.order[1:])
        order = np.lexsort([*others, times, codes])
        rows = both.take(order)
        arrays = rows.arrays[:-1]
        by = [rows.arrays[-1], *(arrays[column.place] for column in spec.order[1:])]
        # Who has arrived has no peers: each row sees those before it only.
        peers = equal_codes(by) if spec.mode == "rowtime" else np.arange(len(rows))
        partitions = Partitions(codes[order], peers, times[order])
        results = results_of(spec, arrays, partitions)
        fresh = np.flatnonzero(order >= len(past))
        taken = pa.array(fresh)
        left = self._still_seen(partitions)
        return (
            [column.take(taken) for column in results],
            rows if left is None else rows.take(left),
            order[fresh] - len(past),
        )

    def _still_seen(self, rows: Partitions) -> Ints | None:
        """The places of the rows that frames of later rows may see; None: all."""
        frame, spec = self.spec.frame, self.spec
        shifts = [call.offset for call in spec.calls if isinstance(call, WindowCall)]
        if any(isinstance(c, WindowCall) and c.function != "LAG" for c in spec.calls):
            return None
        if spec.aggregates.calls and (frame.start is None or frame.unit == "RANGE"):
            return None
        # One row at least, which says how far the partition has come.
        number = max([1, *shifts, -(frame.start or 0) if spec.aggregates.calls else 0])
        return np.flatnonzero(rows.every >= rows.ends - number)

    def seen_until(self, times: Ints) -> Ints:
        """Until when frames of RANGE may see rows; forever, if they begin with the first row."""
        frame, spec = self.spec.frame, self.spec
        others = any(isinstance(call, WindowCall) for call in spec.calls)
        if frame.unit == "ROWS" or frame.start is None or others:
            return np.full(len(times), MAX_TIMESTAMP)
        # By row time, a row that is behind the watermark may see as much again.
        reach = 2 if spec.mode == "rowtime" else 1
        return times - reach * frame.start


class ArrivalOverOperator(_StatefulOver):
    """Rows come at once, each with the aggregates of those before it."""

    def __init__(self, info: OperatorInfo, spec: OverSpec) -> None:
        super().__init__(info, spec, waits=False)
        self.in_processing_time = True

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        if self.spec.keeps_states:
            return []
        (past,) = sections
        return [(past.hashes, self.seen_until(past.arrays[-1].to_numpy()))]

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (past,), (delta,) = sections, deltas
        if not self.spec.keeps_states and len(past):
            seen = self.seen_until(past.arrays[-1].to_numpy()) >= firing.clock.now_ms
            past = past if seen.all() else past.take(np.flatnonzero(seen))
        if not len(delta):
            return [past]
        times = np.full(len(delta), firing.clock.now_ms)
        new = Rows([*delta.arrays, pa.array(times)], delta.hashes)
        results, kept, places = self.passed(past, new)
        taken = pa.array(places)
        own = [array.take(taken) for array in delta.arrays]
        firing.now.send([*own, *results], np.ones(len(places), np.int64), delta.causes[places])
        return [kept]


class RowtimeOverOperator(_StatefulOver):
    """Rows wait for the watermark, and come in the order of their times."""

    def __init__(self, info: OperatorInfo, spec: OverSpec) -> None:
        super().__init__(info, spec, waits=True)
        self._time = spec.order[0].place

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        past, waiting = sections
        found = [(waiting.hashes, waiting.arrays[-1].to_numpy())]
        if not self.spec.keeps_states:
            found.append((past.hashes, self.seen_until(past.arrays[-1].to_numpy())))
        return found

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (past, waiting), (delta,) = sections, deltas
        waiting, limits = self._with(past, waiting, delta, firing)
        times = waiting.arrays[-1].to_numpy()
        due = times <= firing.goal
        if due.any():
            now, times = waiting.take(np.flatnonzero(due)), times[due]
            left = firing_times(times, limits[due], firing.goal)
            results, past, places = self.passed(past, now)
            taken = pa.array(places)
            own = [array.take(taken) for array in now.arrays[:-1]]
            weights = np.ones(len(places), np.int64)
            hashes = now.hashes[places]
            firing.fire([*own, *results], weights, left[places], hashes, times[places])
            waiting = waiting.take(np.flatnonzero(~due))
        if not self.spec.keeps_states and len(past):
            seen = self.seen_until(past.arrays[-1].to_numpy()) > firing.goal
            past = past if seen.all() else past.take(np.flatnonzero(seen))
        return [past, waiting]

    def _with(self, past: Rows, waiting: Rows, delta: Delta, firing: Firing) -> tuple[Rows, Ints]:
        """The rows that wait, with new ones that are not late, and the time that was over for them.

        A row without a time goes.
        """
        limits = np.full(len(waiting), MIN_TIMESTAMP)
        column = delta.arrays[self._time]
        there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        if not len(there):
            return waiting, limits
        delta = delta.take(there)
        times, over = milliseconds(column)[there], firing.limits[delta.causes]
        new = Rows([*delta.arrays, pa.array(times)], delta.hashes)
        live = self._on_time(past, waiting, new, over)
        self.count_late(int((~live).sum()))
        places = np.repeat(np.flatnonzero(live), delta.weights[live])
        new, limits = new.take(places), np.concatenate([limits, over[places]])
        return (concat_rows([waiting, new]) if len(waiting) else new), limits

    def _on_time(self, past: Rows, waiting: Rows, new: Rows, limits: Ints) -> Marks:
        """Whether new rows are not late: see `lateness` for frames that do not see the first row.

        In frames of RANGE a row must not be behind by more than the frame: what it sees may be gone.
        """
        times: Ints = new.arrays[-1].to_numpy()
        live: Marks = times > limits
        if live.all() or self.spec.frame.start is None:
            return live
        known = concat_rows([past, waiting])
        both = concat_rows([known, new])
        codes = partition_codes(both.arrays, self.spec.key, len(both))
        moments = both.arrays[-1].to_numpy()
        over = np.concatenate([np.full(len(known), MIN_TIMESTAMP), limits])
        live = in_order(codes, moments, over, len(known))[len(known) :]
        if self.spec.frame.unit == "RANGE":
            live &= times - self.spec.frame.start > limits
        return live
