"""Functions of tables: vectors and arrays."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.typeinfo import Types
from millstream.ml.feature.normalizer import Normalizer
from millstream.ml.functions import array_to_vector, vector_to_array
from millstream.ml.linalg import (
    DenseVectorTypeInfo,
    SparseVectorTypeInfo,
    Vectors,
    VectorTypeInfo,
)
from millstream.table.expressions import col
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

DENSE, SPARSE = Vectors.dense(0.0, 1.0), Vectors.sparse(2, [0], [3.0])


@pytest.mark.parametrize(
    ("vectors", "info"),
    [
        ([DENSE, None], DenseVectorTypeInfo()),
        ([SPARSE], SparseVectorTypeInfo()),
        ([DENSE, SPARSE], VectorTypeInfo()),
    ],
)
def test_vectors_become_arrays(vectors: list[Any], info: Any) -> None:
    with in_memory():
        _, table = table_of([(each,) for each in vectors], ["v"], [info])
        made = table.select(vector_to_array(col("v")).alias("a"))
        assert made.get_schema().get_field_names() == ["a"]
        expected = [None if each is None else each.to_array().tolist() for each in vectors]
        assert [row[0] for row in rows_of_table(made)] == expected


@pytest.mark.parametrize("item", [Types.DOUBLE(), Types.FLOAT(), Types.INT(), Types.LONG()])
def test_arrays_become_dense_vectors(item: Any) -> None:
    number = float if item in (Types.DOUBLE(), Types.FLOAT()) else int
    rows = [([number(0), number(1)],), ([],), (None,)]
    with in_memory():
        _, table = table_of(rows, ["a"], [Types.PRIMITIVE_ARRAY(item)])
        made = [row[0] for row in rows_of_table(table.select(array_to_vector(col("a"))))]
    assert made == [DENSE, Vectors.dense([]), None]


def test_the_result_is_a_column_that_stages_read() -> None:
    with in_memory():
        _, table = table_of([([3.0, 4.0],)], ["a"], [Types.PRIMITIVE_ARRAY(Types.DOUBLE())])
        vectors = table.select(array_to_vector(col("a")).alias("input"))
        (made,) = Normalizer().transform(vectors)
        assert rows_of_table(made)[0][1].to_array() == pytest.approx([0.6, 0.8])
