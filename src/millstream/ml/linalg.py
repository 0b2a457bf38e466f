"""Vectors and matrices, by the names of flink-ml, and the types of streams that hold them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.common.typeinfo import PickledBytesTypeInfo
from millstream.ml.errors import ml_type_error, ml_value_error

__all__ = [
    "BLAS",
    "DenseMatrix",
    "DenseMatrixTypeInfo",
    "DenseVector",
    "DenseVectorTypeInfo",
    "Matrix",
    "SparseVector",
    "SparseVectorTypeInfo",
    "Vector",
    "VectorTypeInfo",
    "Vectors",
]

Floats = NDArray[np.float64]


class Vector(ABC):
    """A vector of doubles: a `DenseVector` or a `SparseVector`."""

    __slots__ = ()

    @abstractmethod
    def size(self) -> int:
        """The number of elements."""

    @abstractmethod
    def get(self, i: int) -> float:
        """The element at a place."""

    @abstractmethod
    def set(self, i: int, value: float) -> None:
        """Change the element at a place."""

    @abstractmethod
    def to_array(self) -> Floats:
        """All elements as a numpy array."""

    @abstractmethod
    def clone(self) -> Vector:
        """A vector that shares no memory with this one."""

    def to_dense(self) -> DenseVector:
        """The vector with all its elements."""
        return DenseVector(self.to_array())

    def to_sparse(self) -> SparseVector:
        """The vector as its elements that are not zero."""
        values = self.to_array()
        (places,) = np.nonzero(values)
        return SparseVector(len(values), places, values[places])

    def dot(self, other: Any) -> Any:
        """The dot product with a vector, a sequence of numbers, or a matrix of numpy."""
        return np.dot(self.to_array(), _same_size(self, other))

    def squared_distance(self, other: Any) -> Any:
        """The squared Euclidean distance to a vector or to a sequence of numbers."""
        apart = self.to_array() - _same_size(self, other)
        if apart.ndim != 1:
            raise _size_error(f"squared_distance takes no {apart.ndim}-dimensional array")
        return np.dot(apart, apart)

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.size() == other.size() and bool(
            np.array_equal(self.to_array(), other.to_array())
        )

    def __hash__(self) -> int:
        # Equal vectors may be dense and sparse; -0.0 equals 0.0.
        return hash((self.size(), (self.to_array() + 0.0).tobytes()))


def _size_error(message: str) -> Exception:
    return ml_value_error("ML_VECTOR_SIZE", message, "give vectors of the same length")


def _same_size(vector: Vector, other: Any) -> Floats:
    array = other.to_array() if isinstance(other, Vector) else np.asarray(other, np.float64)
    if array.shape[:1] != (vector.size(),):
        raise _size_error(f"dimension mismatch: {vector.size()} and {array.shape[:1]}")
    return array


class DenseVector(Vector):
    """A vector that keeps every element.

    Arithmetic with numbers and vectors works element by element.

    Examples
    --------
    >>> v, u = Vectors.dense(1.0, 2.0), Vectors.dense(3.0, 4.0)
    >>> v + u, 2 - v, u / v
    (DenseVector([4.0, 6.0]), DenseVector([1.0, 0.0]), DenseVector([3.0, 2.0]))
    >>> v.dot(u)
    np.float64(11.0)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[float]) -> None:
        given = values if isinstance(values, np.ndarray) else list(values)
        self._values: Floats = np.asarray(given, np.float64)
        if self._values.ndim != 1:
            raise _size_error(f"a vector has one dimension, not {self._values.ndim}")

    def size(self) -> int:
        return len(self._values)

    def get(self, i: int) -> float:
        return self._values[i]  # type: ignore[no-any-return]

    def set(self, i: int, value: float) -> None:
        self._values[i] = value

    def to_array(self) -> Floats:
        return self._values

    def to_dense(self) -> DenseVector:
        return self

    def clone(self) -> DenseVector:
        return DenseVector(self._values.copy())

    @property
    def values(self) -> Floats:
        """The elements; changes show in the vector."""
        return self._values

    def __getitem__(self, item: Any) -> Any:
        return self._values[item]

    def __str__(self) -> str:
        return "[" + ",".join(str(v) for v in self._values.tolist()) + "]"

    def __repr__(self) -> str:
        return f"DenseVector([{', '.join(str(v) for v in self._values.tolist())}])"

    def __reduce__(self) -> tuple[Any, ...]:
        # The bytes alone: an array of numpy takes three times as many.
        return _dense_of_bytes, (self._values.tobytes(),)

    def _with(self, other: Any, operation: Callable[[Floats, Any], Floats]) -> DenseVector:
        right = other.to_array() if isinstance(other, Vector) else other
        if np.ndim(right) == 1:
            right = _same_size(self, right)
        return DenseVector(operation(self._values, right))

    def __add__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: a / b)

    def __mod__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: a % b)

    def __radd__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: b + a)

    def __rsub__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: b - a)

    def __rmul__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: b * a)

    def __rtruediv__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: b / a)

    def __rmod__(self, other: Any) -> DenseVector:
        return self._with(other, lambda a, b: b % a)

    def __neg__(self) -> DenseVector:
        return DenseVector(-self._values)


