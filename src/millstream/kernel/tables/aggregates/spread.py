"""STDDEV and VARIANCE, of samples and of whole populations.

Whole numbers are added up exactly: their number, sum and sum of squares. Of fractions a state has the
number, the mean and the squares of the distances from it, which lose less than sums of squares would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates import wide
from millstream.kernel.tables.aggregates.base import Accumulator, Marks, by_group
from millstream.kernel.tables.aggregates.linear import known_weights

__all__ = ["Spread"]

_WIDE = pa.decimal128(38, 0)
_SAFE = 1 << 31


class Spread(Accumulator):
    """A variance or standard deviation. ``sample``: of a sample; ``root``: the standard deviation."""

    def __init__(
        self, argument: pa.DataType, result: pa.DataType, *, sample: bool, root: bool
    ) -> None:
        self.exact = pa.types.is_integer(argument)
        self.sample = sample
        self.root = root
        self.result_type = result
        number = _WIDE if self.exact else pa.float64()
        self.state_types = (pa.int64(), number, number)

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        times = known_weights(arguments, weights)
        (column,) = arguments
        if not self.exact:
            values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
            means = np.where(times == 0, 0.0, values)
            return [pa.array(times), pa.array(means), pa.array(np.zeros(len(times)))]
        numbers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        if len(numbers) and max(-int(numbers.min()), int(numbers.max())) >= _SAFE:
            squares = wide.limbs_of_ints([number * number for number in numbers.tolist()])
        else:
            squares = wide.limbs_of_integers(numbers * numbers)
        parts = [wide.limbs_of_integers(numbers) * times[:, None], squares * times[:, None]]
        return [pa.array(times), *(wide.as_decimals(part, _WIDE) for part in parts)]

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        numbers = by_group(state[0].to_numpy(), groups)
        if self.exact:
            sums = [wide.summed(wide.limbs_of_decimals(part), groups) for part in state[1:]]
            return [pa.array(numbers), *(wide.as_decimals(part, _WIDE) for part in sums)]
        each, means, squares = (part.to_numpy() for part in state)
        with np.errstate(all="ignore"):
            mean = by_group(each * means, groups) / np.where(numbers == 0, 1, numbers)
            mean = np.where(numbers == 0, 0.0, mean)
            # A row may be in several groups: frames of OVER share rows.
            order = groups.order
            apart = means[order] - np.repeat(mean, groups.lengths)
            inside = squares[order] + each[order] * apart**2
            squares = np.add.reduceat(inside, groups.starts)
        squares = np.where(numbers == 0, 0.0, squares)
        return [pa.array(numbers), pa.array(mean), pa.array(squares)]

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        numbers = state[0].to_numpy()
        missing = numbers <= int(self.sample)
        found: Any = np.zeros(len(numbers))
        if self.exact:
            totals, squares = (wide.as_ints(wide.limbs_of_decimals(part)) for part in state[1:])
            for place in np.flatnonzero(~missing).tolist():
                n = int(numbers[place])
                found[place] = (n * squares[place] - totals[place] ** 2) / (n * (n - self.sample))
        else:
            divisors = np.where(missing, 1, numbers - int(self.sample))
            found = np.maximum(state[2].to_numpy() / divisors, 0.0)
        if self.root:
            found = np.sqrt(found)
        return _as(found, self.result_type, missing)

    def is_empty(self, state: Sequence[pa.Array]) -> Marks:
        return state[0].to_numpy() == 0  # type: ignore[no-any-return]


def _as(numbers: Any, kind: pa.DataType, missing: Marks) -> pa.Array:
    if pa.types.is_floating(kind):
        return pa.array(numbers.astype(kind.to_pandas_dtype()), kind, mask=missing)
    if pa.types.is_integer(kind):
        return pa.array(_whole(numbers, kind), kind, mask=missing)
    found = []
    for number, gone in zip(numbers.tolist(), missing.tolist(), strict=True):
        found.append(None if gone else _decimal(number, kind))
    return pa.array(found, kind)


def _whole(numbers: Any, kind: pa.DataType) -> Any:
    """Fractions as whole numbers, rounded towards zero; too large ones become the largest."""
    limits = np.iinfo(kind.to_pandas_dtype())
    high, low = numbers >= float(limits.max), numbers <= float(limits.min)
    plain = np.where(high | low | np.isnan(numbers), 0.0, np.trunc(numbers)).astype(limits.dtype)
    return np.where(high, limits.max, np.where(low, limits.min, plain))


def _decimal(number: float, kind: pa.DataType) -> Any:
    from decimal import ROUND_HALF_UP, Context, Decimal

    if not math.isfinite(number):
        return None
    rounded = Decimal(repr(number)).quantize(
        Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, Context(prec=80)
    )
    digits = len(rounded.as_tuple().digits)
    return rounded if digits <= kind.precision else None
