"""ORDER BY a time: rows wait for the watermark, and leave in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import SortColumn, bag_form, sort_columns
from millstream.kernel.tables.operator import Delta
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.tables.timed.operator import Firing, TimedOperator, concat_deltas
from millstream.kernel.tables.timed.times import milliseconds

__all__ = ["TemporalSortSpec"]


@dataclass(frozen=True)
class TemporalSortSpec(TableSpec):
    """The rows in the order of a time and of other columns. ``order``: the first column is the time.

    A row is late, dropped and counted if the watermark has reached its time when it comes.
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
        return "rows that wait for their time"

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
        super().__init__(info, spec, [bag_form("rows", spec.row)])
        self._time = spec.order[0].place

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        (rows,) = sections
        return [(rows.hashes, milliseconds(rows.arrays[self._time]))]

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (stored,), (delta,) = sections, deltas
        column = delta.arrays[self._time]
        there = column.is_valid().to_numpy(zero_copy_only=False)
        live = milliseconds(column) > firing.limits[delta.causes]
        self.count_late(int((there & ~live).sum()))
        rows = concat_deltas(stored, delta.take(np.flatnonzero(there & live)))
        rows = rows.take(np.lexsort(sort_columns(rows.arrays, self.spec.order)))
        times = milliseconds(rows.arrays[self._time])
        due = times <= firing.goal
        now = rows.take(np.flatnonzero(due))
        *own, weights = now.arrays
        firing.fire(own, weights.to_numpy(), times[due], now.hashes)
        return [rows.take(np.flatnonzero(~due))]
