"""Python values of columns: what users give and get, and the Arrow columns that hold them."""

from __future__ import annotations

import datetime
import pickle
from array import array
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.types import Row, RowKind, like
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import (
    ArrayType,
    DecimalType,
    LogicalType,
    MapType,
    MultisetType,
    RowField,
    RowType,
    StructuredType,
)
from millstream.table.types.merging import common_type
from millstream.table.types.parsing import parse_logical_type

__all__ = [
    "HALVES_EVEN",
    "HALVES_UP",
    "arrow_value",
    "column_of",
    "given_row",
    "infer_type",
    "python_value",
    "python_values",
    "result_row",
    "rows_of_columns",
    "stored_row",
]

HALVES_UP = Context(prec=100, rounding=ROUND_HALF_UP)
"""How decimals are rounded that a program gives."""
HALVES_EVEN = Context(prec=100, rounding=ROUND_HALF_EVEN)
"""How decimals are rounded that a function of a user returns, as in PyFlink."""
"""All digits of any decimal, and Flink's rounding."""
_SCALARS: list[tuple[type, str]] = [
    (bool, "BOOLEAN"),
    (int, "BIGINT"),
    (float, "DOUBLE"),
    (str, "STRING"),
    (Decimal, "DECIMAL(38, 18)"),
    (bytes, "BYTES"),
    (bytearray, "BYTES"),
    (datetime.datetime, "TIMESTAMP_LTZ(6)"),
    (datetime.date, "DATE"),
    (datetime.time, "TIME(0)"),
    (datetime.timedelta, "INTERVAL DAY(6) TO SECOND(3)"),
]


def infer_type(values: Iterable[Any], names: Sequence[str] | None = None) -> LogicalType:
    """The type that holds all of some Python values, as PyFlink finds it.

    Examples
    --------
    >>> infer_type([(1, "a"), (2, None)]).as_summary()
    'ROW<`_1` BIGINT, `_2` STRING>'
    """
    types = [_type_of(value, names) for value in values if value is not None]
    if not types:
        return parse_logical_type("NULL")
    found = types[0]
    for other in types[1:]:
        found = found if other == found else _merged(found, other)
    return found


def _merged(first: LogicalType, second: LogicalType) -> LogicalType:
    if isinstance(first, RowType) and isinstance(second, RowType):
        if len(first.fields) != len(second.fields):
            message = f"rows have {len(first.fields)} and {len(second.fields)} fields"
            raise PlanError("ROWS_DIFFER", message, hint="give all rows the same fields")
        pairs = zip(first.fields, second.fields, strict=True)
        return RowType(tuple(RowField(a.name, _merged(a.type, b.type)) for a, b in pairs))
    merged = common_type([first, second])
    if merged is None:
        message = f"values of one column are {first} and {second}"
        raise PlanError("ROWS_DIFFER", message, hint="give the types: from_elements(rows, schema)")
    return merged


def _type_of(value: Any, names: Sequence[str] | None) -> LogicalType:
    for kind, text in _SCALARS:
        if isinstance(value, kind):
            return parse_logical_type(text)
    if isinstance(value, (Row, tuple)):
        own = getattr(value, "_fields", None)
        known = names or own or [f"_{at + 1}" for at in range(len(value))]
        fields = (RowField(n, infer_type([v])) for n, v in zip(known, value, strict=True))
        return RowType(tuple(fields))
    if isinstance(value, dict):
        keys = infer_type(value.keys()).with_nullability(False)
        return MapType(keys, infer_type(value.values()))
    if isinstance(value, list):
        return ArrayType(infer_type(value))
    if isinstance(value, array):
        return ArrayType(parse_logical_type(f"{_array_element(value)} NOT NULL"))
    message = f"no SQL type fits a {type(value).__name__}: {value!r:.60}"
    hint = "give the types: from_elements(rows, DataTypes.ROW([...]))"
    raise PlanError("UNKNOWN_SQL_TYPE", message, hint=hint)


def _array_element(value: array[Any]) -> str:
    """The type of the elements of an array of Python; numbers without sign need one bit more."""
    if value.typecode in "fd":
        return "FLOAT" if value.typecode == "f" else "DOUBLE"
    bits = 8 * value.itemsize + value.typecode.isupper()
    return next((name for size, name in _INTEGERS if bits <= size), "DECIMAL(20, 0)")


_INTEGERS = ((8, "TINYINT"), (16, "SMALLINT"), (32, "INT"), (64, "BIGINT"))


def column_of(
    values: Iterable[Any],
    type_: LogicalType,
    zone: str = "UTC",
    decimals: Context = HALVES_UP,
) -> pa.Array:
    """An Arrow column of Python values. Instants without a time zone are those of ``zone``.

    ``decimals`` rounds those with more digits than their type has.
    """
    converted = [arrow_value(value, type_, zone, decimals) for value in values]
    return pa.array(converted, arrow_type(type_))


