"""Types from texts, and from the type names of the SQL parser."""

from __future__ import annotations

from collections.abc import Callable

from millstream.common.errors import PlanError
from millstream.table.sql.expressions import TypeName
from millstream.table.sql.parser import parse_type as parse_type_name
from millstream.table.types.logical import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowField,
    RowType,
    SmallIntType,
    StructuredType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)

__all__ = ["logical_type", "parse_logical_type"]

_PLAIN: dict[str, Callable[..., LogicalType]] = {
    "BOOLEAN": BooleanType,
    "TINYINT": TinyIntType,
    "SMALLINT": SmallIntType,
    "INT": IntType,
    "BIGINT": BigIntType,
    "FLOAT": FloatType,
    "REAL": FloatType,
    "DOUBLE": DoubleType,
    "DATE": DateType,
    "NULL": NullType,
    "CHAR": CharType,
    "BINARY": BinaryType,
    "DECIMAL": DecimalType,
    "TIME": TimeType,
    "TIMESTAMP": TimestampType,
    "TIMESTAMP WITH LOCAL TIME ZONE": LocalZonedTimestampType,
    "TIMESTAMP WITH TIME ZONE": ZonedTimestampType,
}
_LONG: dict[str, Callable[..., LogicalType]] = {"VARCHAR": VarCharType, "VARBINARY": VarBinaryType}
_LONGEST: dict[str, Callable[..., LogicalType]] = {"STRING": VarCharType, "BYTES": VarBinaryType}
_MONTHS = ("YEAR", "QUARTER", "MONTH")


def parse_logical_type(text: str) -> LogicalType:
    """The type of a text, such as one that `as_serializable` gives.

    Examples
    --------
    >>> parse_logical_type("ROW<a INT NOT NULL, b ARRAY<STRING>>").as_summary()
    'ROW<`a` INT NOT NULL, `b` ARRAY<STRING>>'
    """
    return logical_type(parse_type_name(text))


def logical_type(name: TypeName) -> LogicalType:
    """The type of a type name; it may hold NULL unless NOT NULL is written.

    ``VARCHAR`` and ``VARBINARY`` without a length have the greatest one, as in Flink's DDL.
    """
    nullable = name.nullable is not False
    if name.name in _PLAIN:
        return _PLAIN[name.name](*name.arguments, nullable=nullable)
    if name.name in _LONG:
        return _LONG[name.name](*(name.arguments or (MAX_LENGTH,)), nullable=nullable)
    if name.name in _LONGEST:
        return _LONGEST[name.name](MAX_LENGTH, nullable=nullable)
    return _composed(name).with_nullability(nullable)


def _composed(name: TypeName) -> LogicalType:
    items = [logical_type(item) for item in name.items]
    if name.name == "ARRAY":
        return ArrayType(*items)
    if name.name == "MULTISET":
        return MultisetType(*items)
    if name.name == "MAP":
        return MapType(*items)
    if name.name == "ROW":
        return RowType(_fields(name, items))
    if name.name == "STRUCTURED":
        return StructuredType(name.texts[0], _fields(name, items))
    if name.name == "RAW":
        return RawType(*name.texts)
    if name.interval is not None:
        return _interval(name)
    shown = str(name.identifier) if name.identifier else name.name
    hint = "use one of Flink's types, such as INT, STRING, DECIMAL(10, 2) or TIMESTAMP(3)"
    raise PlanError("UNKNOWN_SQL_TYPE", f"there is no type {shown}", hint=hint)


def _fields(name: TypeName, items: list[LogicalType]) -> tuple[RowField, ...]:
    parts = zip(name.fields, items, name.comments, strict=True)
    return tuple(RowField(each.text, type_, comment) for each, type_, comment in parts)


def _interval(name: TypeName) -> LogicalType:
    written = name.interval
    assert written is not None
    last = written.last or written.first
    if written.first in _MONTHS:
        first = "MONTH" if written.first == "QUARTER" else written.first
        end = "MONTH" if last == "QUARTER" else last
        precision = written.precision if written.first == "YEAR" else None
        return YearMonthIntervalType(first, end, precision or 2)
    if written.first == "WEEK":
        return DayTimeIntervalType("DAY", "DAY", written.precision or 2)
    fraction = written.fraction
    days = written.precision if written.first == "DAY" else None
    if fraction is None and written.first == "SECOND":
        fraction = written.precision
    return DayTimeIntervalType(written.first, last, days or 2, 6 if fraction is None else fraction)
