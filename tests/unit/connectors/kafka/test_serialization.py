"""Records of a stream as records of Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Row, RowKind, SimpleStringSchema
from millstream.common.errors import TypeMismatchError
from millstream.connectors.kafka.serialization import (
    FieldSerializer,
    KafkaProducerRecord,
    checked_record,
)

TEXT = SimpleStringSchema()


class Name(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return str(value[0]).encode()


def test_a_topic_a_key_and_a_value() -> None:
    made = FieldSerializer("words", None, TEXT, TEXT).serialize("be", 7)
    assert made == KafkaProducerRecord("words", b"be", b"be")
    assert FieldSerializer("words", None, TEXT).topic == "words"


def test_a_selected_topic() -> None:
    made = FieldSerializer(None, lambda word: f"of-{word}", TEXT)
    assert made.topic is None
    assert made.serialize("be", None).topic == "of-be"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (RowKind.INSERT, b"ada"),
        (RowKind.UPDATE_AFTER, b"ada"),
        (RowKind.UPDATE_BEFORE, None),
        (RowKind.DELETE, None),
    ],
)
def test_changes_by_key(kind: RowKind, value: bytes | None) -> None:
    row = Row.of_kind(kind, "ada", 3)
    assert FieldSerializer("t", None, Name(), Name(), True).serialize(row, None).value == value
    assert FieldSerializer("t", None, Name(), Name()).serialize(row, None).value == b"ada"


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        ("topic", b""),
        KafkaProducerRecord("", b""),
        KafkaProducerRecord(7, b""),  # type: ignore[arg-type]
        KafkaProducerRecord("t", "text"),  # type: ignore[arg-type]
        KafkaProducerRecord("t", b"", 3),  # type: ignore[arg-type]
        KafkaProducerRecord("t", b"", timestamp=-1),
        KafkaProducerRecord("t", b"", partition="0"),  # type: ignore[arg-type]
    ],
)
def test_what_kafka_cannot_take_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeMismatchError, match="KAFKA_RECORD"):
        checked_record(wrong)


def test_what_kafka_takes() -> None:
    for record in (
        KafkaProducerRecord("t", None),
        KafkaProducerRecord("t", b"x", b"k", {"h": None}, 0, 0),
    ):
        assert checked_record(record) is record
