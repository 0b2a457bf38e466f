"""Rows of numbers and vectors as one vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream.ml.kernel.batch import as_vectors
from millstream.ml.linalg import DenseVector, SparseVector, Vector

__all__ = ["assembled", "problem_of"]

RATIO = 1.5


def problem_of(row: Sequence[Any], names: Sequence[str], sizes: Sequence[int] | None) -> str | None:
    """The problem of the values of a row, None if there is none.

    Examples
    --------
    >>> problem_of((1.0, None), ["a", "b"], None)
    "None in column 'b'"
    """
    for at, (value, name) in enumerate(zip(row, names, strict=True)):
        if value is None:
            return f"None in column {name!r}"
        if isinstance(value, float) and value != value:
            return f"NaN in column {name!r}"
        size = _size(value)
        if sizes is not None and size != sizes[at]:
            return f"a vector of size {size} in column {name!r}, which has size {sizes[at]},"
    return None


def _size(value: Any) -> int:
    if isinstance(value, Vector):
        return value.size()
    return len(value) if isinstance(value, (list, tuple, np.ndarray)) else 1


def assembled(row: Sequence[Any], sizes: Sequence[int] | None) -> Vector:
    """The values of a row, one after another; None is as many NaN as its size says.

    Examples
    --------
    >>> assembled((1.0, SparseVector(5, {3: 2.0})), None)
    SparseVector(6, {0: 1.0, 4: 2.0})
    """
    missing = [1] * len(row) if sizes is None else list(sizes)
    vectors = [
        DenseVector(np.full(size, np.nan)) if value is None else as_vectors([value])[0]
        for value, size in zip(row, missing, strict=True)
    ]
    length = sum(each.size() for each in vectors)
    given = sum(
        len(each.values) if isinstance(each, SparseVector) else each.size() for each in vectors
    )
    if given * RATIO > length:
        return DenseVector(np.concatenate([each.to_array() for each in vectors]))
    places, values, start = [], [], 0
    for each in vectors:
        sparse = isinstance(each, SparseVector)
        places.append((each.indices if sparse else np.arange(each.size())) + start)  # type: ignore[attr-defined]
        values.append(each.values if sparse else each.to_array())  # type: ignore[attr-defined]
        start += each.size()
    return SparseVector(length, np.concatenate(places), np.concatenate(values))
