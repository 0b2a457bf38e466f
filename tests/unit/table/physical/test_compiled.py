"""Functions over columns, made of typed expressions."""

from __future__ import annotations

import pickle

import pyarrow as pa

from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.tables.functions import Column
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.physical.compiled import compiled, copied_columns, row_info
from millstream.table.types.parsing import parse_logical_type
from tests.support.sql import row_type

INT = parse_logical_type("INT")
BATCH = pa.RecordBatch.from_arrays([pa.array([1, None, 3], pa.int32())], names=["a"])
PLUS = bind("+", [InputRef(INT, 0, "a"), Literal(INT, 2)])


def test_expressions_run_over_columns_after_pickling():
    function = pickle.loads(pickle.dumps(compiled(PLUS)))
    assert function(BATCH).to_pylist() == [3, None, 5]
    assert function == compiled(PLUS)


def test_a_column_alone_is_not_computed():
    assert compiled(InputRef(INT, 4, "e")) == Column(4)
    assert copied_columns([InputRef(INT, 4, "e"), PLUS]) == (4, None)


def test_constants_have_the_length_of_the_batch():
    assert compiled(Literal(INT, 7))(BATCH).to_pylist() == [7, 7, 7]


def test_row_types_have_arrow_columns_with_different_names():
    info = row_info(row_type("a INT, b DECIMAL(10, 2)"))
    assert info.get_field_names() == ["a", "b"]
    assert info.field_types[1] == ArrowTypeInfo(pa.decimal128(10, 2))
