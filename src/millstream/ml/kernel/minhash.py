"""Hashes of sets that are similar where sets are similar, and the distance of sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_value_error
from millstream.ml.kernel.java_random import JavaRandom
from millstream.ml.kernel.vectors import nonzero_places
from millstream.ml.linalg import DenseVector, Vector

__all__ = ["PRIME", "coefficients", "jaccard_distance", "min_hashes"]

PRIME = 2038074743


def coefficients(count: int, seed: int) -> tuple[list[int], list[int]]:
    """The random numbers of hash functions, which are those of flink-ml for the same seed."""
    random = JavaRandom(seed)
    pairs = [(1 + random.next_int(PRIME - 1), random.next_int(PRIME - 1)) for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def min_hashes(vector: Vector, tables: int, first: Sequence[int], second: Sequence[int]) -> Any:
    """The smallest hashes of the places that are not 0: a vector for each table.

    Examples
    --------
    >>> min_hashes(DenseVector([1.0, 0.0, 5.0]), 2, [1, 10], [5, 7])
    [DenseVector([6.0]), DenseVector([17.0])]
    """
    places = nonzero_places(vector)
    if not len(places):
        message = f"a vector of {vector.size()} zeros has no hash"
        raise ml_value_error("ML_INVALID_VALUE", message, "must have at least 1 non zero entry")
    hashes = ((1 + places)[:, None] * np.asarray(first, np.int64) + np.asarray(second)) % PRIME
    rows: NDArray[np.float64] = hashes.min(axis=0).reshape(tables, -1).astype(np.float64)
    return [DenseVector(row) for row in rows]


def jaccard_distance(x: Vector, y: Vector) -> float:
    """The part of the places of two vectors that they do not share.

    Examples
    --------
    >>> jaccard_distance(DenseVector([1, 1, 0]), DenseVector([0, 1, 1])).__round__(3)
    0.667
    """
    left, right = nonzero_places(x), nonzero_places(y)
    shared = len(np.intersect1d(left, right, assume_unique=True))
    union = len(left) + len(right) - shared
    if not union:
        message = "the union of two input sets must have at least 1 elements"
        raise ml_value_error("ML_INVALID_VALUE", message, "leave out vectors of zeros")
    return 1.0 - shared / union
