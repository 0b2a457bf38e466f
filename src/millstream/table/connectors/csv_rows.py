"""Lines of CSV as rows of SQL types, and rows as lines, by Flink's rules."""

from __future__ import annotations

import base64
import csv
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.common.errors import FormatError
from millstream.table.connectors.line_columns import csv_columns
from millstream.table.connectors.row_errors import RowError
from millstream.table.connectors.text_values import number_text, parsed, short_decimal, time_text
from millstream.table.types.logical import ArrayType, LogicalType, RowField, RowType

__all__ = ["CsvRows"]

_CHECKED = 24
"""Longer texts are quoted without a look at them."""


@dataclass(frozen=True)
class CsvRows:
    """The format ``csv`` for some columns.

    Parameters
    ----------
    fields
        The columns.
    delimiter, quote, escape
        Single characters; no quotes and no escapes if they are None.
    null
        The text that means NULL.
    lenient
        A value that does not fit is NULL, and so are values that are missing.
    comments
        Lines that begin with ``#`` make no row.
    array_delimiter
        What stands between the elements of arrays and rows.
    scientific
        Decimals may have exponents.
    """

    fields: tuple[RowField, ...]
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null: str | None = None
    lenient: bool = False
    comments: bool = False
    array_delimiter: str = ";"
    scientific: bool = True

    def read(self, text: str | bytes) -> tuple[Any, ...] | None:
        """The values of the columns; None if the line makes no row."""
        line = text.decode() if isinstance(text, bytes) else text
        if self.comments and line.startswith("#"):
            return None
        try:
            return self._row(line, self._parts(line))
        except (FormatError, csv.Error) as error:
            if self.lenient:
                return None
            if isinstance(error, FormatError):
                raise
            raise RowError("CSV_ROW", f"no CSV: {line!r:.200} ({error})") from error

    def columns(self, lines: pa.Array) -> list[pa.Array] | None:
        """The columns of many lines at once; None if they have to be read one by one."""
        if self.null is not None or self.escape is not None or self.comments or self.quote != '"':
            return None
        return csv_columns(lines, self.fields, self.delimiter)

    def _parts(self, line: str) -> list[str]:
        reader = csv.reader(
            [line],
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            quoting=csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
        )
        return next(reader) or [""]

    def _row(self, line: str, parts: list[str]) -> tuple[Any, ...]:
        count = len(self.fields)
        if len(parts) > count or (len(parts) < count and not self.lenient):
            raise RowError(
                "CSV_ROW",
                f"the line has {len(parts)} values, the table {count} columns: {line!r:.200}",
            )
        values: list[Any] = [
            self._value(f, part) for f, part in zip(self.fields, parts, strict=False)
        ]
        return (*values, *[None] * (count - len(parts)))

    def _value(self, field: RowField, part: str) -> Any:
        if part == self.null:
            return None
        try:
            return self._read(part, field.type)
        except (ValueError, TypeError, ArithmeticError) as error:
            if self.lenient:
                return None
            message = f"column {field.name!r}: {part!r:.200} is no {field.type}"
            raise RowError("CSV_ROW", message) from error

    def _read(self, part: str, kind: LogicalType) -> Any:
        if isinstance(kind, ArrayType):
            parts = part.split(self.array_delimiter) if part else []
            return [self._read(each, kind.element) for each in parts]
        if isinstance(kind, RowType):
            if not part:
                return None
            inner = part.split(self.array_delimiter)
            pairs = zip(kind.fields, inner, strict=True)
            return {f.name: self._read(value, f.type) for f, value in pairs}
        if kind.root in ("BINARY", "VARBINARY"):
            return base64.b64decode(part, validate=True)
        return parsed(part, kind)

    def write(self, row: Sequence[Any]) -> str:
        """The line of a row, without its end."""
        pairs = zip(self.fields, row, strict=True)
        return self.delimiter.join(self._shown(value, each.type) for each, value in pairs)

    def _shown(self, value: Any, kind: LogicalType) -> str:
        if value is None:
            return self.null or ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, Decimal):
            return short_decimal(value) if self.scientific else format(value, "f")
        if isinstance(value, int | float):
            return number_text(value, kind)
        return self._quoted(self._text(value, kind))

    def _text(self, value: Any, kind: LogicalType) -> str:
        if isinstance(kind, ArrayType):
            return self.array_delimiter.join(self._text(each, kind.element) for each in value)
        if isinstance(kind, RowType):
            values = list(value.values()) if isinstance(value, dict) else value
            pairs = zip(kind.fields, values, strict=True)
            return self.array_delimiter.join(self._text(inner, f.type) for f, inner in pairs)
        if value is None:
            return self.null or ""
        if isinstance(value, bytes | bytearray):
            return base64.b64encode(value).decode()
        if isinstance(value, datetime.date | datetime.time):
            return time_text(value)
        return self._shown(value, kind) if isinstance(value, bool | int | float) else str(value)

    def _quoted(self, text: str) -> str:
        quote = self.quote
        if quote is None or not self._needs_quotes(text):
            return text
        if self.escape is None:
            return f"{quote}{text.replace(quote, quote * 2)}{quote}"
        inner = text.replace(self.escape, self.escape * 2).replace(quote, self.escape + quote)
        return f"{quote}{inner}{quote}"

    def _needs_quotes(self, text: str) -> bool:
        """Flink's writer quotes more than it has to: all texts with characters up to its own."""
        highest = max(self.delimiter, self.quote or "", "\n")
        return len(text) > _CHECKED or any(char <= highest or char == "\\" for char in text)
