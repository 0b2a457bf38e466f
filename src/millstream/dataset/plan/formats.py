"""Records as lines of text, and lines as records: the same in memory and on Spark."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millstream.common.errors import FormatError, short_repr
from millstream.common.typeinfo import TypeInformation
from millstream.common.types import Row

__all__ = ["CsvLine", "FromCsv", "from_json", "json_line", "text_line"]


def text_line(record: Any) -> str:
    """A record as Flink prints it.

    Examples
    --------
    >>> text_line(("a", (1, 2)))
    '(a, (1, 2))'
    """
    if isinstance(record, tuple | list):
        return "(" + ", ".join(map(text_line, record)) + ")"
    return str(record)


class CsvLine:
    """A record as a line of CSV: None is an empty field, a text with a delimiter is quoted.

    Examples
    --------
    >>> CsvLine(";")(("a;b", 1, None))
    '"a;b";1;'
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def __call__(self, record: Any) -> str:
        values = list(record) if isinstance(record, tuple | list | Row) else [record]
        return self._delimiter.join(map(self._field, values))

    def _field(self, value: Any) -> str:
        if value is None:
            return ""
        text = text_line(value)
        if self._delimiter in text or '"' in text or "\n" in text or "\r" in text:
            return '"' + text.replace('"', '""') + '"'
        return text


def json_line(record: Any) -> str:
    """A record as a line of JSON: tuples are objects with the fields f0, f1 and so on.

    Examples
    --------
    >>> json_line(("a", 1)), json_line(Row(name="Ada"))
    ('{"f0": "a", "f1": 1}', '{"name": "Ada"}')
    """
    if isinstance(record, Row):
        record = record.as_dict(True)
    elif isinstance(record, tuple):
        record = {f"f{at}": value for at, value in enumerate(record)}
    return json.dumps(record, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)


def from_json(line: str) -> Any:
    """The value in a line of JSON.

    Examples
    --------
    >>> from_json('{"a": 1}')
    {'a': 1}
    """
    try:
        return json.loads(line)
    except ValueError as error:
        raise FormatError("DATASET_LINE", f"{short_repr(line)} is no JSON: {error}") from None


class FromCsv:
    """The tuple in a line of CSV; an empty field is None, but a text is an empty text.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> FromCsv([Types.STRING(), Types.LONG()], ",")('"a,b",1')
    ('a,b', 1)
    """

    def __init__(self, types: Sequence[TypeInformation], delimiter: str) -> None:
        self._readers = [_READERS.get(each.kind, _text) for each in types]
        self._names = [each.kind for each in types]
        self._delimiter = delimiter

    def __call__(self, line: str) -> tuple[Any, ...]:
        fields = self._fields(line)
        if len(fields) != len(self._readers):
            raise FormatError(
                "DATASET_LINE",
                f"{short_repr(line)} has {len(fields)} fields, not {len(self._readers)}",
            )
        return tuple(
            [
                self._value(text, read, name)
                for text, read, name in zip(fields, self._readers, self._names, strict=True)
            ]
        )

    def _fields(self, line: str) -> list[str]:
        if len(self._delimiter) == 1:
            if '"' not in line:
                return line.split(self._delimiter)
            return next(csv.reader(io.StringIO(line), delimiter=self._delimiter), [""])
        return line.split(self._delimiter)

    def _value(self, text: str, read: Callable[[str], Any], name: str) -> Any:
        if not text and read is not _text:
            return None
        try:
            return read(text)
        except (ValueError, ArithmeticError):
            raise FormatError("DATASET_LINE", f"{short_repr(text)} is no {name}") from None


def _text(text: str) -> str:
    return text


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), int),
    **dict.fromkeys(("FLOAT", "DOUBLE"), float),
    "BOOLEAN": _boolean,
    "BIG_DEC": Decimal,
    "SQL_DATE": dt.date.fromisoformat,
    "SQL_TIME": dt.time.fromisoformat,
    "SQL_TIMESTAMP": dt.datetime.fromisoformat,
}
CSV_TYPES = frozenset({"STRING", "CHAR", *_READERS})
