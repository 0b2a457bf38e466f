"""The Arrow type of the columns of each type, and the Python class of its values."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa

from millstream.common.errors import PlanError
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
from millstream.table.types.parsing import parse_logical_type

__all__ = ["arrow_type", "logical_of_arrow", "python_class"]

_PLAIN: dict[str, pa.DataType] = {
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    # Months.
    "INTERVAL_YEAR_MONTH": pa.int32(),
    "INTERVAL_DAY_TIME": pa.duration("ms"),
    # Pickled.
    "RAW": pa.binary(),
    "NULL": pa.null(),
}
_CLASSES: dict[str, type] = {
    "CHAR": str,
    "VARCHAR": str,
    "BINARY": bytes,
    "VARBINARY": bytes,
    "BOOLEAN": bool,
    "DECIMAL": Decimal,
    "TINYINT": int,
    "SMALLINT": int,
    "INTEGER": int,
    "BIGINT": int,
    "FLOAT": float,
    "DOUBLE": float,
    "DATE": datetime.date,
    "TIME_WITHOUT_TIME_ZONE": datetime.time,
    "TIMESTAMP_WITHOUT_TIME_ZONE": datetime.datetime,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": datetime.datetime,
    "TIMESTAMP_WITH_TIME_ZONE": datetime.datetime,
    "INTERVAL_YEAR_MONTH": int,
    "INTERVAL_DAY_TIME": datetime.timedelta,
    "ARRAY": list,
    "MULTISET": dict,
    "MAP": dict,
    "ROW": tuple,
    "STRUCTURED_TYPE": object,
    "RAW": object,
    "NULL": type(None),
}


def arrow_type(type_: LogicalType) -> pa.DataType:
    """The Arrow type of a column. Nullability and lengths are not part of it.

    A multiset is a map from elements to counts; an instant is kept in UTC.

    Examples
    --------
    >>> from millstream.table.types.logical import IntType
    >>> arrow_type(ArrayType(IntType()))
    ListType(list<item: int32>)
    """
    if type_.root in _PLAIN:
        return _PLAIN[type_.root]
    if isinstance(type_, DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, ArrayType):
        return pa.list_(arrow_type(type_.element))
    if isinstance(type_, MultisetType):
        return pa.map_(arrow_type(type_.element), pa.int32())
    if isinstance(type_, MapType):
        return pa.map_(arrow_type(type_.key), arrow_type(type_.value))
    if isinstance(type_, (RowType, StructuredType)):
        fields = [(each.name, arrow_type(each.type)) for each in type_.fields]
        return pa.struct([pa.field(name, inner) for name, inner in fields])
    return _time_type(type_)


def _time_type(type_: LogicalType) -> pa.DataType:
    unit = _unit(type_.precision)  # type: ignore[attr-defined]
    if type_.root == "TIME_WITHOUT_TIME_ZONE":
        # Flink keeps milliseconds in every TIME: those that a user gives come back.
        unit = "ms" if unit == "s" else unit
        return pa.time32(unit) if unit == "ms" else pa.time64(unit)
    return pa.timestamp(unit, None if type_.root == "TIMESTAMP_WITHOUT_TIME_ZONE" else "UTC")


def _unit(precision: int) -> str:
    """The unit of Arrow that holds so many digits behind the second."""
    return "s" if precision == 0 else "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


_TEXTS: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.uint8(): "SMALLINT",
    pa.uint16(): "INT",
    pa.uint32(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.binary(): "BYTES",
    pa.large_binary(): "BYTES",
    pa.date32(): "DATE",
    pa.null(): "NULL",
}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def logical_of_arrow(kind: pa.DataType) -> LogicalType:
    """The type of the values of an Arrow column, as PyFlink takes it from pandas.

    Examples
    --------
    >>> logical_of_arrow(pa.list_(pa.timestamp("ms"))).as_summary()
    'ARRAY<TIMESTAMP(3)>'
    """
    is_a = pa.types
    if kind in _TEXTS:
        return parse_logical_type(_TEXTS[kind])
    if is_a.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if is_a.is_time(kind) or is_a.is_timestamp(kind):
        word = "TIME" if is_a.is_time(kind) else "TIMESTAMP_LTZ" if kind.tz else "TIMESTAMP"
        return parse_logical_type(f"{word}({_DIGITS[kind.unit]})")
    if is_a.is_duration(kind):
        return parse_logical_type("INTERVAL DAY(6) TO SECOND(3)")
    if is_a.is_fixed_size_binary(kind):
        return parse_logical_type(f"BINARY({kind.byte_width})")
    if is_a.is_map(kind):
        return MapType(logical_of_arrow(kind.key_type), logical_of_arrow(kind.item_type))
    if is_a.is_list(kind) or is_a.is_large_list(kind):
        return ArrayType(logical_of_arrow(kind.value_type))
    if is_a.is_dictionary(kind):
        return logical_of_arrow(kind.value_type)
    if is_a.is_struct(kind):
        return RowType(tuple(RowField(each.name, logical_of_arrow(each.type)) for each in kind))
    hint = "convert the column to another type first"
    raise PlanError("UNKNOWN_SQL_TYPE", f"no SQL type fits the Arrow type {kind}", hint=hint)


def python_class(type_: LogicalType) -> type:
    """The class of the values that functions of the user get and give; NULL is None.

    An interval of months is a number, an interval of days a timedelta, a multiset a dict of counts.

    Examples
    --------
    >>> python_class(DecimalType(10, 2)).__name__
    'Decimal'
    """
    return _CLASSES[type_.root]
