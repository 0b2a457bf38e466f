"""Summaries of columns, by the names of Flink's `DataSetUtils.summarize`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from millstream.common.types import Row

__all__ = ["ColumnSummary", "summary_of"]


@dataclass
class ColumnSummary:
    """The counts and, for numbers, texts and truth values, the figures of a column.

    Examples
    --------
    >>> column = summary_of([1, 3, None])
    >>> column.get_non_null_count(), column.get_mean(), column.get_variance()
    (2, 2.0, 2.0)
    """

    total: int = 0
    nulls: int = 0
    nans: int = 0
    infinities: int = 0
    numbers: int = 0
    mean: float = 0.0
    squares: float = 0.0
    sum: Any = 0
    smallest: Any = None
    largest: Any = None
    texts: int = 0
    empty: int = 0
    shortest: int | None = None
    longest: int | None = None
    letters: int = 0
    true: int = 0
    false: int = 0

    def add(self, value: Any) -> None:
        """Take a value."""
        self.total += 1
        if value is None:
            self.nulls += 1
        elif isinstance(value, bool):
            self.true += value
            self.false += not value
        elif isinstance(value, int | float):
            self._add_number(value)
        elif isinstance(value, str):
            self._add_text(value)

    def _add_number(self, value: float) -> None:
        if value != value:
            self.nans += 1
        elif isinstance(value, float) and math.isinf(value):
            self.infinities += 1
        else:
            self.merge(
                ColumnSummary(
                    numbers=1, mean=float(value), sum=value, smallest=value, largest=value
                )
            )

    def _add_text(self, value: str) -> None:
        size = len(value)
        self.merge(
            ColumnSummary(
                texts=1, empty=int(not value), shortest=size, longest=size, letters=size
            )
        )  # fmt: skip

    def merge(self, other: ColumnSummary) -> None:
        """Take the summary of other values."""
        count = self.numbers + other.numbers
        if other.numbers:
            apart = other.mean - self.mean
            self.squares += other.squares + apart**2 * self.numbers * other.numbers / count
            self.mean += apart * other.numbers / count
        self.numbers = count
        for name in ("smallest", "shortest"):
            setattr(self, name, _picked(min, getattr(self, name), getattr(other, name)))
        for name in ("largest", "longest"):
            setattr(self, name, _picked(max, getattr(self, name), getattr(other, name)))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def get_total_count(self) -> int:
        """The number of values."""
        return self.total

    def get_null_count(self) -> int:
        """The number of values that are None."""
        return self.nulls

    def get_non_null_count(self) -> int:
        """The number of values that are not None."""
        return self.total - self.nulls

    def contains_null(self) -> bool:
        """Whether a value is None."""
        return self.nulls > 0

    def get_nan_count(self) -> int:
        """The number of NaNs."""
        return self.nans

    def get_infinity_count(self) -> int:
        """The number of infinite values."""
        return self.infinities

    def get_min(self) -> Any:
        """The smallest number."""
        return self.smallest

    def get_max(self) -> Any:
        """The largest number."""
        return self.largest

    def get_sum(self) -> Any:
        """The sum of the numbers; None if there are none."""
        return self.sum if self.numbers else None

    def get_mean(self) -> float | None:
        """The mean of the numbers."""
        return self.mean if self.numbers else None

    def get_variance(self) -> float | None:
        """The variance of the numbers as a sample; None of fewer than two."""
        return self.squares / (self.numbers - 1) if self.numbers > 1 else None

    def get_standard_deviation(self) -> float | None:
        """The standard deviation of the numbers as a sample."""
        variance = self.get_variance()
        return None if variance is None else math.sqrt(variance)

    def get_empty_count(self) -> int:
        """The number of empty texts."""
        return self.empty

    def get_min_length(self) -> int | None:
        """The length of the shortest text."""
        return self.shortest

    def get_max_length(self) -> int | None:
        """The length of the longest text."""
        return self.longest

    def get_mean_length(self) -> float | None:
        """The mean length of the texts."""
        return self.letters / self.texts if self.texts else None

    def get_true_count(self) -> int:
        """The number of values that are True."""
        return self.true

    def get_false_count(self) -> int:
        """The number of values that are False."""
        return self.false


_SUMS = (
    "total", "nulls", "nans", "infinities", "sum", "texts", "empty", "letters", "true", "false",
)  # fmt: skip


def _picked(pick: Any, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return pick(left, right)


def summary_of(values: Iterable[Any]) -> ColumnSummary:
    """The summary of values.

    Examples
    --------
    >>> summary_of(["a", "", None]).get_max_length()
    1
    """
    found = ColumnSummary()
    for value in values:
        found.add(value)
    return found


def summaries_of(records: Iterable[Any]) -> Iterable[Any]:
    """The summaries of the columns of tuples or Rows, as one list; nothing of no records."""
    found: list[ColumnSummary] = []
    for record in records:
        values = list(record) if isinstance(record, tuple | list | Row) else [record]
        if not found:
            found = [ColumnSummary() for _ in values]
        for summary, value in zip(found, values, strict=True):
            summary.add(value)
    return [found] if found else []


def merged_summaries(left: Any, right: Any) -> Any:
    """The summaries of two parts of a set."""
    for one, other in zip(left, right, strict=True):
        one.merge(other)
    return left
