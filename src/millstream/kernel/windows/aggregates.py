"""Aggregates of windows by column: what the rows of a pane are, how they are added up, what comes out.

A row of a pane stands for records of one key. Its columns are fields of a record; some of them are
folded when several rows become one, and the others stay those of the first. One pass over the rows
of a group serves all of its columns that are folded.

Whole numbers only. A sum of floats depends on the order in which they are added, and partial sums on how
epochs are cut; and NaN is neither smaller nor larger than any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.kernel.records.columns import Columns, field_types
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import Ints

FoldKind = Literal["sum", "min", "max", "min_by", "max_by"]
ResultKind = Literal["count", "sum", "min", "max", "avg"]


@dataclass(frozen=True)
class Fold:
    """The column of a row that is folded, and how.

    ``min_by`` and ``max_by`` choose the row that the other columns are of; such a fold is the only one.
    """

    kind: FoldKind
    place: int


@dataclass(frozen=True)
class Result:
    """A number that comes out of a window: ``place`` is the column that it is made of."""

    kind: ResultKind
    place: int


@dataclass(frozen=True)
class PaneAggregate:
    """The aggregates of a window over records of a type.

    ``taken``: the field of each column of a row; None is a one for each record. ``key``: the columns of
    a row that are its key. ``results``: what comes out beside the key; None if whole records do.
    """

    type_info: TypeInformation
    key: KeyColumns
    taken: tuple[int | None, ...]
    folds: tuple[Fold, ...]
    results: tuple[Result, ...] | None = None

    @staticmethod
    def of_field(
        kind: FoldKind, field: int, key: KeyColumns, type_info: TypeInformation
    ) -> PaneAggregate:
        """The first record of a window with the aggregate of a field, or the chosen record."""
        fields = tuple(range(len(field_types(type_info))))
        return PaneAggregate(type_info, key, fields, (Fold(kind, field),))

    @staticmethod
    def of_fields(
        folds: Sequence[tuple[FoldKind, int]],
        results: Sequence[tuple[ResultKind, int]],
        key: KeyColumns,
        type_info: TypeInformation,
    ) -> PaneAggregate:
        """The key and some numbers, each made of one of the folds of fields.

        A row has the number of its records too: it is the count, and averages need it.
        """
        number = len(key.places)
        fields = (None, *(field for _, field in folds))
        kinds: list[FoldKind] = ["sum", *(kind for kind, _ in folds)]
        return PaneAggregate(
            type_info,
            KeyColumns(tuple(range(number)), key.kinds, key.alone),
            (*key.places, *fields),
            tuple(Fold(kind, number + i) for i, kind in enumerate(kinds)),
            tuple(
                Result(kind, number if kind == "count" else number + 1 + fold)
                for kind, fold in results
            ),
        )

    @property
    def takes_weights(self) -> bool:
        """Whether records may count more than once, or be taken back: sums can, records cannot."""
        return self.results is not None and all(fold.kind == "sum" for fold in self.folds)

    @property
    def number_place(self) -> int:
        """The column with the number of the records of a row, where results are numbers."""
        return len(self.key.places)

    def row_types(self) -> list[TypeInformation]:
        """The types of a row's columns; what is folded is as wide as it may get."""
        fields = field_types(self.type_info)
        types = [Types.LONG() if field is None else fields[field] for field in self.taken]
        for fold in self.folds:
            types[fold.place] = Types.LONG()
        return types

    def partial_type(self) -> TypeInformation:
        """A row with its pane, the first window that it counts for, and the number of its records."""
        return Types.TUPLE([*self.row_types(), Types.LONG(), Types.LONG(), Types.LONG()])

    def rows(
        self, arrays: Sequence[pa.Array], n: int, weights: Ints | None = None
    ) -> list[pa.Array]:
        """The rows of records, each of which stands for one of them; `ArrowInvalid` if one is too large.

        ``weights``: how often each record counts.
        """
        ones = pa.array(np.ones(n, np.int64))
        found = [ones if field is None else arrays[field] for field in self.taken]
        for fold in self.folds:
            found[fold.place] = found[fold.place].cast(pa.int64())
            if weights is not None:
                found[fold.place] = pc.multiply_checked(found[fold.place], pa.array(weights))
        return found

    def split(self, row: list[Any]) -> Iterator[list[Any]]:
        """A row as one or more whose sums 64 bits hold."""
        sums = [fold.place for fold in self.folds if fold.kind == "sum"]
        parts = zip_longest(*(in_64_bits(row[place]) for place in sums), fillvalue=0)
        for numbers in parts if sums else [()]:
            for place, number in zip(sums, numbers, strict=True):
                row[place] = number
            yield row

    def declared(self, fold: Fold) -> TypeInformation:
        """The type of the field that a column is of."""
        field = self.taken[fold.place]
        return Types.LONG() if field is None else field_types(self.type_info)[field]

    # -- what comes out --------------------------------------------------------------------------

    def emitted(self, columns: Sequence[pa.Array], *, limited: bool) -> Columns:
        """The results of windows, of columns whose sums are whole numbers or, too large, text.

        ``limited``: a sum has to fit its type; `pyarrow.ArrowInvalid` if it does not.
        """
        if self.results is None:
            return self._records(columns, limited)
        types, arrays = [self._key_type()], [self._key_column(columns)]
        for result in self.results:
            type_info = self.result_type(result, limited=limited)
            types.append(type_info)
            if result.kind == "avg":
                arrays.append(_averages(columns[result.place], columns[self.number_place]))
            else:
                arrays.append(columns[result.place].cast(type_info.to_arrow()))
        return Columns(Types.TUPLE(types), arrays)

    def result_type(self, result: Result, *, limited: bool = True) -> TypeInformation:
        """The type of a number that comes out beside the key."""
        if result.kind in ("min", "max"):
            return self.declared(Fold(result.kind, result.place))
        if result.kind == "avg":
            return Types.DOUBLE()
        return Types.BIG_INT() if result.kind == "sum" and not limited else Types.LONG()

    def _records(self, columns: Sequence[pa.Array], limited: bool) -> Columns:
        fields, arrays = field_types(self.type_info), list(columns)
        for fold in self.folds:
            if not limited:
                fields[fold.place] = Types.BIG_INT()
            arrays[fold.place] = arrays[fold.place].cast(fields[fold.place].to_arrow())
        if limited:
            return Columns(self.type_info, arrays)
        if isinstance(self.type_info, RowTypeInfo):
            return Columns(RowTypeInfo(fields, self.type_info.field_names), arrays)
        return Columns(Types.TUPLE(fields), arrays)

    def _key_type(self) -> TypeInformation:
        return self.key.kinds[0] if self.key.alone else Types.TUPLE(list(self.key.kinds))

    def _key_column(self, columns: Sequence[pa.Array]) -> pa.Array:
        parts = self.key.columns(columns)
        if self.key.alone:
            return parts[0]
        return pa.StructArray.from_arrays(parts, [f"f{i}" for i in range(len(parts))])


