"""Records to bytes and back."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError
from millstream.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from millstream.common.typeinfo import Types
from tests.support.strategies import examples


@examples(100)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_strings_round_trip(text: str) -> None:
    schema = SimpleStringSchema()
    assert schema.deserialize(schema.serialize(text)) == text


def test_charsets() -> None:
    assert SimpleStringSchema("ISO-8859-1").serialize("é") == b"\xe9"
    assert SimpleStringSchema(charset="UTF-16LE").deserialize(b"a\x00") == "a"


@pytest.mark.parametrize("charset", ["utf-99", None, 8])
def test_unknown_charsets_are_refused(charset: Any) -> None:
    with pytest.raises(PlanError, match="UNKNOWN_CHARSET"):
        SimpleStringSchema(charset)
    with pytest.raises(PlanError, match="UNKNOWN_CHARSET"):
        Encoder.simple_string_encoder(charset)


def test_schemas_know_their_type_and_go_on_for_ever() -> None:
    assert SimpleStringSchema().get_produced_type() == Types.STRING()
    assert ByteArraySchema().get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    assert SimpleStringSchema().is_end_of_stream("x") is False


def test_schemas_are_both_kinds() -> None:
    for schema in (SimpleStringSchema(), ByteArraySchema()):
        assert isinstance(schema, SerializationSchema) and isinstance(schema, DeserializationSchema)
    assert ByteArraySchema().serialize(b"x") == ByteArraySchema().deserialize(b"x") == b"x"


def test_own_schema_is_pickled_by_default() -> None:
    class Number(DeserializationSchema[int]):
        def deserialize(self, message: bytes) -> int:
            return int(message)

    assert Number().get_produced_type() == Types.PICKLED_BYTE_ARRAY()


def test_string_encoder_writes_lines() -> None:
    encoder = Encoder.simple_string_encoder()
    assert encoder.encode("ä") == "ä\n".encode() and encoder.encode(3) == b"3\n"
    assert Encoder.simple_string_encoder("ISO-8859-1").encode("ä") == b"\xe4\n"
    assert pickle.loads(pickle.dumps(encoder)).encode("x") == b"x\n"


def test_own_encoder() -> None:
    assert Encoder(lambda value: bytes([value])).encode(65) == b"A"
