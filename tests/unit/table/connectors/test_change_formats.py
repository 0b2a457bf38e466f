"""Formats of changes: what Flink 2.3 reads and writes."""

from __future__ import annotations

import pytest

from millstream.common.errors import FormatError
from millstream.common.types import Row, RowKind
from millstream.table.connectors.formats import chosen_format
from millstream.table.connectors.options import Options
from tests.support.sql import row_type

ROW = row_type("id BIGINT, name STRING")


def codec(name, **options):
    given = {f"{name}.{key.replace('_', '-')}": value for key, value in options.items()}
    return chosen_format(Options("t", {"format": name, **given})).codec(ROW)


def read(name, message, **options):
    return [(row.weight, tuple(row)) for row in codec(name, **options).read_all(message.encode())]


CASES = {
    "debezium-json": (
        '{"before":null,"after":{"id":1,"name":"a"},"op":"c"}',
        '{"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"},"op":"u"}',
        '{"before":{"id":1,"name":"b"},"after":null,"op":"d"}',
    ),
    "canal-json": (
        '{"data":[{"id":"1","name":"a"}],"type":"INSERT","old":null}',
        '{"data":[{"id":"1","name":"b"}],"type":"UPDATE","old":[{"name":"a"}]}',
        '{"data":[{"id":"1","name":"b"}],"type":"DELETE","old":null}',
    ),
    "maxwell-json": (
        '{"type":"insert","data":{"id":1,"name":"a"}}',
        '{"type":"update","data":{"id":1,"name":"b"},"old":{"name":"a"}}',
        '{"type":"delete","data":{"id":1,"name":"b"}}',
    ),
    "ogg-json": (
        '{"op_type":"I","after":{"id":1,"name":"a"}}',
        '{"op_type":"U","before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"}}',
        '{"op_type":"D","before":{"id":1,"name":"b"}}',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_insert_update_and_delete(name):
    insert, update, delete = CASES[name]
    assert read(name, insert) == [(1, (1, "a"))]
    assert read(name, update) == [(-1, (1, "a")), (1, (1, "b"))]
    assert read(name, delete) == [(-1, (1, "b"))]


WRITTEN = {
    "debezium-json": ('{"before":null,"after":%s,"op":"c"}', '{"before":%s,"after":null,"op":"d"}'),
    "canal-json": ('{"data":[%s],"type":"INSERT"}', '{"data":[%s],"type":"DELETE"}'),
    "maxwell-json": ('{"data":%s,"type":"insert"}', '{"data":%s,"type":"delete"}'),
    "ogg-json": (
        '{"before":null,"after":%s,"op_type":"I"}',
        '{"before":%s,"after":null,"op_type":"D"}',
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_written_as_flink_does(name):
    insert, delete = WRITTEN[name]
    rows, image = codec(name), '{"id":1,"name":"a"}'
    assert rows.write(Row(1, "a")).decode() == insert % image
    assert rows.write(Row.of_kind(RowKind.DELETE, 1, "a")).decode() == delete % image


def test_a_schema_around_the_payload():
    message = '{"schema":{},"payload":{"before":null,"after":{"id":1,"name":"a"},"op":"r"}}'
    assert read("debezium-json", message, schema_include="true") == [(1, (1, "a"))]


def test_an_update_without_the_old_row_says_what_is_missing():
    message = '{"before":null,"after":{"id":1,"name":"a"},"op":"u"}'
    with pytest.raises(FormatError, match="REPLICA IDENTITY FULL"):
        read("debezium-json", message)
    assert read("debezium-json", message, ignore_parse_errors="true") == []


def test_tombstones_and_other_tables_are_left_out():
    assert read("debezium-json", "") == []
    message = '{"data":[{"id":"1"}],"type":"INSERT","database":"d","table":"t"}'
    found = codec("canal-json", **{"table.include": "x.*"}).read_all(message.encode())
    assert list(found) == []


def test_metadata_of_messages():
    message = '{"before":null,"after":{"id":1},"op":"c","ts_ms":5,"source":{"db":"shop","ts_ms":4}}'
    (row,) = codec("debezium-json").read_all(message.encode())
    assert row.metadata["source.database"] == "shop"
    assert row.metadata["ingestion-timestamp"].timestamp() == 0.005
