"""The raw format: one value as plain bytes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.errors import FormatError, PlanError
from millstream.datastream.formats.raw import RawSchema


@pytest.mark.parametrize(
    ("type_info", "value", "message"),
    [
        (Types.STRING(), "né", b"n\xc3\xa9"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff", b"\x00\xff"),
        (Types.BOOLEAN(), True, b"\x01"),
        (Types.BYTE(), -1, b"\xff"),
        (Types.SHORT(), 258, b"\x01\x02"),
        (Types.LONG(), -2, b"\xff" * 7 + b"\xfe"),
        (Types.DOUBLE(), 1.0, b"\x3f\xf0" + bytes(6)),
    ],
)
def test_values_and_back(type_info: Any, value: Any, message: bytes) -> None:
    schema = pickle.loads(pickle.dumps(RawSchema(type_info)))
    assert schema.serialize(value) == message
    assert schema.deserialize(message) == value
    assert schema.get_produced_type() == type_info


def test_order_of_bytes_and_charset() -> None:
    assert RawSchema(Types.INT(), endianness="little-endian").serialize(1) == b"\x01\0\0\0"
    assert RawSchema(Types.STRING(), charset="ISO-8859-1").deserialize(b"\xe9") == "é"


def test_messages_that_are_no_such_value() -> None:
    with pytest.raises(FormatError, match=r"BAD_RAW.*b'\\x01'"):
        RawSchema(Types.INT()).deserialize(b"\x01")
    with pytest.raises(FormatError, match=r"BAD_TEXT.*b'\\xff'"):
        RawSchema(Types.STRING()).deserialize(b"\xff")
    for value in (None, "1", 2**31):
        with pytest.raises(FormatError, match="FORMAT_VALUE"):
            RawSchema(Types.INT()).serialize(value)


def test_types_without_raw_bytes_are_refused() -> None:
    with pytest.raises(PlanError, match="BAD_RAW_FORMAT"):
        RawSchema(Types.LIST(Types.INT()))
    with pytest.raises(PlanError, match="BAD_RAW_FORMAT"):
        RawSchema(Types.INT(), endianness="middle")
