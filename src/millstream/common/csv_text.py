"""Lines of CSV as Flink writes and reads them."""

from __future__ import annotations

import base64
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from millstream.common.java_text import java_double, java_float
from millstream.common.time import Instant
from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from millstream.common.types import Row

__all__ = ["CsvDialect", "fraction"]

_CHECKED = 24
"""Longer texts are written in quotes without a look at them."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class CsvDialect:
    r"""How fields become a line, and a line becomes fields.

    Examples
    --------
    >>> dialect = CsvDialect()
    >>> dialect.line([1, "a, b", None, 1e7, True, [1, 2]])
    '1,"a, b",,1.0E7,true,1;2\n'
    >>> CsvDialect(quote="'", escape="*").texts("a*,b,'c''d'")
    ['a,b', "c'd"]
    """

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    """The text that stands for None; without one an empty text is written, and read as it is."""
    line_end: str = "\n"
    array_delimiter: str = ";"
    array_delimiters: dict[int, str] = field(default_factory=dict)
    """Those of single columns."""

    # -- writing ---------------------------------------------------------------------------------

    def line(self, values: Sequence[Any], types: Sequence[TypeInformation] = ()) -> str:
        """Return fields as a line, with its end."""
        unknown: list[TypeInformation | None] = [None] * len(values)
        pairs = enumerate(zip(values, types or unknown, strict=True))
        fields = [self.field(value, kind, column) for column, (value, kind) in pairs]
        return self.delimiter.join(fields) + self.line_end

    def names(self, names: Sequence[str]) -> str:
        """Return the line with the names of columns."""
        return self.delimiter.join(map(self.quoted, names)) + self.line_end

    def field(self, value: Any, kind: TypeInformation | None, column: int) -> str:
        """Return one field of a line."""
        text = self._text(value, kind, column)
        plain = value is None or isinstance(value, bool | int | float | Decimal)
        return text if plain else self.quoted(text)

    def _text(self, value: Any, kind: TypeInformation | None, column: int) -> str:
        if value is None:
            return self.null_literal or ""
        if isinstance(value, Row | tuple | list):
            types = _part_types(kind, len(value))
            parts = [self._text(v, t, column) for v, t in zip(value, types, strict=True)]
            return self.array_delimiters.get(column, self.array_delimiter).join(parts)
        if isinstance(value, float):
            return (java_float if kind is not None and kind.kind == "FLOAT" else java_double)(value)
        return _atom(value)

    def quoted(self, text: str) -> str:
        """Return a text in quotes, if it needs them."""
        if self.quote is None or not (len(text) > _CHECKED or self._special.search(text)):
            return text
        for special in filter(None, (self.escape, self.quote)):
            text = text.replace(special, special * 2)
        return f"{self.quote}{text}{self.quote}"

    @cached_property
    def _special(self) -> re.Pattern[str]:
        """A character that is special or sorts before a special one."""
        assert self.quote is not None
        last = max(self.delimiter, self.quote, *self.line_end[:2])
        return re.compile(f"[\0-{re.escape(last[0])}{re.escape(self.escape or chr(92))}]")

    # -- reading ---------------------------------------------------------------------------------

    def texts(self, line: str) -> list[str]:
        """Return the fields of a line; an escape character counts outside of quotes too."""
        reader = csv.reader(
            [line],
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            quoting=csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
            strict=True,
        )
        return next(reader, [])

    def parts(self, text: str, column: int) -> list[str]:
        """Return the items of a field that holds a list or a row."""
        delimiter = self.array_delimiters.get(column, self.array_delimiter)
        return text.split(delimiter) if text and delimiter else [text] if text else []


def fraction(micros: int) -> str:
    """Return the digits behind a second, without zeros at the end.

    Examples
    --------
    >>> fraction(450_000), fraction(0)
    ('.45', '')
    """
    return f".{micros:06d}".rstrip("0").rstrip(".")


def _part_types(kind: TypeInformation | None, count: int) -> Sequence[TypeInformation | None]:
    if isinstance(kind, RowTypeInfo | TupleTypeInfo):
        return kind.field_types
    return [getattr(kind, "element_type", None)] * count


def _atom(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return f"{_moment(value)}{fraction(value.microsecond) or '.0'}"
    if isinstance(value, time):
        return f"{value:%H:%M:%S}{fraction(value.microsecond)}"
    if isinstance(value, Instant):
        moment = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1_000)
        return f"{_moment(moment)}{fraction(moment.microsecond)}Z"
    return value.isoformat() if isinstance(value, date) else str(value)


def _moment(value: datetime) -> str:
    return value.replace(tzinfo=None).isoformat(" ", "seconds")
