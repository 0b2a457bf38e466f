"""Avro, JSON and Protobuf messages with the header of a schema registry."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import FormatError, PlanError
from millstream.datastream import OutputTag, StreamExecutionEnvironment
from millstream.datastream.formats.confluent import (
    ConfluentAvroDeserializationSchema,
    ConfluentAvroSerializationSchema,
    ConfluentJsonDeserializationSchema,
    ConfluentJsonSerializationSchema,
    ConfluentProtobufDeserializationSchema,
    ConfluentProtobufSerializationSchema,
    SchemaRegistry,
)
from millstream.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millstream.testing import run_local
from tests.support.messages.orders_pb2 import Item, Order
from tests.support.registry_stub import RegistryStub


def record(**fields: Any) -> str:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": "R", "fields": listed})


OLD = record(word="string")
NEW = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "n", "type": "long", "default": 7},
            {"name": "word", "type": "string"},
        ],
    }
)
ROW = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


@pytest.fixture
def stub() -> Iterator[RegistryStub]:
    with RegistryStub() as stub:
        yield stub


def copied(schema: Any) -> Any:
    return pickle.loads(pickle.dumps(schema))


# -- Avro ------------------------------------------------------------------------------------------


def test_each_avro_message_is_read_with_the_schema_it_was_written_with(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    old = copied(ConfluentAvroSerializationSchema(registry, "words-value", OLD))
    new = copied(ConfluentAvroSerializationSchema(registry, "words-value", NEW))
    messages = [old.serialize(("a",)), new.serialize((1, "b")), old.serialize(("c",))]
    assert [message[:5] for message in messages] == [b"\0\0\0\0\1", b"\0\0\0\0\2", b"\0\0\0\0\1"]
    reader = copied(ConfluentAvroDeserializationSchema(registry, NEW))
    assert [reader.deserialize(message) for message in messages] == [
        Row(n=7, word="a"),
        Row(n=1, word="b"),
        Row(n=7, word="c"),
    ]
    assert reader.get_produced_type() == Types.ROW_NAMED(
        ["n", "word"], [Types.LONG(), Types.STRING()]
    )
    assert sorted(stub.asked[2:]) == ["GET /schemas/ids/1", "GET /schemas/ids/2"]


def test_avro_dicts(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    writer = ConfluentAvroSerializationSchema(registry, "words-value", NEW, rows=False)
    message = writer.serialize({"word": "a"})
    assert ConfluentAvroDeserializationSchema(registry).deserialize(message) == {
        "n": 7,
        "word": "a",
    }
    narrow = ConfluentAvroDeserializationSchema(registry, OLD, rows=False)
    assert narrow.deserialize(message) == {"word": "a"}


def test_avro_schemas_that_use_others(stub: RegistryStub) -> None:
    inner = json.dumps(
        {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
    )
    stub.add("inner", {"schema": inner})
    used = [{"name": "Inner", "subject": "inner", "version": 1}]
    outer = record(inner="Inner")
    schema_id = stub.add("outer", {"schema": outer, "references": used})
    whole = record(inner=json.loads(inner))
    reader = ConfluentAvroDeserializationSchema(SchemaRegistry(stub.url), whole)
    message = b"\0" + schema_id.to_bytes(4, "big") + b"\x06"
    assert reader.deserialize(message) == Row(inner=Row(x=3))


def test_avro_messages_that_cannot_be_read(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    reader = ConfluentAvroDeserializationSchema(registry, NEW)
    stub.add("other", {"schema": record(number="long")})
    stub.add("json", {"schema": "{}", "schemaType": "JSON"})
    stub.add("bad", {"schema": '{"type": "nonsense"}'})
    for message, code in {
        b"plain": "NOT_FRAMED",
        b"\0\0\0\0\1\x02": "BAD_AVRO",
        b"\0\0\0\0\2{}": "OTHER_MESSAGE",
        b"\0\0\0\0\3": "BAD_AVRO",
        b"\0\0\0\0\x09": "UNKNOWN_SCHEMA",
    }.items():
        with pytest.raises(FormatError) as info:
            reader.deserialize(message)
        assert info.value.code == code, message


def test_an_incompatible_avro_schema_fails_the_job_and_names_the_subject(
    stub: RegistryStub,
) -> None:
    stub.add("words-value", {"schema": OLD})
    stub.refuses.add("words-value")
    writer = ConfluentAvroSerializationSchema(SchemaRegistry(stub.url), "words-value", NEW)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([(1, "a")]).map(writer.serialize).on_error("skip").print()
    with pytest.raises(PlanError, match=r"SCHEMA_INCOMPATIBLE.*words-value"):
        run_local(env)


def test_bad_messages_are_dead_letters(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    good = ConfluentAvroSerializationSchema(registry, "words-value", NEW).serialize((1, "a"))
    reader = ConfluentAvroDeserializationSchema(registry, NEW)
    bad = OutputTag("bad")
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_collection([good, b"plain", b"\0\0\0\0\x09"]).map(
        reader.deserialize, reader.get_produced_type()
    )
    rows = rows.on_error("skip", bad)
    rows.print()
    rows.get_side_output(bad).map(lambda letter: (letter.value, letter.error.split()[1])).print()
    results = run_local(env)
    assert results.values("Print") == [Row(n=1, word="a")]
    assert results.values("Print 2") == [
        (b"plain", "[NOT_FRAMED]"),
        (b"\0\0\0\0\x09", "[UNKNOWN_SCHEMA]"),
    ]


# -- JSON ------------------------------------------------------------------------------------------


def test_json_messages_and_back(stub: RegistryStub) -> None:
    plain = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    writer = copied(
        ConfluentJsonSerializationSchema(SchemaRegistry(stub.url), "words-value", plain)
    )
    message = writer.serialize(("a", 1))
    assert message == b'\0\0\0\0\1{"word":"a","n":1}'
    read = JsonRowDeserializationSchema.builder().type_info(ROW).build()
    reader = copied(ConfluentJsonDeserializationSchema(read))
    assert reader.deserialize(message) == Row(word="a", n=1)
    assert reader.get_produced_type() == ROW
    (schema,) = stub.schemas.values()
    assert schema["schemaType"] == "JSON"
    assert json.loads(schema["schema"])["properties"]["n"] == {"type": ["integer", "null"]}
    with pytest.raises(FormatError, match="NOT_FRAMED"):
        reader.deserialize(b"{}")


def test_a_json_schema_of_the_users(stub: RegistryStub) -> None:
    plain = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    own = '{"type": "object"}'
    stub.add("words-value", {"schema": own, "schemaType": "JSON"})
    writer = ConfluentJsonSerializationSchema(
        SchemaRegistry(stub.url), "words-value", plain, json_schema=own, register=False
    )
    assert writer.serialize(("a", 1)).startswith(b"\0\0\0\0\1{")
    assert stub.asked == ["POST /subjects/words-value"]


# -- Protobuf --------------------------------------------------------------------------------------


def test_protobuf_messages_and_back(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    writer = copied(ConfluentProtobufSerializationSchema(registry, "items-value", Item))
    message = writer.serialize(("a", 1.5))
    assert message == b"\0\0\0\0\1" + b"\0" + Item(name="a", price=1.5).SerializeToString()
    reader = copied(ConfluentProtobufDeserializationSchema(Item))
    assert reader.deserialize(message) == Row(name="a", price=1.5)
    (schema,) = stub.schemas.values()
    assert base64.b64decode(schema["schema"]) == Item.DESCRIPTOR.file.serialized_pb
    assert schema["schemaType"] == "PROTOBUF" and "references" not in schema


def test_protobuf_messages_as_they_are(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    writer = ConfluentProtobufSerializationSchema(registry, "inner", Order.Inner, rows=False)
    message = writer.serialize(Order.Inner(n=3))
    assert message[5:8] == b"\x04\x02\x04", "two indexes: 1, and 2 behind the entries of the maps"
    reader = ConfluentProtobufDeserializationSchema(Order.Inner, rows=False)
    assert reader.deserialize(message) == Order.Inner(n=3)


def test_another_protobuf_message_of_the_file(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    message = ConfluentProtobufSerializationSchema(registry, "a", Order, rows=False).serialize(
        Order(text="a")
    )
    with pytest.raises(FormatError, match=r"OTHER_MESSAGE.*check_message=False"):
        ConfluentProtobufDeserializationSchema(Item).deserialize(message)
    lenient = ConfluentProtobufDeserializationSchema(Item, check_message=False)
    assert lenient.deserialize(message) == Row(name="", price=None)


def test_files_that_a_protobuf_file_imports_are_registered_first(stub: RegistryStub) -> None:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    field = {"name": "inner", "number": 1, "type": 11, "label": 1, "type_name": ".Inner"}
    for file in (
        {"name": "inner.proto", "message_type": [{"name": "Inner"}]},
        {
            "name": "outer.proto",
            "dependency": ["inner.proto"],
            "message_type": [{"name": "Outer", "field": [field]}],
        },
    ):
        pool.Add(descriptor_pb2.FileDescriptorProto(syntax="proto3", **file))
    outer = message_factory.GetMessageClass(pool.FindMessageTypeByName("Outer"))
    registry = SchemaRegistry(stub.url)
    writer = ConfluentProtobufSerializationSchema(registry, "outer-value", outer)
    writer.serialize((None,))
    assert list(stub.subjects) == ["inner.proto", "outer-value"]
    assert stub.schemas[2]["references"] == [
        {"name": "inner.proto", "subject": "inner.proto", "version": 1}
    ]
