"""Time to live of state: what an operator of tables keeps of a key goes when no record of the key comes.

Each key has a time of its last record, of each input one, in a section of its own. In processing time
that is the time of the epoch. In event time it is that of the record, and a record that comes too late
for the state of its key finds none: so the result does not depend on how the input is cut into epochs.
Nothing is emitted for what expires, as in Flink; the number of expired rows is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.spec import TableSpec

if TYPE_CHECKING:
    from millstream.kernel.tables.operator import Delta, Emission, TableOperator

__all__ = ["EXPIRED", "ExpiringSpec", "Expiry"]

EXPIRED = "expiredRows"
"""The counter of rows of state that have expired."""
TOUCHED = "$touched"
_NEVER = MIN_TIMESTAMP
_NUMBERS = ("$number", "$weight")


@dataclass(frozen=True)
class ExpiringSpec(TableSpec):
    """An operator whose state expires.

    Parameters
    ----------
    spec
        The operator, one that does not follow the clock.
    millis
        Of each input, for how long its rows are kept after the last record of their key; 0: forever.
    event
        Times are those of records, not of epochs.
    """

    spec: TableSpec
    millis: tuple[int, ...]
    event: bool = False

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return self.spec.inputs

    @property
    def output(self) -> RowTypeInfo:
        return self.spec.output

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return self.spec.keys

    @property
    def layout(self) -> str:
        return self.spec.layout

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return self.spec.takes_changes

    @property
    def placed_by(self) -> tuple[int, ...] | None:
        return self.spec.placed_by

    @property
    def key_type(self) -> TupleTypeInfo | None:
        return self.spec.key_type

    def describe(self) -> str:
        spans = " and ".join(f"{each} ms" if each else "ever" for each in self.millis)
        time = "event time" if self.event else "processing time"
        return f"{self.spec.describe()}; for {spans} of {time} after the last record of a key"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        made = self.spec.operator(info, timed=timed, batch=batch)
        made.expire(Expiry(self.millis, self.event))
        return made


@dataclass
class _Turn:
    """Records that find the same state: what expires before them, by input, and their places."""

    expired: list[set[int]]
    places: list[list[int]]


class Expiry:
    """Lets the state of keys expire around the visits of an operator."""

    def __init__(self, millis: tuple[int, ...], event: bool) -> None:
        self.millis = millis
        self.event = event
        kinds = [ArrowTypeInfo(pa.int64()) for _ in millis]
        names = [f"$time{i}" for i in range(len(millis))]
        self.form = SectionForm(TOUCHED, RowTypeInfo(kinds, names))

    def visit(
        self, operator: TableOperator, visit: SectionVisit, deltas: list[Delta], emission: Emission
    ) -> Sequence[Rows]:
        """The rows of each section after the differences of each input, without those that are over."""
        *own, touched = visit.sections
        now = operator.clock.before if self.event else operator.clock.now_ms
        own, touched = self._swept(operator, list(own), touched, self._over(touched, now))
        times = [self._times(operator, delta, emission) for delta in deltas]
        for turn in self._turns(touched, deltas, times, emission):
            if turn is not None:
                own, touched = self._swept(operator, own, touched, turn.expired)
                parts = [
                    d.take(np.array(p, np.int64)) for d, p in zip(deltas, turn.places, strict=True)
                ]
                at = [t[np.array(p, np.int64)] for t, p in zip(times, turn.places, strict=True)]
            else:
                parts, at = deltas, times
            found = operator.visit(replace(visit, sections=own), parts, emission)
            own = [
                _not_below_zero(*each) for each in zip(operator.form.sections, found, strict=False)
            ]
            touched = self._noted(touched, parts, at)
        return [*own, touched]

    def _times(self, operator: TableOperator, delta: Delta, emission: Emission) -> Ints:
        if not self.event:
            return np.full(len(delta), operator.clock.now_ms, np.int64)
        # What the clock has passed is over, whatever the record says: so keys may go without a record.
        return np.maximum(emission.times(delta.causes), operator.limits[delta.causes])

    def _over(self, touched: Rows, now: int) -> list[set[int]]:
        """Of each input the hashes of keys whose rows are over by now."""
        found = []
        for column, span in zip(touched.arrays, self.millis, strict=True):
            times = column.to_numpy()
            known = times > _NEVER if span and now > _NEVER else times < _NEVER
            is_over = known & (times <= now - span)
            found.append(set(touched.hashes[is_over].tolist()))
        return found

    def _swept(
        self, operator: TableOperator, own: list[Rows], touched: Rows, over: list[set[int]]
    ) -> tuple[list[Rows], Rows]:
        """The rows without those of keys that are over. What both inputs share goes with the last."""
        if not any(over):
            return own, touched
        arrays = []
        for column, hashes in zip(touched.arrays, over, strict=True):
            gone = np.isin(touched.hashes, np.array(sorted(hashes), np.uint32))
            arrays.append(pa.array(np.where(gone, _NEVER, column.to_numpy())))
        stays = np.any([a.to_numpy() > _NEVER for a in arrays], axis=0)
        everything = [set(touched.hashes[~stays].tolist())] * len(own)
        number, kept = 0, []
        for rows, hashes in zip(own, over if len(own) == len(over) else everything, strict=True):
            left = ~np.isin(rows.hashes, np.array(sorted(hashes), np.uint32))
            number += int((~left).sum())
            kept.append(rows if left.all() else rows.take(np.flatnonzero(left)))
        operator.count_expired(number)
        return kept, Rows(arrays, touched.hashes).take(np.flatnonzero(stays))

    def _noted(self, touched: Rows, deltas: list[Delta], times: list[Ints]) -> Rows:
        """The times of the last records of keys, after some more."""
        hashes = np.concatenate([touched.hashes, *(delta.hashes for delta in deltas)])
        keys, places = np.unique(hashes, return_inverse=True)
        arrays, at = [], len(touched)
        for i, column in enumerate(touched.arrays):
            latest = np.full(len(keys), _NEVER, np.int64)
            np.maximum.at(latest, places[: len(touched)], column.to_numpy())
            end = at + len(deltas[i])
            np.maximum.at(latest, places[at:end], times[i])
            arrays.append(pa.array(latest))
            at = end
        return Rows(arrays, keys)

    def _turns(
        self, touched: Rows, deltas: list[Delta], times: list[Ints], emission: Emission
    ) -> list[_Turn | None]:
        """Records in turns, so that all of a turn find the same state; None: all of them at once."""
        spans = [span for span in self.millis if span]
        known = [c.to_numpy() for c in touched.arrays] + times
        real = np.concatenate(known)
        real = real[real > _NEVER]
        if not self.event or not len(real) or not spans or real.max() - real.min() < min(spans):
            return [None]
        last = {
            key: [int(column[i].as_py()) for column in touched.arrays]
            for i, key in enumerate(touched.hashes.tolist())
        }
        records = [
            (int(rank), side, place)
            for side, delta in enumerate(deltas)
            for place, rank in enumerate(emission.ranks(delta.causes).tolist())
        ]
        turns: list[_Turn | None] = []
        turn_of: dict[int, int] = {}
        for _, side, place in sorted(records):
            key, time = int(deltas[side].hashes[place]), int(times[side][place])
            before = last.setdefault(key, [_NEVER] * len(self.millis))
            over = [
                bool(span) and was > _NEVER and time - was >= span
                for was, span in zip(before, self.millis, strict=True)
            ]
            if any(over):
                turn_of[key] = turn_of.get(key, -1) + 1
            number = turn_of.setdefault(key, 0)
            while len(turns) <= number:
                turns.append(_Turn([set() for _ in self.millis], [[] for _ in self.millis]))
            turn = turns[number]
            assert turn is not None
            for i, is_over in enumerate(over):
                if is_over:
                    turn.expired[i].add(key)
                    before[i] = _NEVER
            turn.places[side].append(place)
            before[side] = max(before[side], time)
        return turns


def _not_below_zero(form: SectionForm, rows: Rows) -> Rows:
    """Rows without those that were taken back after their state had expired, as in Flink."""
    names = form.type_info.get_field_names()
    for name in _NUMBERS:
        if name in names and len(rows):
            numbers = rows.arrays[names.index(name)].to_numpy()
            if (numbers < 0).any():
                return rows.take(np.flatnonzero(numbers >= 0))
    return rows
