"""Messages whose schema changes in the middle of a topic, on a real broker; the registry is a stub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import UserCodeError
from millstream.datastream import OutputTag
from millstream.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millstream.datastream.formats.confluent import (
    ConfluentAvroDeserializationSchema,
    ConfluentAvroSerializationSchema,
    SchemaRegistry,
)
from millstream.datastream.formats.json import JsonRowDeserializationSchema
from millstream.testing import run_local
from tests.support.registry_stub import RegistryStub

if TYPE_CHECKING:
    from tests.support.kafka import Topics

pytestmark = pytest.mark.servers
NO_TIME = WatermarkStrategy.no_watermarks()
BAD = OutputTag("bad")


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Sale", "fields": list(fields)})


SHOP = {"name": "shop", "type": "string"}
AMOUNT = {"name": "amount", "type": "long"}
CURRENCY = {"name": "currency", "type": "string", "default": "EUR"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
READER = record(SHOP, AMOUNT, CURRENCY)
"""What the job wants: it was made when the topic had the second of these schemas."""
VERSIONS: list[tuple[str, tuple[Any, ...]]] = [
    (record(SHOP, AMOUNT), ("a", 1)),
    (READER, ("b", 2, "USD")),
    # A field more, which the job does not know, and one in another place.
    (record(NOTE, CURRENCY, SHOP, AMOUNT), ("new", "GBP", "c", 3)),
    # An int is read as a long; a field with a default may go.
    (record(SHOP, {"name": "amount", "type": "int"}), ("d", 4)),
]
WRONG: list[tuple[str, tuple[Any, ...]]] = [
    (record(SHOP, {"name": "amount", "type": "string"}), ("e", "five")),
    (record(SHOP), ("f",)),
]
FOUND = [("a", 1, "EUR"), ("b", 2, "USD"), ("c", 3, "GBP"), ("d", 4, "EUR"), ("a", 1, "EUR")]


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with RegistryStub() as stub:
        yield SchemaRegistry(stub.url)


def messages(registry: SchemaRegistry, versions: list[tuple[str, Any]]) -> list[bytes]:
    made = []
    for schema, values in versions:
        writer = ConfluentAvroSerializationSchema(registry, "sales-value", schema)
        made.append(writer.serialize(values))
    return made


def source(topics: Topics, topic: str, schema: Any) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(topic)
    builder.set_value_only_deserializer(schema)
    return builder.set_bounded(KafkaOffsetsInitializer.latest()).build()


def read(made: KafkaSource, *, skip: bool, epochs: Any = 2) -> tuple[list[Any], list[Any]]:
    """The rows, and the dead letters if such records are skipped."""

    def program(env: Any) -> dict[str, Any]:
        rows = env.from_source(made, NO_TIME, "sales")
        rows = rows.on_error("skip", BAD) if skip else rows
        found = {"rows": rows.map(tuple)}
        return {**found, "bad": rows.get_side_output(BAD)} if skip else found

    results = run_local(program, epochs=epochs)
    return results.values("rows"), results.values("bad") if skip else []


def test_avro_records_of_all_versions_are_those_of_the_readers_schema(
    topics: Topics, registry: SchemaRegistry
) -> None:
    topic = topics.new()
    topics.write(topic, messages(registry, [*VERSIONS, VERSIONS[0]]))
    schema = ConfluentAvroDeserializationSchema(registry, READER)
    assert read(source(topics, topic, schema), skip=False) == (FOUND, [])


def test_avro_records_that_do_not_fit_are_dead_letters(
    topics: Topics, registry: SchemaRegistry
) -> None:
    topic = topics.new()
    sent = messages(registry, [VERSIONS[0], WRONG[0], VERSIONS[1], WRONG[1], *VERSIONS[2:]])
    topics.write(topic, [*sent, sent[0]])
    schema = ConfluentAvroDeserializationSchema(registry, READER)
    found, letters = read(source(topics, topic, schema), skip=True)
    assert found == FOUND
    assert [(letter.value.topic, letter.value.offset) for letter in letters] == [
        (topic, 1),
        (topic, 3),
    ]
    assert [letter.value.value for letter in letters] == [sent[1], sent[3]]
    assert all("BAD_AVRO" in letter.error and "amount" in letter.error for letter in letters)


@pytest.mark.parametrize("wrong", WRONG)
def test_avro_records_that_do_not_fit_fail_the_job_and_are_named(
    topics: Topics, registry: SchemaRegistry, wrong: tuple[str, Any]
) -> None:
    topic = topics.new(2)
    topics.write(topic, messages(registry, VERSIONS), 0)
    topics.write(topic, messages(registry, [VERSIONS[0], VERSIONS[1], wrong]), 1)
    schema = ConfluentAvroDeserializationSchema(registry, READER)
    with pytest.raises(UserCodeError, match=r"BAD_AVRO.*amount") as error:
        read(source(topics, topic, schema), skip=False)
    assert f"topic='{topic}', partition=1, offset=2" in str(error.value)


SALE = Types.ROW_NAMED(
    ["shop", "amount", "currency"], [Types.STRING(), Types.LONG(), Types.STRING()]
)
JSON = [
    '{"shop": "a", "amount": 1}',
    '{"shop": "b", "amount": 2, "currency": "USD", "note": {"new": [1]}}',
    '{"shop": "c", "amount": {"value": 3}}',
    '{"shop": "d", "amount": "five"}',
    '{"amount": 4, "shop": "e", "currency": null}',
]


def test_json_records_whose_fields_change(topics: Topics) -> None:
    """A field that is missing is None, one that nobody knows is left out."""
    topic = topics.new()
    topics.write(topic, JSON)
    schema = JsonRowDeserializationSchema.builder().type_info(SALE).build()
    found, letters = read(source(topics, topic, schema), skip=True)
    assert found == [("a", 1, None), ("b", 2, "USD"), ("e", 4, None)]
    assert [letter.value.offset for letter in letters] == [2, 3]
    assert all("BAD_JSON" in letter.error and "'amount'" in letter.error for letter in letters)
    with pytest.raises(UserCodeError, match=r"BAD_JSON.*'amount'") as error:
        read(source(topics, topic, schema), skip=False)
    assert f"topic='{topic}', partition=0, offset=2" in str(error.value)


def test_json_records_whose_fields_must_be_there(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, JSON[1::3])
    builder = JsonRowDeserializationSchema.builder().type_info(SALE).fail_on_missing_field()
    found, letters = read(source(topics, topic, builder.build()), skip=True)
    assert found == [("b", 2, "USD"), ("e", 4, None)]
    assert letters == []
    topics.write(topic, JSON[:1])
    found, letters = read(source(topics, topic, builder.build()), skip=True)
    assert [letter.value.offset for letter in letters] == [2]
    assert "'currency'" in letters[0].error
