"""MIN, MAX, FIRST_VALUE and LAST_VALUE of records that only come: one value for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import (
    Accumulator,
    invalid,
    numbers_in_order,
    taken,
)

__all__ = ["Best", "BestKind", "best_rows"]

BestKind = Literal["min", "max", "first", "last"]


class Best(Accumulator):
    """The smallest, largest, first or last value that is there. Records cannot be taken back."""

    def __init__(self, kind: BestKind, argument: pa.DataType) -> None:
        self.kind = kind
        self.state_types = (argument,)
        self.result_type = argument

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        column = arguments[0]
        if (weights == 0).any():
            column = column.take(pa.array(np.arange(len(column)), mask=weights == 0))
        return [column]

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        return [taken(state[0], best_rows(self.kind, state[0], groups))]

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        return state[0]


def best_rows(kind: BestKind, column: pa.Array, groups: Groups) -> Ints:
    """The row of each group with its best value; one without a value if there is no other."""
    order, valid = groups.order, ~invalid(column)[groups.order]
    number = np.repeat(np.arange(len(groups.starts)), groups.lengths)
    ends = groups.starts + groups.lengths - 1
    values = numbers_in_order(column)[order] if kind in ("min", "max") else np.arange(len(order))
    keys = [values]
    if values.dtype.kind == "f":
        # Of 0.0 and -0.0 it is not the order in which they came that decides.
        keys.insert(0, ~np.signbit(values))
    if kind in ("min", "first"):
        ranked = np.lexsort((*keys, ~valid, number))
        found: Ints = order[ranked[groups.starts]]
    else:
        ranked = np.lexsort((*keys, valid, number))
        found = order[ranked[ends]]
    return found
