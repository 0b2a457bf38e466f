"""Keys of Arrow types: equal values, and only those, have one hash and one number."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.records.key_columns import KeyColumns

# In each column the first and the third value are equal, and no others.
COLUMNS = [
    pa.array([Decimal("1.20"), None, Decimal("1.20"), Decimal("3.00")], pa.decimal128(10, 2)),
    pa.array(
        [dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1)],
        pa.timestamp("ms"),
    ),
    pa.array([1, None, 1, 2], pa.timestamp("ns", "UTC")),
    pa.array([dt.time(1), None, dt.time(1), dt.time(2)], pa.time32("ms")),
    pa.array([1, None, 1, 2], pa.duration("ms")),
    pa.array([0.0, None, -0.0, float("nan")]),
    pa.array([1.5, None, 1.5, 2.5], pa.float32()),
    pa.array([[1], None, [1], []], pa.list_(pa.int32())),
    pa.array(
        [[("a", 1), ("b", 2)], None, [("b", 2), ("a", 1)], []], pa.map_(pa.string(), pa.int32())
    ),
    pa.array([{"x": 1}, None, {"x": 1}, {"x": 2}]),
    pa.nulls(4),
    pa.array([True, None, True, False]),
    pa.array([b"a", None, b"a", b""]),
    pa.array([1, None, 1, 2], pa.date32()),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_equal_values_are_one_key(column: pa.Array) -> None:
    key = KeyColumns((0,), (ArrowTypeInfo(column.type),), False)
    for part in (column, pa.concat_arrays([column, column]).slice(4, 4)):
        for numbers in (key.hashes([part]), key.codes([part])):
            assert numbers[0] == numbers[2]
            if not pa.types.is_null(column.type):
                assert len(set(numbers.tolist())) == 3
