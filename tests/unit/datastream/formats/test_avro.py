"""Avro messages: all types and back, schema evolution, what cannot be read."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, Types
from millstream.common.errors import FormatError, PlanError
from millstream.datastream import OutputTag, StreamExecutionEnvironment
from millstream.datastream.connectors import FileSink
from millstream.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    AvroSerializationSchema,
    GenericRecordAvroTypeInfo,
)
from millstream.testing import run_local
from millstream.testing.connectors import check_source
from tests.support.strategies import examples


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            {
                "name": name,
                **(kind if isinstance(kind, dict) and "default" in kind else {"type": kind}),
            }
            for name, kind in fields.items()
        ],
    }


def logical(kind: str, logical_type: str, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **more}


WORDS = json.dumps(record("Words", word="string", n="long"))
ALL = json.dumps(
    record(
        "All",
        id=logical("string", "uuid"),
        small="int",
        ok="boolean",
        single="float",
        day=logical("int", "date"),
        at_millis=logical("int", "time-millis"),
        at_micros=logical("long", "time-micros"),
        millis=logical("long", "timestamp-millis"),
        micros=["null", logical("long", "timestamp-micros")],
        local=logical("long", "local-timestamp-micros"),
        price=logical("bytes", "decimal", precision=10, scale=2),
        fixed_price=logical("fixed", "decimal", name="Price", size=8, precision=10, scale=2),
        mark={"type": "fixed", "name": "Mark", "size": 2},
        kind={"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
        other_kind="Kind",
        inner=record("Inner", x=["null", "double"]),
        inners={"type": "array", "items": "Inner"},
        by_name={"type": "map", "values": ["null", "Inner"]},
        either=["null", "long", "string"],
    )
)
ONE_OF_ALL = Row(
    id="12345678-1234-5678-1234-567812345678",
    small=-3,
    ok=True,
    single=0.5,
    day=date(2026, 1, 31),
    at_millis=time(1, 2, 3),
    at_micros=time(1, 2, 3, 4),
    millis=datetime(2026, 1, 31, 12, 30),
    micros=None,
    local=datetime(2026, 1, 31, 0, 0, 0, 5),
    price=Decimal("1.50"),
    fixed_price=Decimal("-1.50"),
    mark=b"\x00\xff",
    kind="A",
    other_kind="B",
    inner=Row(x=None),
    inners=[Row(x=1.5)],
    by_name={"a": Row(x=2.5), "b": None},
    either="text",
)


def reading(schema: str, **more: Any) -> AvroRowDeserializationSchema:
    return AvroRowDeserializationSchema(avro_schema_string=schema, **more)


def writing(schema: str) -> AvroRowSerializationSchema:
    return AvroRowSerializationSchema(avro_schema_string=schema)


def test_rows_of_every_type_and_back() -> None:
    message = writing(ALL).serialize(ONE_OF_ALL)
    schema = pickle.loads(pickle.dumps(reading(ALL)))
    assert schema.deserialize(message) == ONE_OF_ALL
    row_type = schema.get_produced_type()
    assert row_type.check(ONE_OF_ALL) is None
    types = dict(zip(row_type.get_field_names(), row_type.field_types, strict=True))
    assert types["inners"] == Types.OBJECT_ARRAY(Types.ROW_NAMED(["x"], [Types.DOUBLE()]))
    assert types["either"] == Types.PICKLED_BYTE_ARRAY()


def test_times_do_not_depend_on_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import time as clock

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    clock.tzset()
    try:
        schema = json.dumps(record("At", at=logical("long", "timestamp-millis")))
        message = writing(schema).serialize((datetime(1970, 1, 1, 0, 0, 1),))
        assert message == AvroSerializationSchema(json.dumps(record("N", n="long"))).serialize(
            {"n": 1000}
        )
        assert reading(schema).deserialize(message).at == datetime(1970, 1, 1, 0, 0, 1)
    finally:
        monkeypatch.undo()
        clock.tzset()


@examples(60)
@given(st.text(), st.integers(-(2**63), 2**63 - 1))
def test_any_text_and_number_and_back(word: str, n: int) -> None:
    assert reading(WORDS).deserialize(writing(WORDS).serialize((word, n))) == Row(word=word, n=n)


# -- schema evolution ------------------------------------------------------------------------------


def test_fields_that_were_added_get_their_default_and_others_are_left_out() -> None:
    reader = json.dumps(
        record("Words", n="double", more={"type": "string", "default": "none"}, word="string")
    )
    message = writing(WORDS).serialize(("a", 1))
    row = reading(reader, writer_schema_string=WORDS).deserialize(message)
    assert row == Row(n=1.0, more="none", word="a")
    with_alias = json.loads(WORDS)
    with_alias["fields"] = [{"name": "term", "aliases": ["word"], "type": ["null", "string"]}]
    row = reading(json.dumps(with_alias), writer_schema_string=WORDS).deserialize(message)
    assert row == Row(term="a")


def test_schemas_that_do_not_fit_each_other() -> None:
    reader = json.dumps(record("Words", word="string", n="long", more="string"))
    with pytest.raises(FormatError, match=r"BAD_AVRO.*more"):
        reading(reader, writer_schema_string=WORDS).deserialize(writing(WORDS).serialize(("a", 1)))


# -- dicts -----------------------------------------------------------------------------------------

TREE = json.dumps(record("Tree", n="int", left=["null", "Tree"]))


def test_records_as_dicts() -> None:
    schema = AvroSchema.parse_string(TREE)
    value = {"n": 1, "left": {"n": 2, "left": None}}
    message = AvroSerializationSchema.for_generic(schema).serialize(value)
    reader = pickle.loads(pickle.dumps(AvroDeserializationSchema.for_generic(schema)))
    assert reader.deserialize(message) == value
    produced = reader.get_produced_type()
    assert isinstance(produced, GenericRecordAvroTypeInfo) and produced.schema == schema


def test_dicts_have_the_values_of_fastavro() -> None:
    schema = AvroSchema(ALL)
    value = AvroDeserializationSchema.for_generic(schema).deserialize(
        writing(ALL).serialize(ONE_OF_ALL)
    )
    assert value["id"] == UUID(ONE_OF_ALL.id)
    assert value["millis"] == datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
    assert AvroSerializationSchema.for_generic(schema).serialize(value) == writing(ALL).serialize(
        ONE_OF_ALL
    )


def test_a_field_that_a_dict_lacks_has_its_default() -> None:
    schema = AvroSchema(json.dumps(record("R", n={"type": "int", "default": 7})))
    message = AvroSerializationSchema.for_generic(schema).serialize({})
    assert AvroDeserializationSchema.for_generic(schema).deserialize(message) == {"n": 7}


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("message", [b"", b"\x02", b"\x80" * 20, b"\x00\x00\x00\x00\x07\x02a"])
def test_messages_that_cannot_be_read(message: bytes) -> None:
    schema = json.dumps(record("R", word={"type": "fixed", "name": "F", "size": 50}))
    with pytest.raises(FormatError) as info:
        reading(schema).deserialize(message)
    assert info.value.code == "BAD_AVRO" and repr(message)[:10] in str(info.value)


def test_a_framed_message_gives_a_hint() -> None:
    with pytest.raises(FormatError, match="schema registry"):
        reading(json.dumps(record("R", a="double"))).deserialize(b"\0\0\0\0\1")


@pytest.mark.parametrize("value", [None, ("a",), ("a", "b"), {"word": "a"}, ("a", 2**63)])
def test_rows_that_cannot_be_written(value: Any) -> None:
    with pytest.raises(FormatError, match="FORMAT_VALUE"):
        writing(WORDS).serialize(value)


def test_values_that_the_schema_does_not_allow() -> None:
    kind = json.dumps(record("R", k={"type": "enum", "name": "K", "symbols": ["A"]}))
    with pytest.raises(FormatError, match="FORMAT_VALUE"):
        writing(kind).serialize(("B",))
    price = json.dumps(record("R", p=logical("bytes", "decimal", precision=3, scale=1)))
    with pytest.raises(FormatError, match="FORMAT_VALUE"):
        writing(price).serialize((Decimal("12345.678"),))


@pytest.mark.parametrize("schema", ["{", "[]x", '{"type": "record"}', '"strin"', "7"])
def test_schemas_that_cannot_be_read(schema: str) -> None:
    with pytest.raises(PlanError, match="BAD_AVRO_SCHEMA"):
        reading(schema)


def test_schemas_that_are_no_rows() -> None:
    with pytest.raises(PlanError, match="NOT_A_ROW_TYPE"):
        reading('"string"')
    with pytest.raises(PlanError, match="RECURSIVE_SCHEMA"):
        reading(TREE)


def test_a_java_class_is_refused() -> None:
    with pytest.raises(PlanError, match="avro_schema_string"):
        AvroRowDeserializationSchema(record_class="com.example.Order")
    with pytest.raises(PlanError, match="BAD_AVRO_SCHEMA"):
        AvroRowSerializationSchema()


def test_two_schemas_with_the_same_name_are_kept_apart() -> None:
    one, two = json.dumps(record("R", a="int")), json.dumps(record("R", b="string"))
    assert reading(one).deserialize(writing(one).serialize((1,))) == Row(a=1)
    assert reading(two).deserialize(writing(two).serialize(("x",))) == Row(b="x")


def test_a_schema_file(tmp_path: Path) -> None:
    path = tmp_path / "words.avsc"
    path.write_text(WORDS)
    assert str(AvroSchema.parse_file(str(path))) == WORDS
    assert AvroSchema.parse_file(str(path)) == AvroSchema(json.dumps(json.loads(WORDS), indent=1))


def test_in_a_program() -> None:
    bad = OutputTag("bad")
    env = StreamExecutionEnvironment.get_execution_environment()
    messages = [writing(WORDS).serialize(("a", 1)), b"", writing(WORDS).serialize(("a", 2))]
    schema = reading(WORDS)
    rows = env.from_collection(messages).map(schema.deserialize, schema.get_produced_type())
    rows = rows.on_error("skip", bad)
    rows.key_by(lambda row: row.word).sum("n").print()
    rows.get_side_output(bad).map(lambda letter: letter.value).print()
    results = run_local(env)
    assert results.values("Print") == [Row(word="a", n=1), Row(word="a", n=3)]
    assert results.values("Print 2") == [b""]


def test_avro_files_are_read_as_dicts(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    values = [{"word": f"{n}", "n": n} for n in range(5)]
    env.from_collection(values).sink_to(FileSink.avro(str(tmp_path), WORDS))
    run_local(env, write=True)
    reader = json.dumps(record("Words", n="long", more={"type": "int", "default": 7}))
    paths = [str(tmp_path), str(next(tmp_path.glob("*.avro")))]
    for path in paths:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.create_input(AvroInputFormat(path, AvroSchema(reader)))
        assert isinstance(stream.get_type(), GenericRecordAvroTypeInfo)
        assert run_local(stream).values() == [{"n": n, "more": 7} for n in range(5)]


def test_the_source_of_avro_files_keeps_its_contract(tmp_path: Path) -> None:
    import fastavro

    for name in ("a.avro", "sub/b.avro", "_hidden.avro"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            records = ({"word": name, "n": n} for n in range(50))
            fastavro.writer(file, json.loads(WORDS), records, sync_interval=100)
    source = AvroInputFormat(str(tmp_path), AvroSchema(WORDS))
    assert source.latest() == {"a.avro": 50, "sub/b.avro": 50}
    check_source(lambda: source)
