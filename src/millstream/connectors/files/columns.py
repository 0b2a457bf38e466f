"""The columns of files, by Spark's names of their types, without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_SIMPLE = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}
_DDL_COLUMN = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*[\s:]\s*(\w+)\s*(\([\d\s,]+\))?\s*(NOT\s+NULL)?\s*(?:,|$)",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
ARROW = {
    "string": pa.string(),
    "binary": pa.binary(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


@dataclass(frozen=True)
class Column:
    """A column: its name, and its type as Spark writes it; "other" if that is not a plain one."""

    name: str
    type: str

    @property
    def arrow(self) -> pa.DataType | None:
        """The type of its values in Arrow, None if it is not a plain one."""
        decimal = _DECIMAL.fullmatch(self.type)
        if decimal is not None:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        return ARROW.get(self.type)

    def takes(self, found: pa.DataType) -> bool:
        """Whether values of a type of files can be its values."""
        return self.arrow is not None and holds(found, self.arrow)


Columns = tuple[Column, ...]


def columns_of(schema: Any) -> Columns | None:
    """The columns of a schema, text or Spark's; None if that takes Spark to tell.

    Examples
    --------
    >>> columns_of("word STRING, n LONG")
    (Column(name='word', type='string'), Column(name='n', type='bigint'))
    >>> columns_of("words ARRAY<STRING>") is None
    True
    """
    if schema is None:
        return None
    if isinstance(schema, str):
        return _of_ddl(schema)
    return tuple(
        Column(field["name"], _type(field["type"], bool(field.get("metadata"))))
        for field in schema.jsonValue()["fields"]
    )


def columns_of_file(schema: pa.Schema) -> Columns:
    """The columns of a file that has types of its own.

    Examples
    --------
    >>> columns_of_file(pa.schema({"word": pa.large_string(), "tags": pa.list_(pa.string())}))
    (Column(name='word', type='string'), Column(name='tags', type='other'))
    """
    return tuple(Column(field.name, _of_arrow(field.type)) for field in schema)


def _of_arrow(found: pa.DataType) -> str:
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    if types.is_large_string(found) or types.is_large_binary(found):
        found = pa.string() if types.is_large_string(found) else pa.binary()
    if types.is_timestamp(found):
        return "timestamp_ntz" if found.tz is None else "timestamp"
    if types.is_decimal(found):
        return f"decimal({found.precision},{found.scale})"
    return next((name for name, arrow in ARROW.items() if arrow == found), "other")


def _of_ddl(ddl: str) -> Columns | None:
    found = list(_DDL_COLUMN.finditer(ddl))
    if sum(len(column[0]) for column in found) != len(ddl):
        return None
    return tuple(
        Column((column[1] or column[2]).replace("``", "`"), _type(column[3] + (column[4] or "")))
        for column in found
    )


def _type(written: Any, special: bool = False) -> str:
    """A type as `ARROW` has it; one with more to it than its name says is another."""
    if special or not isinstance(written, str):
        return "other"
    name, bracket, size = written.lower().replace(" ", "").partition("(")
    name = _SIMPLE.get(name, name)
    if name == "decimal":
        size = size or "10,0)"
        return f"decimal({size if ',' in size else size.replace(')', ',0)')}"
    return "other" if bracket or name not in ARROW else name


def holds(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether each value of one type is one of another type too."""
    types = pa.types
    if types.is_dictionary(found):
        return bool(found.value_type == wanted)
    if types.is_integer(found) and types.is_signed_integer(found):
        if types.is_integer(wanted):
            return bool(found.bit_width < wanted.bit_width)
        return bool(wanted == pa.float64() and found.bit_width <= 32)
    if types.is_timestamp(found) and types.is_timestamp(wanted):
        same = (found.tz is None) == (wanted.tz is None)
        return same and found.unit in ("s", "ms", "us")
    if types.is_decimal(found) and types.is_decimal(wanted):
        whole = found.precision - found.scale <= wanted.precision - wanted.scale
        return bool(whole and found.scale <= wanted.scale)
    return bool(found == pa.float32() and wanted == pa.float64())
