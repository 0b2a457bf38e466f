"""Rows as a table of text, in the form that Flink prints."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from millstream.common.types import Row
from millstream.table.expressions.context import Context
from millstream.table.expressions.kinds import STRING
from millstream.table.expressions.tree import Cast, InputRef
from millstream.table.functions.evaluate import evaluate
from millstream.table.types.logical import LogicalType, RowType
from millstream.table.types.values import column_of

__all__ = ["MAX_WIDTH", "NULL", "nullable_texts", "row_texts", "tableau"]

MAX_WIDTH = 30
NULL = "<NULL>"
_DIGITS = {"TINYINT": 4, "SMALLINT": 6, "INTEGER": 11, "BIGINT": 20, "BOOLEAN": 5, "DATE": 10}


def tableau(
    rows: Iterable[Row],
    row_type: RowType,
    *,
    changes: bool = False,
    by_type: bool = False,
    zone: str = "UTC",
    width: int | None = MAX_WIDTH,
    null: str = NULL,
) -> Iterator[str]:
    """The lines of a table.

    ``changes``: with the kind of each row in a column ``op``. ``by_type``: columns are as wide as their
    types say, so that lines can be printed as rows come; else as wide as their values. ``width``: the
    most that a column takes; None cuts nothing. ``null``: the text of NULL.
    """
    texts: Iterator[list[str]] = (_texts([row], row_type, changes, zone, null)[0] for row in rows)
    first = next(texts, None)
    if first is None:
        yield "Empty set"
        return
    names = [*(["op"] if changes else []), *(field.name for field in row_type.fields)]
    if by_type:
        widths = [
            *([2] if changes else []),
            *(_type_width(f.name, f.type, width or MAX_WIDTH) for f in row_type.fields),
        ]
    else:
        every = [first, *texts]
        needed = [
            max(len(name), *(_shown(text[at]) for text in every)) for at, name in enumerate(names)
        ]
        widths = needed if width is None else [min(width, each) for each in needed]
        first, texts = every[0], iter(every[1:])
    border = "+" + "".join("-" * (size + 1) + "-+" for size in widths)
    yield border
    yield _line(names, widths)
    yield border
    yield _line(first, widths)
    count = 1
    for text in texts:
        yield _line(text, widths)
        count += 1
    yield border
    yield f"{count} {'rows' if count > 1 else 'row'} in set"


def row_texts(
    rows: Sequence[Row], row_type: RowType, zone: str = "UTC", null: str = NULL
) -> list[list[str]]:
    """The text of each value, as a cast to STRING gives it; NULL is ``null``."""
    texts = nullable_texts(rows, row_type, zone)
    return [[null if text is None else text for text in row] for row in texts]


def nullable_texts(
    rows: Sequence[Row], row_type: RowType, zone: str = "UTC"
) -> list[list[str | None]]:
    """The text of each value, as a cast to STRING gives it; None for NULL."""
    columns = []
    for at, field in enumerate(row_type.fields):
        column = column_of([row[at] for row in rows], field.type, zone)
        batch = pa.RecordBatch.from_arrays([column], ["c"])
        cast = Cast(STRING, InputRef(field.type, 0, "c"))
        texts = evaluate(cast, batch, Context(zone)).to_pylist()
        columns.append([None if text is None else str(text) for text in texts])
    return [list(each) for each in zip(*columns, strict=True)] if columns else [[] for _ in rows]


def _texts(
    rows: list[Row], row_type: RowType, changes: bool, zone: str, null: str
) -> list[list[str]]:
    texts = row_texts(rows, row_type, zone, null)
    if not changes:
        return texts
    return [[str(row.get_row_kind()), *text] for row, text in zip(rows, texts, strict=True)]


def _type_width(name: str, type_: LogicalType, most: int) -> int:
    precision = getattr(type_, "precision", 0)
    if type_.root in _DIGITS:
        size = _DIGITS[type_.root]
    elif type_.root == "DECIMAL":
        size = precision + 2
    elif type_.root == "TIME_WITHOUT_TIME_ZONE":
        size = precision + 9 if precision else 8
    elif type_.root in ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE"):
        size = 19 if not precision else 23 if precision <= 3 else 26 if precision <= 6 else 29
    else:
        size = most
    return max(len(name), size, len(NULL))


def _wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "FW"


def _shown(text: str) -> int:
    """The width of a text on a screen: wide characters take two places."""
    return len(text) + sum(map(_wide, text))


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    parts = []
    for text, width in zip(texts, widths, strict=True):
        if _shown(text) > width:
            text = _cut(text, width - 3) + "..."
        parts.append(" " * (width - _shown(text)) + text)
    return "| " + " | ".join(parts) + " |"


def _cut(text: str, width: int) -> str:
    taken = ""
    for character in text:
        if _shown(taken + character) > width:
            break
        taken += character
    return " " * (width - _shown(taken)) + taken
