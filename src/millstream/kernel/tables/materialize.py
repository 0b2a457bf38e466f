"""Materialize: the whole table after each epoch, for sinks that replace what they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.tables.bags import Bag, SortColumn, bag_form, sort_columns
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionVisit
from millstream.kernel.tables.spec import TableSpec

__all__ = ["MaterializeSpec"]


@dataclass(frozen=True)
class MaterializeSpec(TableSpec):
    """All rows of a table in each epoch that has changes, in an order: the output mode "complete".

    What comes out are no differences: the rows of an epoch take the place of those of the epoch before.
    An epoch without changes emits nothing. ``order``: the columns to sort by; rows that are equal there
    are in the order of their other values.
    """

    row: RowTypeInfo
    order: tuple[SortColumn, ...] = ()
    changes: bool = True

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return (self.row,)

    @property
    def output(self) -> RowTypeInfo:
        return self.row

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return ((),)

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return (self.changes,)

    @property
    def layout(self) -> str:
        return "rows of a table"

    def describe(self) -> str:
        return "the whole table after each epoch; it keeps all rows, in one slot"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return MaterializeOperator(info, self)


class MaterializeOperator(TableOperator):
    """Keeps all rows, and emits them all when some have changed."""

    def __init__(self, info: OperatorInfo, spec: MaterializeSpec) -> None:
        super().__init__(info, spec, [bag_form("rows", spec.row)])
        ties = [SortColumn(i) for i in range(len(spec.row.field_types))]
        self.order = [*spec.order, *ties]

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        # Equal rows become one here also if they only come: fewer are kept.
        bag = Bag.of(stored, delta, changes=True)
        if (bag.before != bag.after).any():
            order = np.lexsort(sort_columns(bag.arrays, self.order))
            there = order[bag.after[order] > 0]
            rows = bag.take(there)
            last = emission.at_ranks(emission.ranks(delta.causes).max(keepdims=True))
            emission.send(rows.arrays, rows.after, np.repeat(last, len(there)))
        return [bag.rows()]
