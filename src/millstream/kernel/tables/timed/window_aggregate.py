"""Aggregates of windows: one state for each key and window, and one row when the window is over.

The windows are columns of the rows: `WindowStep` has put them there, or an operator behind it. So an
aggregate over the result of a window join is the same as one right behind the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.calls import AggregateCall, Aggregates
from millstream.kernel.tables.operator import Delta
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm
from millstream.kernel.tables.spec import OneTableSpec
from millstream.kernel.tables.timed.assign import WINDOW_COLUMNS
from millstream.kernel.tables.timed.lateness import in_open_windows
from millstream.kernel.tables.timed.operator import Firing, TimedOperator
from millstream.kernel.tables.timed.times import LOCAL, as_utc, milliseconds, timestamps, unique

__all__ = ["WindowAggregateSpec"]


@dataclass(frozen=True)
class WindowAggregateSpec(OneTableSpec):
    """GROUP BY window_start, window_end and other columns.

    Parameters
    ----------
    row
        The type of the rows; their windows are columns of them.
    key
        The places of the other columns that are grouped by.
    calls
        The aggregates.
    start, end
        The places of window_start and window_end.
    time
        The type of the column window_time of the result.
    changes
        Whether rows may be taken back.
    processing
        The windows are over by the time of the epoch, and not by the clock.
    zone
        The time zone of the session, where windows were made by the clock on the wall there.

    The result has the columns of the key, window_start, window_end, window_time, and the aggregates.
    A window in which all rows were taken back has no result. A row whose window is over is late, and
    is dropped and counted.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    start: int
    end: int
    time: pa.DataType = LOCAL
    changes: bool = False
    processing: bool = False
    zone: str | None = None

    @property
    def placed_by(self) -> tuple[int, ...]:
        return tuple(range(len(self.key)))

    @property
    def layout(self) -> str:
        return "states of windows"

    @cached_property
    def aggregates(self) -> Aggregates:
        return Aggregates(self.row, self.calls, self.changes)

    @property
    def output(self) -> RowTypeInfo:
        names = self.row.get_field_names()
        kinds = [LOCAL, LOCAL, self.time, *self.aggregates.result_types]
        results = [f"EXPR${i}" for i in range(len(self.calls))]
        return RowTypeInfo(
            [*(self.row.field_types[i] for i in self.key), *map(ArrowTypeInfo, kinds)],
            unique([*(names[i] for i in self.key), *WINDOW_COLUMNS, *results]),
        )

    def describe(self) -> str:
        names = self.row.get_field_names()
        by = ", ".join(names[i] for i in self.key) or "nothing"
        calls = ", ".join(call.function for call in self.calls) or "no aggregates"
        when = "the time of the epoch" if self.processing else "the watermark"
        kept = f"it keeps a state for each key and window until {when} passes"
        return f"window aggregate of {calls} by {by}; {kept}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return WindowAggregateOperator(info, self)


class WindowAggregateOperator(TimedOperator):
    """Keeps a state for each key and window."""

    spec: WindowAggregateSpec

    def __init__(self, info: OperatorInfo, spec: WindowAggregateSpec) -> None:
        aggregates = spec.aggregates
        names, kinds = spec.row.get_field_names(), spec.row.field_types
        self._kept = [*spec.key, spec.start, spec.end]
        form = RowTypeInfo(
            [*(kinds[i] for i in self._kept), *map(ArrowTypeInfo, aggregates.state_types)],
            [*(names[i] for i in self._kept), *aggregates.state_names],
        )
        super().__init__(info, spec, [SectionForm("windows", form, aggregates.nothing)])
        self.aggregates = aggregates
        self.in_processing_time = spec.processing

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        (rows,) = sections
        return [(rows.hashes, self._lasts(rows.arrays[len(self._kept) - 1]))]

    def _lasts(self, ends: pa.Array) -> Ints:
        """The last instants of windows."""
        return as_utc(milliseconds(ends) - 1, self.spec.zone)

    def _overs(self, lasts: Ints) -> Ints:
        """The instants from which on windows take no rows."""
        return lasts

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (stored,), (delta,) = sections, deltas
        new = self._states(self._on_time(delta, firing))
        rows = self._folded(concat_rows([stored, new]) if len(stored) else new)
        lasts = self._lasts(rows.arrays[len(self._kept) - 1])
        due = lasts <= firing.goal
        if not due.any():
            return [rows]
        self._fire(rows.take(np.flatnonzero(due)), lasts[due], firing)
        return [rows.take(np.flatnonzero(~due))]

    def _on_time(self, delta: Delta, firing: Firing) -> Delta:
        """The rows that are not late, and that have a window."""
        if not len(delta):
            return delta
        ends = delta.arrays[self.spec.end]
        if self.spec.processing:
            live = ends.is_valid().to_numpy(zero_copy_only=False)
        else:
            overs = self._overs(self._lasts(ends))
            live, late = in_open_windows(ends, overs, firing.limits[delta.causes])
            self.count_late(late)
        return delta if live.all() else delta.take(np.flatnonzero(live))

    def _states(self, delta: Delta) -> Rows:
        own = [delta.arrays[i] for i in self._kept]
        return Rows([*own, *self.aggregates.rows(delta.arrays, delta.weights)], delta.hashes)

    def _folded(self, rows: Rows) -> Rows:
        """One state for each key and window, without those in which nothing is left."""
        if not len(rows):
            return rows
        width = len(self._kept)
        groups = Groups.of_codes(row_codes(rows.arrays[:width]))
        firsts = groups.firsts
        own = [array.take(pa.array(firsts)) for array in rows.arrays[:width]]
        state = self.aggregates.fold(rows.arrays[width:], groups)
        found = Rows([*own, *state], rows.hashes[firsts])
        if not self.spec.changes:
            return found
        left = ~self.aggregates.is_empty(state)
        return found if left.all() else found.take(np.flatnonzero(left))

    def _fire(self, rows: Rows, lasts: Ints, firing: Firing) -> None:
        there = np.flatnonzero(self.aggregates.numbers(rows.arrays[len(self._kept) :]) > 0)
        rows, lasts = rows.take(there), lasts[there]
        weights = np.ones(len(there), np.int64)
        firing.fire(self._results(rows, lasts), weights, lasts, rows.hashes)

    def _results(self, rows: Rows, lasts: Ints) -> list[pa.Array]:
        """The columns of the output, given the states of windows."""
        width = len(self._kept)
        *keys, start, end = rows.arrays[:width]
        time = timestamps(lasts, self.spec.time)
        results = self.aggregates.results(rows.arrays[width:])
        return [*keys, start.cast(LOCAL), end.cast(LOCAL), time, *results]
