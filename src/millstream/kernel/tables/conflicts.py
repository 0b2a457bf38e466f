"""ON CONFLICT of INSERT: rows of which several have the key of a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.spec import OneTableSpec

__all__ = ["ConflictSpec"]


@dataclass(frozen=True)
class ConflictSpec(OneTableSpec):
    """One change of each key in an epoch, as `UpsertSpec` gives it: the first row of a key counts.

    What an epoch has changed is added up first. A row that comes while its key has another one is
    forgotten, and does not come back when that one goes.

    Parameters
    ----------
    row
        The type of the rows.
    key
        The places of the key.
    fails
        A second row of a key is an error.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    fails: bool = False

    @property
    def output(self) -> RowTypeInfo:
        return self.row

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        return "first rows of keys"

    def describe(self) -> str:
        names = self.row.get_field_names()
        key = ", ".join(names[place] for place in self.key)
        second = "another one is an error" if self.fails else "others are forgotten"
        return f"the first row of each {key}, {second}; it keeps a row for each key"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return ConflictOperator(info, self)


class ConflictOperator(TableOperator):
    """Keeps the row of each key."""

    def __init__(self, info: OperatorInfo, spec: ConflictSpec) -> None:
        super().__init__(info, spec, [SectionForm("rows", spec.row)])
        self.key = spec.key
        self.fails = spec.fails

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        if not len(delta):
            return [stored]
        kept = len(stored)
        table = concat_rows([stored, Rows(delta.arrays, delta.hashes)])
        keys = Groups.of_codes(row_codes([table.arrays[place] for place in self.key]))
        weights = np.concatenate([np.ones(kept, np.int64), delta.weights])
        left = self._left(table, weights)
        if self.fails:
            self._check(table, keys, left)
        was = np.where(keys.firsts < kept, keys.firsts, -1)
        now = _first_of(keys, left > 0)
        come = np.flatnonzero((now >= 0) & (now != was))
        gone = np.flatnonzero((now < 0) & (was >= 0))
        causes = emission.last_of(keys, np.concatenate([np.full(kept, -1), delta.causes]))
        rows = pa.array(np.concatenate([was[gone], now[come]]))
        sent = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
        arrays = [array.take(rows) for array in table.arrays]
        emission.send(arrays, sent, causes[np.concatenate([gone, come])])
        return [table.take(now[now >= 0])]

    def _left(self, table: Rows, weights: Ints) -> Ints:
        """How often each row is there, at the first place where it stands; 0 at others."""
        same = Groups.of_codes(row_codes(table.arrays))
        found = np.zeros(len(table), np.int64)
        # A row that was forgotten may be taken back.
        found[same.firsts] = np.maximum(same.sizes(weights), 0)
        return found

    def _check(self, table: Rows, keys: Groups, left: Ints) -> None:
        several = np.flatnonzero(keys.sizes(left) > 1)
        if not len(several):
            return
        place = int(keys.firsts[several[0]])
        names = self.spec.inputs[0].get_field_names()
        shown = ", ".join(f"{names[k]} = {table.arrays[k][place].as_py()!r}" for k in self.key)
        raise MillstreamError(
            "SEVERAL_ROWS_OF_KEY",
            f"operator {self.info.name!r}: several rows have the primary key {shown:.200}, and "
            "ON CONFLICT says ERROR",
            location=self.info.location,
            hint="let the query give one row of each key, or write ON CONFLICT DO NOTHING (the first "
            "row stays) or DO DEDUPLICATE (the last row counts)",
        )


def _first_of(groups: Groups, there: np.ndarray) -> Ints:
    """The first of the rows of each group that are there; -1 if none is."""
    none = len(there)
    places = np.where(there[groups.order], groups.order, none)
    found: Ints = np.minimum.reduceat(places, groups.starts)
    return np.where(found == none, -1, found)