def _dense_of_bytes(data: bytes) -> DenseVector:
    return DenseVector(np.frombuffer(data, np.float64).copy())


def _sparse_of_bytes(size: int, places: bytes, values: bytes) -> SparseVector:
    found = np.frombuffer(places, np.int32).copy(), np.frombuffer(values, np.float64).copy()
    return SparseVector._unchecked(size, *found)


class SparseVector(Vector):
    """A vector that keeps the elements at some places; all others are zero.

    Made of a dict, of pairs, or of places in increasing order and their values.

    Examples
    --------
    >>> SparseVector(4, {1: 1.0, 3: 5.5})
    SparseVector(4, {1: 1.0, 3: 5.5})
    >>> SparseVector(4, [1, 3], [1.0, 5.5]) == DenseVector([0, 1, 0, 5.5])
    True
    """

    __slots__ = ("_indices", "_size", "_values")

    def __init__(self, size: int, *args: Any) -> None:
        if not 1 <= len(args) <= 2:
            message = f"a sparse vector takes 2 or 3 arguments, got {len(args) + 1}"
            raise ml_type_error("ML_PARAM_TYPE", message)
        if len(args) == 1:
            pairs = sorted(args[0].items() if isinstance(args[0], Mapping) else args[0])
            args = ([at for at, _ in pairs], [value for _, value in pairs])
        self._size = int(size)
        self._indices = np.asarray(args[0], np.int32)
        self._values: Floats = np.asarray(args[1], np.float64)
        if len(self._indices) != len(self._values):
            raise _size_error(f"{len(self._indices)} places have {len(self._values)} values")
        if len(self._indices) and not (self._indices[0] >= 0 and self._indices[-1] < self._size):
            raise _size_error(f"places {self._indices.tolist()} are outside of size {size}")
        if (np.diff(self._indices) <= 0).any():
            message = f"places {self._indices.tolist()} are not strictly increasing"
            raise ml_type_error("ML_PARAM_TYPE", message, "sort them, or give a dict")

    def size(self) -> int:
        return self._size

    def get(self, i: int) -> float:
        at = int(self._indices.searchsorted(i))
        found = at < len(self._indices) and self._indices[at] == i
        return self._values[at] if found else 0.0

    def set(self, i: int, value: float) -> None:
        at = int(self._indices.searchsorted(i))
        if at < len(self._indices) and self._indices[at] == i:
            self._values[at] = value
        elif not 0 <= i < self._size:
            raise _size_error(f"place {i} is outside of size {self._size}")
        elif value != 0:
            self._indices = np.insert(self._indices, at, i)
            self._values = np.insert(self._values, at, value)

    def to_array(self) -> Floats:
        array = np.zeros(self._size)
        array[self._indices] = self._values
        return array

    def to_sparse(self) -> SparseVector:
        return self

    @classmethod
    def of_counts(cls, size: int, counts: Mapping[int, float]) -> SparseVector:
        """A vector of places inside of its size and their values, which are not checked."""
        places = sorted(counts)
        return cls._unchecked(
            size,
            np.array(places, np.int32),
            np.array([counts[place] for place in places], np.float64),
        )

    @classmethod
    def _unchecked(cls, size: int, indices: NDArray[np.int32], values: Floats) -> SparseVector:
        found = cls.__new__(cls)
        found._size, found._indices, found._values = size, indices, values
        return found

    def clone(self) -> SparseVector:
        return SparseVector._unchecked(self._size, self._indices.copy(), self._values.copy())

    @property
    def indices(self) -> NDArray[np.int32]:
        """The places that have a value, in increasing order."""
        return self._indices

    @property
    def values(self) -> Floats:
        """The values at these places."""
        return self._values

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, np.integer)):
            return self.get(int(item) + (self._size if item < 0 else 0))
        return self.to_array()[item]

    def __str__(self) -> str:
        places = ",".join(str(i) for i in self._indices.tolist())
        values = ",".join(str(v) for v in self._values.tolist())
        return f"({self._size},[{places}],[{values}])"

    def __repr__(self) -> str:
        pairs = zip(self._indices.tolist(), self._values.tolist(), strict=True)
        return f"SparseVector({self._size}, {{{', '.join(f'{i}: {v}' for i, v in pairs)}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _sparse_of_bytes, (self._size, self._indices.tobytes(), self._values.tobytes())


