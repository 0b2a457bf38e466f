"""Changes of a table as upserts by a key: what a sink that replaces rows by key has to get."""

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
from millstream.kernel.tables.bags import Bag, bag_form
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionVisit
from millstream.kernel.tables.spec import OneTableSpec

__all__ = ["UpsertSpec"]


@dataclass(frozen=True)
class UpsertSpec(OneTableSpec):
    """One change of each key in an epoch: its row, or a row of weight -1 if it has none any more.

    What comes out are no differences: a row takes the place of the one with its key. Of several rows
    with one key the last to come counts, and if it goes, the one before it.

    Parameters
    ----------
    row
        The type of the rows.
    key
        The places of the key.
    unique
        No two rows of the table have one key, so no rows are kept.
    changes
        Whether rows may be taken back.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    unique: bool = False
    changes: bool = True

    @property
    def output(self) -> RowTypeInfo:
        return self.row

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        return "rows by the key of a sink"

    def describe(self) -> str:
        names = self.row.get_field_names()
        key = ", ".join(names[place] for place in self.key)
        kept = "it keeps nothing" if self.unique else "it keeps all rows"
        return f"the row of each {key}; {kept}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return UpsertOperator(info, self)


class UpsertOperator(TableOperator):
    """Finds the row of each key that counts, and emits it if it is another one than before."""

    def __init__(self, info: OperatorInfo, spec: UpsertSpec) -> None:
        super().__init__(info, spec, [bag_form("rows", spec.row)])
        self.upserts = spec

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        if not len(delta):
            return [stored]
        bag = Bag.of(stored, delta, changes=True)
        groups = Groups.of_codes(row_codes([bag.arrays[place] for place in self.upserts.key]))
        was = bag.before > 0
        if self.upserts.unique:
            # What is taken back was there.
            was = bag.after < 0
        before, after = _last_of(groups, was), _last_of(groups, bag.after > 0)
        come = np.flatnonzero((after >= 0) & ((after != before) | self.upserts.unique))
        gone = np.flatnonzero((after < 0) & (before >= 0))
        places = np.concatenate([before[gone], after[come]])
        weights = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
        causes = emission.last_of(groups, bag.causes)[np.concatenate([gone, come])]
        taken = pa.array(places)
        emission.send([array.take(taken) for array in bag.arrays], weights, causes)
        return [stored if self.upserts.unique else bag.rows()]


def _last_of(groups: Groups, there: np.ndarray) -> Ints:
    """The last of the rows of each group that are there; -1 if none is."""
    if not len(groups.starts):
        return np.empty(0, np.int64)
    places = np.where(there[groups.order], groups.order, -1)
    found: Ints = np.maximum.reduceat(places, groups.starts)
    return found
