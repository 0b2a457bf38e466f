"""The windowing table function SESSION: rows of a key with no pause of a gap between them.

A row waits for the end of its session, and leaves with it. If the watermark has passed the end of the
last session, the next row begins a new session. If the watermark has passed the end of the session that
a row would begin, the row is late, unless it belongs to a session that is still open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import bag_form
from millstream.kernel.tables.operator import Delta
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.spec import OneTableSpec
from millstream.kernel.tables.timed.assign import with_windows
from millstream.kernel.tables.timed.operator import Firing, TimedOperator, concat_deltas
from millstream.kernel.tables.timed.times import as_local, as_utc, milliseconds, timestamps

__all__ = ["SessionSpec"]

_LATE = -1


@dataclass(frozen=True)
class SessionSpec(OneTableSpec):
    """Each row with its session: window_start, window_end and window_time come behind it.

    Parameters
    ----------
    row
        The type of the rows.
    key
        The places of the columns of PARTITION BY.
    time
        The place of the time column. A row without a time has no session, and is dropped.
    gap
        The longest pause between two rows of one session, in milliseconds.
    changes, processing, zone
        As in `WindowAggregateSpec`.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    time: int
    gap: int
    changes: bool = False
    processing: bool = False
    zone: str | None = None

    @property
    def placed_by(self) -> tuple[int, ...] | None:
        return self.key or None

    @property
    def layout(self) -> str:
        return "rows of sessions"

    @property
    def output(self) -> RowTypeInfo:
        return with_windows(self.row, self.row.field_types[self.time].to_arrow())

    def describe(self) -> str:
        names = self.row.get_field_names()
        by = ", ".join(names[i] for i in self.key) or "nothing"
        kept = "it keeps the rows of a session until it is over"
        return f"sessions with a gap of {self.gap} ms on {names[self.time]} by {by}; {kept}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return SessionOperator(info, self)


class _Sessions(NamedTuple):
    """Of each row the start and the end of its session, and whether the row is late."""

    starts: Ints
    ends: Ints
    late: npt.NDArray[np.bool_]


class SessionOperator(TimedOperator):
    """Keeps the rows of sessions that are not over, in the order in which they came."""

    spec: SessionSpec

    def __init__(self, info: OperatorInfo, spec: SessionSpec) -> None:
        super().__init__(info, spec, [bag_form("rows", spec.row)])
        self.in_processing_time = spec.processing

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        (rows,) = sections
        if not len(rows):
            return []
        found = self._sessions(rows, np.full(len(rows), MIN_TIMESTAMP))
        return [(rows.hashes, self._lasts(found.ends))]

    def _lasts(self, ends: Ints) -> Ints:
        """The last instants of sessions."""
        return as_utc(ends - 1, self.spec.zone)

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (stored,), (delta,) = sections, deltas
        has_time = delta.arrays[self.spec.time].is_valid().to_numpy(zero_copy_only=False)
        delta = delta if has_time.all() else delta.take(np.flatnonzero(has_time))
        rows = concat_deltas(stored, delta)
        limits = np.full(len(rows), MIN_TIMESTAMP)
        if not self.spec.processing:
            limits[len(stored) :] = firing.limits[delta.causes]
        if not len(rows):
            return [rows]
        found = self._sessions(rows, limits)
        self.count_late(int(found.late.sum()))
        lasts = self._lasts(found.ends)
        due = ~found.late & (lasts <= firing.goal)
        places = np.flatnonzero(due)
        if len(places):
            self._fire(rows.take(places), found.starts[due], found.ends[due], lasts[due], firing)
        left = rows.take(np.flatnonzero(~due & ~found.late))
        # Rows that were taken back stay with weight 0, so that their session is as long as it was.
        return [_net(left)[0] if self.spec.changes else left]

    def _fire(self, rows: Rows, starts: Ints, ends: Ints, lasts: Ints, firing: Firing) -> None:
        if self.spec.changes:
            rows, firsts = _net(rows)
            there = np.flatnonzero(rows.arrays[-1].to_numpy())
            rows, firsts = rows.take(there), firsts[there]
            starts, ends, lasts = starts[firsts], ends[firsts], lasts[firsts]
        *own, weights = rows.arrays
        time = self.spec.output.field_types[-1].to_arrow()
        columns = [timestamps(starts), timestamps(ends), timestamps(lasts, time)]
        firing.fire([*own, *columns], weights.to_numpy(), lasts, rows.hashes)

    def _sessions(self, rows: Rows, limits: Ints) -> _Sessions:
        """The sessions of rows. ``limits``: the time that was over for each of them when it came."""
        key, gap = self.spec.key, self.spec.gap
        moments = milliseconds(rows.arrays[self.spec.time])
        times = as_local(moments, self.spec.zone)
        codes = row_codes([rows.arrays[i] for i in key]) if key else np.zeros(len(rows), np.int64)
        runs = _runs(codes, times, gap)
        # A row that is ahead of the time that is over touches no session that has ended before it.
        behind = np.isin(runs, runs[moments - 1 <= limits])
        if behind.any():
            lasts = as_utc(times + gap - 1, self.spec.zone)
            _one_by_one(runs, behind, times, lasts, limits, gap)
        late = runs == _LATE
        _, numbers = np.unique(runs, return_inverse=True)
        starts = np.full(len(rows), np.iinfo(np.int64).max)
        ends = np.full(len(rows), np.iinfo(np.int64).min)
        np.minimum.at(starts, numbers, times)
        np.maximum.at(ends, numbers, times)
        return _Sessions(starts[numbers], ends[numbers] + gap, late)


