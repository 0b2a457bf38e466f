"""Vectors and matrices; the values are those of flink-ml's tests."""

from __future__ import annotations

import array
import pickle

import numpy as np
import pytest

from millstream.common.typeinfo import Types
from millstream.ml.errors import MLTypeError, MLValueError
from millstream.ml.linalg import (
    BLAS,
    DenseMatrix,
    DenseVector,
    DenseVectorTypeInfo,
    SparseVector,
    Vectors,
    VectorTypeInfo,
)

SPARSE = SparseVector(4, {1: 1, 3: 2})
DENSE = DenseVector(np.array([1.0, 2.0, 3.0, 4.0]))
MATRIX = np.array([[1.0, 2.0, 3.0, 4.0]] * 4)


def test_dot_products_are_those_of_flink() -> None:
    assert SPARSE.dot(DENSE) == 10.0
    assert SPARSE.dot(MATRIX).tolist() == [3.0, 6.0, 9.0, 12.0]
    assert DENSE.dot(DENSE) == 30.0
    assert DENSE.dot(MATRIX).tolist() == [10.0, 20.0, 30.0, 40.0]
    assert SPARSE.dot(array.array("d", [0, 1, 2, 3])) == 7.0


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        (SPARSE, DENSE, 15.0),
        (SPARSE, DenseVector([4, 3, 2, 1]), 25.0),
        (DENSE, DenseVector([4, 3, 2, 1]), 20.0),
        (SPARSE, SPARSE, 0.0),
        (SPARSE, [4, 3, 2, 1], 25.0),
        (SPARSE, np.array([0, 2, 1, 3]), 3.0),
    ],
)
def test_distances_are_those_of_flink(left, right, distance) -> None:
    assert left.squared_distance(right) == distance
    if not isinstance(right, (list, np.ndarray)):
        assert right.squared_distance(left) == distance


def test_dense_and_sparse_vectors_are_equal_if_their_elements_are() -> None:
    dense, sparse = DenseVector([0.0, 1.0, 0.0, 5.5]), SparseVector(4, [(1, 1.0), (3, 5.5)])
    assert dense == sparse and sparse == dense and hash(dense) == hash(sparse)
    assert sparse != SparseVector(6, [(1, 1.0), (3, 5.5)])
    assert dense != DenseVector([0.0, 1.0, 0.0, 2.5])
    assert dense != "text"


def test_elements_can_be_read_and_changed() -> None:
    dense = DenseVector([0.0, 1.0])
    dense.set(0, 1.0)
    assert dense.get(0) == 1.0
    sparse = SparseVector(4, [(1, 1.0), (3, 5.5)])
    assert sparse.get(0) == 0.0
    sparse.set(0, 1.0)
    sparse.set(1, 2.0)
    assert sparse == DenseVector([1.0, 2.0, 0.0, 5.5])
    with pytest.raises(MLValueError, match="ML_VECTOR_SIZE"):
        sparse.set(4, 1.0)


def test_texts_of_vectors() -> None:
    assert str(DenseVector([1, 2.5])) == "[1.0,2.5]"
    assert repr(DenseVector([1, 2.5])) == "DenseVector([1.0, 2.5])"
    assert str(SPARSE) == "(4,[1,3],[1.0,2.0])"
    assert repr(SPARSE) == "SparseVector(4, {1: 1.0, 3: 2.0})"


@pytest.mark.parametrize("vector", [DENSE, SPARSE, DenseVector([]), SparseVector(3, {})])
def test_vectors_can_be_pickled_and_changed_afterwards(vector) -> None:
    again = pickle.loads(pickle.dumps(vector))
    assert again == vector and type(again) is type(vector)
    if len(vector):
        again.set(0, 7.0)
        assert again.get(0) == 7.0 and vector.get(0) != 7.0


def test_vectors_of_different_length_are_refused() -> None:
    for call in (DENSE.dot, DENSE.squared_distance, DENSE.__add__):
        with pytest.raises(MLValueError, match="ML_VECTOR_SIZE"):
            call(Vectors.dense(1.0))
    with pytest.raises(MLTypeError, match="not strictly increasing"):
        SparseVector(4, [2, 1], [1.0, 1.0])
    with pytest.raises(MLValueError, match="outside of size 2"):
        SparseVector(2, [2], [1.0])


def test_a_matrix_is_kept_column_by_column() -> None:
    matrix = DenseMatrix(2, 3, [1, 2, 3, 4, 5, 6])
    assert matrix.to_array().tolist() == [[1, 3, 5], [2, 4, 6]]
    assert matrix.get(1, 2) == matrix[1, 2] == 6
    with pytest.raises(IndexError):
        matrix.get(2, 0)
    y = DenseVector([1, 1])
    BLAS.gemv(2.0, matrix, False, DenseVector([1, 0, 1]), 1.0, y)
    assert y == DenseVector([13, 17])


def test_types_of_vectors_can_be_compared_and_check_values() -> None:
    assert DenseVectorTypeInfo() == DenseVectorTypeInfo() != VectorTypeInfo()
    assert VectorTypeInfo().check(SPARSE) is None
    assert DenseVectorTypeInfo().check(SPARSE) == "expected DenseVector, got SparseVector"
    kind = Types.ROW_NAMED(["v"], [DenseVectorTypeInfo()])
    assert kind.from_arrow_arrays(kind.to_arrow_arrays([(DENSE,)]))[0][0] == DENSE
