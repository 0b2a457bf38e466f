"""JSON messages and lines."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from millstream.common.errors import FormatError, PlanError, user_location
from millstream.common.made_once import Convert, MadeOnce
from millstream.common.serialization import DeserializationSchema, SerializationSchema, beginning
from millstream.common.typeinfo import RowTypeInfo, TypeInformation
from millstream.common.types import Row
from millstream.datastream.formats.encoders import MisfitError, json_row_encoder
from millstream.datastream.formats.json_schema import row_type_of_json_schema
from millstream.datastream.formats.json_text import json_text
from millstream.datastream.formats.values import (
    MissingFieldError,
    decoder,
    shows_decimals,
)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema[Row | None]):
    """Makes rows of JSON objects; fields that the type does not name are left out.

    Examples
    --------
    >>> from millstream.common import Types
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    >>> schema.deserialize(b'{"word": "a", "n": 1, "more": true}')
    Row(word='a', n=1)
    """

    def __init__(self, row_type: RowTypeInfo, fail_on_missing: bool, ignore_errors: bool) -> None:
        self._type = row_type
        self._ignore_errors = ignore_errors
        self._decode = MadeOnce(_message_decoder, row_type, fail_on_missing)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begin to build one."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row of a message, None if it cannot be read and errors are ignored."""
        try:
            row: Row | None = self._decode(message)
        except MissingFieldError:
            raise
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            if self._ignore_errors:
                return None
            raise FormatError(
                "BAD_JSON",
                f"{beginning(message)} is not a JSON object of {self._type}: {error}",
                "call ignore_parse_errors() on the builder to get None instead",
            ) from error
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type

    class Builder:
        """Builds a `JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None
            self._fail_on_missing = False
            self._ignore_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows."""
            self._type = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows by a JSON schema."""
            if json_schema is None:
                raise TypeError("The json_schema must not be None.")
            self._type = row_type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Refuse objects that lack a field; by default it is None."""
            self._fail_on_missing = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Make None of what cannot be read; by default the job fails."""
            self._ignore_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema."""
            row_type = named_row_type(self._type, "type_info")
            return JsonRowDeserializationSchema(
                row_type, self._fail_on_missing, self._ignore_errors
            )


class JsonRowSerializationSchema(SerializationSchema[Any]):
    """Makes JSON objects of rows.

    Examples
    --------
    >>> from millstream.common import Types
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> JsonRowSerializationSchema.builder().with_type_info(row_type).build().serialize(("a", 1))
    b'{"word":"a","n":1}'
    """

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._type = row_type
        self._encode = MadeOnce(json_row_encoder, row_type)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begin to build one."""
        return JsonRowSerializationSchema.Builder()

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return self._type

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        try:
            text: str = self._encode(value)
        except MisfitError:
            text = json_text(self._type, positional_values(self._type, value))
        return text.encode()

    class Builder:
        """Builds a `JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows."""
            self._type = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema."""
            return JsonRowSerializationSchema(named_row_type(self._type, "with_type_info"))


def _message_decoder(row_type: RowTypeInfo, require_fields: bool) -> Convert:
    exact = (
        json.JSONDecoder(parse_float=Decimal) if shows_decimals(row_type) else json.JSONDecoder()
    )
    parse, convert = exact.decode, decoder(row_type, require_fields)

    def decode(message: bytes | str) -> Any:
        if not isinstance(message, str):
            message = message.decode(json.detect_encoding(message), "surrogatepass")
        return convert(parse(message))

    return decode


def named_row_type(type_info: TypeInformation | None, setter: str) -> RowTypeInfo:
    """Return a row type if it is one."""
    if isinstance(type_info, RowTypeInfo):
        return type_info
    raise PlanError(
        "NOT_A_ROW_TYPE",
        f"a row type is needed, got {type_info!r}",
        location=user_location(),
        hint=f"call {setter}(Types.ROW_NAMED(names, types))",
    )


def positional_values(row_type: RowTypeInfo, value: Any) -> list[Any]:
    """Return the fields of a row in the order of its type."""
    reason = row_type.check(value)
    if reason is not None or value is None:
        raise FormatError("FORMAT_VALUE", f"{value!r:.200} is not a {row_type}: {reason}")
    return list(row_type.positional(value))
