"""Reading records: vectors, labels and weights, wherever they are in a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.common.errors import Location, short_repr
from millstream.common.types import Row
from millstream.ml.errors import MLError, ml_error, ml_value_error
from millstream.ml.linalg import SparseVector, Vector

__all__ = ["Fields", "dense", "joined", "numbers", "size_of"]

Floats = NDArray[np.float64]
Sparse = tuple[NDArray[np.int64], Floats, int]
"""The places that have values, the values, and the length of the vector."""
Given = Floats | Sparse


@dataclass(frozen=True)
class Fields:
    """Where a record has what an algorithm reads.

    In rows with names, in the columns of these names. In other rows and tuples, in this order. A record
    that is a vector itself is the features: a `Vector`, an array, a list, or a tuple of numbers.

    Examples
    --------
    >>> Fields("features", "label").features(Row(features=[1.0, 2.0], label=1.0)).tolist()
    [1.0, 2.0]
    >>> Fields("features", "label").label(([1.0, 2.0], 1.0))
    1.0
    """

    features_col: str
    label_col: str | None = None
    weight_col: str | None = None
    location: Location | None = field(default=None, compare=False)
    """The line of the program that errors tell of."""

    @property
    def names(self) -> list[str]:
        """The columns."""
        found = (self.features_col, self.label_col, self.weight_col)
        return [name for name in found if name is not None]

    def features(self, record: Any) -> Given:
        """Return the vector: an array, or the parts of a sparse one; all finite."""
        with self._told():
            if _is_vector(record):
                return numbers(record)
            return numbers(self._field(record, self.features_col, 0))

    def same_size(self, vector: Given, size: int) -> None:
        """Refuse a vector of another length than the model's."""
        if size_of(vector) != size:
            with self._told():
                message = f"a vector has {size_of(vector)} elements, and the model {size}"
                hint = "give vectors of the model's length"
                raise ml_value_error("ML_VECTOR_SIZE", message, hint)

    def label(self, record: Any) -> float:
        """Return the label, which is 0 or 1."""
        with self._told():
            return self._label(record)

    def weight(self, record: Any) -> float:
        """Return the weight, 1 without a column of weights."""
        with self._told():
            return self._weight(record)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except MLError as error:
            error.location = self.location or error.location
            raise

    def _label(self, record: Any) -> float:
        assert self.label_col is not None
        found = self._field(record, self.label_col, 1)
        label = float("nan")
        if isinstance(found, int | float | np.number):
            label = float(found)
        if label not in (0.0, 1.0):
            message = f"a label is 0 or 1, got {short_repr(found)}"
            raise ml_value_error("ML_LABEL", message, "map the two classes to 0.0 and 1.0")
        return label

    def _weight(self, record: Any) -> float:
        if self.weight_col is None:
            return 1.0
        found = self._field(record, self.weight_col, 2)
        if not isinstance(found, int | float | np.number) or not 0 <= float(found) < float("inf"):
            message = f"a weight is a number of at least 0, got {short_repr(found)}"
            raise ml_value_error("ML_WEIGHT", message, "fill missing weights with 1.0")
        return float(found)

    def _field(self, record: Any, name: str, place: int) -> Any:
        names = [] if not isinstance(record, Row | tuple) else _names(record)
        if names:
            if name not in names:
                hint = f"the record has {', '.join(names)}"
                raise ml_error("ML_UNKNOWN_COLUMN", f"a record has no field {name!r}", hint)
            return record[names.index(name)]
        if isinstance(record, dict) and name in record:
            return record[name]
        if isinstance(record, Row | tuple | list) and len(record) > place:
            return record[place]
        message = f"a record has no {name}: {short_repr(record)}"
        hint = f"give rows with a field {name!r}, or tuples that have it at place {place}"
        raise ml_error("ML_UNKNOWN_COLUMN", message, hint)


def _names(record: Row | tuple[Any, ...]) -> list[str]:
    """The names of the fields, if somebody has chosen some."""
    names = list(getattr(record, "_fields", None) or ())
    return [] if names == [f"f{at}" for at in range(len(names))] else names


def _is_vector(record: Any) -> bool:
    if isinstance(record, Row):
        return False
    if isinstance(record, Vector | np.ndarray):
        return True
    if isinstance(record, list | tuple) and len(record):
        return all(isinstance(each, int | float | np.number) for each in record)
    return False


def numbers(value: Any) -> Given:
    """Return a vector as an array, or the parts of a sparse one, if it has finite elements only.

    Examples
    --------
    >>> numbers([1, 2]).tolist()
    [1.0, 2.0]
    """
    if isinstance(value, SparseVector):
        values = np.asarray(value.values, np.float64)
        _finite(values, value)
        return np.asarray(value.indices, np.int64), values, value.size()
    try:
        found = np.asarray(value.to_array() if isinstance(value, Vector) else value, np.float64)
    except (TypeError, ValueError):
        found = None
    if found is None or found.ndim > 1 or value is None:
        message = f"features are a vector, got {short_repr(value)}"
        raise ml_value_error("ML_NOT_A_VECTOR", message, "give Vectors.dense(...), or numbers")
    _finite(found, value)
    return found.reshape(-1)


def _finite(values: Floats, given: Any) -> None:
    if not np.isfinite(values).all():
        message = f"features have a value that is not finite: {short_repr(given)}"
        hint = "filter such records out before the model, or fill them with Imputer"
        raise ml_value_error("ML_NOT_FINITE", message, hint)


def size_of(vector: Given) -> int:
    """Return how many elements a vector has."""
    return vector[2] if isinstance(vector, tuple) else len(vector)


def dense(vector: Given) -> Floats:
    """Return a vector as an array.

    Examples
    --------
    >>> dense((np.array([1]), np.array([5.0]), 3)).tolist()
    [0.0, 5.0, 0.0]
    """
    if not isinstance(vector, tuple):
        return vector
    places, values, size = vector
    found = np.zeros(size)
    found[places] = values
    return found


def joined(record: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    """Return a record with further fields: rows stay rows, tuples tuples; a vector gets a tuple.

    Examples
    --------
    >>> joined(Row(a=1), ["b"], [2])
    Row(a=1, b=2)
    >>> joined(("x", 1), ["b"], [2])
    ('x', 1, 2)
    """
    if isinstance(record, Row):
        found = Row(*record, *values)
        own = getattr(record, "_fields", None)
        if own:
            found.set_field_names([*own, *names])
        return found
    if isinstance(record, tuple) and not _is_vector(record):
        return (*record, *values)
    return (record, *values)
