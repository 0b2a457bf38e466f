"""Arrow columns as texts that databases read in bulk.

``COPY`` of PostgreSQL and ``LOAD DATA`` of MySQL read the same format: a line per row, tabs between
values, ``\\N`` for NULL, and a backslash before what would be taken for one of these. So NULL is told
from the empty text, and from every other one.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.time import Instant
from millstream.common.typeinfo import TupleTypeInfo, TypeInformation
from millstream.common.types import Row

__all__ = ["array_text", "as_text", "each", "in_utc", "json_text", "lines", "plain_times"]

_SPECIAL = r"[\\\t\n\r]"
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def lines(columns: Sequence[pa.Array]) -> memoryview:
    """Return columns of texts as one block of lines.

    Examples
    --------
    >>> bytes(lines([pa.array(["a\\tb", None, ""]), pa.array(["1", "2", None])]))
    b'a\\\\tb\\t1\\n\\\\N\\t2\\n\\t\\\\N\\n'
    """
    escaped = [pc.fill_null(_escaped(column.cast(pa.large_string())), "\\N") for column in columns]
    tab, end = (pa.scalar(text, pa.large_string()) for text in ("\t", ""))
    rows = pc.binary_join_element_wise(*escaped, tab) if len(escaped) > 1 else escaped[0]
    whole = pc.binary_join_element_wise(rows, end, pa.scalar("\n", pa.large_string()))
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.combine_chunks()
    # The texts of an Arrow array lie one behind the other: together they are the block.
    return memoryview(whole.buffers()[2])


def _escaped(column: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(column, _SPECIAL)).as_py():
        return column
    for raw, escape in _ESCAPES:
        column = pc.replace_substring(column, raw, escape)
    return column


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as texts that every database reads: ISO times in UTC, JSON for what has parts.

    Examples
    --------
    >>> as_text(pa.array([[1, None], None])).to_pylist()
    ['[1, null]', None]
    """
    kind, is_a = column.type, pa.types
    if is_a.is_string(kind) or is_a.is_large_string(kind):
        return column
    if is_a.is_nested(kind):
        # The values as functions see them: maps are dicts.
        whole = TupleTypeInfo([TypeInformation.from_arrow(kind)])
        values = [value for (value,) in whole.from_arrow_arrays([column])]
        return pa.array([None if value is None else json_text(value) for value in values])
    return plain_times(column).cast(pa.string())


def plain_times(column: pa.Array) -> pa.Array:
    """Return a column whose times have no zone: those of UTC."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp(kind.unit))
    return column


def each(column: pa.Array, function: Callable[[Any], str]) -> pa.Array:
    """Return the texts that a function makes of the values; NULL stays NULL."""
    values = [None if value is None else function(value) for value in column.to_pylist()]
    return pa.array(values, pa.string())


def json_text(value: Any) -> str:
    """Return a value with parts as JSON.

    Examples
    --------
    >>> json_text([("a", 1)]), json_text(Row(a=1, b=None))
    ('[["a", 1]]', '{"a": 1, "b": null}')
    """
    return json.dumps(value, default=_json_default, ensure_ascii=False)


def _json_default(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Instant):
        return in_utc(value).isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def in_utc(instant: Instant) -> dt.datetime:
    """Return a point in time as Python has it, to the microsecond.

    Examples
    --------
    >>> in_utc(Instant(0, 1_000))
    datetime.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    begin = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return begin + dt.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1_000)


def array_text(value: Any) -> str:
    """Return a list as PostgreSQL writes arrays.

    Examples
    --------
    >>> print(array_text(["a", None, 'say "hi"', [True]]))
    {"a",NULL,"say \\"hi\\"",{"true"}}
    """
    return "{" + ",".join(map(_element, value)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return array_text(value)
    if isinstance(value, bytes):
        text = f"\\x{value.hex()}"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Mapping | Row):
        text = json_text(value)
    elif isinstance(value, dt.datetime):
        text = value.isoformat(" ")
    else:
        text = str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