class Vectors:
    """How vectors are made.

    Examples
    --------
    >>> Vectors.dense([1, 2, 3]), Vectors.dense(1.0, 2.0)
    (DenseVector([1.0, 2.0, 3.0]), DenseVector([1.0, 2.0]))
    >>> Vectors.sparse(4, [(1, 1.0), (3, 5.5)])
    SparseVector(4, {1: 1.0, 3: 5.5})
    """

    @staticmethod
    def dense(*elements: Any) -> DenseVector:
        """A dense vector of numbers, or of one sequence of them."""
        if len(elements) == 1 and not isinstance(elements[0], (float, int, np.number)):
            return DenseVector(elements[0])
        return DenseVector(elements)

    @staticmethod
    def sparse(size: int, *args: Any) -> SparseVector:
        """A sparse vector: of a dict, of pairs, or of places and values."""
        return SparseVector(size, *args)


class Matrix(ABC):
    """A matrix of doubles."""

    @abstractmethod
    def num_rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def num_cols(self) -> int:
        """The number of columns."""

    @abstractmethod
    def get(self, i: int, j: int) -> float:
        """The element in a row and a column."""

    @abstractmethod
    def to_array(self) -> Floats:
        """The elements as a numpy array of two dimensions."""


class DenseMatrix(Matrix):
    """A matrix whose elements are kept column by column.

    Examples
    --------
    >>> DenseMatrix(2, 2, range(4)).to_array()
    array([[0., 2.],
           [1., 3.]])
    """

    def __init__(
        self, num_rows: int, num_cols: int, values: Sequence[float] | Floats | range
    ) -> None:
        if len(values) != num_rows * num_cols:
            message = f"a matrix of {num_rows} x {num_cols} has {len(values)} values"
            raise _size_error(message)
        self._num_rows = num_rows
        self._num_cols = num_cols
        self._values: Floats = np.asarray(values, np.float64)

    def num_rows(self) -> int:
        return self._num_rows

    def num_cols(self) -> int:
        return self._num_cols

    def get(self, i: int, j: int) -> float:
        if not (0 <= i < self._num_rows and 0 <= j < self._num_cols):
            raise IndexError(f"({i}, {j}) is outside of {self._num_rows} x {self._num_cols}")
        return self._values[self._num_rows * j + i]  # type: ignore[no-any-return]

    def to_array(self) -> Floats:
        return self._values.reshape((self._num_rows, self._num_cols), order="F")

    def __getitem__(self, indices: tuple[int, int]) -> float:
        return self.get(*indices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        return bool(np.array_equal(self.to_array(), other.to_array()))

    def __hash__(self) -> int:
        return hash((self._num_rows, self._num_cols, (self._values + 0.0).tobytes()))

    def __repr__(self) -> str:
        return f"DenseMatrix({self._num_rows}, {self._num_cols}, {self._values.tolist()})"


class BLAS:
    """The basic operations of flink-ml's ``BLAS`` on vectors; those with a result in ``y`` change it.

    Examples
    --------
    >>> y = Vectors.dense(1, 1)
    >>> BLAS.axpy(2.0, Vectors.sparse(2, {1: 3.0}), y)
    >>> y, BLAS.asum(y), BLAS.norm2(Vectors.dense(3, 4))
    (DenseVector([1.0, 7.0]), 8.0, 5.0)
    """

    @staticmethod
    def asum(x: Vector) -> float:
        """The sum of absolute values."""
        return float(np.abs(x.to_array()).sum())

    @staticmethod
    def axpy(a: float, x: Vector, y: DenseVector) -> None:
        """``y += a * x``."""
        y.to_array()[:] += a * _same_size(y, x)

    @staticmethod
    def dot(x: Vector, y: Vector) -> float:
        """The dot product."""
        return float(x.dot(y))

    @staticmethod
    def hdot(x: Vector, y: DenseVector) -> None:
        """``y *= x``, element by element."""
        y.to_array()[:] *= _same_size(y, x)

    @staticmethod
    def norm2(x: Vector) -> float:
        """The Euclidean norm."""
        return float(np.linalg.norm(x.to_array()))

    @staticmethod
    def norm(x: Vector, p: float) -> float:
        """The p-norm."""
        return float(np.linalg.norm(x.to_array(), p))

    @staticmethod
    def scal(a: float, x: Vector) -> None:
        """``x *= a``."""
        x.values[:] *= a  # type: ignore[attr-defined]

    @staticmethod
    def gemv(
        alpha: float,
        matrix: DenseMatrix,
        trans_matrix: bool,
        x: DenseVector,
        beta: float,
        y: DenseVector,
    ) -> None:
        """``y = alpha * matrix * x + beta * y``, with the matrix transposed if asked."""
        array = matrix.to_array().T if trans_matrix else matrix.to_array()
        y.to_array()[:] = alpha * (array @ x.to_array()) + beta * y.to_array()


@dataclass(frozen=True, repr=False)
class VectorTypeInfo(PickledBytesTypeInfo):
    """The type of vectors, dense and sparse, in streams and tables.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> Types.ROW_NAMED(["features"], [VectorTypeInfo()])
    ROW_NAMED(features: VectorTypeInfo)
    """

    class_name: ClassVar[str] = "org.apache.flink.ml.linalg.Vector"
    holds: ClassVar[type] = Vector

    def _misfit(self, value: Any) -> str | None:
        if isinstance(value, self.holds):
            return None
        return f"expected {self.holds.__name__}, got {type(value).__name__}"

    def __repr__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, repr=False)
class DenseVectorTypeInfo(VectorTypeInfo):
    """The type of dense vectors in streams and tables."""

    class_name: ClassVar[str] = "org.apache.flink.ml.linalg.DenseVector"
    holds: ClassVar[type] = DenseVector


@dataclass(frozen=True, repr=False)
class SparseVectorTypeInfo(VectorTypeInfo):
    """The type of sparse vectors in streams and tables."""

    class_name: ClassVar[str] = "org.apache.flink.ml.linalg.SparseVector"
    holds: ClassVar[type] = SparseVector


@dataclass(frozen=True, repr=False)
class DenseMatrixTypeInfo(VectorTypeInfo):
    """The type of matrices in streams and tables."""

    class_name: ClassVar[str] = "org.apache.flink.ml.linalg.DenseMatrix"
    holds: ClassVar[type] = DenseMatrix
