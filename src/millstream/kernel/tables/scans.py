"""Running aggregates within groups: what the rows of a group have come to after each of them.

Rows are sorted by group, and each group is in the order of its rows. Results are what a loop over the
rows would give, bit by bit: floats are added one after the other, and of equal values the first counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernel.records.order import Ints

Numbers = npt.NDArray[Any]
Marks = npt.NDArray[np.bool_]

SURELY_FITS = 2.0**62
"""Sums whose numbers are no larger together, whatever their signs, fit 64 bits all the way."""
FEW_GROUPS = 8
"""So many groups, or fewer, are added up one by one."""


def whole_sums(numbers: Ints, starts: Ints, lengths: Ints) -> Ints:
    """Running sums of whole numbers; where 64 bits do not hold one it is wrong, see `overflows`."""
    totals = np.cumsum(numbers)
    before = totals[starts] - numbers[starts]
    sums: Ints = totals - np.repeat(before, lengths)
    return sums


def overflows(numbers: Ints, starts: Ints) -> Marks:
    """The groups with a running sum that 64 bits may not hold."""
    sizes = np.abs(numbers.astype(np.float64))
    if sizes.sum() <= SURELY_FITS:
        return np.zeros(len(starts), np.bool_)
    large: Marks = np.add.reduceat(sizes, starts) > SURELY_FITS
    return large


def float_sums(numbers: Numbers, starts: Ints, lengths: Ints) -> Numbers:
    """Running sums of floats, each added to the sum of those before it."""
    sums = numbers.copy()
    by_length = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[by_length], lengths[by_length]
    step = 1
    with np.errstate(all="ignore"):
        while True:
            # The groups with a row at this place, the longest first.
            number = int(np.searchsorted(-lengths, -step, side="left"))
            if number <= FEW_GROUPS:
                break
            places = starts[:number] + step
            sums[places] += sums[places - 1]
            step += 1
        for start, length in zip(starts[:number].tolist(), lengths[:number].tolist(), strict=True):
            rest = slice(start + step - 1, start + length)
            sums[rest] = np.add.accumulate(sums[rest])
    return sums


def best_places(numbers: Numbers, starts: Ints, lengths: Ints, *, largest: bool) -> Ints:
    """The place of the smallest or largest number so far, of equal ones the first.

    A number that is none is never smaller or larger than another: it stays if it is the first, and never
    comes in the place of one.
    """
    better = np.maximum if largest else np.minimum
    if numbers.dtype.kind == "f":
        numbers = _without_nan(numbers, starts, largest)
    best, longest = numbers, int(lengths.max(initial=0))
    inside = np.arange(len(numbers)) - np.repeat(starts, lengths)
    step = 1
    while step < longest:
        before = better(best[step:], best[:-step])
        best = np.concatenate((best[:step], np.where(inside[step:] >= step, before, best[step:])))
        step *= 2
    improved = np.ones(len(numbers), np.bool_)
    improved[1:] = best[1:] > best[:-1] if largest else best[1:] < best[:-1]
    improved[starts] = True
    places: Ints = np.maximum.accumulate(np.where(improved, np.arange(len(numbers)), 0))
    return places


def _without_nan(numbers: Numbers, starts: Ints, largest: bool) -> Numbers:
    missing = np.isnan(numbers)
    if not missing.any():
        return numbers
    worst = -np.inf if largest else np.inf
    found = np.where(missing, worst, numbers)
    # Nothing comes in the place of the first.
    found[starts[missing[starts]]] = -worst
    return found


def comparable(column: pa.Array) -> Numbers:
    """Numbers in the order of the values of a column; what is missing has any number."""
    if pa.types.is_string(column.type):
        encoded = column.fill_null("").dictionary_encode()
        ranks = np.empty(len(encoded.dictionary), np.int64)
        ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(ranks))
        places: Numbers = ranks[encoded.indices.to_numpy()]
        return places
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    filled = column.fill_null(0) if column.null_count else column
    numbers: Numbers = filled.to_numpy(zero_copy_only=False)
    return numbers
