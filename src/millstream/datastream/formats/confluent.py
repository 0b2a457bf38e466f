"""Messages with the header of a schema registry: Avro, JSON and Protobuf.

Flink has such formats in its Java and Table APIs; the names here are Millstream's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from millstream.common.errors import FormatError, MillstreamError
from millstream.common.made_once import Convert
from millstream.common.serialization import DeserializationSchema, SerializationSchema, beginning
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.formats.avro import message_decoder
from millstream.connectors.formats.registry import (
    RegisteredSchema,
    SchemaReference,
    SchemaRegistry,
    framed,
    message_indexes,
    unframed,
    with_indexes,
)
from millstream.datastream.formats.avro import (
    AvroRowSerializationSchema,
    AvroSchema,
    AvroSerializationSchema,
    GenericRecordAvroTypeInfo,
)
from millstream.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millstream.datastream.formats.json_schema import json_schema_of
from millstream.datastream.formats.protobuf import (
    ProtobufDeserializationSchema,
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
    ProtobufSerializationSchema,
)

__all__ = [
    "ConfluentAvroDeserializationSchema",
    "ConfluentAvroSerializationSchema",
    "ConfluentJsonDeserializationSchema",
    "ConfluentJsonSerializationSchema",
    "ConfluentProtobufDeserializationSchema",
    "ConfluentProtobufSerializationSchema",
    "SchemaRegistry",
]


class _Registering(SerializationSchema[Any]):
    """Base of what writes messages: their header has the id that the registry gives to the schema.

    A worker asks for the id when it writes its first message.
    """

    def __init__(self, registry: SchemaRegistry, subject: str, register: bool) -> None:
        self._registry = registry
        self._subject = subject
        self._register = register

    def _framed(self, schema: RegisteredSchema, payload: bytes) -> bytes:
        schema_id = self._registry.id_of(self._subject, schema, register=self._register)
        return framed(schema_id, payload)


# -- Avro ------------------------------------------------------------------------------------------


class ConfluentAvroDeserializationSchema(DeserializationSchema[Any]):
    """Makes rows of Avro messages; the registry has the schema that each was written with.

    Parameters
    ----------
    registry
        Where the schemas are.
    schema
        The schema that the rows shall have. Fields are matched by name, those that a message does not
        have get their default. Without it, records are dicts of the schema that they were written
        with.
    rows
        False: records are dicts although there is a schema.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        schema: str | AvroSchema | None = None,
        *,
        rows: bool = True,
    ) -> None:
        self._registry = registry
        self._reader = None if schema is None else AvroSchema(str(schema))
        self._rows = rows and schema is not None
        self._type: TypeInformation = Types.PICKLED_BYTE_ARRAY()
        if self._reader is not None:
            generic = GenericRecordAvroTypeInfo(self._reader)
            self._type = self._reader.row_type() if rows else generic
        self._decoders: dict[int, Convert] = {}

    def deserialize(self, message: bytes) -> Any:
        """Return the record of a message."""
        schema_id, payload = unframed(message)
        decode = self._decoders.get(schema_id) or self._made(schema_id)
        try:
            return decode(payload)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}{self._differences(schema_id)}"
            raise FormatError(
                "BAD_AVRO",
                f"{beginning(message)}, written with schema {schema_id}, cannot be read: {reason}",
            ) from error

    def _differences(self, schema_id: int) -> str:
        """The fields that a message has with another type than the job wants, in words."""
        if self._reader is None:
            return ""
        written, wanted = (
            _types_of_fields(text)
            for text in (self._registry.schema(schema_id).text, str(self._reader))
        )
        found = [
            f"field {name!r} is written as {json.dumps(written[name])} and read as {json.dumps(kind)}"
            for name, kind in wanted.items()
            if name in written and written[name] != kind
        ]
        return "".join(f"; {one}" for one in found)

    def _made(self, schema_id: int) -> Convert:
        written = self._registry.schema(schema_id)
        _require(written, "AVRO", schema_id)
        used = [one.text for one in self._registry.referenced(written)]
        reader = None if self._reader is None else str(self._reader)
        try:
            made = message_decoder(written.text, reader, self._rows, *used)
        except MillstreamError as error:
            if error.code != "BAD_AVRO_SCHEMA":
                raise
            # The writer of the message has registered it: the message is bad, not the program.
            raise FormatError("BAD_AVRO", f"schema {schema_id}: {error.message}") from error
        self._decoders[schema_id] = made
        return made

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._type

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_decoders": {}}  # closures do not travel