def _runs(codes: Ints, times: Ints, gap: int) -> Ints:
    """A number for the run of each row: rows of a key with no pause above the gap between them."""
    order = np.lexsort((times, codes))
    begins = np.zeros(len(order), np.int64)
    later, former = order[1:], order[:-1]
    begins[1:] = (codes[later] != codes[former]) | (times[former] + gap < times[later])
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(begins)
    return found


@dataclass(slots=True)
class _Open:
    """A session while rows are added one by one. ``last``: its last instant."""

    start: int
    end: int
    last: int
    rows: list[int]

    def absorb(self, other: _Open) -> None:
        self.start = min(self.start, other.start)
        self.end = max(self.end, other.end)
        self.last = max(self.last, other.last)
        self.rows += other.rows


def _one_by_one(
    runs: Ints,
    chosen: npt.NDArray[np.bool_],
    times: Ints,
    lasts: Ints,
    limits: Ints,
    gap: int,
) -> None:
    """Number the sessions of some runs again, adding rows in the order in which they came."""
    sessions: dict[int, list[_Open]] = {}
    for place in np.flatnonzero(chosen).tolist():
        time, limit = int(times[place]), int(limits[place])
        own = _Open(time, time + gap, int(lasts[place]), [place])
        others = sessions.setdefault(int(runs[place]), [])
        touched = [
            each
            for each in others
            if each.last > limit and each.start <= own.end and time <= each.end
        ]
        if not touched and own.last <= limit:
            runs[place] = _LATE
            continue
        for each in touched:
            own.absorb(each)
            others.remove(each)
        others.append(own)
    number = len(runs)
    for each in (session for found in sessions.values() for session in found):
        runs[each.rows] = number
        number += 1


def _net(rows: Rows) -> tuple[Rows, Ints]:
    """Equal rows as one with the sum of their weights, and the places of the first of them."""
    *own, column = rows.arrays
    groups = Groups.of_codes(row_codes(own))
    firsts = np.sort(groups.firsts)
    weights = groups.sizes(column.to_numpy())[np.argsort(groups.firsts, kind="stable")]
    found = Rows(own, rows.hashes).take(firsts)
    return Rows([*found.arrays, pa.array(weights)], found.hashes), firsts
