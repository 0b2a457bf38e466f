"""Avro messages and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from millstream.common.absent import missing_name
from millstream.common.errors import (
    FormatError,
    MillstreamError,
    PlanError,
    short_repr,
    user_location,
)
from millstream.common.made_once import MadeOnce
from millstream.common.serialization import DeserializationSchema, SerializationSchema, beginning
from millstream.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation
from millstream.common.types import Row
from millstream.connectors.formats.avro import (
    codec_of,
    message_decoder,
    message_encoder,
    parsed_schema,
)
from millstream.connectors.formats.avro_files import AvroFiles
from millstream.datastream.connectors.file_formats import BulkWriterFactory

__all__ = [
    "AvroBulkWriters",
    "AvroDeserializationSchema",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "AvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
]


class AvroSchema:
    """A schema of Avro's, from its JSON text.

    Examples
    --------
    >>> schema = AvroSchema.parse_string(
    ...     '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
    ... )
    >>> schema.row_type()
    ROW_NAMED(n: LONG)
    """

    def __init__(self, schema: str) -> None:
        self._text = schema
        parsed_schema(schema)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Return the schema of a JSON text."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Return the schema in a file."""
        return AvroSchema(Path(file_path).read_text(encoding="utf-8"))

    def row_type(self) -> RowTypeInfo:
        """Return the type of the rows that its records are."""
        found = codec_of(parsed_schema(self._text)).type_info
        if isinstance(found, RowTypeInfo):
            return found
        raise PlanError(
            "NOT_A_ROW_TYPE",
            f"the Avro schema describes a {found}, not a record",
            location=user_location(),
            hint='rows are records: {"type": "record", "name": ..., "fields": [...]}',
        )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AvroSchema({short_repr(self._text)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and json.loads(self._text) == json.loads(other._text)

    def __hash__(self) -> int:
        return hash(json.dumps(json.loads(self._text), sort_keys=True))


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """The type of records as dicts, with the schema that they fit.

    Values are stored as they are, and not checked before they are written.

    Examples
    --------
    >>> GenericRecordAvroTypeInfo(AvroSchema('"long"')).schema
    AvroSchema('"long"')
    """

    def __init__(self, schema: AvroSchema) -> None:
        object.__setattr__(self, "schema", schema)

    schema: AvroSchema


class AvroInputFormat(AvroFiles):
    """Reads an Avro file, or the Avro files of a folder, as dicts; give it to ``env.create_input``.

    Parameters
    ----------
    path
        The file, or a folder: each file is a channel.
    schema
        The schema that the records shall have; fields that a file does not have get their default.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        super().__init__(path, str(schema), GenericRecordAvroTypeInfo(schema))


class AvroBulkWriters:
    """How to write Avro files; give it to `FileSink.for_bulk_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return the way to write files of records, which are dicts or rows, with a schema.

        Examples
        --------
        >>> AvroBulkWriters.for_generic_record(AvroSchema('"long"')).format
        'avro'
        """
        return BulkWriterFactory("avro", {"schema": str(schema)})


# -- messages --------------------------------------------------------------------------------------


class _Reading(DeserializationSchema[Any]):
    """Base of what reads messages, each the bytes of one value without a header."""

    def __init__(self, reader: str, writer: str | None, rows: bool) -> None:
        self._reader = reader
        self._decode = MadeOnce(message_decoder, writer or reader, reader, rows)

    def deserialize(self, message: bytes) -> Any:
        """Return the record of a message."""
        try:
            return self._decode(message)
        except MillstreamError:
            raise
        except Exception as error:
            raise bad_avro(message, error) from error


class AvroRowDeserializationSchema(_Reading):
    r"""Makes rows of Avro records.

    Parameters
    ----------
    record_class
        Refused: it names a Java class that Avro has generated.
    avro_schema_string
        The schema that the rows shall have, as JSON text.
    writer_schema_string
        The schema that the messages were written with, if it is another one: fields are matched by
        name, those that are not there get their default.

    Examples
    --------
    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
    >>> AvroRowDeserializationSchema(avro_schema_string=schema).deserialize(b"\x06")
    Row(n=3)
    """

    def __init__(
        self,
        record_class: str | None = None,
        avro_schema_string: str | None = None,
        *,
        writer_schema_string: str | None = None,
    ) -> None:
        text = _schema_text(record_class, avro_schema_string)
        if writer_schema_string is not None:
            parsed_schema(writer_schema_string)
        self._type = AvroSchema(text).row_type()
        super().__init__(text, writer_schema_string, rows=True)

    def deserialize(self, message: bytes) -> Row:
        """Return the row of a message."""
        row: Row = super().deserialize(message)
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type


class AvroDeserializationSchema(_Reading):
    r"""Makes Python values of Avro messages: dicts of records, as the package fastavro does.

    For records that have no row type: those that contain others of their own kind, and unions whose
    branches are told apart.

    Examples
    --------
    >>> AvroDeserializationSchema.for_generic(AvroSchema('"string"')).deserialize(b"\x02a")
    'a'
    """

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroDeserializationSchema:
        """Return the way to read values of a schema."""
        return AvroDeserializationSchema(str(schema), None, rows=False)

    def get_produced_type(self) -> TypeInformation:
        """Return a type that says which schema the records have."""
        return GenericRecordAvroTypeInfo(AvroSchema(self._reader))


class AvroRowSerializationSchema(SerializationSchema[Any]):
    r"""Makes Avro records of rows.

    Parameters
    ----------
    record_class
        Refused: it names a Java class that Avro has generated.
    avro_schema_string
        The schema, as JSON text.

    Examples
    --------
    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'
    >>> AvroRowSerializationSchema(avro_schema_string=schema).serialize((3,))
    b'\x06'
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        text = _schema_text(record_class, avro_schema_string)
        self._type = AvroSchema(text).row_type()
        self._write = AvroSerializationSchema(text)

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        reason = "a row is needed" if value is None else self._type.check(value)
        if reason is not None:
            raise FormatError("FORMAT_VALUE", f"{value!r:.200} is not a {self._type}: {reason}")
        return self._write.serialize(value)


class AvroSerializationSchema(SerializationSchema[Any]):
    r"""Makes Avro messages of Python values: of dicts or rows for records.

    Examples
    --------
    >>> AvroSerializationSchema.for_generic(AvroSchema('"string"')).serialize("a")
    b'\x02a'
    """

    def __init__(self, schema: str) -> None:
        self._encode = MadeOnce(message_encoder, schema)

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroSerializationSchema:
        """Return the way to write values of a schema."""
        return AvroSerializationSchema(str(schema))

    def serialize(self, value: Any) -> bytes:
        """Return the message of a value."""
        try:
            message: bytes = self._encode(value)
        except MillstreamError:
            raise
        except Exception as error:
            raise FormatError(
                "FORMAT_VALUE",
                f"{value!r:.200} does not fit the Avro schema: {type(error).__name__}: {error}",
            ) from error
        return message


def bad_avro(message: bytes, error: Exception) -> FormatError:
    """Return the error of a message that cannot be read; fastavro raises many kinds of exceptions."""
    return FormatError(
        "BAD_AVRO",
        f"{beginning(message)} is no record of the Avro schema: {type(error).__name__}: {error}",
        "a message with a header of 5 bytes was written with a schema registry"
        if message[:1] == b"\0"
        else None,
    )


def _schema_text(record_class: str | None, schema: str | None) -> str:
    if isinstance(schema, str):
        return schema
    if record_class is not None:
        _refuse(f"record_class={record_class!r} is a Java class, and there is none")
    _refuse(f"a schema is needed, got {short_repr(schema)}")


def _refuse(message: str) -> NoReturn:
    raise PlanError(
        "BAD_AVRO_SCHEMA",
        message,
        location=user_location(),
        hint="give the JSON text of the schema as avro_schema_string",
    )


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