def _types_of_fields(schema: str) -> dict[str, Any]:
    """The types of the fields of a record; other schemas have no fields."""
    found = json.loads(schema)
    fields = found.get("fields", []) if isinstance(found, dict) else []
    return {field["name"]: field["type"] for field in fields}


class ConfluentAvroSerializationSchema(_Registering):
    """Makes Avro messages of rows, or of dicts, and registers their schema.

    Parameters
    ----------
    registry
        Where the schemas are.
    subject
        The name that the registry keeps the schema under, usually ``<topic>-value``.
    schema
        The schema.
    register
        Whether the job may add the schema. Otherwise it must be there.
    rows
        False: records are dicts, which need not have the fields that have a default.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        subject: str,
        schema: str | AvroSchema,
        *,
        register: bool = True,
        rows: bool = True,
    ) -> None:
        super().__init__(registry, subject, register)
        text = str(AvroSchema(str(schema)))
        self._schema = RegisteredSchema("AVRO", text)
        self._write: SerializationSchema[Any] = (
            AvroRowSerializationSchema(avro_schema_string=text)
            if rows
            else AvroSerializationSchema(text)
        )

    def serialize(self, value: Any) -> bytes:
        """Return the message of a record."""
        return self._framed(self._schema, self._write.serialize(value))


# -- JSON ------------------------------------------------------------------------------------------


class ConfluentJsonDeserializationSchema(DeserializationSchema[Any]):
    r"""Makes rows of JSON messages with a header. It asks no registry: the type says what is read.

    Parameters
    ----------
    schema
        How the JSON is read.

    Examples
    --------
    >>> json = JsonRowDeserializationSchema.builder().type_info(
    ...     Types.ROW_NAMED(["n"], [Types.LONG()])
    ... )
    >>> schema = ConfluentJsonDeserializationSchema(json.build())
    >>> schema.deserialize(b'\x00\x00\x00\x00\x01{"n": 1}')
    Row(n=1)
    """

    def __init__(self, schema: JsonRowDeserializationSchema) -> None:
        self._read = schema

    def deserialize(self, message: bytes) -> Any:
        """Return the row of a message."""
        return self._read.deserialize(unframed(message)[1])

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._read.get_produced_type()


class ConfluentJsonSerializationSchema(_Registering):
    """Makes JSON messages of rows, and registers their JSON schema.

    Parameters
    ----------
    registry, subject, register
        As for `ConfluentAvroSerializationSchema`.
    schema
        How the JSON is written.
    json_schema
        The schema to register; by default the one of the row type.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        subject: str,
        schema: JsonRowSerializationSchema,
        *,
        json_schema: str | None = None,
        register: bool = True,
    ) -> None:
        super().__init__(registry, subject, register)
        self._write = schema
        text = json_schema_of(schema.row_type) if json_schema is None else json_schema
        self._schema = RegisteredSchema("JSON", text)

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        return self._framed(self._schema, self._write.serialize(value))


# -- Protobuf --------------------------------------------------------------------------------------


