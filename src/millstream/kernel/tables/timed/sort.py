"""ORDER BY a time: rows wait for the watermark, and leave in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import SortColumn, bag_form, sort_columns
from millstream.kernel.tables.operator import Delta
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionForm
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.tables.timed.lateness import firing_times, in_order
from millstream.kernel.tables.timed.operator import Firing, TimedOperator, concat_deltas
from millstream.kernel.tables.timed.times import milliseconds

__all__ = ["TemporalSortSpec"]


@dataclass(frozen=True)
class TemporalSortSpec(TableSpec):
    """The rows in the order of a time and of other columns. ``order``: the first column is the time.

    A row is late, dropped and counted if a row of its time or of a later one has left when it comes.
    """

    row: RowTypeInfo
    order: tuple[SortColumn, ...]

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return (self.row,)

    @property
    def output(self) -> RowTypeInfo:
        return self.row

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return ((),)

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return (False,)

    @property
    def layout(self) -> str:
        return "rows that wait for their time, and the time of the last that has left"

    def describe(self) -> str:
        names = self.row.get_field_names()
        by = ", ".join(names[column.place] for column in self.order)
        return f"sort by {by}; it keeps rows until the watermark reaches them"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return TemporalSortOperator(info, self)


class TemporalSortOperator(TimedOperator):
    """Keeps the rows whose time has not come."""

    spec: TemporalSortSpec

    def __init__(self, info: OperatorInfo, spec: TemporalSortSpec) -> None:
        last = RowTypeInfo([ArrowTypeInfo(pa.int64())], ["$last"])
        forms = [bag_form("rows", spec.row), SectionForm("last", last)]
        super().__init__(info, spec, forms)
        self._time = spec.order[0].place

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        rows, _ = sections
        return [(rows.hashes, milliseconds(rows.arrays[self._time]))]

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (stored, last), (delta,) = sections, deltas
        column = delta.arrays[self._time]
        there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        rows = concat_deltas(stored, delta.take(there))
        limits = np.full(len(rows), MIN_TIMESTAMP)
        limits[len(stored) :] = firing.limits[delta.causes[there]]
        rows, limits = self._in_order(rows, limits, last, len(stored))
        order = np.lexsort(sort_columns(rows.arrays, self.spec.order))
        rows, limits = rows.take(order), limits[order]
        times = milliseconds(rows.arrays[self._time])
        due = times <= firing.goal
        now = rows.take(np.flatnonzero(due))
        if len(now):
            *own, weights = now.arrays
            left = firing_times(times[due], limits[due], firing.goal)
            firing.fire(own, weights.to_numpy(), left, now.hashes, times[due])
            last = Rows([pa.array(times[due][-1:])], now.hashes[-1:])
        return [rows.take(np.flatnonzero(~due)), last]

    def _in_order(self, rows: Rows, limits: Ints, last: Rows, number: int) -> tuple[Rows, Ints]:
        """The rows that are not late. ``last``: the time of the last row that has left."""
        known = last.arrays[0].to_numpy()
        times = np.concatenate([known, milliseconds(rows.arrays[self._time])])
        over = np.concatenate([np.full(len(known), MIN_TIMESTAMP), limits])
        one = np.zeros(len(times), np.int64)
        found = in_order(one, times, over, len(known) + number)[len(known) :]
        self.count_late(int((~found).sum()))
        places = np.flatnonzero(found)
        return (rows, limits) if found.all() else (rows.take(places), limits[places])
