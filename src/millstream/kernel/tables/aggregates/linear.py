"""COUNT, SUM, SUM0 and AVG: what records add, others take back exactly, except for fractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates import wide
from millstream.kernel.tables.aggregates.base import Accumulator, Marks, by_group, invalid

__all__ = ["Average", "Count", "Sum"]

_WIDE = pa.decimal128(38, 0)
_MOST = 10**38


def known_weights(arguments: Sequence[pa.Array], weights: Ints) -> Ints:
    """The weights of records, 0 where an argument is missing."""
    for column in arguments:
        if column.null_count:
            weights = np.where(invalid(column), 0, weights)
    return weights


class Count(Accumulator):
    """The number of records, or of those in which all arguments have a value."""

    def __init__(self) -> None:
        self.state_types = (pa.int64(),)
        self.result_type = pa.int64()

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        return [pa.array(known_weights(arguments, weights))]

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        return [pa.array(by_group(state[0].to_numpy(), groups))]

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        return state[0]

    def is_empty(self, state: Sequence[pa.Array]) -> Marks:
        return state[0].to_numpy() == 0  # type: ignore[no-any-return]


class _Total(Accumulator):
    """The number of values, and their sum: of 64 bits, a fraction, or 128 bits for decimals."""

    def __init__(self, argument: pa.DataType, result: pa.DataType) -> None:
        self.argument = argument
        self.result_type = result
        if pa.types.is_decimal(argument):
            total = pa.decimal128(38, argument.scale)
        elif pa.types.is_floating(argument):
            total = pa.float64()
        else:
            total = pa.int64()
        self.total = total
        self.state_types = (pa.int64(), total)

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        (column,) = arguments
        times = known_weights(arguments, weights)
        if pa.types.is_decimal(self.total):
            limbs = wide.limbs_of_decimals(column) * times[:, None]
            return [pa.array(times), wide.as_decimals(limbs, self.total)]
        values = column.cast(self.total).fill_null(0).to_numpy(zero_copy_only=False)
        if pa.types.is_floating(self.total):
            with np.errstate(invalid="ignore"):
                values = np.where(times == 0, 0.0, values * times)
        else:
            values = values * times
        return [pa.array(times), pa.array(values, self.total)]

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        numbers = pa.array(by_group(state[0].to_numpy(), groups))
        if pa.types.is_decimal(self.total):
            limbs = wide.summed(wide.limbs_of_decimals(state[1]), groups)
            return [numbers, wide.as_decimals(limbs, self.total)]
        with np.errstate(all="ignore"):
            return [numbers, pa.array(by_group(state[1].to_numpy(), groups), self.total)]

    def is_empty(self, state: Sequence[pa.Array]) -> Marks:
        none: Marks = state[0].to_numpy() == 0
        if pa.types.is_floating(self.total):
            return none  # what is left of fractions is an error of rounding
        if pa.types.is_decimal(self.total):
            return none & ~wide.limbs_of_decimals(state[1]).any(axis=1)
        nothing: Marks = none & (state[1].to_numpy() == 0)
        return nothing


class Sum(_Total):
    """The sum of the values. Whole numbers wrap around in the type of the result.

    ``zero``: of no values it is 0, and NULL otherwise. A decimal of more than 38 digits is NULL.
    """

    def __init__(self, argument: pa.DataType, result: pa.DataType, *, zero: bool = False) -> None:
        super().__init__(argument, result)
        self.zero = zero

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        missing = None if self.zero else state[0].to_numpy() == 0
        if pa.types.is_decimal(self.total):
            return self._decimals(state[1], missing)
        totals = state[1].to_numpy()
        if self.zero and pa.types.is_floating(self.total):
            totals = np.where(state[0].to_numpy() == 0, 0.0, totals)
        with np.errstate(all="ignore"):
            numbers = totals.astype(self.result_type.to_pandas_dtype())
        return pa.array(numbers, self.result_type, mask=missing)

    def _decimals(self, totals: pa.Array, missing: Marks | None) -> pa.Array:
        limbs = wide.limbs_of_decimals(totals)
        # Only large numbers can have too many digits.
        large = np.flatnonzero(np.abs(limbs[:, 3]) >= 1 << 29)
        gone = np.zeros(len(limbs), np.bool_) if missing is None else missing.copy()
        most = min(_MOST, 10**self.result_type.precision)
        if self.result_type.precision < 38:
            large = np.arange(len(limbs))
        for place, number in zip(large.tolist(), wide.as_ints(limbs[large]), strict=True):
            gone[place] |= abs(number) >= most
        limbs[gone] = 0
        found = wide.as_decimals(limbs, self.total)
        found = found if found.type == self.result_type else found.cast(self.result_type)
        return _masked(found, gone)


class Average(_Total):
    """The mean of the values: of whole numbers a whole number, rounded towards zero.

    As in Flink it is SUM divided by COUNT, and the sum of whole numbers wraps around in their type.
    """

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        numbers = state[0].to_numpy()
        missing = numbers == 0
        divisors = np.where(missing, 1, numbers)
        if pa.types.is_decimal(self.total):
            return self._decimals(state[1], divisors, missing)
        totals = state[1].to_numpy()
        if pa.types.is_floating(self.total):
            with np.errstate(all="ignore"):
                means: Any = totals / divisors
        elif pa.types.is_floating(self.result_type):
            means = totals / divisors
        else:
            totals = totals.astype(self.result_type.to_pandas_dtype()).astype(np.int64)
            means = totals // divisors
            means += (means < 0) & (means * divisors != totals)
        means = means.astype(self.result_type.to_pandas_dtype())
        return pa.array(means, self.result_type, mask=missing)

    def _decimals(self, totals: pa.Array, divisors: Ints, missing: Marks) -> pa.Array:
        kind = self.result_type
        if not pa.types.is_decimal(kind):
            return totals.cast(pa.float64()).cast(kind)
        shift, most = 10 ** max(kind.scale - self.total.scale, 0), 10**kind.precision
        less = 10 ** max(self.total.scale - kind.scale, 0)
        found, gone = [], missing.copy()
        unscaled = wide.as_ints(wide.limbs_of_decimals(totals))
        for place, (total, number) in enumerate(zip(unscaled, divisors.tolist(), strict=True)):
            # Half is rounded away from zero.
            size, divisor = abs(total) * shift, abs(number) * less
            mean = (2 * size + divisor) // (2 * divisor)
            gone[place] |= mean >= most
            found.append(0 if gone[place] else mean if (total < 0) == (number < 0) else -mean)
        return _masked(wide.as_decimals(wide.limbs_of_ints(found), kind), gone)


def _masked(column: pa.Array, missing: Marks) -> pa.Array:
    """A column with NULL where there is no value."""
    if not missing.any():
        return column
    return column.take(pa.array(np.arange(len(column)), mask=missing))
