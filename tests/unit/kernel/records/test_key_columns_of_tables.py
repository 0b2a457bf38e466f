"""Keys of Arrow types: equal values, and only those, have one hash and one number."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.records.key_columns import KeyColumns, repeated_rows, row_codes

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


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.sampled_from((None, "a", "b")), st.sampled_from((0.0, -0.0))
        )
    ),
    st.data(),
)
def test_repeated_rows_are_those_whose_numbers_are_equal(rows: list, data: st.DataObject) -> None:
    places = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else [], np.int64)
    codes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(places))), np.int64)
    codes = codes[: len(places)]
    columns = [
        pa.array([row[at] for row in rows], kind)
        for at, kind in ((1, pa.string()), (0, pa.int64()), (2, pa.float64()))
    ]
    numbers = row_codes([pa.array(codes), *(column.take(pa.array(places)) for column in columns)])
    wanted = [at for at, number in enumerate(numbers) if (numbers == number).sum() > 1]
    found, own = repeated_rows(columns, places, codes)
    assert found.tolist() == wanted
    pairs = set(zip(own.tolist(), numbers[found].tolist(), strict=True))
    assert len(pairs) == len(set(own.tolist())) == len(set(numbers[found].tolist()))
