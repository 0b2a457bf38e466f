"""Joins of rows whose times are near each other: both sides keep rows until the clock has passed them.

A row of the left side meets the rows of the right side whose time is in an interval around its own. A
row is kept as long as a row that is not late may still meet it. What only a late row could have met is
gone: it meets what is there when it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.functions import ColumnFunction, true_pairs
from millstream.kernel.tables.operator import Delta
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionForm
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.tables.timed.operator import Firing, TimedOperator, section
from millstream.kernel.tables.timed.times import milliseconds

__all__ = ["IntervalJoinKind", "TableIntervalJoinSpec"]

IntervalJoinKind = Literal["inner", "left", "right", "full"]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TableIntervalJoinSpec(TableSpec):
    """A join by equal columns and near times.

    Parameters
    ----------
    left, right
        The types of the rows.
    kind
        Rows without a partner come with NULL when the clock has passed all that they could have met.
    left_key, right_key
        The places of the columns that have to be equal; NULL is equal to nothing.
    left_time, right_time
        The places of the times.
    lower, upper
        The left time minus the right time is at least ``lower`` and at most ``upper``, in milliseconds.
    names
        The names of the result's columns.
    condition
        Of the joined row; what else has to be true.
    processing
        The time of a row is that of the epoch in which it comes.
    """

    left: RowTypeInfo
    right: RowTypeInfo
    kind: IntervalJoinKind
    left_key: tuple[int, ...]
    right_key: tuple[int, ...]
    left_time: int
    right_time: int
    lower: int
    upper: int
    names: tuple[str, ...]
    condition: ColumnFunction | None = None
    processing: bool = False

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return self.left, self.right

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return self.left_key, self.right_key

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return False, False

    @property
    def layout(self) -> str:
        return "rows of an interval by side"

    @property
    def output(self) -> RowTypeInfo:
        return RowTypeInfo([*self.left.field_types, *self.right.field_types], list(self.names))

    @property
    def waits(self) -> tuple[int, int]:
        """How long rows of each side are kept after their time."""
        return -self.lower, self.upper

    @property
    def delay(self) -> int:
        if self.processing:
            return 0
        # A row without a partner comes an instant after the last one that could have been it.
        return max(0, *self.waits) + (self.kind != "inner")

    def describe(self) -> str:
        names = self.left.get_field_names()
        by = ", ".join(names[i] for i in self.left_key) or "nothing"
        return (
            f"{self.kind} interval join by {by}, from {self.lower} ms to {self.upper} ms; "
            "it keeps rows until the clock has passed the interval"
        )

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return TableIntervalJoinOperator(info, self)


@dataclass
class _Side:
    """The rows of a side: stored ones, then those of the epoch.

    ``limits``: the time that was over when a row came. ``ranks``: its place in the order of the epoch,
    -1 for stored rows. ``wait``: how long rows are kept after their time.
    """

    rows: Rows
    times: Ints
    matched: Marks
    limits: Ints
    causes: Ints
    ranks: Ints
    wait: int

    def __len__(self) -> int:
        return len(self.times)

    @property
    def is_new(self) -> Marks:
        return self.causes >= 0

    @property
    def is_kept(self) -> Marks:
        """Whether later rows may meet a row: it is not too late itself."""
        found: Marks = self.times + max(self.wait, 0) >= self.limits
        return found

    def take(self, places: Ints) -> _Side:
        return replace(
            self,
            rows=self.rows.take(places),
            times=self.times[places],
            matched=self.matched[places],
            limits=self.limits[places],
            causes=self.causes[places],
            ranks=self.ranks[places],
        )


class TableIntervalJoinOperator(TimedOperator):
    """Pairs new rows with all rows, and lets go of rows that are over."""

    spec: TableIntervalJoinSpec

    def __init__(self, info: OperatorInfo, spec: TableIntervalJoinSpec) -> None:
        super().__init__(info, spec, [_form("left", spec.left), _form("right", spec.right)])
        self.in_processing_time = spec.processing

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        return [
            (rows.hashes, rows.arrays[-2].to_numpy() + wait + 1)
            for rows, wait in zip(sections, self.spec.waits, strict=True)
        ]

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        left, right = (self._side(i, sections[i], deltas[i], firing) for i in (0, 1))
        codes = self._codes(left, right)
        new, old = np.flatnonzero(left.is_new), np.flatnonzero(~left.is_new)
        every, fresh = np.arange(len(right)), np.flatnonzero(right.is_new)
        parts = [self._pairs(left, right, codes, a, b) for a, b in ((new, every), (old, fresh))]
        one, two = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        one, two = self._true(left, right, one, two)
        if len(one):
            self._send_pairs(left, right, one, two, firing)
        left.matched[one] = True
        right.matched[two] = True
        return [
            self._let_go(side, i, (left, right)[1 - i], firing)
            for i, side in enumerate((left, right))
        ]

    def _side(self, number: int, stored: Rows, delta: Delta, firing: Firing) -> _Side:
        *own, times, matched = stored.arrays
        kept, new = len(stored), len(delta)
        place = (self.spec.left_time, self.spec.right_time)[number]
        if self.spec.processing:
            fresh = limits = np.full(new, firing.clock.now_ms, np.int64)
        else:
            fresh, limits = milliseconds(delta.arrays[place]), firing.limits[delta.causes]
        arrays = [pa.concat_arrays([a, b]) for a, b in zip(own, delta.arrays, strict=True)]
        ranks = firing.now.ranks(delta.causes) if new else np.empty(0, np.int64)
        return _Side(
            Rows(arrays, np.concatenate([stored.hashes, delta.hashes])),
            np.concatenate([times.to_numpy(), fresh]),
            np.concatenate([matched.to_numpy().astype(np.bool_), np.zeros(new, np.bool_)]),
            np.concatenate([np.full(kept, MIN_TIMESTAMP), limits]),
            np.concatenate([np.full(kept, -1), delta.causes]),
            np.concatenate([np.full(kept, -1), ranks]),
            self.spec.waits[number],
        )

    def _codes(self, left: _Side, right: _Side) -> tuple[Ints, Ints]:
        """A number for each key of both sides; a key with NULL has one that no other has."""
        number = len(left) + len(right)
        codes, missing = np.zeros(number, np.int64), np.zeros(number, np.bool_)
        pairs = zip(self.spec.left_key, self.spec.right_key, strict=True)
        columns = [pa.concat_arrays([left.rows.arrays[i], right.rows.arrays[j]]) for i, j in pairs]
        if columns and number:
            codes = row_codes(columns)
            for column in columns:
                missing |= column.is_null().to_numpy(zero_copy_only=False)
            codes[missing] = codes.max() + 1 + np.arange(int(missing.sum()))
        return codes[: len(left)], codes[len(left) :]

    def _pairs(
        self, left: _Side, right: _Side, codes: tuple[Ints, Ints], some: Ints, others: Ints
    ) -> tuple[Ints, Ints]:
        """The places of pairs of equal keys and near times, of which the later one was not too late."""
        nothing = np.empty(0, np.int64)
        if not len(some) or not len(others):
            return nothing, nothing
        times, spec = right.times[others], self.spec
        known = np.unique(times)
        width = len(known) + 1
        numbers = codes[1][others] * width + np.searchsorted(known, times)
        order = np.argsort(numbers, kind="stable")
        own = codes[0][some] * width
        low = own + np.searchsorted(known, left.times[some] - spec.upper, side="left")
        high = own + np.searchsorted(known, left.times[some] - spec.lower, side="right")
        starts = np.searchsorted(numbers[order], low)
        counts = np.maximum(np.searchsorted(numbers[order], high) - starts, 0)
        one = np.repeat(some, counts)
        before = np.cumsum(counts) - counts
        two = others[order[np.repeat(starts - before, counts) + np.arange(len(one))]]
        met = self._met(left, right, one, two)
        return one[met], two[met]

    def _met(self, left: _Side, right: _Side, one: Ints, two: Ints) -> Marks:
        """Whether the earlier row of a pair was still there when the later one came."""
        left_first = left.ranks[one] < right.ranks[two]
        found: Marks = np.where(
            left_first,
            left.is_kept[one] & (left.times[one] + left.wait >= right.limits[two]),
            right.is_kept[two] & (right.times[two] + right.wait >= left.limits[one]),
        )
        return found

    def _true(self, left: _Side, right: _Side, one: Ints, two: Ints) -> tuple[Ints, Ints]:
        if self.spec.condition is None or not len(one):
            return one, two
        sides = (left.rows.arrays, one), (right.rows.arrays, two)
        true = true_pairs(self.spec.condition, *sides)
        return one[true], two[true]

    def _send_pairs(self, left: _Side, right: _Side, one: Ints, two: Ints, firing: Firing) -> None:
        later = left.ranks[one] >= right.ranks[two]
        causes = np.where(later, left.causes[one], right.causes[two])

        def columns(order: pa.Array) -> list[pa.Array]:
            ones, others = (pa.array(rows).take(order) for rows in (one, two))
            return [
                *(array.take(ones) for array in left.rows.arrays),
                *(array.take(others) for array in right.rows.arrays),
            ]

        firing.now.send_made(columns, np.ones(len(one), np.int64), causes)

    def _let_go(self, side: _Side, number: int, other: _Side, firing: Firing) -> Rows:
        """The rows that stay; those that go without a partner come with NULL, if the kind says so."""
        due = side.times + side.wait + 1
        late = side.is_new & ~side.is_kept
        over = late | (due <= firing.goal)
        if self.spec.kind in ("full", ("left", "right")[number]):
            alone = over & ~side.matched
            self._send_alone(side, np.flatnonzero(alone & late), number, other, firing, due)
            self._send_alone(side, np.flatnonzero(alone & ~late), number, other, firing, due)
        left = side.take(np.flatnonzero(~over))
        marks = pa.array(left.matched.astype(np.int8))
        return Rows([*left.rows.arrays, pa.array(left.times), marks], left.rows.hashes)

    def _send_alone(
        self, side: _Side, places: Ints, number: int, other: _Side, firing: Firing, due: Ints
    ) -> None:
        if not len(places):
            return
        own = side.take(places)
        blank = [pa.nulls(len(own), array.type) for array in other.rows.arrays]
        arrays = [*own.rows.arrays, *blank] if number == 0 else [*blank, *own.rows.arrays]
        weights = np.ones(len(own), np.int64)
        if (own.is_new & ~own.is_kept).any():
            firing.now.send(arrays, weights, own.causes)
            return
        before = firing.clock.now_ms if self.spec.processing else firing.clock.before + 1
        firing.fire(arrays, weights, np.maximum(due[places], before), own.rows.hashes)


def _form(name: str, row: RowTypeInfo) -> SectionForm:
    """A section of rows with their time, and whether they have met a row of the other side."""
    kinds = [*row.field_types, ArrowTypeInfo(pa.int64()), ArrowTypeInfo(pa.int8())]
    return section(name, RowTypeInfo(kinds, [*row.get_field_names(), "$time", "$matched"]))