def arrow_value(
    value: Any, type_: LogicalType, zone: str = "UTC", decimals: Context = HALVES_UP
) -> Any:
    """A Python value in the form that Arrow takes."""
    if value is None:
        return None
    if isinstance(type_, (RowType, StructuredType)):
        parts = _parts(value, type_)
        pairs = zip(type_.fields, parts, strict=True)
        return {field.name: arrow_value(part, field.type, zone, decimals) for field, part in pairs}
    if isinstance(type_, ArrayType):
        return [arrow_value(each, type_.element, zone, decimals) for each in value]
    if isinstance(type_, MultisetType):
        return [(arrow_value(k, type_.element, zone, decimals), n) for k, n in value.items()]
    if isinstance(type_, MapType):
        pairs_ = value.items()
        return [
            (arrow_value(k, type_.key, zone, decimals), arrow_value(v, type_.value, zone, decimals))
            for k, v in pairs_
        ]
    return _scalar(value, type_, zone, decimals)


def _parts(value: Any, type_: RowType | StructuredType) -> list[Any]:
    if isinstance(value, dict):
        return [value.get(each.name) for each in type_.fields]
    if isinstance(value, (Row, tuple, list)):
        if len(value) != len(type_.fields):
            message = f"a row of {len(value)} values is given for {type_}: {value!r:.60}"
            raise PlanError("ROWS_DIFFER", message, hint="give one value for each field")
        return list(value)
    return [getattr(value, each.name, None) for each in type_.fields]


def _scalar(value: Any, type_: LogicalType, zone: str, decimals: Context) -> Any:
    if isinstance(type_, DecimalType):
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-type_.scale), context=decimals)
    if type_.root == "RAW":
        return pickle.dumps(value)
    if type_.root == "TIMESTAMP_WITH_LOCAL_TIME_ZONE" and isinstance(value, datetime.datetime):
        return value if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone))
    if type_.root in ("FLOAT", "DOUBLE"):
        return float(value)
    return value


def python_values(column: pa.Array | pa.ChunkedArray, type_: LogicalType) -> list[Any]:
    """The Python values of an Arrow column: rows as `Row`, maps as dict, NULL as None."""
    if type_.is_("TIMESTAMP") or type_.is_("TIME"):
        if "ns" in str(column.type):
            unit = pa.time64("us") if type_.is_("TIME") else pa.timestamp("us", column.type.tz)
            column = column.cast(unit, safe=False)
    return [python_value(value, type_) for value in column.to_pylist()]


def python_value(value: Any, type_: LogicalType, *, named: bool = True) -> Any:
    """A value of Arrow as users see it: a row as `Row`, a map as dict.

    ``named``: rows know the names of their fields, as functions get them; results have none in PyFlink,
    and a FLOAT there is the number of its shortest text, 0.1 and not 0.10000000149011612.
    """
    if value is None:
        return None
    if isinstance(type_, (RowType, StructuredType)):
        fields = type_.fields
        row = Row(*(python_value(value[each.name], each.type, named=named) for each in fields))
        if named:
            row.set_field_names([field.name for field in fields])
        return row
    if isinstance(type_, ArrayType):
        return [python_value(each, type_.element, named=named) for each in value]
    if isinstance(type_, MultisetType):
        return {python_value(k, type_.element, named=named): n for k, n in value}
    if isinstance(type_, MapType):
        pairs = ((python_value(k, type_.key, named=named), v) for k, v in value)
        return {k: python_value(v, type_.value, named=named) for k, v in pairs}
    if type_.root == "RAW":
        return pickle.loads(value)
    if type_.root == "FLOAT" and not named:
        return float(str(np.float32(value)))
    if hasattr(value, "to_pydatetime"):
        # Arrow gives nanoseconds as a Timestamp of pandas.
        return value.to_pydatetime(warn=False)
    return value


def stored_row(row: Row, row_type: RowType, zone: str = "UTC") -> Row:
    """A row that a user gives, in the values of Arrow: rows in it are dicts, maps are pairs."""
    pairs = zip(_parts(row, row_type), row_type.fields, strict=True)
    return like(row, [arrow_value(value, field.type, zone) for value, field in pairs])


def given_row(row: Row, row_type: RowType) -> Row:
    """A row in the values of Arrow, as a user gets it: the opposite of `stored_row`."""
    pairs = zip(row, row_type.fields, strict=True)
    return like(row, [python_value(value, field.type) for value, field in pairs])


def result_row(row: Row, row_type: RowType) -> Row:
    """A row in the values of Arrow, as a result has it: without names, as in PyFlink."""
    pairs = zip(row, row_type.fields, strict=True)
    found = Row(*(python_value(value, field.type, named=False) for value, field in pairs))
    found.set_row_kind(row.get_row_kind())
    return found


def rows_of_columns(
    batch: pa.RecordBatch | pa.Table, row_type: RowType, kinds: Sequence[RowKind] | None = None
) -> list[Row]:
    """The rows of a batch, with their names and kinds."""
    columns = [
        python_values(batch.column(at), field.type) for at, field in enumerate(row_type.fields)
    ]
    names = [field.name for field in row_type.fields]
    rows = []
    for at in range(batch.num_rows):
        row = Row(*(column[at] for column in columns))
        row.set_field_names(names)
        if kinds is not None:
            row.set_row_kind(kinds[at])
        rows.append(row)
    return rows
