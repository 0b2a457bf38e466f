"""Functions of tables: vectors as arrays of numbers, and the other way round."""

from __future__ import annotations

from typing import Any

from millstream.ml.linalg import DenseVector, DenseVectorTypeInfo, Vector
from millstream.table.types.data_types import DataTypes
from millstream.table.types.logical import RawType
from millstream.table.udf import udf

__all__ = ["array_to_vector", "vector_to_array"]


def _array_of(vector: Vector | None) -> list[float] | None:
    return None if vector is None else vector.to_array().tolist()


def _vector_of(array: Any) -> DenseVector | None:
    return None if array is None else DenseVector(array)


_TO_ARRAY = udf(_array_of, result_type=DataTypes.ARRAY(DataTypes.DOUBLE()), name="vector_to_array")
_TO_VECTOR = udf(
    _vector_of, result_type=RawType(DenseVectorTypeInfo.class_name), name="array_to_vector"
)


def vector_to_array(vector: Any) -> Any:
    """Return the column of a table that has the numbers of a column of vectors as arrays.

    Examples
    --------
    >>> from millstream.table import TableEnvironment
    >>> from millstream.table.expressions import col
    >>> from millstream.testing import in_memory
    >>> t_env = TableEnvironment.create()
    >>> t = t_env.from_elements([([1, 2],)], ["a"]).select(array_to_vector(col("a")).alias("v"))
    >>> with in_memory():
    ...     [tuple(row) for row in t_env.final_rows(t.select(vector_to_array(col("v"))))]
    [([1.0, 2.0],)]
    """
    return _TO_ARRAY(vector)


def array_to_vector(array: Any) -> Any:
    """Return the column of a table that has a column of arrays of numbers as dense vectors.

    Examples
    --------
    >>> from millstream.table import TableEnvironment
    >>> from millstream.table.expressions import col
    >>> from millstream.testing import in_memory
    >>> t_env = TableEnvironment.create()
    >>> t = t_env.from_elements([([1, 2],)], ["a"])
    >>> with in_memory():
    ...     [tuple(row) for row in t_env.final_rows(t.select(array_to_vector(col("a"))))]
    [(DenseVector([1.0, 2.0]),)]
    """
    return _TO_VECTOR(array)
