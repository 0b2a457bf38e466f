"""The formats json, csv, raw and avro, with the names of Flink's options."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.table.connectors.csv_rows import CsvRows
from millstream.table.connectors.formats import FORMATS, Codec, Format, PlainRows
from millstream.table.connectors.json_rows import JsonRows
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.row_errors import RowError
from millstream.table.types.logical import LogicalType, RowType

__all__ = ["JSON_OPTIONS", "RawRows", "json_rows"]

_FLAG = ("true", "false")
JSON_OPTIONS = (
    Option("ignore-parse-errors", choices=_FLAG),
    Option("timestamp-format.standard", choices=("SQL", "ISO-8601")),
    Option("map-null-key.mode", choices=("FAIL", "DROP", "LITERAL")),
    Option("map-null-key.literal"),
    Option("encode.decimal-as-plain-number", choices=_FLAG),
    Option("encode.ignore-null-fields", choices=_FLAG),
)
"""Options of all formats that are made of JSON."""


def json_rows(row: RowType, options: Options) -> JsonRows:
    """The JSON rows of some columns, by the options of a format."""
    return JsonRows(
        row.fields,
        iso=options.text("timestamp-format.standard", "SQL") == "ISO-8601",
        lenient=options.flag("ignore-parse-errors"),
        fail_on_missing=options.flag("fail-on-missing-field"),
        null_keys=options.text("map-null-key.mode", "FAIL"),
        null_key_literal=options.text("map-null-key.literal", "null"),
        plain_decimals=options.flag("encode.decimal-as-plain-number"),
        without_nulls=options.flag("encode.ignore-null-fields"),
    )


class _Json(Format):
    several = True
    by_name = True

    def options(self) -> tuple[Option, ...]:
        return (
            *JSON_OPTIONS,
            Option("fail-on-missing-field", choices=_FLAG),
            Option("decode.json-parser.enabled", choices=_FLAG),
        )

    def codec(self, row: RowType, options: Options) -> Codec:
        if options.flag("fail-on-missing-field") and options.flag("ignore-parse-errors"):
            raise options.problem(
                "has fail-on-missing-field and ignore-parse-errors", "set one of them to 'false'"
            )
        return json_rows(row, options)


class _Csv(Format):
    def options(self) -> tuple[Option, ...]:
        return (
            Option("field-delimiter"),
            Option("disable-quote-character", choices=_FLAG),
            Option("quote-character"),
            Option("allow-comments", choices=_FLAG),
            Option("ignore-parse-errors", choices=_FLAG),
            Option("array-element-delimiter"),
            Option("escape-character"),
            Option("null-literal"),
            Option("write-bigdecimal-in-scientific-notation", choices=_FLAG),
        )

    def codec(self, row: RowType, options: Options) -> Codec:
        no_quotes = options.flag("disable-quote-character")
        if no_quotes and "quote-character" in options.given:
            raise options.problem(
                "has csv.quote-character and csv.disable-quote-character", "leave one of them away"
            )
        return PlainRows(
            CsvRows(
                row.fields,
                delimiter=_character(options, "field-delimiter") or ",",
                quote=None if no_quotes else _character(options, "quote-character") or '"',
                escape=_character(options, "escape-character"),
                null=options.given.get("null-literal"),
                lenient=options.flag("ignore-parse-errors"),
                comments=options.flag("allow-comments"),
                array_delimiter=options.text("array-element-delimiter", ";"),
                scientific=options.flag("write-bigdecimal-in-scientific-notation", True),
            )
        )


def _character(options: Options, name: str) -> str | None:
    given = options.given.get(name)
    if given is None:
        return None
    # SQL has no escapes in texts, so the option has them, as Java writes them.
    found = given.encode("latin-1", "backslashreplace").decode("unicode_escape")
    if len(found) != 1:
        raise options.problem(f"has {name!r} = {given!r}", "write a single character")
    return found


# -- raw -------------------------------------------------------------------------------------------

_NUMBERS = {
    "TINYINT": "b",
    "SMALLINT": "h",
    "INTEGER": "i",
    "BIGINT": "q",
    "FLOAT": "f",
    "DOUBLE": "d",
}


@dataclass(frozen=True)
class RawRows:
    """The format ``raw``: the message is the value of the only column.

    Examples
    --------
    >>> from millstream.table.types.parsing import parse_logical_type
    >>> numbers = RawRows(parse_logical_type("INT"))
    >>> numbers.write((258,)), numbers.read(b"\\x00\\x00\\x01\\x02")
    (b'\\x00\\x00\\x01\\x02', (258,))
    """

    type: LogicalType
    charset: str = "UTF-8"
    little_endian: bool = False

    def read(self, text: bytes) -> tuple[Any, ...]:
        """The value of a message."""
        root = self.type.root
        if root in ("CHAR", "VARCHAR"):
            return (text.decode(self.charset),)
        if root in ("BINARY", "VARBINARY"):
            return (text,)
        try:
            if root == "BOOLEAN":
                return (struct.unpack("?", text)[0],)
            return (struct.unpack(self._form, text)[0],)
        except struct.error as error:
            raise RowError("RAW_ROW", f"{text!r:.200} is no {self.type}: {error}") from None

    def write(self, row: Sequence[Any]) -> bytes:
        """The message of a value."""
        (value,) = row
        if value is None:
            return b""
        if isinstance(value, str):
            return value.encode(self.charset)
        if isinstance(value, bytes | bytearray):
            return bytes(value)
        if isinstance(value, bool):
            return struct.pack("?", value)
        return struct.pack(self._form, value)

    @property
    def _form(self) -> str:
        return ("<" if self.little_endian else ">") + _NUMBERS[self.type.root]


class _Raw(Format):
    def options(self) -> tuple[Option, ...]:
        return (Option("charset"), Option("endianness", choices=("big-endian", "little-endian")))

    def codec(self, row: RowType, options: Options) -> Codec:
        if len(row.fields) != 1:
            names = ", ".join(each.name for each in row.fields)
            raise options.problem(
                f"has the columns {names}, and the format raw has one value", "declare one column"
            )
        kind = row.fields[0].type
        known = (*_NUMBERS, "CHAR", "VARCHAR", "BINARY", "VARBINARY", "BOOLEAN")
        if kind.root not in known:
            raise options.problem(
                f"has a column of type {kind}, which the format raw cannot hold",
                "use STRING, BYTES, BOOLEAN or a number",
            )
        little = options.text("endianness", "big-endian") == "little-endian"
        return PlainRows(RawRows(kind, options.text("charset", "UTF-8"), little))


FORMATS["json"] = _Json()
FORMATS["csv"] = _Csv()
FORMATS["raw"] = _Raw()
