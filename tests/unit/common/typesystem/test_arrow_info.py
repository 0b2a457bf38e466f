"""Types of table columns: their descriptions, and their values."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millstream.common.errors import TypeMismatchError
from millstream.common.typeinfo import type_from_dict
from millstream.common.typesystem.arrow_info import ArrowTypeInfo, arrow_row

VALUES: list[tuple[pa.DataType, Any]] = [
    (pa.null(), None),
    (pa.int8(), 7),
    (pa.float64(), 0.5),
    (pa.string(), "text"),
    (pa.binary(), b"bytes"),
    (pa.decimal128(38, 3), Decimal("1.250")),
    (pa.timestamp("ms"), None),
    (pa.timestamp("us", "UTC"), None),
    (pa.time32("ms"), None),
    (pa.time64("ns"), None),
    (pa.duration("ms"), None),
    (pa.list_(pa.int32()), [1, None]),
    (pa.map_(pa.string(), pa.int32()), [("a", 1)]),
    (pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))]), {"x": 1, "y": ["b"]}),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda case: str(case))
def test_a_type_comes_back_from_its_description(kind: pa.DataType, value: Any) -> None:
    info = ArrowTypeInfo(kind)
    assert type_from_dict(json.loads(json.dumps(info.to_dict()))) == info
    assert pickle.loads(pickle.dumps(info)) == info
    assert info.from_arrow_arrays(info.to_arrow_arrays([value, None])) == [value, None]
    assert info.check(value) is None


def test_rows_have_arrow_types() -> None:
    row = arrow_row(["a", "b"], [pa.int32(), pa.decimal128(5, 2)])
    assert type_from_dict(row.to_dict()) == row
    assert row.to_arrow() == pa.struct([("a", pa.int32()), ("b", pa.decimal128(5, 2))])


def test_a_value_that_does_not_fit_is_named() -> None:
    assert "int8" in (ArrowTypeInfo(pa.int8()).check("x") or "")
    with pytest.raises(ValueError, match="no columns of the Arrow type"):
        ArrowTypeInfo(pa.month_day_nano_interval()).to_dict()


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("ms", "UTC")])
def test_a_time_that_python_does_not_have_is_told_as_such(kind: pa.DataType) -> None:
    number = pa.int32() if kind == pa.date32() else pa.int64()
    far = pa.array([2**31 - 1 if kind == pa.date32() else 2**60], number).cast(kind)
    with pytest.raises(
        TypeMismatchError, match=r"TIME_OUT_OF_RANGE.*before the year 1 or after 9999"
    ):
        ArrowTypeInfo(kind).from_arrow_arrays([far])
