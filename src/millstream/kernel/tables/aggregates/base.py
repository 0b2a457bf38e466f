"""The form that all aggregates have: states of records, states of groups, and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.scans import comparable

__all__ = ["Accumulator", "by_group", "invalid", "numbers_in_order", "taken"]

Marks = npt.NDArray[np.bool_]


class Accumulator(ABC):
    """An aggregate by column. The state of a group is one row of its state columns.

    `rows` makes the state of single records, `fold` makes one state of those of each group, and
    `results` gives the values. To add records to stored groups, put their states behind the stored
    ones, and fold; to merge groups, fold their states. The rows of a group are in their order, and a
    state stands where its records were, so functions of the order have theirs.

    A record of weight -1 takes one of weight 1 back; a record of weight 0 has no effect.
    """

    state_types: tuple[pa.DataType, ...]
    result_type: pa.DataType

    @abstractmethod
    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        """The states of single records."""

    @abstractmethod
    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """One state for each group; each group has at least one row."""

    @abstractmethod
    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        """The values of groups."""

    def prefixes(self, state: Sequence[pa.Array], firsts: Ints) -> list[pa.Array]:
        """Of each row the state of all rows from the first one of its group on.

        ``firsts``: the place of that row. States are folded in pairs, at twice the distance each time:
        as often as the longest group has binary digits.
        """
        found = list(state)
        number = len(firsts)
        reach = np.arange(number) - firsts
        distance = 1
        while number and distance <= int(reach.max()):
            rows = np.flatnonzero(reach >= distance)
            order = np.column_stack([rows - distance, rows]).ravel()
            folded = self.fold(found, Groups(order, np.arange(0, len(order), 2)))
            places = np.arange(number)
            places[rows] = number + np.arange(len(rows))
            chosen = pa.array(places)
            found = [
                pa.concat_arrays([old, new]).take(chosen)
                for old, new in zip(found, folded, strict=True)
            ]
            distance *= 2
        return found

    def is_empty(self, state: Sequence[pa.Array]) -> Marks:
        """The groups in which nothing is left: as if no record had come."""
        return np.ones(len(state[0]), np.bool_)


def invalid(column: pa.Array) -> Marks:
    """Where a column has no value."""
    found: Marks = column.is_null().to_numpy(zero_copy_only=False)
    return found


def taken(column: pa.Array, places: Ints) -> pa.Array:
    """The values at some places."""
    return column.take(pa.array(places))


def by_group(numbers: npt.NDArray[Any], groups: Groups) -> npt.NDArray[Any]:
    """The sum of the numbers of each group; sums of whole numbers wrap around."""
    found: npt.NDArray[Any] = np.add.reduceat(numbers[groups.order], groups.starts)
    return found


def numbers_in_order(column: pa.Array) -> npt.NDArray[Any]:
    """Numbers in the order of the values of a column; what is missing has any number."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return comparable(column)
    if pa.types.is_temporal(kind):
        plain = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        return comparable(plain)
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    encoded = column.dictionary_encode()
    ranks = np.zeros(max(len(encoded.dictionary), 1), np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    places: npt.NDArray[Any] = ranks[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    return places
