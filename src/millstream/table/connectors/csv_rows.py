"""Lines of CSV as rows of SQL types, and rows as lines, by Flink's rules."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import FormatError
from millstream.table.connectors.json_rows import JsonRows
from millstream.table.types.logical import ArrayType, RowField, RowType

__all__ = ["CsvRows"]


@dataclass(frozen=True)
class CsvRows:
    """The format ``csv`` for some columns.

    ``null``: the text that means NULL; without one an empty text is NULL in columns that are no texts.
    """

    fields: tuple[RowField, ...]
    delimiter: str = ","
    quote: str = '"'
    null: str | None = None
    lenient: bool = False
    array_delimiter: str = ";"

    def read(self, text: str | bytes) -> tuple[Any, ...] | None:
        """The values of the columns; None if the line makes no row."""
        line = text.decode() if isinstance(text, bytes) else text
        if not line:
            return None
        try:
            reader = csv.reader([line], delimiter=self.delimiter, quotechar=self.quote)
            return self._row(line, next(reader))
        except (FormatError, csv.Error) as error:
            if self.lenient:
                return None
            if isinstance(error, FormatError):
                raise
            raise FormatError("CSV_ROW", f"no CSV: {line!r:.200} ({error})") from error

    def _row(self, line: str, parts: list[str]) -> tuple[Any, ...]:
        if len(parts) != len(self.fields):
            raise FormatError(
                "CSV_ROW",
                f"the line has {len(parts)} values, the table {len(self.fields)} columns: {line!r:.200}",
            )
        values = {f.name: self._raw(p, f) for f, p in zip(self.fields, parts, strict=True)}
        return self._rows.values(values)

    def _raw(self, part: str, field: RowField) -> Any:
        if part == self.null or (part == "" and field.type.root not in ("CHAR", "VARCHAR")):
            return None
        if isinstance(field.type, ArrayType):
            return part.split(self.array_delimiter)
        if isinstance(field.type, RowType):
            inner = part.split(self.array_delimiter)
            return {f.name: value for f, value in zip(field.type.fields, inner, strict=True)}
        return part

    @property
    def _rows(self) -> JsonRows:
        # Texts of values have the same forms as in JSON.
        return JsonRows(self.fields, lenient=self.lenient)

    def write(self, row: Sequence[Any]) -> str:
        """The line of a row, without its end."""
        shown = self._rows.shown(row).values()
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.delimiter, quotechar=self.quote, lineterminator="")
        writer.writerow([self._text(each) for each in shown])
        return out.getvalue()

    def _text(self, value: Any) -> str:
        if value is None:
            return self.null or ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, list | dict):
            parts = value.values() if isinstance(value, dict) else value
            return self.array_delimiter.join(map(self._text, parts))
        return str(value)
