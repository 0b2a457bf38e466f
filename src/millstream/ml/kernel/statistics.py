"""Statistics of columns: parts of them can be put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_error, ml_value_error

__all__ = ["ColumnStatistics", "merged_statistics", "statistics_of"]

Floats = NDArray[np.float64]


@dataclass
class ColumnStatistics:
    """The count, mean and sum of squared differences from the mean, smallest and largest values."""

    count: int
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats

    def variance(self, ddof: int = 1) -> Floats:
        """The variance; of one row it is 0."""
        return self.squares / max(self.count - ddof, 1)


def statistics_of(matrix: Floats) -> ColumnStatistics:
    """The statistics of the columns of a matrix.

    Examples
    --------
    >>> found = statistics_of(np.array([[1.0], [3.0]]))
    >>> found.mean.tolist(), found.variance().tolist()
    ([2.0], [2.0])
    """
    mean = matrix.mean(axis=0)
    squares = ((matrix - mean) ** 2).sum(axis=0)
    return ColumnStatistics(len(matrix), mean, squares, matrix.min(axis=0), matrix.max(axis=0))


def merged_statistics(parts: Sequence[ColumnStatistics], what: str) -> ColumnStatistics:
    """The statistics of all rows, of those of parts."""
    found: ColumnStatistics = first_of(parts, what)
    for part in parts[1:]:
        same_length(found.mean, part.mean)
        count = found.count + part.count
        apart = part.mean - found.mean
        mean = found.mean + apart * (part.count / count)
        squares = found.squares + part.squares + apart**2 * (found.count * part.count / count)
        low, high = np.minimum(found.low, part.low), np.maximum(found.high, part.high)
        found = ColumnStatistics(count, mean, squares, low, high)
    return found


def first_of(parts: Sequence[Any], what: str) -> Any:
    """The first part, or an error if there are no rows."""
    if not parts:
        raise ml_error("ML_EMPTY_INPUT", f"{what} has no rows to be fitted on", "give some rows")
    return parts[0]


def same_length(first: Floats, second: Floats) -> None:
    """Refuse vectors of different length."""
    if first.shape != second.shape:
        message = f"vectors have lengths {first.shape[-1]} and {second.shape[-1]}"
        raise ml_value_error("ML_VECTOR_SIZE", message, "give vectors of the same length")
