"""Tables of Kafka, without a broker: which messages become which rows, and the other way round."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.common.errors import PlanError
from millstream.common.types import Row, RowKind
from millstream.connectors.reading import values_of
from millstream.connectors.source import Chunk
from millstream.kernel.records.columns import Columns
from millstream.plan.graph import SourceNode
from millstream.table.connectors.factory import connector_of
from millstream.table.table_environment import TableEnvironment

SERVERS = "'properties.bootstrap.servers' = 'localhost:9092'"


def table(columns, options, connector="kafka"):
    t_env = TableEnvironment.create()
    t_env.execute_sql(
        f"CREATE TABLE k ({columns}) WITH ('connector' = '{connector}', 'topic' = 'words', "
        f"'properties.group.id' = 'g', {SERVERS}, {options})"
    )
    return t_env, t_env.names.find_table(("k",))


def decoded(columns, options, messages, connector="kafka"):
    t_env, entry = table(columns, options, connector)
    found, checked = connector_of(entry)
    stream = found.read(t_env._statements.env, entry, checked).stream
    node = t_env._statements.env._graph[stream._id]
    assert isinstance(node, SourceNode)
    headers = [[{"key": "h", "value": b"1"}]] * len(messages)
    batch = pa.RecordBatch.from_pydict(
        {
            "value": pa.array([value for _, value in messages], pa.binary()),
            "key": pa.array([key for key, _ in messages], pa.binary()),
            "offset": pa.array(range(len(messages)), pa.int64()),
            "topic": pa.array(["words"] * len(messages)),
            "partition": pa.array([3] * len(messages), pa.int32()),
            "headers": pa.array(headers),
        }
    )
    assert node.decoder is not None
    made = node.decoder.decode(values_of(Chunk(batch)), np.arange(len(messages)) * 1_000)
    assert isinstance(made.values, Columns)
    weights = [1] * len(made.values) if made.weights is None else made.weights.tolist()
    rows = zip(*(array.to_pylist() for array in made.values.arrays), strict=True)
    return list(zip(weights, rows, strict=True)), made.failed


def test_values_keys_and_metadata():
    found, failed = decoded(
        "k STRING, o BIGINT METADATA FROM 'offset' VIRTUAL, n INT, p INT METADATA FROM 'partition', "
        "h MAP<STRING, BYTES> METADATA FROM 'headers', ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'",
        "'key.format' = 'raw', 'key.fields' = 'k', 'value.format' = 'json', "
        "'value.fields-include' = 'EXCEPT_KEY'",
        [(b"a", b'{"n":1}'), (b"b", None), (b"c", b'{"n":2}')],
    )
    assert [(weight, row[:5]) for weight, row in found] == [
        (1, ("a", 0, 1, 3, [("h", b"1")])),
        (1, ("c", 2, 2, 3, [("h", b"1")])),
    ]
    assert [row[5].timestamp() for _, row in found] == [0.0, 2.0]
    assert not failed


def test_a_tombstone_deletes_the_row_of_its_key():
    found, _ = decoded(
        "k STRING, n INT, PRIMARY KEY (k) NOT ENFORCED",
        "'key.format' = 'raw', 'value.format' = 'json'",
        [(b"a", b'{"k":"a","n":1}'), (b"a", None)],
        "upsert-kafka",
    )
    assert found == [(1, ("a", 1)), (-1, ("a", None))]


def test_changes_in_messages():
    found, failed = decoded(
        "n INT",
        "'format' = 'debezium-json'",
        [(None, b'{"before":{"n":1},"after":{"n":2},"op":"u"}'), (None, b"x")],
    )
    assert found == [(-1, (1,)), (1, (2,))]
    assert [each.place for each in failed] == [1]


def sink(columns, options, connector="kafka"):
    _, entry = table(columns, options, connector)
    found, checked = connector_of(entry)
    return found.write(entry, checked)


def test_rows_become_messages():
    made = sink(
        "k STRING, n INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'",
        "'key.format' = 'csv', 'key.fields' = 'k', 'value.format' = 'json'",
    )
    assert made.changelog == "append"
    record = made.serializer.serialize(Row("a", 1, None), None)
    assert (record.topic, record.key, record.value) == ("words", b"a", b'{"k":"a","n":1}')


def test_upserts_become_messages_and_tombstones():
    made = sink(
        "k STRING, n INT, PRIMARY KEY (k) NOT ENFORCED",
        "'key.format' = 'json', 'value.format' = 'json'",
        "upsert-kafka",
    )
    assert made.changelog == "upsert"
    gone = made.serializer.serialize(Row.of_kind(RowKind.DELETE, "a", 1), None)
    assert (gone.key, gone.value) == (b'{"k":"a"}', None)


def test_changes_become_messages():
    made = sink("n INT", "'format' = 'debezium-json'")
    assert made.changelog == "retract"
    gone = made.serializer.serialize(Row.of_kind(RowKind.DELETE, 1), None)
    assert gone.value == b'{"before":{"n":1},"after":null,"op":"d"}'


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("n INT", "'format' = 'json', 'scan.startup.mode' = 'earliest'", "earliest-offset"),
        ("n INT", "'format' = 'json', 'key.format' = 'raw'", "give both"),
        ("n INT", "'format' = 'json', 'key.format' = 'raw', 'key.fields' = 'm'", "no column"),
        ("n INT", "'scan.startup.mode' = 'earliest-offset'", "no format"),
        ("n INT, o BIGINT METADATA FROM 'ofset'", "'format' = 'json'", "METADATA FROM 'offset'"),
    ],
)
def test_wrong_options(columns, options, message):
    with pytest.raises(PlanError, match=message):
        decoded(columns, options, [])


def test_an_upsert_table_needs_a_key():
    options = "'key.format' = 'raw', 'value.format' = 'json'"
    with pytest.raises(PlanError, match="no primary key"):
        decoded("k STRING", options, [], "upsert-kafka")


def test_exactly_once_needs_names_of_transactions():
    with pytest.raises(PlanError, match="transactional-id-prefix"):
        sink("n INT", "'format' = 'json', 'sink.delivery-guarantee' = 'exactly-once'")
