"""Avro: schemas as types, and records as fastavro has them.

One walk through a schema makes its `AvroCodec`: the type of its values in a row, and the functions
between those values and what fastavro reads and writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from uuid import UUID

from millstream.common.errors import PlanError, user_location
from millstream.common.extras import needed_package
from millstream.common.made_once import Convert
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.common.types import Row, row_maker

__all__ = [
    "AvroCodec",
    "codec_of",
    "fastavro",
    "message_decoder",
    "message_encoder",
    "parsed_schema",
]

_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def fastavro() -> Any:
    """Return the package that reads and writes Avro."""
    return needed_package("fastavro", "avro", "the Avro format")


def parsed_schema(schema: Any, *used: str) -> Any:
    """Return a schema as fastavro keeps it; ``schema``: its JSON text, or what is in it.

    ``used``: other schemas whose names it uses.

    Examples
    --------
    >>> parsed_schema('"long"')
    'long'
    """
    package = fastavro()
    try:
        plain = json.loads(schema) if isinstance(schema, str) else schema
        names: dict[str, Any] = {}  # without it, fastavro keeps those of all schemas in one dict
        for other in used:
            package.parse_schema(json.loads(other), named_schemas=names)
        return package.parse_schema(plain, named_schemas=names)
    except Exception as error:  # it raises KeyError, TypeError and its own errors
        raise PlanError(
            "BAD_AVRO_SCHEMA",
            f"the Avro schema cannot be read: {type(error).__name__}: {error}",
            location=user_location(),
            hint='give the JSON text of a schema, such as {"type": "record", "name": ..., "fields": '
            "[...]}",
        ) from error


@dataclass(frozen=True)
class AvroCodec:
    """A schema, the type of its values, and how fastavro's values become those, and back.

    ``decode`` and ``encode``: None if the values are the same.
    """

    type_info: TypeInformation
    decode: Convert | None = None
    encode: Convert | None = None


def codec_of(schema: Any, *, rows: bool = True) -> AvroCodec:
    """Return the codec of a parsed schema.

    ``rows``: records are rows. Otherwise they are dicts, as fastavro reads them, and the type says
    nothing about them.

    Examples
    --------
    >>> schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}
    >>> codec_of(parsed_schema(schema)).type_info
    ROW_NAMED(n: LONG)
    """
    codec = _Walk(rows).codec(schema)
    return codec if rows else replace(codec, type_info=Types.PICKLED_BYTE_ARRAY(), decode=None)


# -- messages --------------------------------------------------------------------------------------


def message_decoder(writer: str, reader: str | None, rows: bool, *used: str) -> Convert:
    """Return the function that makes a value of the bytes of one.

    ``writer``: the schema it was written with, which may use the names of others; ``reader``: the
    schema it shall have, if it is another one.
    """
    read = fastavro().schemaless_reader
    written = parsed_schema(writer, *used)
    wanted = written if reader is None else parsed_schema(reader)
    convert = codec_of(wanted, rows=rows).decode if rows else None
    # A pass over the reader's schema takes time, also if it is the same.
    if written == wanted:
        wanted = None
    if convert is None:
        return lambda message: read(BytesIO(message), written, wanted)
    return lambda message: convert(read(BytesIO(message), written, wanted))


def message_encoder(schema: str) -> Convert:
    """Return the function that makes bytes of a value: of a row or of a dict for a record."""
    write, written = fastavro().schemaless_writer, parsed_schema(schema)
    convert = codec_of(written, rows=False).encode

    def encode(value: Any) -> bytes:
        message = BytesIO()
        write(message, written, value if convert is None else convert(value))
        return message.getvalue()

    return encode


# -- the walk --------------------------------------------------------------------------------------


class _Walk:
    """Goes through a schema; a name stands for the schema that was met with it before."""

    def __init__(self, rows: bool) -> None:
        self.rows = rows
        self.known: dict[str, AvroCodec | None] = {}

    def codec(self, node: Any) -> AvroCodec:
        if isinstance(node, list):
            return self.union(node)
        if isinstance(node, str):
            return _PRIMITIVES[node] if node in _PRIMITIVES else self.named(node)
        kind = node["type"]
        if kind == "array":
            return _array(self.codec(node["items"]))
        if kind == "map":
            return _map(self.codec(node["values"]))
        if kind in ("record", "error", "enum", "fixed"):
            name = node["name"]
            self.known[name] = None
            found = self.known[name] = self.definition(kind, node)
            return found
        if isinstance(kind, str) and kind in _PRIMITIVES:
            return _LOGICAL.get((kind, node.get("logicalType")), _PRIMITIVES[kind])
        return self.codec(kind)

    def named(self, name: str) -> AvroCodec:
        found = self.known[name]
        if found is not None:
            return found
        if self.rows:
            raise PlanError(
                "RECURSIVE_SCHEMA",
                f"record {name!r} contains records of its own kind, so its rows have no type",
                location=user_location(),
                hint="read and write its records as dicts: AvroDeserializationSchema.for_generic(...)",
            )

        def encode(value: Any) -> Any:
            convert = getattr(self.known[name], "encode", None)
            return value if convert is None else convert(value)

        return AvroCodec(Types.PICKLED_BYTE_ARRAY(), None, encode)

    def definition(self, kind: str, node: Mapping[str, Any]) -> AvroCodec:
        if kind == "enum":
            return _PRIMITIVES["string"]
        if kind == "fixed":
            return _LOGICAL.get((kind, node.get("logicalType")), _PRIMITIVES["bytes"])
        return _record({field["name"]: self.codec(field["type"]) for field in node["fields"]})

    def union(self, branches: list[Any]) -> AvroCodec:
        others = [branch for branch in branches if branch not in ("null", {"type": "null"})]
        codecs = [self.codec(branch) for branch in others]
        if len(codecs) == 1:
            return replace(
                codecs[0], decode=_or_none(codecs[0].decode), encode=_or_none(codecs[0].encode)
            )
        # The branch of a value is known by the value only: fastavro finds it.
        return AvroCodec(Types.PICKLED_BYTE_ARRAY(), None, _plain)


def _record(fields: dict[str, AvroCodec]) -> AvroCodec:
    type_info = Types.ROW_NAMED(list(fields), [codec.type_info for codec in fields.values()])
    decoded = [(at, codec.decode) for at, codec in enumerate(fields.values()) if codec.decode]
    names = tuple(fields)
    make = row_maker(names)

    def decode(value: Any) -> Row:
        values = list(map(value.__getitem__, names))
        for at, convert in decoded:
            values[at] = convert(values[at])
        return make(values)

    return AvroCodec(type_info, decode, _record_encoder(type_info, fields))


def _record_encoder(type_info: RowTypeInfo, fields: dict[str, AvroCodec]) -> Convert:
    names = tuple(fields)
    encoded = [(name, codec.encode) for name, codec in fields.items() if codec.encode]

    def encode(value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            found = dict(value)  # a field that is not there has its default
        else:
            values = type_info.positional(value)
            if isinstance(values, str):
                raise TypeError(values)
            found = dict(zip(names, values, strict=True))
        for name, convert in encoded:
            if name in found:
                found[name] = convert(found[name])
        return found

    return encode


def _array(item: AvroCodec) -> AvroCodec:
    return AvroCodec(
        Types.OBJECT_ARRAY(item.type_info), _each(item.decode, list), _each(item.encode, list)
    )


def _map(value: AvroCodec) -> AvroCodec:
    return AvroCodec(
        Types.MAP(Types.STRING(), value.type_info),
        _each(value.decode, dict),
        _each(value.encode, dict),
    )


def _each(convert: Convert | None, kind: type) -> Convert | None:
    if convert is None:
        return None
    if kind is list:
        return lambda items: [convert(item) for item in items]
    return lambda items: {key: convert(item) for key, item in items.items()}


def _or_none(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _plain(value: Any) -> Any:
    return value.as_dict(True) if isinstance(value, Row) else value


# -- values without parts --------------------------------------------------------------------------


def _utc(value: datetime) -> datetime:
    """A time without a zone is UTC; fastavro takes it for one of the machine's zone."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def _without_zone(value: datetime) -> datetime:
    return value.replace(tzinfo=None)


