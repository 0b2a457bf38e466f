"""Aggregates that need all values of a group: the state has lists of values, and of their weights.

The lists of a group are in the order of its records. A record that is taken back takes the first equal
value away; if there is none, it waits with a negative weight for the value to come.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import Accumulator, Marks, invalid, taken
from millstream.kernel.tables.aggregates.best import BestKind, best_rows

__all__ = [
    "ArrayAgg",
    "BestOfAll",
    "Collect",
    "Distinct",
    "ListAgg",
    "Multisets",
    "OfRows",
]


@dataclass
class Multisets:
    """The values in the lists of groups, one after the other. ``of``: the group of each value."""

    columns: list[pa.Array]
    weights: Ints
    of: Ints
    number: int

    def take(self, places: Ints) -> Multisets:
        """The values at some places."""
        columns = [taken(column, places) for column in self.columns]
        return Multisets(columns, self.weights[places], self.of[places], self.number)

    def there(self) -> Multisets:
        """The values with a weight above 0."""
        places = np.flatnonzero(self.weights > 0)
        return self if len(places) == len(self.weights) else self.take(places)

    def repeated(self) -> Multisets:
        """Each value as often as it is there."""
        found = self.there()
        if (found.weights == 1).all():
            return found
        return found.take(np.repeat(np.arange(len(found.weights)), found.weights))

    def offsets(self) -> npt.NDArray[np.int32]:
        """Where the values of each group begin."""
        counts = np.bincount(self.of, minlength=self.number)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def state(self) -> list[pa.Array]:
        """The lists."""
        offsets = pa.array(self.offsets())
        parts = [*self.columns, pa.array(self.weights)]
        return [pa.ListArray.from_arrays(offsets, part) for part in parts]

    def groups(self) -> Groups:
        """The groups that have values, as rows of these."""
        starts = np.flatnonzero(np.diff(self.of, prepend=-1))
        return Groups(np.arange(len(self.of)), starts)


def values_of(state: Sequence[pa.Array]) -> Multisets:
    """The values in the lists of states, one state for each group."""
    *lists, weights = state
    lengths = np.diff(weights.offsets.to_numpy())
    of = np.repeat(np.arange(len(weights)), lengths)
    return Multisets(
        [part.flatten() for part in lists], weights.flatten().to_numpy(), of, len(weights)
    )


class Multiset(Accumulator):
    """Base of the aggregates that keep all values.

    ``ordered``: equal values stay apart, each in its place. ``keeps_null``: records without a value
    count too.
    """

    def __init__(
        self,
        arguments: Sequence[pa.DataType],
        result: pa.DataType,
        *,
        ordered: bool,
        keeps_null: bool = False,
    ) -> None:
        self.ordered = ordered
        self.keeps_null = keeps_null
        self.result_type = result
        self.state_types = (*(pa.list_(kind) for kind in arguments), pa.list_(pa.int64()))

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        gone = weights == 0
        if not self.keeps_null:
            gone = gone | invalid(arguments[0])
        of = np.flatnonzero(~gone)
        columns = [c if len(of) == len(c) else taken(c, of) for c in arguments]
        return Multisets(columns, weights[of], of, len(weights)).state()

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        found = values_of([taken(part, groups.order) for part in state])
        found.of = np.repeat(np.arange(len(groups.starts)), groups.lengths)[found.of]
        found.number = len(groups.starts)
        if self.ordered:
            if (found.weights < 0).any():
                found = _without_taken_back(found)
        else:
            found = _added_up(found)
        return found.state()

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        return self.of_values(values_of(state))

    @abstractmethod
    def of_values(self, values: Multisets) -> pa.Array:
        """The results of all groups, also of those without values."""

    def is_empty(self, state: Sequence[pa.Array]) -> Marks:
        return np.diff(state[-1].offsets.to_numpy()) == 0  # type: ignore[no-any-return]


def _codes(values: Multisets) -> Ints:
    columns = [pa.array(values.of), *values.columns]
    return row_codes(columns)


def _added_up(values: Multisets) -> Multisets:
    """Equal values of a group become one, where the first of them was."""
    if not len(values.of):
        return values
    groups = Groups.of_codes(_codes(values))
    totals = groups.sizes(values.weights)
    left = np.flatnonzero(totals)
    found = values.take(groups.firsts[left])
    found.weights = totals[left]
    return found


def _without_taken_back(values: Multisets) -> Multisets:
    """The values that are left when each negative weight has taken the first equal ones away."""
    groups = Groups.of_codes(_codes(values))
    weights = values.weights[groups.order]
    added = np.maximum(weights, 0)
    total = np.cumsum(added)
    before = np.repeat(total[groups.starts] - added[groups.starts], groups.lengths)
    back = -np.add.reduceat(np.minimum(weights, 0), groups.starts)
    kept = np.clip(total - before - np.repeat(back, groups.lengths), 0, added)
    # Where more was taken back than there is, the first row keeps the rest.
    sums = np.add.reduceat(weights, groups.starts)
    owed = np.flatnonzero(sums < 0)
    kept[groups.starts[owed]] = sums[owed]
    left = np.empty(len(kept), np.int64)
    left[groups.order] = kept
    places = np.flatnonzero(left)
    found = values.take(places)
    found.weights = left[places]
    return found


def _spread(column: pa.Array, groups: Ints, number: int) -> pa.Array:
    """The values of some groups as those of all; the others have none."""
    if len(groups) == number:
        return column
    places, missing = np.zeros(number, np.int64), np.ones(number, np.bool_)
    places[groups], missing[groups] = np.arange(len(groups)), False
    return column.take(pa.array(places, mask=missing))


class BestOfAll(Multiset):
    """MIN, MAX, FIRST_VALUE and LAST_VALUE of records that can be taken back."""

    def __init__(self, kind: BestKind, argument: pa.DataType) -> None:
        super().__init__([argument], argument, ordered=kind in ("first", "last"))
        self.kind = kind

    def of_values(self, values: Multisets) -> pa.Array:
        there = values.there()
        groups = there.groups()
        column = there.columns[0]
        best = best_rows(self.kind, column, groups) if len(there.of) else groups.starts
        return _spread(taken(column, best), there.of[groups.starts], values.number)


class ListAgg(Multiset):
    """LISTAGG: all texts with a separator, which is the second argument, or a comma."""

    def __init__(self, arguments: Sequence[pa.DataType]) -> None:
        super().__init__(arguments, pa.string(), ordered=True)

    def of_values(self, values: Multisets) -> pa.Array:
        there = values.repeated()
        bounds = there.offsets().tolist()
        texts = there.columns[0].to_pylist()
        commas = there.columns[1].to_pylist() if len(there.columns) > 1 else None
        found = []
        for start, end in itertools.pairwise(bounds):
            comma = "," if commas is None or start == end else commas[start]
            found.append(comma.join(texts[start:end]) if start < end else None)
        return pa.array(found, pa.string())


class Collect(Multiset):
    """COLLECT: how often each value is there, as a map."""

    def __init__(self, argument: pa.DataType) -> None:
        super().__init__([argument], pa.map_(argument, pa.int32()), ordered=False)

    def of_values(self, values: Multisets) -> pa.Array:
        there = values.there()
        counts = pa.array(there.weights.astype(np.int32))
        found = pa.MapArray.from_arrays(pa.array(there.offsets()), there.columns[0], counts)
        return found.cast(self.result_type)


class ArrayAgg(Multiset):
    """ARRAY_AGG: all values in the order of their records, NULLs too; NULL if there is no record."""

    def __init__(self, argument: pa.DataType) -> None:
        super().__init__([argument], pa.list_(argument), ordered=True, keeps_null=True)

    def of_values(self, values: Multisets) -> pa.Array:
        there = values.repeated()
        offsets = there.offsets()
        mask = pa.array(np.diff(offsets) == 0)
        return pa.ListArray.from_arrays(pa.array(offsets), there.columns[0], mask=mask)


class OfRows(Multiset):
    """A function of the list of all rows of arguments: JSON_OBJECTAGG, PERCENTILE and others."""

    def __init__(
        self,
        arguments: Sequence[pa.DataType],
        result: pa.DataType,
        function: Callable[[list[tuple[Any, ...]]], Any],
    ) -> None:
        super().__init__(arguments, result, ordered=True, keeps_null=True)
        self.function = function

    def of_values(self, values: Multisets) -> pa.Array:
        there = values.repeated()
        rows = list(zip(*(column.to_pylist() for column in there.columns), strict=True))
        bounds = there.offsets().tolist()
        found = [self.function(rows[a:b]) for a, b in itertools.pairwise(bounds)]
        return pa.array(found, self.result_type)


class Distinct(Multiset):
    """Another aggregate, of the distinct rows of arguments."""

    def __init__(self, arguments: Sequence[pa.DataType], inner: Accumulator) -> None:
        super().__init__(arguments, inner.result_type, ordered=False, keeps_null=True)
        self.inner = inner

    def of_values(self, values: Multisets) -> pa.Array:
        there = values.there()
        # A record of weight 0 for each group, for those without values.
        blank = [pa.nulls(values.number, column.type) for column in there.columns]
        columns = [pa.concat_arrays(pair) for pair in zip(there.columns, blank, strict=True)]
        weights = np.repeat(np.array([1, 0]), [len(there.of), values.number])
        of = np.concatenate([there.of, np.arange(values.number)])
        inner = self.inner
        return inner.results(inner.fold(inner.rows(columns, weights), Groups.of_codes(of)))
