"""Arrow types and Python classes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.table.types.arrow import arrow_type, python_class
from millstream.table.types.logical import LogicalType
from millstream.table.types.parsing import parse_logical_type
from tests.unit.table.types.test_logical import TEXTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CHAR(3)", pa.string()),
        ("BYTES", pa.binary()),
        ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
        ("TINYINT", pa.int8()),
        ("BIGINT", pa.int64()),
        ("FLOAT", pa.float32()),
        ("DATE", pa.date32()),
        ("TIME(0)", pa.time32("ms")),  # the milliseconds that a user gives come back
        ("TIME(3)", pa.time32("ms")),
        ("TIME(6)", pa.time64("us")),
        ("TIMESTAMP(3)", pa.timestamp("ms")),
        ("TIMESTAMP(9)", pa.timestamp("ns")),
        ("TIMESTAMP_LTZ(6)", pa.timestamp("us", "UTC")),
        ("INTERVAL MONTH", pa.int32()),
        ("INTERVAL DAY", pa.duration("ms")),
        ("MULTISET<STRING>", pa.map_(pa.string(), pa.int32())),
        ("MAP<STRING, INT>", pa.map_(pa.string(), pa.int32())),
        ("ROW<a INT, b ARRAY<DATE>>", pa.struct({"a": pa.int32(), "b": pa.list_(pa.date32())})),
        ("NULL", pa.null()),
    ],
)
def test_arrow_types(text: str, expected: pa.DataType) -> None:
    assert arrow_type(parse_logical_type(text)) == expected


@pytest.mark.parametrize("type_", [type_ for type_, *_ in TEXTS], ids=str)
def test_every_type_has_a_column_and_a_class(type_: LogicalType) -> None:
    assert isinstance(arrow_type(type_), pa.DataType)
    assert isinstance(python_class(type_), type)
