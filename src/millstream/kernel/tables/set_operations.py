"""DISTINCT, UNION, INTERSECT and EXCEPT: how often each row is on each side, and in the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.spec import TableSpec

__all__ = ["SetKind", "SetOperationSpec"]

SetKind = Literal["distinct", "union", "intersect", "intersect all", "except", "except all"]
_RESULTS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "distinct": lambda left, _: (left > 0).astype(np.int64),
    "union": lambda left, right: ((left > 0) | (right > 0)).astype(np.int64),
    "intersect": lambda left, right: ((left > 0) & (right > 0)).astype(np.int64),
    "intersect all": lambda left, right: np.maximum(np.minimum(left, right), 0),
    "except": lambda left, right: ((left > 0) & (right <= 0)).astype(np.int64),
    "except all": lambda left, right: np.maximum(left - np.maximum(right, 0), 0),
}


@dataclass(frozen=True)
class SetOperationSpec(TableSpec):
    """A set operation on whole rows, in which NULL equals NULL.

    ``row``: the type of the rows of both inputs and of the result. ``kind`` "distinct" has one input,
    the others have two. ``changes``: of each input, whether rows may be taken back.
    """

    row: RowTypeInfo
    kind: SetKind
    changes: tuple[bool, ...] = (True, True)

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return (self.row,) if self.kind == "distinct" else (self.row, self.row)

    @property
    def output(self) -> RowTypeInfo:
        return self.row

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(len(self.row.field_types))),) * len(self.inputs)

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return self.changes[: len(self.inputs)]

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.keys[0]

    @property
    def layout(self) -> str:
        return "numbers of equal rows"

    def describe(self) -> str:
        return f"{self.kind} of whole rows; it keeps how often each row is there"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return SetOperator(info, self)


class SetOperator(TableOperator):
    """Keeps how often each row is on each side."""

    def __init__(self, info: OperatorInfo, spec: SetOperationSpec) -> None:
        number = ArrowTypeInfo(pa.int64())
        names = [*spec.row.get_field_names(), "$left", "$right"]
        kind = RowTypeInfo([*spec.row.field_types, number, number], names)
        super().__init__(info, spec, [SectionForm("rows", kind)])
        self._result = _RESULTS[spec.kind]

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,) = visit.sections
        *own, left, right = stored.arrays
        kept = len(stored)
        arrays = [
            pa.concat_arrays([array, *(delta.arrays[i] for delta in deltas)])
            for i, array in enumerate(own)
        ]
        hashes = np.concatenate([stored.hashes, *(delta.hashes for delta in deltas)])
        causes = np.concatenate([np.full(kept, -1), *(delta.causes for delta in deltas)])
        sides = [np.zeros(len(hashes), np.int64) for _ in range(2)]
        sides[0][:kept], sides[1][:kept] = left.to_numpy(), right.to_numpy()
        at = kept
        for side, delta in zip(sides, deltas, strict=False):
            side[at : at + len(delta)] = delta.weights
            at += len(delta)
        # Stored rows all differ, so they have the first numbers.
        groups = Groups.of_codes(row_codes(arrays))
        before = [np.zeros(len(groups.starts), np.int64) for _ in range(2)]
        before[0][:kept], before[1][:kept] = sides[0][:kept], sides[1][:kept]
        after = [groups.sizes(side) for side in sides]
        weights = self._result(*after) - self._result(*before)
        firsts = groups.firsts
        changed = np.flatnonzero(weights)
        if len(changed):
            cause = emission.last_of(groups, causes)[changed]
            rows = pa.array(firsts[changed])
            emission.send([array.take(rows) for array in arrays], weights[changed], cause)
        left_over = np.flatnonzero((after[0] != 0) | (after[1] != 0))
        rows = Rows(arrays, hashes).take(firsts[left_over])
        rows.arrays += [pa.array(side[left_over]) for side in after]
        return [rows]