EXACT = 2**53
"""Whole numbers up to here are floats, so that their quotient is rounded once, as in Python."""


def _averages(sums: pa.Array, numbers: pa.Array) -> pa.Array:
    counts = numbers.cast(pa.int64()).to_numpy(zero_copy_only=False)
    if not pa.types.is_integer(sums.type):
        exact = zip(map(int, sums.to_pylist()), counts.tolist(), strict=True)
        return pa.array([total / count for total, count in exact], pa.float64())
    totals = sums.to_numpy(zero_copy_only=False)
    found = totals / counts
    for row in np.flatnonzero((totals > EXACT) | (totals < -EXACT)).tolist():
        found[row] = int(totals[row]) / int(counts[row])
    return pa.array(found)


# -- groups of rows --------------------------------------------------------------------------------

MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1
SURELY_FITS = 2.0**62
"""Sums whose numbers are no larger together, whatever their signs, need no second look."""


class SumOverflow(ArithmeticError):
    """A sum that 64 bits cannot hold."""


class NoNumber(ArithmeticError):
    """A group of several rows, one of which has no number."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} has no number")
        self.row = row


def aggregated(
    aggregate: PaneAggregate, arrays: Sequence[pa.Array], groups: Groups, *, exactly: bool = False
) -> tuple[Ints, list[pa.Array]]:
    """One row for each group, and the row whose other columns and place in the order it has.

    ``exactly``: sums are text, and may have any size; else `SumOverflow` if 64 bits do not hold one.
    A row without a number, which only restored windows have, is a group by itself.
    """
    rows = groups.firsts
    folded: dict[int, pa.Array] = {}
    for fold in aggregate.folds:
        numbers, missing = _numbers(arrays[fold.place])
        empty = None if missing is None else _groups_with(missing, groups)
        if fold.kind in ("min_by", "max_by"):
            rows = groups.best(numbers, largest=fold.kind == "max_by")
        elif exactly and fold.kind == "sum":
            sums = _exact_sums(numbers[groups.order], groups.starts, slice(None))
            folded[fold.place] = Types.BIG_INT().to_arrow_arrays(sums)[0]
        else:
            found = _folded(fold.kind, numbers[groups.order], groups.starts)
            folded[fold.place] = pa.array(found, mask=empty)
    places = pa.array(rows)
    taken = enumerate(arrays)
    return rows, [folded[i] if i in folded else array.take(places) for i, array in taken]


def _numbers(column: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The numbers of a column, 0 for none, and where there is none."""
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False), None
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return column.fill_null(0).to_numpy(zero_copy_only=False), missing