class ConfluentProtobufDeserializationSchema(DeserializationSchema[Any]):
    r"""Makes rows of Protobuf messages with a header. It asks no registry: the class says what is read.

    Parameters
    ----------
    message_class
        The class that protoc has generated.
    rows
        False: the records are the messages themselves.
    check_message
        Whether the header must name the same place in the .proto file that the class has there. Turn
        it off if the writers have another file, in which the messages stand in another order.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> schema = ConfluentProtobufDeserializationSchema(Duration)
    >>> schema.deserialize(b"\x00\x00\x00\x00\x01" + b"\x00" + b"\x08\x03")
    Row(seconds=3, nanos=0)
    """

    def __init__(
        self, message_class: type[Message], *, rows: bool = True, check_message: bool = True
    ) -> None:
        kind = ProtobufRowDeserializationSchema if rows else ProtobufDeserializationSchema
        self._read: DeserializationSchema[Any] = kind(message_class)
        self._name = message_class.DESCRIPTOR.full_name
        self._path = _place(message_class.DESCRIPTOR) if check_message else None

    def deserialize(self, message: bytes) -> Any:
        """Return the record of a message."""
        path, payload = message_indexes(unframed(message)[1])
        if self._path not in (None, path):
            raise FormatError(
                "OTHER_MESSAGE",
                f"{beginning(message)} is message {path} of its .proto file, and {self._name} is "
                f"message {self._path}",
                "if the writers have another order of messages there, use check_message=False",
            )
        return self._read.deserialize(payload)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._read.get_produced_type()


class ConfluentProtobufSerializationSchema(_Registering):
    """Makes Protobuf messages of rows or of messages, and registers their .proto file.

    The files that it imports are registered too, each under its own name, except those of Google.

    Parameters
    ----------
    registry, subject, register
        As for `ConfluentAvroSerializationSchema`.
    message_class
        The class that protoc has generated.
    rows
        False: the records are messages themselves.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        subject: str,
        message_class: type[Message],
        *,
        register: bool = True,
        rows: bool = True,
    ) -> None:
        super().__init__(registry, subject, register)
        self._write: SerializationSchema[Any] = (
            ProtobufRowSerializationSchema(message_class) if rows else ProtobufSerializationSchema()
        )
        self._path = _place(message_class.DESCRIPTOR)
        self._file = _ProtoFile(message_class.DESCRIPTOR.file)
        self._schema: RegisteredSchema | None = None

    def serialize(self, value: Any) -> bytes:
        """Return the message of a record."""
        payload = self._write.serialize(value)
        if self._schema is None:
            self._schema = self._file.registered(self._version_of)
        return self._framed(self._schema, with_indexes(self._path, payload))

    def _version_of(self, subject: str, schema: RegisteredSchema) -> int:
        return self._registry.version_of(subject, schema, register=self._register)


class _ProtoFile:
    """A .proto file as registries take it: its descriptor, and the files that it imports."""

    def __init__(self, file: Any) -> None:
        self.name = file.name
        self.text = base64.b64encode(file.serialized_pb).decode()
        self.imports = [
            _ProtoFile(one)
            for one in file.dependencies
            if not one.name.startswith("google/protobuf/")
        ]

    def registered(self, version_of: Callable[[str, RegisteredSchema], int]) -> RegisteredSchema:
        """Return the schema, when all that it imports is registered."""
        references = [
            SchemaReference(one.name, one.name, version_of(one.name, one.registered(version_of)))
            for one in self.imports
        ]
        return RegisteredSchema("PROTOBUF", self.text, tuple(references))


def _place(descriptor: Any) -> list[int]:
    """The place of a message in its file: the index of each message that it is in, and its own."""
    outer = descriptor.containing_type
    if outer is None:
        return [list(descriptor.file.message_types_by_name).index(descriptor.name)]
    return [*_place(outer), list(outer.nested_types_by_name).index(descriptor.name)]


def _require(schema: RegisteredSchema, kind: str, schema_id: int) -> None:
    if schema.kind != kind:
        raise FormatError(
            "OTHER_MESSAGE", f"schema {schema_id} of the message is {schema.kind}, not {kind}"
        )
