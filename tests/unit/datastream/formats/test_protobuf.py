"""Protobuf messages: as rows and as they are, what is absent, what cannot be read."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from millstream.common import Row, Types
from millstream.common.errors import FormatError, PlanError
from millstream.common.serialization import DeserializationSchema
from millstream.datastream import OutputTag, StreamExecutionEnvironment
from millstream.datastream.formats.protobuf import (
    ProtobufDeserializationSchema,
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
    ProtobufSerializationSchema,
)
from millstream.testing import run_local
from tests.support.messages.old_pb2 import Old
from tests.support.messages.orders_pb2 import Item, Order, Tree

ORDER = Order(
    id=-(2**40),
    small=2**32 - 1,
    large=2**64 - 1,
    change=-7,
    single=0.5,
    paid=True,
    mark=b"\x00\xff",
    text="é",
    note="",
    kind="SALE",
    kinds=["SALE", "UNKNOWN"],
    item=Item(name="a", price=0.0),
    items=[Item(name="b"), Item()],
    by_name={"c": Item(name="c")},
    names={-1: "one"},
    numbers=[1, 2**62],
    cash=0,
    at=Timestamp(seconds=5),
)
ROW = Row(
    id=-(2**40),
    small=2**32 - 1,
    large=2**64 - 1,
    change=-7,
    single=0.5,
    paid=True,
    mark=b"\x00\xff",
    text="é",
    note="",
    kind="SALE",
    kinds=["SALE", "UNKNOWN"],
    item=Row(name="a", price=0.0),
    items=[Row(name="b", price=None), Row(name="", price=None)],
    by_name={"c": Row(name="c", price=None)},
    names={-1: "one"},
    numbers=[1, 2**62],
    card=None,
    cash=0,
    at=Row(seconds=5, nanos=0),
)


def reading(**more: Any) -> ProtobufRowDeserializationSchema:
    return ProtobufRowDeserializationSchema(Order, **more)


def test_rows_of_every_type_and_back() -> None:
    schema = pickle.loads(pickle.dumps(reading()))
    assert schema.deserialize(ORDER.SerializeToString()) == ROW
    assert schema.get_produced_type().check(ROW) is None
    writer = pickle.loads(pickle.dumps(ProtobufRowSerializationSchema(Order)))
    assert Order.FromString(writer.serialize(ROW)) == ORDER


def test_types() -> None:
    row_type = reading().get_produced_type()
    assert isinstance(row_type, type(Types.ROW([])))
    types = dict(zip(row_type.get_field_names(), row_type.field_types, strict=True))
    assert types["small"] == Types.LONG() and types["large"] == Types.BIG_INT()
    assert types["names"] == Types.MAP(Types.LONG(), Types.STRING())
    assert types["kinds"] == Types.LIST(Types.STRING())


def test_what_is_not_set_is_none_where_that_can_be_told() -> None:
    row = reading().deserialize(b"")
    assert row is not None
    absent = [name for name, value in row.as_dict().items() if value is None]
    assert absent == ["note", "item", "card", "cash", "at"]
    assert (row.id, row.text, row.kind, row.items, row.by_name) == (0, "", "UNKNOWN", [], {})


def test_an_empty_message_in_a_message_is_set() -> None:
    message = Order(item=Item()).SerializeToString()
    row = reading().deserialize(message)
    assert row is not None and row.item == Row(name="", price=None)
    assert ProtobufRowSerializationSchema(Order).serialize(row) == message


def test_an_enum_value_that_the_class_does_not_know_is_a_number() -> None:
    message = Order(kind=7).SerializeToString()
    row = reading().deserialize(message)
    assert row is not None and row.kind == "7"
    assert ProtobufRowSerializationSchema(Order).serialize(row) == message


def test_defaults_and_required_fields_of_proto2() -> None:
    schema = ProtobufRowDeserializationSchema(Old)
    assert schema.deserialize(Old(n=1).SerializeToString()) == Row(n=1, text=None)
    for reader in (schema, ProtobufDeserializationSchema(Old)):
        with pytest.raises(FormatError, match=r"BAD_PROTOBUF.*no n"):
            reader.deserialize(b"")
    with pytest.raises(FormatError, match="FORMAT_VALUE"):
        ProtobufRowSerializationSchema(Old).serialize((None, "a"))


def test_messages_that_cannot_be_read() -> None:
    with pytest.raises(
        FormatError, match=r"BAD_PROTOBUF] b'\\xff\\xff' is no millstream.tests.Order"
    ):
        reading().deserialize(b"\xff\xff")
    assert reading(ignore_parse_errors=True).deserialize(b"\xff\xff") is None
    with pytest.raises(FormatError, match="BAD_PROTOBUF"):
        ProtobufDeserializationSchema(Order).deserialize(b"\xff\xff")


def test_rows_that_cannot_be_written() -> None:
    write = ProtobufRowSerializationSchema(Order)
    for change in ({"card": "1"}, {"small": -1}, {"kind": "NO"}, {"large": 2**64}, {"id": "1"}):
        with pytest.raises(FormatError, match="FORMAT_VALUE"):
            write.serialize({**ROW.as_dict(), **change})
    with pytest.raises(FormatError, match="FORMAT_VALUE"):
        write.serialize(None)


def test_messages_as_they_are() -> None:
    reader: DeserializationSchema = pickle.loads(pickle.dumps(ProtobufDeserializationSchema(Order)))
    assert reader.deserialize(ORDER.SerializeToString()) == ORDER
    assert Order.FromString(ProtobufSerializationSchema().serialize(ORDER)) == ORDER
    with pytest.raises(FormatError, match="FORMAT_VALUE"):
        ProtobufSerializationSchema().serialize("text")  # type: ignore[arg-type]


def test_a_message_that_contains_itself_has_no_rows() -> None:
    with pytest.raises(PlanError, match="RECURSIVE_SCHEMA"):
        ProtobufRowDeserializationSchema(Tree)
    tree = Tree(n=1, below=[Tree(n=2)])
    assert ProtobufDeserializationSchema(Tree).deserialize(tree.SerializeToString()) == tree


def test_something_else_than_a_message_class() -> None:
    for wrong in (Order(), dict, None):
        with pytest.raises(PlanError, match="BAD_MESSAGE_CLASS"):
            ProtobufRowDeserializationSchema(wrong)  # type: ignore[arg-type]


def test_in_a_program() -> None:
    bad = OutputTag("bad")
    env = StreamExecutionEnvironment.get_execution_environment()
    messages = [Item(name="a", price=1).SerializeToString(), b"\xff"]
    schema = ProtobufRowDeserializationSchema(Item)
    rows = env.from_collection(messages).map(schema.deserialize, schema.get_produced_type())
    rows = rows.on_error("skip", bad)
    rows.print()
    rows.get_side_output(bad).map(lambda letter: letter.value).print()
    results = run_local(env)
    assert results.values("Print") == [Row(name="a", price=1.0)]
    assert results.values("Print 2") == [b"\xff"]
