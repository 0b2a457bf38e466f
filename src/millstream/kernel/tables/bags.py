"""Bags of rows in a section: which rows are there before and after an epoch, and how often.

The rows of a bag are the columns of a record and, behind them, ``$weight``. Where rows can be taken
back, equal rows are one with the sum of their weights; where they only come, each stays where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.column_hashing import encodings
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import numbers_in_order
from millstream.kernel.tables.operator import Delta, consolidated
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm

__all__ = ["Bag", "SortColumn", "bag_form", "places_of", "sort_columns"]


def bag_form(name: str, row: RowTypeInfo) -> SectionForm:
    """A section for rows of a type with weights."""
    kinds = [*row.field_types, ArrowTypeInfo(pa.int64())]
    return SectionForm(name, RowTypeInfo(kinds, [*row.get_field_names(), "$weight"]))


@dataclass
class Bag:
    """Rows that are there before or after an epoch.

    ``causes``: of a row whose weight has changed the record that has changed it, else -1.
    """

    arrays: list[pa.Array]
    hashes: Hashes
    before: Ints
    after: Ints
    causes: Ints

    @staticmethod
    def of(stored: Rows, delta: Delta, *, changes: bool) -> Bag:
        """The stored rows, with those that have come behind them."""
        *own, column = stored.arrays
        weights, kept = column.to_numpy(), len(stored)
        delta = consolidated(delta) if changes else delta
        target = np.full(len(delta), -1)
        if changes and kept and len(delta):
            target = places_of(own, delta.arrays, stored.hashes, delta.hashes)
        new, known = np.flatnonzero(target < 0), np.flatnonzero(target >= 0)
        added = delta if len(new) == len(delta) else delta.take(new)
        rows = concat_rows([Rows(own, stored.hashes), Rows(added.arrays, added.hashes)])
        after = np.concatenate([weights, added.weights])
        after[target[known]] += delta.weights[known]
        causes = np.concatenate([np.full(kept, -1), added.causes])
        causes[target[known]] = delta.causes[known]
        before = np.concatenate([weights, np.zeros(len(new), np.int64)])
        return Bag(rows.arrays, rows.hashes, before, after, causes)

    def take(self, places: Ints) -> Bag:
        """The rows at some places."""
        taken = pa.array(places)
        return Bag(
            [array.take(taken) for array in self.arrays],
            self.hashes[places],
            self.before[places],
            self.after[places],
            self.causes[places],
        )

    def rows(self) -> Rows:
        """The rows as they are kept."""
        rows = Rows([*self.arrays, pa.array(self.after)], self.hashes)
        left = self.after != 0
        return rows if left.all() else rows.take(np.flatnonzero(left))


def places_of(
    own: Sequence[pa.Array], new: Sequence[pa.Array], hashes: Hashes, new_hashes: Hashes
) -> Ints:
    """For each new row the place of the equal one among those that are there, or -1."""
    # Only rows with the hash of a new one can be equal to it; the first 22 bits tell most others apart.
    wanted = np.zeros(1 << 22, np.bool_)
    wanted[new_hashes >> 10] = True
    same = np.flatnonzero(wanted[hashes >> 10])
    if not len(same):
        return np.full(len(new_hashes), -1)
    places = pa.array(same)
    codes = row_codes(
        [pa.concat_arrays([a.take(places), b]) for a, b in zip(own, new, strict=True)]
    )
    # Rows that are there all differ, so they have the first numbers.
    found = codes[len(same) :]
    return np.where(found < len(same), same[np.minimum(found, len(same) - 1)], -1)


@dataclass(frozen=True)
class SortColumn:
    """A column to sort by. ``nulls_first`` says where NULL stands, whatever the direction is."""

    place: int
    descending: bool = False
    nulls_first: bool = True


def sort_columns(arrays: Sequence[pa.Array], order: Sequence[SortColumn]) -> list[npt.NDArray[Any]]:
    """Columns for `numpy.lexsort`, the least important first."""
    found: list[npt.NDArray[Any]] = []
    for column in reversed(order):
        array = arrays[column.place]
        missing = array.is_null().to_numpy(zero_copy_only=False)
        if pa.types.is_nested(array.type):
            # Any order will do that does not depend on which other values are there.
            array = pa.array(encodings(array, two_zeros=True), pa.binary())
        numbers = numbers_in_order(array)
        if column.descending:
            numbers = -numbers if numbers.dtype.kind == "f" else ~numbers
        if missing.any():
            numbers = np.where(missing, 0, numbers)
            found += [numbers, ~missing if column.nulls_first else missing]
        else:
            found.append(numbers)
    return found
