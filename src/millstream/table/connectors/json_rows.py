"""JSON texts as rows of SQL types, and rows as JSON texts, by Flink's rules."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.common.errors import FormatError
from millstream.table.connectors.formats import Message
from millstream.table.connectors.line_columns import json_columns
from millstream.table.connectors.row_errors import RowError
from millstream.table.connectors.text_values import (
    INTEGERS,
    fitting_decimal,
    fitting_integer,
    number_text,
    parsed,
    short_decimal,
    time_text,
)
from millstream.table.types.logical import (
    ArrayType,
    DecimalType,
    LogicalType,
    MapType,
    MultisetType,
    RowField,
    RowType,
)

__all__ = ["JsonRows"]


@dataclass(frozen=True)
class JsonRows:
    """The format ``json`` for some columns.

    Parameters
    ----------
    fields
        The columns.
    iso
        Timestamps have the form of ISO-8601, else that of SQL.
    lenient
        A value that does not fit is NULL, and a text that is no object makes no row.
    fail_on_missing
        A column that an object does not have is an error, not NULL.
    null_keys
        What becomes of NULL as a key of a map: ``FAIL``, ``DROP`` or ``LITERAL``.
    null_key_literal
        The key that stands for NULL.
    plain_decimals
        Decimals have no exponents.
    without_nulls
        Columns that are NULL are left out.
    """

    fields: tuple[RowField, ...]
    iso: bool = False
    lenient: bool = False
    fail_on_missing: bool = False
    null_keys: str = "FAIL"
    null_key_literal: str = "null"
    plain_decimals: bool = False
    without_nulls: bool = False

    def read_all(self, message: str | bytes) -> Sequence[Message]:
        """The rows of a message: one for an object, several for a list of them."""
        if not message.strip():
            return ()
        try:
            found = self._parsed(message)
        except FormatError:
            if self.lenient:
                return ()
            raise
        several = found if isinstance(found, list) else [found]
        return [row for each in several if (row := self._row(each, message)) is not None]

    def _row(self, found: Any, message: str | bytes) -> Message | None:
        try:
            return Message(self.values(_object(found, message)))
        except FormatError:
            if self.lenient:
                return None
            raise

    def columns(self, messages: pa.Array) -> list[pa.Array] | None:
        """The columns of many messages at once; None if they have to be read one by one."""
        if self.fail_on_missing:
            return None
        return json_columns(messages, self.fields, iso=self.iso)

    def object_of(self, message: str | bytes) -> dict[str, Any]:
        """The JSON object of a message."""
        return _object(self._parsed(message), message)

    def _parsed(self, message: str | bytes) -> Any:
        try:
            return json.loads(message, parse_float=_Number)
        except ValueError as error:
            raise RowError("JSON_ROW", f"no JSON: {message!r:.200} ({error})") from error

    def values(self, found: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of the columns in a JSON object."""
        return tuple(self._field(found, each) for each in self.fields)

    def _field(self, found: Mapping[str, Any], field: RowField) -> Any:
        if field.name not in found:
            if self.fail_on_missing and not self.lenient:
                raise RowError("JSON_ROW", f"the field {field.name!r} is missing")
            return None
        try:
            return self.value(found[field.name], field.type)
        except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
            raise RowError(
                "JSON_ROW",
                f"field {field.name!r}: {found.get(field.name)!r:.200} is no {field.type}",
            ) from error

    def value(self, value: Any, kind: LogicalType) -> Any:
        """The value of a type that a JSON value stands for."""
        if value is None:
            return None
        try:
            return self._value(value, kind)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            if self.lenient:
                return None
            raise

    def _value(self, value: Any, kind: LogicalType) -> Any:
        root = kind.root
        if isinstance(kind, ArrayType | MapType | MultisetType | RowType):
            return self._nested(value, kind)
        if root in ("CHAR", "VARCHAR"):
            return value if isinstance(value, str) else _text(value)
        if root in ("BINARY", "VARBINARY"):
            return base64.b64decode(value, validate=True)
        if isinstance(value, str):
            return parsed(value, kind, iso=self.iso)
        if root == "BOOLEAN":
            return value if isinstance(value, bool) else False
        if isinstance(value, bool | dict | list):
            raise TypeError(value)
        if root in INTEGERS:
            return fitting_integer(int(value), root)
        if isinstance(kind, DecimalType):
            return fitting_decimal(Decimal(value), kind)
        if root in ("FLOAT", "DOUBLE"):
            return float(value)
        raise TypeError(value)

    def _nested(self, value: Any, kind: LogicalType) -> Any:
        if isinstance(kind, ArrayType):
            if not isinstance(value, list):
                raise TypeError(value)
            return [self.value(each, kind.element) for each in value]
        if isinstance(kind, MapType):
            return [(self.value(k, kind.key), self.value(v, kind.value)) for k, v in value.items()]
        if isinstance(kind, MultisetType):
            return [(self.value(k, kind.element), int(v)) for k, v in value.items()]
        assert isinstance(kind, RowType)
        return {each.name: self.value(value.get(each.name), each.type) for each in kind.fields}

    # -- writing ---------------------------------------------------------------------------------

    def write(self, row: Sequence[Any]) -> bytes:
        """The message of a row."""
        return self.text(row).encode()

    def text(self, row: Sequence[Any]) -> str:
        """The JSON text of a row."""
        return self._object(self.fields, row)

    def _object(self, fields: Sequence[RowField], row: Sequence[Any]) -> str:
        pairs = [
            f"{quoted(each.name)}:{self._shown(value, each.type)}"
            for each, value in zip(fields, row, strict=True)
            if not (value is None and self.without_nulls)
        ]
        return "{" + ",".join(pairs) + "}"

    def _shown(self, value: Any, kind: LogicalType) -> str:
        if value is None:
            return "null"
        if isinstance(kind, ArrayType):
            return f"[{','.join(self._shown(each, kind.element) for each in value)}]"
        if isinstance(kind, RowType):
            return self._object(
                kind.fields, list(value.values()) if isinstance(value, dict) else value
            )
        if isinstance(kind, MapType | MultisetType):
            return self._map(value, kind)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, Decimal):
            return format(value, "f") if self.plain_decimals else short_decimal(value)
        if isinstance(value, int | float):
            text = number_text(value, kind)
            return text if text[-1] not in "Ny" else quoted(text)
        if isinstance(value, bytes | bytearray):
            return quoted(base64.b64encode(value).decode())
        is_time = isinstance(value, datetime.date | datetime.time)
        return quoted(time_text(value, iso=self.iso) if is_time else str(value))

    def _map(self, value: Any, kind: MapType | MultisetType) -> str:
        found: dict[str, str] = {}
        for key, inner in value.items() if isinstance(value, dict) else value:
            if key is None and self.null_keys == "DROP":
                continue
            if key is None and self.null_keys == "FAIL":
                raise RowError(
                    "JSON_ROW",
                    "JSON has no NULL as a key of a map; set json.map-null-key.mode to DROP or LITERAL",
                )
            name = self.null_key_literal if key is None else str(key)
            text = self._shown(inner, kind.value) if isinstance(kind, MapType) else str(inner)
            found[name] = text
        return "{" + ",".join(f"{quoted(name)}:{text}" for name, text in found.items()) + "}"


class _Number(Decimal):
    """A number with the text that it has in a message."""

    text: str

    def __new__(cls, text: str) -> _Number:
        found = super().__new__(cls, text)
        found.text = text
        return found


def _object(found: Any, message: str | bytes) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise RowError("JSON_ROW", f"a row is a JSON object, got {message!r:.200}")
    return found


def quoted(text: str) -> str:
    """A text as JSON has it."""
    return json.dumps(text, ensure_ascii=False)


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, list):
        return f"[{','.join(_inner(each) for each in value)}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(k)}:{_inner(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def _inner(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else _text(value)
