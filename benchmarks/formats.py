"""Decode and encode messages in a tight loop: microseconds of CPU per message of four fields.

python benchmarks/formats.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from millstream.common import Row, Types
from millstream.connectors.formats.registry import RegisteredSchema, SchemaRegistry, framed
from millstream.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from millstream.datastream.formats.confluent import ConfluentAvroDeserializationSchema
from millstream.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from millstream.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millstream.datastream.formats.protobuf import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)

MESSAGES = 100_000
TYPE = Types.ROW_NAMED(
    ["word", "n", "x", "at"],
    [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.SQL_TIMESTAMP()],
)
ROW = Row(word="hello", n=12_345, x=1.5, at=datetime(2026, 1, 31, 12, 30))
AVRO = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "word", "type": "string"},
            {"name": "n", "type": "long"},
            {"name": "x", "type": ["null", "double"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
)


class KnownRegistry(SchemaRegistry):
    """A registry that is asked nothing."""

    def schema(self, schema_id: int) -> RegisteredSchema:
        return RegisteredSchema("AVRO", AVRO)


def measured(name: str, function: Callable[[Any], Any], value: Any) -> None:
    function(value)
    began = time.process_time()
    for _ in range(MESSAGES):
        function(value)
    took = (time.process_time() - began) / MESSAGES * 1e6
    print(f"{name:<34}{took:6.1f} us")


def main() -> None:
    from google.protobuf.duration_pb2 import Duration

    json_text = JsonRowSerializationSchema.builder().with_type_info(TYPE).build()
    json_rows = JsonRowDeserializationSchema.builder().type_info(TYPE).build()
    csv_lines = CsvRowSerializationSchema.Builder(TYPE).build()
    csv_rows = CsvRowDeserializationSchema.Builder(TYPE).build()
    avro_bytes = AvroRowSerializationSchema(avro_schema_string=AVRO)
    message = avro_bytes.serialize(ROW)
    registry = ConfluentAvroDeserializationSchema(KnownRegistry("http://nowhere"), AVRO)
    duration = Duration(seconds=5, nanos=7).SerializeToString()
    measured("json.loads alone", json.loads, json_text.serialize(ROW))
    measured("JSON to row", json_rows.deserialize, json_text.serialize(ROW))
    measured("row to JSON", json_text.serialize, ROW)
    measured("CSV to row", csv_rows.deserialize, csv_lines.serialize(ROW))
    measured("row to CSV", csv_lines.serialize, ROW)
    plain = AvroDeserializationSchema.for_generic(AvroSchema(AVRO))
    measured("Avro to dict (fastavro)", plain.deserialize, message)
    avro_rows = AvroRowDeserializationSchema(avro_schema_string=AVRO)
    measured("Avro to row", avro_rows.deserialize, message)
    measured("Avro with a header to row", registry.deserialize, framed(1, message))
    measured("row to Avro", avro_bytes.serialize, ROW)
    measured(
        "Protobuf to row, 2 fields",
        ProtobufRowDeserializationSchema(Duration).deserialize,
        duration,
    )
    measured(
        "row to Protobuf, 2 fields", ProtobufRowSerializationSchema(Duration).serialize, (5, 7)
    )


if __name__ == "__main__":
    main()
