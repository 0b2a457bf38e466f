"""Work on columns of vectors that keeps sparse ones sparse."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_value_error
from millstream.ml.kernel.batch import Column, as_vectors
from millstream.ml.linalg import DenseVector, SparseVector, Vector

__all__ = ["expanded", "multiplied", "nonzero_places", "norms", "picked", "products"]

Floats = NDArray[np.float64]


def by_vector(column: Column, name: str, dense: Any, sparse: Any) -> Column:
    """A column of what one function makes of dense rows, and another one of sparse vectors."""
    if isinstance(column, np.ndarray):
        return dense(column.reshape(len(column), -1).astype(np.float64, copy=False))
    vectors = as_vectors(column, name)
    if any(isinstance(each, SparseVector) for each in vectors):
        return [
            sparse(each)
            if isinstance(each, SparseVector)
            else DenseVector(dense(each.to_array()[None, :])[0])
            for each in vectors
        ]
    return [DenseVector(dense(each.to_array()[None, :])[0]) for each in vectors]


def sizes_of(column: Column, name: str) -> set[int]:
    """The lengths that the vectors of a column have."""
    if isinstance(column, np.ndarray):
        return {column.shape[1] if column.ndim == 2 else 1}
    return {each.size() for each in as_vectors(column, name)}


def require_size(column: Column, name: str, size: int, who: str) -> None:
    """Refuse vectors of another length than the stage has."""
    for found in sizes_of(column, name) - {size}:
        message = f"{name} has {found} features, but {who} is expecting {size} features as input"
        raise ml_value_error("ML_VECTOR_SIZE", message, "vectors have lengths of their model")


def multiplied(column: Column, factors: Floats, name: str, who: str) -> Column:
    """Vectors times factors, element by element.

    Examples
    --------
    >>> multiplied([SparseVector(3, {1: 2.0})], np.array([1.0, 10, 100]), "v", "IDF")
    [SparseVector(3, {1: 20.0})]
    """
    require_size(column, name, len(factors), who)

    def sparse(vector: SparseVector) -> SparseVector:
        places = vector.indices
        return SparseVector(vector.size(), places, vector.values * factors[places])

    return by_vector(column, name, lambda rows: rows * factors, sparse)


def picked(column: Column, places: Sequence[int], name: str) -> Column:
    """Some elements of vectors, in the order of their places.

    Examples
    --------
    >>> picked(np.array([[1.0, 2, 3]]), [2, 0], "v").tolist()
    [[3.0, 1.0]]
    >>> picked([SparseVector(4, {1: 5.0, 3: 7.0})], [3, 0, 1], "v")
    [SparseVector(3, {0: 7.0, 2: 5.0})]
    """
    wanted = np.asarray(places, np.int64)
    top = int(wanted.max(initial=-1))
    for size in sizes_of(column, name):
        if top >= size:
            message = f"index value {top} is greater than vector size: {size}"
            raise ml_value_error("ML_VECTOR_SIZE", message, f"column {name!r} has such vectors")

    def sparse(vector: SparseVector) -> SparseVector:
        values = vector.to_array()[wanted]
        (found,) = np.nonzero(values)
        return SparseVector(len(wanted), found, values[found])

    return by_vector(column, name, lambda rows: rows[:, wanted], sparse)


def norms(rows: Floats, p: float) -> Floats:
    """The p-norm of each row."""
    if p == 2:
        return np.asarray(np.sqrt((rows * rows).sum(axis=1)))
    sizes = np.abs(rows)
    if p == 1 or np.isinf(p):
        return np.asarray(sizes.sum(axis=1) if p == 1 else sizes.max(axis=1, initial=0.0))
    return np.asarray((sizes**p).sum(axis=1) ** (1 / p))


def nonzero_places(vector: Vector) -> NDArray[np.int64]:
    """The places of the elements that are not 0."""
    if isinstance(vector, SparseVector):
        return np.asarray(vector.indices[vector.values != 0], np.int64)
    return np.flatnonzero(vector.to_array())


def expanded(column: Column, degree: int, name: str) -> Column:
    """All products of up to ``degree`` elements of each vector: ``x, x*x, y, x*y, y*y`` for degree 2.

    Examples
    --------
    >>> expanded(np.array([[2.0, 3.0]]), 2, "v").tolist()
    [[2.0, 4.0, 3.0, 6.0, 9.0]]
    """
    for size in sizes_of(column, name):
        if comb(size + degree, degree) > 2**31 - 1:
            message = f"vectors of length {size} have too many products of degree {degree}"
            raise ml_value_error("ML_VECTOR_SIZE", message, "set a smaller degree")

    def dense(rows: Floats) -> Floats:
        found = _monomials(list(rows.T), degree, np.ones(len(rows)))
        return np.stack(found[1:], axis=1) if len(found) > 1 else rows[:, :0]

    return by_vector(column, name, dense, lambda vector: _sparse_expanded(vector, degree))


def _monomials(columns: list[Floats], degree: int, factor: Floats) -> list[Floats]:
    if degree == 0 or not columns:
        return [factor]
    *rest, last = columns
    found: list[Floats] = []
    for power in range(degree + 1):
        found += _monomials(rest, degree - power, factor)
        factor = factor * last
    return found


def _sparse_expanded(vector: SparseVector, degree: int) -> SparseVector:
    size = comb(vector.size() + degree, degree)
    places, values = vector.indices.tolist(), vector.values.tolist()
    found: dict[int, float] = {}

    def expand(last: int, left: int, factor: float, start: int) -> None:
        """Products of the elements up to the last one, which begin at a place of the result."""
        if left == 0 or last < 0:
            found[start] = factor
            return
        for power in range(left + 1):
            expand(last - 1, left - power, factor, start)
            start += comb(places[last] + left - power, left - power)
            factor *= values[last]

    expand(len(places) - 1, degree, 1.0, -1)
    found.pop(-1)
    kept = {place: value for place, value in found.items() if value != 0}
    return SparseVector(size - 1, kept)


def products(columns: Sequence[Column], names: Sequence[str]) -> Column:
    """The products of one element of each column; the elements of the last column vary fastest.

    Examples
    --------
    >>> products([np.array([2.0]), np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])], "abc").tolist()
    [[6.0, 8.0, 12.0, 16.0]]
    """
    if all(isinstance(each, np.ndarray) for each in columns):
        found = np.ones((len(columns[0]), 1))
        for each in columns:
            found = (found[:, :, None] * each.reshape(len(each), 1, -1)).reshape(len(found), -1)
        return found
    rows = zip(*columns, strict=True)
    return [None if any(v is None for v in row) else _product(row, names) for row in rows]


def _product(row: Sequence[Any], names: Sequence[str]) -> Vector:
    vectors = [as_vectors([value], name)[0] for value, name in zip(row, names, strict=True)]
    if not any(isinstance(each, SparseVector) for each in vectors):
        values: Floats = np.ones(1)
        for each in vectors:
            values = np.asarray(np.kron(values, each.to_array()))
        return DenseVector(values)
    places, elements, size = np.zeros(1, np.int64), np.ones(1), 1
    for each in vectors:
        own = each.indices if isinstance(each, SparseVector) else np.arange(each.size())
        places = (places[:, None] * each.size() + own[None, :]).ravel()
        own_values = each.values if isinstance(each, (SparseVector, DenseVector)) else np.empty(0)
        elements = np.asarray(np.kron(elements, own_values))
        size *= each.size()
    return SparseVector(size, places, elements)
