"""Joins with the version of a row that was valid at the time of the left row.

The right side is a table of versions: a row of a key is valid from its time until that of the next one.
A left row waits until the clock has reached its time: then all versions up to it are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.functions import ColumnFunction
from millstream.kernel.tables.operator import Delta, rows_equal
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm
from millstream.kernel.tables.spec import TwoTableSpec
from millstream.kernel.tables.timed.operator import Firing, TimedOperator, section
from millstream.kernel.tables.timed.times import milliseconds

__all__ = ["TemporalJoinSpec"]

ENDED, VALID, TAKEN_BACK = 0, 1, 2
"""A version that ends the one before it, one that is valid, and one that is so until the next one comes:
an update takes the old row back as it was."""


@dataclass(frozen=True)
class TemporalJoinSpec(TwoTableSpec):
    """A join of rows with the versions of a table: FOR SYSTEM_TIME AS OF, by event time.

    Parameters
    ----------
    left, right
        The types of the rows.
    kind
        ``left`` gives rows without a version, with NULL.
    left_key, right_key
        The places of the columns that have to be equal; those of the right side are its primary key.
    left_time, right_time
        The places of the times. A version is valid from its time on.
    names
        The names of the result's columns.
    condition
        Of the joined row; what else has to be true.
    changes
        Of each side whether rows may be taken back. A row of the right side that is taken back ends the
        version, at its time, unless a version of a later time follows.
    upserts
        No update takes the old row back: what is taken back ends the version.

    A version that comes late is valid from the instant on that was not over when it came. A late left
    row gets the version that was the last one when it came, if that is not later than itself. A key that
    is NULL has versions as any other one: so it is in Flink.
    """

    left: RowTypeInfo
    right: RowTypeInfo
    kind: Literal["inner", "left"]
    left_key: tuple[int, ...]
    right_key: tuple[int, ...]
    left_time: int
    right_time: int
    names: tuple[str, ...]
    condition: ColumnFunction | None = None
    changes: tuple[bool, bool] = (False, False)
    upserts: bool = False

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.left_key

    @property
    def layout(self) -> str:
        return "waiting rows and versions"

    @property
    def output(self) -> RowTypeInfo:
        return RowTypeInfo([*self.left.field_types, *self.right.field_types], list(self.names))

    def describe(self) -> str:
        names = self.left.get_field_names()
        by = ", ".join(names[i] for i in self.left_key)
        return (
            f"{self.kind} join with versions by {by}; it keeps left rows until the clock reaches "
            "them, and versions until a later one is valid"
        )

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return TemporalJoinOperator(info, self)


class TemporalJoinOperator(TimedOperator):
    """Keeps left rows with weight and limit, and versions with their first instant and whether they are.

    Columns of the state behind those of the rows: ``$weight`` and ``$limit`` of a left row; ``$since``,
    the first instant of a version, and ``$there``: see `ENDED`, `VALID` and `TAKEN_BACK`.
    """

    spec: TemporalJoinSpec

    def __init__(self, info: OperatorInfo, spec: TemporalJoinSpec) -> None:
        forms = [
            _form("left", spec.left, ("$weight", "$limit")),
            _form("versions", spec.right, ("$since", "$there")),
        ]
        super().__init__(info, spec, forms)

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        left, _ = sections
        return [(left.hashes, self._firing_times(left))]

    def _firing_times(self, left: Rows) -> Ints:
        """When rows are joined: at their time; late ones when the clock is where they came."""
        times = milliseconds(left.arrays[self.spec.left_time])
        found: Ints = np.maximum(times, left.arrays[-1].to_numpy())
        return found

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        waiting = self._waiting(sections[0], deltas[0], firing)
        versions = self._versions(sections[1], deltas[1], firing)
        due = self._firing_times(waiting) <= firing.goal
        if due.any():
            self._join(waiting.take(np.flatnonzero(due)), versions, firing)
        return [waiting.take(np.flatnonzero(~due)), self._last_versions(versions, firing)]

    def _waiting(self, stored: Rows, delta: Delta, firing: Firing) -> Rows:
        limits = pa.array(firing.limits[delta.causes])
        new = Rows([*delta.arrays, pa.array(delta.weights), limits], delta.hashes)
        return concat_rows([stored, new]) if len(new) else stored

    def _versions(self, stored: Rows, delta: Delta, firing: Firing) -> Rows:
        """Versions with those of the epoch, sorted by key, time and first instant."""
        if not len(delta):
            return self._sorted(stored)
        times = milliseconds(delta.arrays[self.spec.right_time])
        since = np.maximum(times, firing.limits[delta.causes] + 1)
        order = np.argsort(firing.now.ranks(delta.causes), kind="stable")
        there = pa.array((delta.weights > 0).astype(np.int64))
        new = Rows([*delta.arrays, pa.array(since), there], delta.hashes).take(order)
        return self._lasts(self._sorted(concat_rows([stored, new])))

    def _sorted(self, versions: Rows) -> Rows:
        if not len(versions):
            return versions
        codes = row_codes([versions.arrays[i] for i in self.spec.right_key])
        times = milliseconds(versions.arrays[self.spec.right_time])
        return versions.take(np.lexsort((versions.arrays[-2].to_numpy(), times, codes)))

    def _lasts(self, versions: Rows) -> Rows:
        """The last row of each key, time and first instant, marked if it was taken back as it was.

        What came late for a time changes nothing for the rows before its first instant.
        """
        since, there = (column.to_numpy().copy() for column in versions.arrays[-2:])
        if len(versions) > 1 and not self.spec.upserts:
            own = versions.arrays[:-2]
            same = rows_equal([a.slice(0, len(a) - 1) for a in own], [a.slice(1) for a in own])
            back = 1 + np.flatnonzero(same & (there[1:] == ENDED))
            there[back] = TAKEN_BACK
            # The version begins when it began, however late it is taken back.
            since[back] = since[back - 1]
        places = (*self.spec.right_key, self.spec.right_time)
        codes = row_codes([*(versions.arrays[i] for i in places), pa.array(since)])
        lasts = np.append(codes[1:] != codes[:-1], True)
        arrays = [*versions.arrays[:-2], pa.array(since), pa.array(there)]
        return Rows(arrays, versions.hashes).take(np.flatnonzero(lasts))

    def _join(self, rows: Rows, versions: Rows, firing: Firing) -> None:
        times = milliseconds(rows.arrays[self.spec.left_time])
        found = self._valid(rows, versions, times)
        *own, weights, _ = rows.arrays
        if self.spec.condition is not None and (found >= 0).any():
            found = self._checked(own, versions, found)
        some = np.arange(len(rows)) if self.spec.kind == "left" else np.flatnonzero(found >= 0)
        taken = pa.array(found[some], mask=found[some] < 0)
        chosen = rows.take(some)
        arrays = chosen.arrays[:-2] + [array.take(taken) for array in versions.arrays[:-2]]
        moments = self._firing_times(chosen)
        firing.fire(arrays, weights.to_numpy()[some], moments, chosen.hashes, ts=times[some])

    def _valid(self, rows: Rows, versions: Rows, times: Ints) -> Ints:
        """The place of the version that is valid for each row, or -1."""
        if not len(versions):
            return np.full(len(rows), -1)
        own, others = self._codes(rows, versions)
        moments = milliseconds(versions.arrays[self.spec.right_time])
        since = versions.arrays[-2].to_numpy()
        there = versions.arrays[-1].to_numpy()
        limits = rows.arrays[-1].to_numpy()
        # A late row sees what was known when it came.
        seen = np.maximum(times, limits)
        known = np.unique(moments)
        numbers = others * (len(known) + 1) + np.searchsorted(known, moments)
        wanted = own * (len(known) + 1) + np.searchsorted(known, seen, side="right")
        order = np.argsort(numbers, kind="stable")
        place = np.searchsorted(numbers[order], wanted) - 1
        while True:
            version = order[np.maximum(place, 0)]
            inside = (place >= 0) & (others[version] == own)
            # A version that came late is not valid for rows that were over by then.
            skipped = inside & (since[version] > seen)
            if not skipped.any():
                break
            place = place - skipped
        is_valid = inside & (moments[version] <= times) & self._is_there(others, there)[version]
        return np.where(is_valid, version, -1)

    def _is_there(self, codes: Ints, there: Ints) -> npt.NDArray[np.bool_]:
        """Whether versions are valid: one that was taken back as it was is, if another follows it."""
        last = np.append(codes[1:] != codes[:-1], True)
        found: npt.NDArray[np.bool_] = (there == VALID) | ((there == TAKEN_BACK) & ~last)
        return found

    def _codes(self, rows: Rows, versions: Rows) -> tuple[Ints, Ints]:
        pairs = zip(self.spec.left_key, self.spec.right_key, strict=True)
        columns = [pa.concat_arrays([rows.arrays[i], versions.arrays[j]]) for i, j in pairs]
        codes = row_codes(columns)
        return codes[: len(rows)], codes[len(rows) :]

    def _checked(self, own: Sequence[pa.Array], versions: Rows, found: Ints) -> Ints:
        some = np.flatnonzero(found >= 0)
        places, versions_ = pa.array(some), pa.array(found[some])
        arrays = [array.take(places) for array in own]
        arrays += [array.take(versions_) for array in versions.arrays[:-2]]
        batch = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
        assert self.spec.condition is not None
        true = self.spec.condition(batch).fill_null(False).to_numpy(zero_copy_only=False)
        found = found.copy()
        found[some[~true]] = -1
        return found

    def _last_versions(self, versions: Rows, firing: Firing) -> Rows:
        """The versions that may still be asked for: the last one that is over, and all behind it."""
        if not len(versions) or firing.clock.ends:
            return versions
        codes = row_codes([versions.arrays[i] for i in self.spec.right_key])
        moments = milliseconds(versions.arrays[self.spec.right_time])
        since = versions.arrays[-2].to_numpy()
        over = (moments <= firing.goal) & (since <= firing.goal + 1)
        # They are in the order of their times.
        last = np.full(codes.max() + 1, -1)
        np.maximum.at(last, codes[over], np.flatnonzero(over))
        return versions.take(np.flatnonzero(~over | (np.arange(len(codes)) >= last[codes])))


def _form(name: str, row: RowTypeInfo, more: tuple[str, str]) -> SectionForm:
    kinds = [*row.field_types, ArrowTypeInfo(pa.int64()), ArrowTypeInfo(pa.int64())]
    return section(name, RowTypeInfo(kinds, [*row.get_field_names(), *more]))
