"""Top-N, deduplication and joins of windows: rows wait in the state for the end of their window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import equal_codes, row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import SortColumn, bag_form, sort_columns
from millstream.kernel.tables.functions import ColumnFunction
from millstream.kernel.tables.operator import Delta
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.spec import OneTableSpec, TwoTableSpec
from millstream.kernel.tables.timed.frames import Partitions, WindowCall
from millstream.kernel.tables.timed.lateness import in_open_windows
from millstream.kernel.tables.timed.operator import Firing, TimedOperator, concat_deltas
from millstream.kernel.tables.timed.times import as_utc, milliseconds, unique

__all__ = ["WindowJoinKind", "WindowJoinSpec", "WindowRankSpec"]

WindowJoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
RankFunction = Literal["ROW_NUMBER", "RANK", "DENSE_RANK"]


@dataclass(frozen=True)
class WindowRankSpec(OneTableSpec):
    """The first rows of each key and window, by an order: Top-N, and with ``last`` 1 deduplication.

    Parameters
    ----------
    row
        The type of the rows; their windows are columns of them.
    key
        The places of the other columns of PARTITION BY.
    order
        The columns of ORDER BY; among equal rows who came first, or the values where rows change.
    start, end
        The places of window_start and window_end.
    last, first
        The ranks that are let through.
    function
        How rows are numbered.
    rank_name
        The name of a column with the rank, None if there is none.
    changes, zone
        As in `WindowAggregateSpec`.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    order: tuple[SortColumn, ...]
    start: int
    end: int
    last: int = 1
    first: int = 1
    function: RankFunction = "ROW_NUMBER"
    rank_name: str | None = None
    changes: bool = False
    zone: str | None = None

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        return "rows of windows"

    @property
    def output(self) -> RowTypeInfo:
        if self.rank_name is None:
            return self.row
        kinds = [*self.row.field_types, ArrowTypeInfo(pa.int64())]
        return RowTypeInfo(kinds, unique([*self.row.get_field_names(), self.rank_name]))

    def describe(self) -> str:
        names = self.row.get_field_names()
        by = ", ".join(names[i] for i in self.key) or "nothing"
        ranks = f"{self.function} from {self.first} to {self.last}"
        return f"window rank: {ranks} by {by}; it keeps the rows of a window until it is over"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return WindowRankOperator(info, self)


@dataclass(frozen=True)
class WindowJoinSpec(TwoTableSpec):
    """A join of rows of the same window and key.

    Parameters
    ----------
    left, right
        The types of the rows.
    kind
        Of a semi or anti join the result has the left row only.
    left_key, right_key
        The places of the columns that have to be equal; NULL is equal to nothing.
    left_window, right_window
        The places of window_start and window_end.
    names
        The names of the result's columns.
    condition
        Of the joined row; what else has to be true.
    changes, zone
        As in `WindowAggregateSpec`; of each input.
    """

    left: RowTypeInfo
    right: RowTypeInfo
    kind: WindowJoinKind
    left_key: tuple[int, ...]
    right_key: tuple[int, ...]
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    names: tuple[str, ...]
    condition: ColumnFunction | None = None
    changes: tuple[bool, bool] = (False, False)
    zone: str | None = None

    @property
    def layout(self) -> str:
        return "rows of windows by side"

    @property
    def output(self) -> RowTypeInfo:
        if self.kind in ("semi", "anti"):
            return RowTypeInfo(list(self.left.field_types), list(self.names))
        return RowTypeInfo([*self.left.field_types, *self.right.field_types], list(self.names))

    def describe(self) -> str:
        names = self.left.get_field_names()
        by = ", ".join(names[i] for i in self.left_key) or "nothing"
        return f"{self.kind} window join by {by}; it keeps the rows of a window until it is over"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return WindowJoinOperator(info, self)


class _WindowRows(TimedOperator):
    """Keeps the rows of windows that are not over. ``ends``: where window_end is, of each input."""

    def __init__(
        self, info: OperatorInfo, spec: WindowRankSpec | WindowJoinSpec, ends: Sequence[int]
    ) -> None:
        forms = [bag_form(f"rows{i}", kind) for i, kind in enumerate(spec.inputs)]
        super().__init__(info, spec, forms)
        self._ends = ends
        self._zone = spec.zone

    def _lasts(self, column: pa.Array) -> Ints:
        return as_utc(milliseconds(column) - 1, self._zone)

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        return [
            (rows.hashes, self._lasts(rows.arrays[end]))
            for rows, end in zip(sections, self._ends, strict=True)
        ]

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        left, due = [], []
        for stored, delta, end in zip(sections, deltas, self._ends, strict=True):
            rows = concat_deltas(stored, self._on_time(delta, end, firing))
            over = self._lasts(rows.arrays[end]) <= firing.goal
            due.append(_added_up(rows.take(np.flatnonzero(over))))
            left.append(rows.take(np.flatnonzero(~over)))
        if any(map(len, due)):
            self.close_windows(due, firing)
        return left

    def _on_time(self, delta: Delta, end: int, firing: Firing) -> Delta:
        if not len(delta):
            return delta
        ends = delta.arrays[end]
        live, late = in_open_windows(ends, self._lasts(ends), firing.limits[delta.causes])
        self.count_late(late)
        return delta if live.all() else delta.take(np.flatnonzero(live))

    def close_windows(self, due: list[Rows], firing: Firing) -> None:
        """Emit what becomes of the rows of windows that are over, each as often as it is there."""
        raise NotImplementedError