def _uuid(value: Any) -> Any:
    return UUID(value) if isinstance(value, str) else value


_PRIMITIVES = {
    "null": AvroCodec(Types.PICKLED_BYTE_ARRAY()),
    "boolean": AvroCodec(Types.BOOLEAN()),
    "int": AvroCodec(Types.INT()),
    "long": AvroCodec(Types.LONG()),
    "float": AvroCodec(Types.FLOAT()),
    "double": AvroCodec(Types.DOUBLE()),
    "string": AvroCodec(Types.STRING()),
    "bytes": AvroCodec(_BYTES),
}
_LOGICAL: dict[tuple[str, Any], AvroCodec] = {
    ("int", "date"): AvroCodec(Types.SQL_DATE()),
    ("int", "time-millis"): AvroCodec(Types.SQL_TIME()),
    ("long", "time-micros"): AvroCodec(Types.SQL_TIME()),
    ("long", "timestamp-millis"): AvroCodec(Types.SQL_TIMESTAMP(), _without_zone, _utc),
    ("long", "timestamp-micros"): AvroCodec(Types.SQL_TIMESTAMP(), _without_zone, _utc),
    ("long", "local-timestamp-millis"): AvroCodec(Types.SQL_TIMESTAMP()),
    ("long", "local-timestamp-micros"): AvroCodec(Types.SQL_TIMESTAMP()),
    ("bytes", "decimal"): AvroCodec(Types.BIG_DEC()),
    ("fixed", "decimal"): AvroCodec(Types.BIG_DEC()),
    ("string", "uuid"): AvroCodec(Types.STRING(), str, _uuid),
}
