"""Records of the program, made of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common import SimpleStringSchema, Types
from millstream.common.serialization import ByteArraySchema, DeserializationSchema
from millstream.common.time import MIN_TIMESTAMP
from millstream.connectors.kafka.decoding import RecordDecoder, ValueDecoder
from millstream.connectors.kafka.records import HEADERS, ConsumerRecord
from millstream.connectors.reading import values_of
from millstream.connectors.source import Chunk
from millstream.kernel.records.columns import Columns, as_list
from millstream.kernel.steps.decode import Decoded


class Number(DeserializationSchema[Any]):
    def deserialize(self, message: bytes) -> Any:
        return None if message == b"-" else int(message)


def columns(*values: bytes | None, headers: list[Any] | None = None) -> Any:
    number = len(values)
    batch = {
        "value": pa.array(values, pa.binary()),
        "key": pa.array([b"k"] * number, pa.binary()),
        "offset": pa.array(range(10, 10 + number), pa.int64()),
        "topic": pa.repeat("t", number),
        "partition": pa.repeat(pa.scalar(3, pa.int32()), number),
    }
    if headers is not None:
        batch["headers"] = pa.array(headers, HEADERS)
    return values_of(Chunk(pa.RecordBatch.from_pydict(batch)))


def times(values: Any) -> Any:
    return np.arange(len(values), dtype=np.int64) * 100


def made(decoder: Any, values: Any) -> tuple[list[Any], Decoded]:
    found = decoder.decode(values, times(values))
    return as_list(found.values), found


def test_text_stays_a_column() -> None:
    values, found = made(ValueDecoder(SimpleStringSchema()), columns(b"a", b"\xc3\xa9"))
    assert isinstance(found.values, Columns)
    assert found.values.type_info == Types.STRING()
    assert (values, found.places) == (["a", "é"], None)


def test_bytes_stay_a_column() -> None:
    values, found = made(ValueDecoder(ByteArraySchema()), columns(b"a", None, b"\xff"))
    assert isinstance(found.values, Columns)
    assert values == [b"a", b"\xff"]
    assert list(found.places) == [0, 2]  # type: ignore[arg-type]


def test_another_charset() -> None:
    values, _ = made(ValueDecoder(SimpleStringSchema("ISO-8859-1")), columns(b"\xe9"))
    assert values == ["é"]


@pytest.mark.parametrize("schema", [SimpleStringSchema(), Number()])
def test_what_cannot_be_decoded_is_shown_as_a_record(schema: Any) -> None:
    values, found = made(ValueDecoder(schema), columns(b"1", b"\xff", None, b"2"))
    assert list(map(int, values)) == [1, 2]
    assert found.places == [0, 3]
    (failed,) = found.failed
    assert failed.place == 1
    assert failed.value == ConsumerRecord("t", 3, 11, 100, b"k", b"\xff")


def test_none_makes_no_record() -> None:
    values, found = made(ValueDecoder(Number()), columns(b"1", b"-", None))
    assert (values, found.places, found.failed) == ([1], [0], [])


def test_a_function_of_whole_records_sees_tombstones_and_headers() -> None:
    headers = [[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None]
    given = columns(b"v", None, headers=headers)
    found = RecordDecoder(lambda record: record).decode(given, np.array([MIN_TIMESTAMP, 7]))
    assert found.values == [
        ConsumerRecord("t", 3, 10, None, b"k", b"v", (("h", b"1"), ("h", None))),
        ConsumerRecord("t", 3, 11, 7, b"k", None),
    ]


def test_a_function_that_fails() -> None:
    def value(record: ConsumerRecord) -> Any:
        return None if record.offset == 12 else int(record.value or b"")

    values, found = made(RecordDecoder(value), columns(b"1", b"x", b"3", b"4"))
    assert (values, found.places) == ([1, 4], [0, 3])
    assert [failed.value.offset for failed in found.failed] == [11]


def test_a_record_shows_the_beginning_of_its_bytes() -> None:
    shown = repr(ConsumerRecord("t", 0, 7, None, None, b"x" * 5_000))
    assert "topic='t', partition=0, offset=7, key=None" in shown
    assert "(5,000 bytes)" in shown
    assert len(shown) < 200