def _added_up(rows: Rows) -> Rows:
    """Each row as often as its weights add up to, in the place of the first one; without weights."""
    *own, weights = rows.arrays
    numbers = weights.to_numpy()
    if not len(numbers) or (numbers == 1).all():
        return Rows(own, rows.hashes)
    groups = Groups.of_codes(row_codes(own))
    firsts = groups.firsts
    places = np.repeat(firsts, np.maximum(groups.sizes(numbers), 0))
    return Rows(own, rows.hashes).take(np.sort(places, kind="stable"))


class WindowRankOperator(_WindowRows):
    """Numbers the rows of windows that are over."""

    spec: WindowRankSpec

    def __init__(self, info: OperatorInfo, spec: WindowRankSpec) -> None:
        super().__init__(info, spec, [spec.end])

    def close_windows(self, due: list[Rows], firing: Firing) -> None:
        spec, (rows,) = self.spec, due
        codes = row_codes([rows.arrays[i] for i in (*spec.key, spec.start, spec.end)])
        order = list(spec.order)
        if spec.changes:
            order += [SortColumn(i) for i in range(len(rows.arrays))]
        places = np.lexsort([*sort_columns(rows.arrays, order), codes])
        rows = rows.take(places)
        by = [rows.arrays[column.place] for column in spec.order]
        peers = equal_codes(by) if by else np.zeros(len(rows), np.int64)
        ranks = Partitions(codes[places], peers).call(
            WindowCall(spec.function, (), pa.int64()), rows.arrays
        )
        numbers = ranks.to_numpy()
        through = np.flatnonzero((numbers >= spec.first) & (numbers <= spec.last))
        found = rows.take(through)
        arrays = list(found.arrays)
        if spec.rank_name is not None:
            arrays.append(ranks.take(pa.array(through)))
        lasts = self._lasts(found.arrays[spec.end])
        firing.fire(arrays, np.ones(len(found), np.int64), lasts, found.hashes)


class WindowJoinOperator(_WindowRows):
    """Pairs the rows of windows that are over."""

    spec: WindowJoinSpec

    def __init__(self, info: OperatorInfo, spec: WindowJoinSpec) -> None:
        super().__init__(info, spec, [spec.left_window[1], spec.right_window[1]])

    def close_windows(self, due: list[Rows], firing: Firing) -> None:
        spec, (left, right) = self.spec, due
        one, two = self._pairs(left, right)
        matched = [np.isin(np.arange(len(left)), one), np.isin(np.arange(len(right)), two)]
        if spec.kind in ("semi", "anti"):
            chosen = np.flatnonzero(matched[0] == (spec.kind == "semi"))
            self._send([(left, chosen)], left.take(chosen), spec.left_window[1], firing)
            return
        self._send([(left, one), (right, two)], left.take(one), spec.left_window[1], firing)
        if spec.kind in ("left", "full"):
            alone = np.flatnonzero(~matched[0])
            parts = [(left, alone), (right, np.full(len(alone), -1))]
            self._send(parts, left.take(alone), spec.left_window[1], firing)
        if spec.kind in ("right", "full"):
            alone = np.flatnonzero(~matched[1])
            parts = [(left, np.full(len(alone), -1)), (right, alone)]
            self._send(parts, right.take(alone), spec.right_window[1], firing)

    def _pairs(self, left: Rows, right: Rows) -> tuple[Ints, Ints]:
        """The places of the rows that belong together."""
        spec = self.spec
        pairs = zip(
            (*spec.left_key, *spec.left_window), (*spec.right_key, *spec.right_window), strict=True
        )
        columns = [
            pa.concat_arrays([left.arrays[i], right.arrays[j].cast(left.arrays[i].type)])
            for i, j in pairs
        ]
        codes = row_codes(columns)
        missing = np.zeros(len(codes), np.bool_)
        for column in columns:
            missing |= column.is_null().to_numpy(zero_copy_only=False)
        codes[missing] = -1 - np.arange(int(missing.sum()))
        own, others = codes[: len(left)], codes[len(left) :]
        order = np.argsort(others, kind="stable")
        low = np.searchsorted(others[order], own, side="left")
        counts = np.searchsorted(others[order], own, side="right") - low
        one = np.repeat(np.arange(len(left)), counts)
        starts = np.cumsum(counts) - counts
        two = order[np.repeat(low - starts, counts) + np.arange(len(one))]
        if spec.condition is None or not len(one):
            return one, two
        batch = pa.RecordBatch.from_arrays(
            [*left.take(one).arrays, *right.take(two).arrays],
            names=[str(i) for i in range(len(left.arrays) + len(right.arrays))],
        )
        true = spec.condition(batch).fill_null(False).to_numpy(zero_copy_only=False)
        return one[true], two[true]

    def _send(self, parts: list[tuple[Rows, Ints]], timed: Rows, end: int, firing: Firing) -> None:
        arrays = []
        for rows, places in parts:
            taken = pa.array(places, mask=places < 0)
            arrays += [array.take(taken) for array in rows.arrays]
        lasts = self._lasts(timed.arrays[end])
        firing.fire(arrays, np.ones(len(timed), np.int64), lasts, timed.hashes)
