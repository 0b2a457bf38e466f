"""The format ``avro``: the schema of a table as Flink derives it, and rows as Avro records."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from millstream.connectors.files.avro import chunks_of_file
from millstream.connectors.files.columns import Column
from millstream.connectors.files.opening import Fragment
from millstream.connectors.formats.avro import fastavro, parsed_schema
from millstream.table.connectors.formats import FORMATS, Codec, Format, PlainRows
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.row_errors import RowError
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import (
    ArrayType,
    DecimalType,
    LogicalType,
    MapType,
    MultisetType,
    RowField,
    RowType,
)

__all__ = ["AvroColumns", "AvroRows", "avro_schema"]

_NAME = "org.apache.flink.avro.generated.record"
_PLAIN = {
    "CHAR": "string",
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "BINARY": "bytes",
    "VARBINARY": "bytes",
    "TINYINT": "int",
    "SMALLINT": "int",
    "INTEGER": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
}


def avro_schema(kind: LogicalType, name: str = _NAME) -> Any:
    """The Avro schema of a type, as Flink's ``AvroSchemaConverter`` makes it.

    Examples
    --------
    >>> from millstream.table.types.parsing import parse_logical_type
    >>> avro_schema(parse_logical_type("BIGINT")), avro_schema(parse_logical_type("INT NOT NULL"))
    (['null', 'long'], 'int')
    """
    found = _schema(kind, name)
    return ["null", found] if kind.nullable else found


def _schema(kind: LogicalType, name: str) -> Any:
    root = kind.root
    if root in _PLAIN:
        return _PLAIN[root]
    if isinstance(kind, DecimalType):
        return {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    if root == "DATE":
        return {"type": "int", "logicalType": "date"}
    if root == "TIME_WITHOUT_TIME_ZONE":
        return {"type": "int", "logicalType": "time-millis"}
    if root in ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE"):
        precise = kind.precision > 3  # type: ignore[attr-defined]
        return {
            "type": "long",
            "logicalType": "timestamp-micros" if precise else "timestamp-millis",
        }
    if isinstance(kind, ArrayType):
        return {"type": "array", "items": avro_schema(kind.element, name)}
    if isinstance(kind, MapType) and kind.key.root in ("CHAR", "VARCHAR"):
        return {"type": "map", "values": avro_schema(kind.value, name)}
    if isinstance(kind, MultisetType):
        return {"type": "map", "values": "int"}
    if isinstance(kind, RowType):
        fields = [_field(each, f"{name}_{each.name}") for each in kind.fields]
        return {"type": "record", "name": name, "fields": fields}
    raise RowError("AVRO_ROW", f"Avro has no type for {kind}; map keys must be texts")


def _field(field: RowField, name: str) -> Any:
    found = {"name": field.name, "type": avro_schema(field.type, name)}
    return {**found, "default": None} if field.type.nullable else found


def _given(value: Any, kind: LogicalType) -> Any:
    """A value as fastavro writes it."""
    if value is None:
        return None
    if isinstance(kind, RowType):
        values = list(value.values()) if isinstance(value, dict) else value
        pairs = zip(kind.fields, values, strict=True)
        return {each.name: _given(inner, each.type) for each, inner in pairs}
    if isinstance(kind, ArrayType):
        return [_given(each, kind.element) for each in value]
    if isinstance(kind, MapType | MultisetType):
        items = value.items() if isinstance(value, dict) else value
        inner = kind.value if isinstance(kind, MapType) else None
        return {key: each if inner is None else _given(each, inner) for key, each in items}
    if isinstance(value, datetime.datetime):
        # Flink writes timestamps of both kinds as if they were in UTC.
        return value.replace(tzinfo=datetime.UTC)
    return value


def _taken(value: Any, kind: pa.DataType) -> Any:
    """A value of fastavro as Arrow takes it."""
    if isinstance(value, datetime.datetime) and kind.tz is None:
        return value.replace(tzinfo=None)
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_struct(kind):
        return {field.name: _taken(value.get(field.name), field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, _taken(each, kind.item_type)) for key, each in value.items()]
    return [_taken(each, kind.value_type) for each in value]


@dataclass(frozen=True)
class AvroRows:
    """Rows as Avro's binary encoding, without a schema in the message."""

    row: RowType
    kinds: tuple[pa.DataType, ...]

    @cached_property
    def _schema(self) -> Any:
        return parsed_schema(avro_schema(self.row.with_nullability(False)))

    def __getstate__(self) -> dict[str, Any]:
        return {"row": self.row, "kinds": self.kinds}

    def read(self, text: bytes) -> tuple[Any, ...]:
        """The values of a message."""
        try:
            found = fastavro().schemaless_reader(io.BytesIO(text), self._schema, None)
        except Exception as error:  # fastavro raises whatever happens in the middle of the bytes
            raise RowError("AVRO_ROW", f"no Avro record: {text!r:.200} ({error})") from error
        pairs = zip(self.row.fields, self.kinds, strict=True)
        return tuple(_taken(found[each.name], kind) for each, kind in pairs)

    def write(self, row: Sequence[Any]) -> bytes:
        """The message of a row."""
        out = io.BytesIO()
        fastavro().schemaless_writer(out, self._schema, _given(row, self.row))
        return out.getvalue()


@dataclass(frozen=True)
class AvroColumns:
    """Reads the columns of a table from Avro files, by their names."""

    by_ranges = False

    columns: tuple[Column, ...]

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The rows of a file."""
        for values in chunks_of_file(fragment.path):
            yield [
                pa.array([_taken(value.get(c.name), c.arrow) for value in values], c.arrow)
                for c in self.columns
            ]


class _Avro(Format):
    def options(self) -> tuple[Option, ...]:
        return (
            Option("codec"),
            Option("encoding", choices=("binary",)),
            Option("timestamp_mapping.legacy", choices=("true", "false")),
        )

    def codec(self, row: RowType, options: Options) -> Codec:
        return PlainRows(AvroRows(row, tuple(arrow_type(each.type) for each in row.fields)))


FORMATS["avro"] = _Avro()
