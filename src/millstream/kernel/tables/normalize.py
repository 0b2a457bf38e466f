"""Rows by key: the last row of each key as a table (upserts)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.kinds import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    kind_names,
    with_kind,
)
from millstream.kernel.tables.operator import (
    Delta,
    Emission,
    TableOperator,
    rows_equal,
)
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.spec import OneTableSpec

__all__ = ["NormalizeSpec"]


@dataclass(frozen=True)
class NormalizeSpec(OneTableSpec):
    """An upsert stream as a table: of each key the last row, until a row with weight -1 deletes it.

    A row of weight 1 takes the place of the row with its key; a row of weight -1 deletes the row with
    its key, whatever its other columns are. ``kinds``: each change comes as a row with its kind in the
    last column. ``each``: each change comes, for operators that ask which rows are late; else what an
    epoch has changed.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    kinds: bool = False
    each: bool = False

    @property
    def output(self) -> RowTypeInfo:
        return with_kind(self.row) if self.kinds else self.row

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        return "last rows of keys"

    def describe(self) -> str:
        names = self.row.get_field_names()
        key = ", ".join(names[place] for place in self.key)
        return f"the last row of each {key}; it keeps a row for each key"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return NormalizeOperator(info, self)


class NormalizeOperator(TableOperator):
    """Keeps the last row of each key."""

    def __init__(self, info: OperatorInfo, spec: NormalizeSpec) -> None:
        super().__init__(info, spec, [SectionForm("rows", spec.row)])
        self.key = spec.key
        self.kinds = spec.kinds
        self.each = spec.each or spec.kinds

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        if not len(delta):
            return [stored]
        kept = len(stored)
        table = concat_rows([stored, Rows(delta.arrays, delta.hashes)])
        groups = Groups.of_codes(row_codes([table.arrays[place] for place in self.key]))
        lasts = groups.order[groups.starts + groups.lengths - 1]
        changed = lasts >= kept
        is_there = np.ones(len(lasts), np.bool_)
        is_there[changed] = delta.weights[lasts[changed] - kept] > 0
        if self.each:
            self._emit_each(table, groups, kept, delta, emission)
        else:
            self._emit(table, np.arange(len(lasts)), lasts, kept, is_there, delta, emission)
        return [table.take(lasts[is_there])]

    def _emit_each(
        self, table: Rows, groups: Groups, kept: int, delta: Delta, emission: Emission
    ) -> None:
        """Emit what each row has changed: it follows the row before it of its key."""
        there = np.concatenate([np.ones(kept, np.bool_), delta.weights > 0])
        before = np.full(len(table), -1)
        before[groups.order[1:]] = groups.order[:-1]
        before[groups.firsts] = -1
        new, old = np.arange(kept, len(table)), before[kept:]
        was, comes = (old >= 0) & there[old], there[new]
        both = np.flatnonzero(was & comes)
        one, other = pa.array(old[both]), pa.array(new[both])
        same = rows_equal(
            [array.take(one) for array in table.arrays],
            [array.take(other) for array in table.arrays],
        )
        was[both[same]] = comes[both[same]] = False
        gone, come = np.flatnonzero(was), np.flatnonzero(comes)
        rows = pa.array(np.concatenate([old[gone], new[come]]))
        causes = delta.causes[np.concatenate([gone, come])]
        arrays = [array.take(rows) for array in table.arrays]
        if not self.kinds:
            weights = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
            emission.send(arrays, weights, causes)
            return
        taken = np.where(comes[gone], UPDATE_BEFORE, DELETE)
        given = np.where(was[come], UPDATE_AFTER, INSERT)
        kinds = np.concatenate([taken, given])
        emission.send([*arrays, kind_names(kinds)], np.ones(len(kinds), np.int64), causes)

    def _emit(
        self,
        table: Rows,
        keys: Ints,
        lasts: Ints,
        kept: int,
        is_there: np.ndarray,
        delta: Delta,
        emission: Emission,
    ) -> None:
        # Stored rows have the first numbers, and each is the row of its number.
        changed = lasts >= kept
        gone, come = changed & (keys < kept), changed & is_there
        both = np.flatnonzero(gone & come)
        if len(both):
            one, other = pa.array(both), pa.array(lasts[both])
            same = rows_equal(
                [array.take(one) for array in table.arrays],
                [array.take(other) for array in table.arrays],
            )
            gone[both[same]] = come[both[same]] = False
        old, new = np.flatnonzero(gone), np.flatnonzero(come)
        rows = pa.array(np.concatenate([old, lasts[new]]))
        weights = np.repeat(np.array([-1, 1]), [len(old), len(new)])
        causes = delta.causes[lasts[np.concatenate([old, new])] - kept]
        emission.send([array.take(rows) for array in table.arrays], weights, causes)
