"""Functions that write rows of a type as text: made once for the type, called for each row.

Most values are what their type says, and are written at once. All others take the way that knows every
case: it checks the row, and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any

from millstream.common.csv_text import CsvDialect
from millstream.common.java_text import java_double
from millstream.common.made_once import Convert
from millstream.common.typeinfo import ListTypeInfo, RowTypeInfo, TypeInformation
from millstream.common.types import Row, RowKind
from millstream.datastream.formats.json_text import json_string, json_text

__all__ = ["MisfitError", "csv_row_encoder", "json_row_encoder"]

_RANGES = {"BYTE": 2**7, "SHORT": 2**15, "INT": 2**31, "LONG": 2**63}
_INFINITY = float("inf")


class MisfitError(Exception):
    """A value is not one of its type; a check of the whole row says why."""


def json_row_encoder(row_type: RowTypeInfo) -> Convert:
    """Return the function that writes rows of a type as `json_text` does.

    Examples
    --------
    >>> from millstream.common import Types
    >>> pair = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> json_row_encoder(pair)(("a", 1))
    '{"word":"a","n":1}'
    """
    names = row_type.get_field_names()
    fields = [
        (f"{json_string(name)}:", _json_encoder(type_info))
        for name, type_info in zip(names, row_type.field_types, strict=True)
    ]
    values = _values(row_type)

    def encode(row: Any) -> Any:
        pairs = zip(fields, values(row), strict=True)
        return f"{{{','.join([name + field(value) for (name, field), value in pairs])}}}"

    return encode


def csv_row_encoder(row_type: RowTypeInfo, dialect: CsvDialect) -> Convert:
    """Return the function that writes rows of a type as a dialect's `line` does.

    Examples
    --------
    >>> from millstream.common import Types
    >>> csv_row_encoder(Types.ROW([Types.STRING(), Types.LONG()]), CsvDialect())(("a, b", 1))
    '"a, b",1\\n'
    """
    fields = [
        _csv_field(type_info, dialect, column)
        for column, type_info in enumerate(row_type.field_types)
    ]
    values, join, end = _values(row_type), dialect.delimiter.join, dialect.line_end

    def encode(row: Any) -> Any:
        return join([field(value) for field, value in zip(fields, values(row), strict=True)]) + end

    return encode


# -- rows and lists --------------------------------------------------------------------------------


def _values(row_type: RowTypeInfo) -> Callable[[Any], Sequence[Any]]:
    """The function that gives the fields of a row in the order of the type."""
    names, count, positional = row_type.field_names, len(row_type.field_types), row_type.positional

    def values(row: Any) -> Sequence[Any]:
        kind = row.__class__
        if kind is Row and row._fields == names and row._row_kind is RowKind.INSERT:
            found = row._values
        elif kind is tuple or kind is list:
            found = row
        else:
            found = None if row is None else positional(row)
        if found is None or found.__class__ is str or len(found) != count:
            raise MisfitError
        return found  # type: ignore[no-any-return]

    return values


def _json_encoder(type_info: TypeInformation) -> Convert:
    if isinstance(type_info, RowTypeInfo):
        row = json_row_encoder(type_info)
        return lambda value: "null" if value is None else row(value)
    if isinstance(type_info, ListTypeInfo):
        return _json_list(type_info)
    other = _other(type_info, lambda value: json_text(type_info, value))
    return _json_atom(type_info.kind, other)


def _json_list(type_info: ListTypeInfo) -> Convert:
    item = _json_encoder(type_info.element_type)
    other = _other(type_info, lambda value: json_text(type_info, value))

    def encode(value: Any) -> Any:
        return f"[{','.join(map(item, value))}]" if value.__class__ is list else other(value)

    return encode


def _other(type_info: TypeInformation, write: Convert) -> Convert:
    """The function for values that are not what most values are."""
    check = type_info.check

    def encode(value: Any) -> Any:
        if check(value) is not None:
            raise MisfitError
        return write(value)

    return encode


# -- values ----------------------------------------------------------------------------------------


def _json_atom(kind: str, other: Convert) -> Convert:
    if kind == "STRING":
        return _json_string(other)
    if kind == "SQL_TIMESTAMP":
        return lambda value: f'"{_moment(value)}Z"' if _is_local(value) else other(value)
    return _number(kind, other)


def _json_string(other: Convert) -> Convert:
    def encode(value: Any) -> Any:
        # Half of a surrogate pair is no text; it is not ASCII either.
        if value.__class__ is not str or not value.isascii():
            return other(value)
        text = encode_basestring(value)
        return text if "\\u" not in text else json_string(value)

    return encode


def _csv_field(type_info: TypeInformation, dialect: CsvDialect, column: int) -> Convert:
    other = _other(type_info, lambda value: dialect.field(value, type_info, column))
    kind, quoted = type_info.kind, dialect.quoted
    if kind == "STRING":
        return lambda value: (
            quoted(value) if value.__class__ is str and value.isascii() else other(value)
        )
    if kind == "SQL_TIMESTAMP":
        return lambda value: quoted(_spaced(_moment(value))) if _is_local(value) else other(value)
    return _number(kind, other)


def _number(kind: str, other: Convert) -> Convert:
    """The function for numbers and booleans, which JSON and CSV write alike."""
    if kind in _RANGES:
        low, high = -_RANGES[kind], _RANGES[kind]
        return lambda value: (
            str(value) if value.__class__ is int and low <= value < high else other(value)
        )
    if kind == "DOUBLE":
        return lambda value: (
            java_double(value)
            if value.__class__ is float and -_INFINITY < value < _INFINITY
            else other(value)
        )
    if kind == "BOOLEAN":
        return lambda value: (
            "true" if value is True else "false" if value is False else other(value)
        )
    return other


def _is_local(value: Any) -> bool:
    return value.__class__ is datetime and value.tzinfo is None


def _moment(value: datetime) -> str:
    """A moment with a T in the middle, without zeros behind the last digit of a fraction."""
    text = value.isoformat()
    return text.rstrip("0") if value.microsecond else text


def _spaced(moment: str) -> str:
    """A moment as CSV has it: with a space, and a fraction always."""
    text = moment.replace("T", " ")
    return text if "." in text else f"{text}.0"
