"""Batches: the columns that algorithms read and write.

A column is a numpy array of one dimension (numbers), of two dimensions (dense vectors of one length), or
a list of objects (texts, lists, vectors of any kind, None).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.linalg import DenseVector, Vector

__all__ = ["Batch", "Column", "Made", "as_vectors", "matrix_of", "rows_of", "taken"]

Column = Any
Floats = NDArray[np.float64]


@dataclass
class Batch:
    """Some rows, as columns.

    Examples
    --------
    >>> from millstream.ml.linalg import SparseVector
    >>> batch = Batch({"v": [DenseVector([1, 2]), SparseVector(2, {0: 3})], "n": np.array([1, 2])})
    >>> batch.matrix("v").tolist(), batch.numbers("n").tolist(), len(batch)
    ([[1.0, 2.0], [3.0, 0.0]], [1.0, 2.0], 2)
    """

    columns: dict[str, Column]
    rows: int = -1
    _matrices: dict[str, Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.rows < 0:
            self.rows = len(next(iter(self.columns.values()), ()))

    def __len__(self) -> int:
        return self.rows

    def column(self, name: str) -> Column:
        """The column as it is."""
        if name not in self.columns:
            hint = f"there are {', '.join(self.columns) or 'no columns'}"
            raise ml_value_error("ML_UNKNOWN_COLUMN", f"the data have no column {name!r}", hint)
        return self.columns[name]

    def matrix(self, name: str) -> Floats:
        """A column of vectors, one in each row. Numbers are vectors of length 1."""
        if name not in self._matrices:
            self._matrices[name] = matrix_of(self.column(name), name)
        return self._matrices[name]

    def finite(self, name: str) -> Floats:
        """The same, without NaN and infinite elements."""
        found = self.matrix(name)
        bad = ~np.isfinite(found).all(axis=1)
        if bad.any():
            at = int(bad.argmax())
            message = f"column {name!r} has {found[at].tolist()} in row {at}"
            hint = "remove such rows, or fill them with Imputer"
            raise ml_value_error("ML_NOT_FINITE", message, hint)
        return found

    def vectors(self, name: str) -> list[Vector]:
        """A column of vectors, as objects."""
        return as_vectors(self.column(name), name)

    def numbers(self, name: str) -> Floats:
        """A column of numbers, or of vectors of length 1; None is NaN."""
        given = self.column(name)
        narrow = isinstance(given, np.ndarray) and given.size == len(given)
        if narrow and given.dtype.kind in "fiub":
            return np.asarray(given.reshape(-1), np.float64)
        try:
            return np.array([np.nan if v is None else float(v) for v in given], np.float64)
        except (TypeError, ValueError):
            message = f"column {name!r} has values that are no numbers: {given[:3]!r:.80}"
            raise ml_value_error("ML_NOT_NUMBERS", message, "convert the column first") from None

    def values(self, name: str) -> list[Any]:
        """A column as Python values."""
        given = self.column(name)
        if isinstance(given, np.ndarray):
            return [DenseVector(each) for each in given] if given.ndim == 2 else given.tolist()
        return list(given)

    def with_columns(self, made: Mapping[str, Column]) -> Batch:
        """The batch with further columns."""
        return Batch({**self.columns, **made}, self.rows)

    def take(self, kept: NDArray[Any]) -> Batch:
        """Some of the rows: a mask, or their places."""
        found = {name: taken(column, kept) for name, column in self.columns.items()}
        rows = int(kept.sum()) if kept.dtype == bool else len(kept)
        return Batch(found, rows)

    @staticmethod
    def joined(parts: Sequence[Batch]) -> Batch:
        """The rows of several batches."""
        if len(parts) == 1:
            return parts[0]
        names = parts[0].columns if parts else {}
        found = {name: _joined([each.columns[name] for each in parts]) for name in names}
        return Batch(found, sum(len(each) for each in parts))


@dataclass(frozen=True)
class Made:
    """The result of a transformation of a batch: columns, and which rows stay if not all do."""

    columns: Mapping[str, Column]
    kept: NDArray[np.bool_] | None = None


def taken(column: Column, kept: NDArray[Any]) -> Column:
    """Some of the values of a column."""
    if isinstance(column, np.ndarray):
        return column[kept]
    places = np.flatnonzero(kept) if kept.dtype == bool else kept
    return [column[at] for at in places]


def _joined(parts: Sequence[Column]) -> Column:
    arrays = all(isinstance(each, np.ndarray) for each in parts)
    if arrays and len({each.shape[1:] for each in parts}) == 1:
        return np.concatenate(parts)
    found: list[Any] = []
    for each in parts:
        if isinstance(each, np.ndarray) and each.ndim == 2:
            found += [DenseVector(row) for row in each]
        else:
            found += each.tolist() if isinstance(each, np.ndarray) else list(each)
    return found


def matrix_of(given: Column, name: str = "features") -> Floats:
    """Vectors of the same length as the rows of a matrix."""
    if isinstance(given, np.ndarray) and given.dtype != object:
        numbers = given.astype(np.float64, copy=False)
        return numbers.reshape(len(numbers), -1) if numbers.ndim != 2 else numbers
    lengths: set[int] = set()
    arrays = []
    for at, value in enumerate(given):
        array = _array_of(value, name, at)
        arrays.append(array)
        lengths.add(len(array))
    if len(lengths) > 1:
        message = f"column {name!r} has vectors of lengths {', '.join(map(str, sorted(lengths)))}"
        raise ml_value_error("ML_VECTOR_SIZE", message, "give vectors of the same length")
    return np.array(arrays, np.float64).reshape(len(arrays), lengths.pop() if lengths else 0)


def _array_of(value: Any, name: str, at: int) -> Floats:
    if isinstance(value, Vector):
        return value.to_array()
    try:
        if value is None:
            raise TypeError
        array = np.asarray(value, np.float64)
        return array.reshape(1) if array.ndim == 0 else array
    except (TypeError, ValueError):
        message = f"column {name!r} has {value!r:.60} in row {at}, which is no vector"
        raise ml_value_error(
            "ML_NOT_A_VECTOR", message, "put columns together with VectorAssembler"
        ) from None


def as_vectors(given: Column, name: str = "features") -> list[Vector]:
    """Vectors as objects: those that are given, or dense ones of arrays, lists and numbers."""
    if isinstance(given, np.ndarray) and given.dtype != object:
        return [DenseVector(each) for each in matrix_of(given, name)]
    return [
        value if isinstance(value, Vector) else DenseVector(_array_of(value, name, at))
        for at, value in enumerate(given)
    ]


def rows_of(batch: Batch, names: Iterable[str] | None = None) -> list[tuple[Any, ...]]:
    """The rows as tuples of Python values."""
    found = [batch.values(name) for name in (names or batch.columns)]
    return list(zip(*found, strict=True))


def require_rows(batch: Batch, what: str) -> None:
    """Refuse to fit on nothing."""
    if not len(batch):
        raise ml_error("ML_EMPTY_INPUT", f"{what} has no rows to be fitted on")
