"""Accumulators of group aggregates as columns: how records become them, how they add up, what they give.

Numbers of records, sums and numbers of values are linear: a record that counts -1 times takes back
exactly what it has added. A smallest or largest value cannot be taken back without all other values of
its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.records.columns import field_types
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.scans import Marks, overflows

AggregateKind = Literal["count", "sum", "avg", "min", "max"]
WHOLE_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG"})
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1


class SumOverflow(ArithmeticError):
    """A sum that 64 bits cannot hold."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a field; ``field`` None: the number of records."""

    kind: AggregateKind
    field: int | None = None


@dataclass(frozen=True)
class _Column:
    """A column of accumulators: a number of values, their sum, or the smallest or largest of them."""

    kind: Literal["number", "total", "min", "max"]
    field: int | None


@dataclass(frozen=True)
class GroupAggregates:
    """Aggregates of groups of records of a type, and their accumulators.

    A row of accumulators is the key, the number of records, and a column for each number that is added
    up.
    """

    type_info: TypeInformation
    key: KeyColumns
    aggregates: tuple[Aggregate, ...]

    @cached_property
    def columns(self) -> tuple[_Column, ...]:
        """The columns behind the key, each once however many aggregates need it."""
        found = [_Column("number", None)]
        for aggregate in self.aggregates:
            kind, field = aggregate.kind, aggregate.field
            if kind in ("min", "max"):
                found.append(_Column(kind, field))
            elif field is not None:
                found.append(_Column("number", field))
                if kind != "count":
                    found.append(_Column("total", field))
        return tuple(dict.fromkeys(found))

    @property
    def takes_weights(self) -> bool:
        """Whether records may be taken back."""
        return all(aggregate.kind not in ("min", "max") for aggregate in self.aggregates)

    @cached_property
    def row_key(self) -> KeyColumns:
        """The key in a row of accumulators."""
        return KeyColumns(tuple(range(len(self.key.places))), self.key.kinds, self.key.alone)

    @cached_property
    def row_type(self) -> TypeInformation:
        """The type of a row of accumulators."""
        return Types.TUPLE([*self.key.kinds, *map(self._type_of, self.columns)])

    def _type_of(self, column: _Column) -> TypeInformation:
        own = self._field_type(column.field)
        if column.kind == "number" or (column.kind == "total" and own.kind in WHOLE_NUMBERS):
            return Types.LONG()
        return own

    def _field_type(self, field: int | None) -> TypeInformation:
        return Types.LONG() if field is None else field_types(self.type_info)[field]

    @cached_property
    def result_type(self) -> TypeInformation:
        """The type of a result: the key and the aggregates."""
        return Types.TUPLE([*self.key.kinds, *map(self._result_type, self.aggregates)])

    def _result_type(self, aggregate: Aggregate) -> TypeInformation:
        if aggregate.kind == "count":
            return Types.LONG()
        return (
            self._type_of(_Column("total", aggregate.field))
            if aggregate.kind == "sum"
            else (self._field_type(aggregate.field))
        )

    # -- rows ------------------------------------------------------------------------------------

    def rows(self, arrays: Sequence[pa.Array], weights: Ints | None, n: int) -> list[pa.Array]:
        """The accumulators of single records, each of which counts as often as its weight says.

        `SumOverflow` if a record counts so often that 64 bits do not hold it.
        """
        times = np.ones(n, np.int64) if weights is None else weights
        found = [arrays[place] for place in self.key.places]
        for column in self.columns:
            values = None if column.field is None else arrays[column.field]
            if column.kind in ("min", "max"):
                found.append(values)
            elif column.kind == "number":
                valid = True if values is None else values.is_valid().to_numpy(zero_copy_only=False)
                found.append(pa.array(np.where(valid, times, 0)))
            else:
                assert values is not None
                found.append(self._weighed(values.cast(self._type_of(column).to_arrow()), weights))
        return found

    def _weighed(self, values: pa.Array, weights: Ints | None) -> pa.Array:
        values = values.fill_null(0)
        if weights is None:
            return values
        if pa.types.is_floating(values.type):
            return pc.multiply(values, pa.array(weights.astype(np.float64)))
        try:
            return pc.multiply_checked(values, pa.array(weights))
        except pa.ArrowInvalid:
            raise SumOverflow from None

    def added_up(self, arrays: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """One row for each group; `SumOverflow` if 64 bits do not hold a sum."""
        keys = len(self.key.places)
        firsts = pa.array(groups.firsts)
        found = [array.take(firsts) for array in arrays[:keys]]
        for column, array in zip(self.columns, arrays[keys:], strict=True):
            if column.kind in ("min", "max"):
                found.append(_best(column.kind, array, groups))
            else:
                numbers = array.to_numpy(zero_copy_only=False)[groups.order]
                if numbers.dtype.kind != "f":
                    _refuse_overflow(numbers, groups)
                # A sum that fits may wrap around on the way, and comes back.
                found.append(pa.array(np.add.reduceat(numbers, groups.starts)))
        return found

    def is_left(self, arrays: Sequence[pa.Array]) -> Marks:
        """The rows that have to be kept: those that do not add up to nothing.

        More records than there are may have been taken back until the others come: what is left of them
        is kept, and adds up with them to the right result.
        """
        left = np.zeros(len(arrays[0]), np.bool_)
        for column, array in zip(self.columns, arrays[len(self.key.places) :], strict=True):
            # A sum of floats may not come back to nothing though all of them are taken back.
            if column.kind in ("number", "total") and not pa.types.is_floating(array.type):
                left |= array.to_numpy(zero_copy_only=False) != 0
        return left

    def exists(self, arrays: Sequence[pa.Array]) -> Marks:
        """The rows of groups that have records."""
        found: Marks = arrays[len(self.key.places)].to_numpy(zero_copy_only=False) > 0
        return found

    # -- results ---------------------------------------------------------------------------------

    def results(self, arrays: Sequence[pa.Array]) -> list[pa.Array]:
        """The columns of results, of rows of accumulators."""
        keys = len(self.key.places)
        columns = dict(zip(self.columns, arrays[keys:], strict=True))
        found = list(arrays[:keys])
        for aggregate in self.aggregates:
            kind, field = aggregate.kind, aggregate.field
            if kind in ("min", "max"):
                found.append(columns[_Column(kind, field)])
            elif kind == "count":
                found.append(columns[_Column("number", field)])
            else:
                totals, numbers = (
                    columns[_Column("total", field)],
                    columns[_Column("number", field)],
                )
                values = totals if kind == "sum" else _averages(totals, numbers)
                none = pc.equal(numbers, 0)
                kept = pc.if_else(none, pa.scalar(None, values.type), values)
                found.append(kept.cast(self._result_type(aggregate).to_arrow()))
        return found


def _averages(totals: pa.Array, numbers: pa.Array) -> pa.Array:
    """Averages: of whole numbers a whole number, cut off towards 0, as in SQL."""
    safe = pc.if_else(pc.equal(numbers, 0), 1, numbers)
    if pa.types.is_floating(totals.type):
        return pc.divide(totals, safe.cast(pa.float64()))
    return pc.divide(totals, safe)


def _best(kind: str, array: pa.Array, groups: Groups) -> pa.Array:
    """The smallest or largest value of each group, none if the group has none."""
    missing = array.is_null().to_numpy(zero_copy_only=False)
    numbers = (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)
    if missing.any():
        numbers = np.where(missing, _worst(kind, numbers.dtype), numbers)
    ufunc: Any = np.minimum if kind == "min" else np.maximum
    found = ufunc.reduceat(numbers[groups.order], groups.starts)
    none = np.logical_and.reduceat(missing[groups.order], groups.starts)
    return pa.array(found, array.type, mask=none)


def _worst(kind: str, dtype: npt.DTypeLike) -> Any:
    if np.dtype(dtype).kind == "f":
        return np.inf if kind == "min" else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if kind == "min" else limits.min


def _refuse_overflow(numbers: npt.NDArray[Any], groups: Groups) -> None:
    lengths = groups.lengths
    for group in np.flatnonzero(overflows(numbers, groups.starts)).tolist():
        start = int(groups.starts[group])
        total = sum(numbers[start : start + int(lengths[group])].tolist())
        if not MIN_LONG <= total <= MAX_LONG:
            raise SumOverflow