def _groups_with(marked: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.bool_]:
    """Which groups are a marked row by itself; no other may have one."""
    found: npt.NDArray[np.bool_] = np.logical_or.reduceat(marked[groups.order], groups.starts)
    lengths = np.diff(np.append(groups.starts, len(groups.order)))
    if (lengths[found] > 1).any():
        rows = groups.order[marked[groups.order] & np.repeat(lengths > 1, lengths)]
        raise NoNumber(int(rows[0]))
    return found


def _folded(kind: str, numbers: npt.NDArray[Any], starts: Ints) -> npt.NDArray[Any]:
    if kind == "sum":
        if len(_too_large(numbers, starts)):
            raise SumOverflow("a sum does not fit 64 bits")
        # It may wrap around on the way, and comes back, for the sum itself fits.
        return np.add.reduceat(numbers, starts)
    return (np.minimum if kind == "min" else np.maximum).reduceat(numbers, starts)


def _too_large(numbers: npt.NDArray[Any], starts: Ints) -> Ints:
    """The groups whose sums do not fit 64 bits."""
    sizes = np.abs(numbers.astype(np.float64))
    # All together are seldom large, and then none is.
    if sizes.sum() <= SURELY_FITS:
        return starts[:0]
    large = np.flatnonzero(np.add.reduceat(sizes, starts) > SURELY_FITS)
    sums = _exact_sums(numbers, starts, large)
    fits = np.array([MIN_LONG <= total <= MAX_LONG for total in sums], np.bool_)
    return large[~fits]


def _exact_sums(numbers: npt.NDArray[Any], starts: Ints, wanted: Ints | slice) -> list[int]:
    """The sums of some groups, however large they are."""
    high, low = (np.add.reduceat(half, starts)[wanted].tolist() for half in _halves(numbers))
    return [(h << 32) + rest for h, rest in zip(high, low, strict=True)]


def _halves(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The higher and lower 32 bits, whose sums have room in 64."""
    return numbers >> 32, numbers & 0xFFFFFFFF


def that_fit(aggregate: PaneAggregate, arrays: Sequence[pa.Array], groups: Groups) -> Groups:
    """Groups for partial sums: the rows of one that does not fit 64 bits stay as they are.

    What else belongs to a sum may bring it back. Those of one with a row without a number do so too.
    """
    apart = [groups.starts[:0]]
    for fold in aggregate.folds:
        numbers, missing = _numbers(arrays[fold.place])
        if fold.kind == "sum":
            apart.append(_too_large(numbers[groups.order], groups.starts))
        if missing is not None:
            without = np.logical_or.reduceat(missing[groups.order], groups.starts)
            apart.append(np.flatnonzero(without))
    single = np.unique(np.concatenate(apart))
    if not len(single):
        return groups
    ends = np.append(groups.starts[1:], len(groups.order))
    rows = [np.arange(groups.starts[group], ends[group]) for group in single.tolist()]
    return Groups(groups.order, np.unique(np.concatenate([groups.starts, *rows])))


def in_64_bits(number: int | None) -> Iterator[int | None]:
    """A number as a sum of numbers that 64 bits hold.

    Examples
    --------
    >>> list(in_64_bits(5)), list(in_64_bits(2**63)) == [2**63 - 1, 1]
    ([5], True)
    """
    while number is not None and not MIN_LONG <= number <= MAX_LONG:
        part = min(max(number, MIN_LONG), MAX_LONG)
        yield part
        number -= part
    yield number
