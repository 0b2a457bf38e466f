"""Short words for logical types, as functions and expressions use them.

`root` gives one short name for each kind of type: ``INT``, ``TIMESTAMP``, ``TIMESTAMP_LTZ``, ``TIME``,
``INTERVAL_MONTHS``, ``INTERVAL_MILLIS``; `width` is a length or precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
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
    NullType,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from millstream.table.types.merging import common_type as _merged
from millstream.table.types.parsing import parse_logical_type

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "BYTES",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "INTEGERS",
    "MAX_LENGTH",
    "MILLIS",
    "MONTHS",
    "NULL",
    "SMALLINT",
    "STRING",
    "TIME",
    "TINYINT",
    "LogicalType",
    "TypesError",
    "array_of",
    "arrow_type",
    "as_decimal",
    "char",
    "chosen_type",
    "common_type",
    "decimal",
    "is_binary",
    "is_interval",
    "is_numeric",
    "is_string",
    "is_temporal",
    "map_of",
    "not_null",
    "parse_type",
    "root",
    "row_of",
    "scale",
    "timestamp",
    "varchar",
    "width",
    "with_nullability",
]


class TypesError(ValueError):
    """Types that do not fit together."""


_SHORT = {
    "INTEGER": "INT",
    "TIME_WITHOUT_TIME_ZONE": "TIME",
    "TIMESTAMP_WITHOUT_TIME_ZONE": "TIMESTAMP",
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": "TIMESTAMP_LTZ",
    "INTERVAL_YEAR_MONTH": "INTERVAL_MONTHS",
    "INTERVAL_DAY_TIME": "INTERVAL_MILLIS",
}
BOOLEAN, TINYINT, SMALLINT = BooleanType(), TinyIntType(), SmallIntType()
INT, BIGINT, FLOAT, DOUBLE = IntType(), BigIntType(), FloatType(), DoubleType()
STRING, BYTES = VarCharType(MAX_LENGTH), VarBinaryType(MAX_LENGTH)
DATE, TIME, NULL = DateType(), TimeType(0), NullType()
# Flink keeps no other units of intervals.
MONTHS = YearMonthIntervalType("MONTH", "MONTH")
MILLIS = DayTimeIntervalType("SECOND", "SECOND", fraction=3)
INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def root(kind: LogicalType) -> str:
    """The short name of the kind of a type.

    Examples
    --------
    >>> root(timestamp(3, local=True))
    'TIMESTAMP_LTZ'
    """
    return _SHORT.get(kind.root, kind.root)


def width(kind: LogicalType) -> int:
    """The length or precision of a type."""
    found: int = getattr(kind, "length", 0) or getattr(kind, "precision", 0)
    return found


def scale(kind: LogicalType) -> int:
    """The digits behind the point of a DECIMAL."""
    return kind.scale if isinstance(kind, DecimalType) else 0


def varchar(length: int = MAX_LENGTH) -> LogicalType:
    """``VARCHAR(n)``."""
    return VarCharType(min(length, MAX_LENGTH))


def char(length: int) -> LogicalType:
    """``CHAR(n)``."""
    return CharType(length)


def decimal(precision: int, digits: int) -> DecimalType:
    """``DECIMAL(p, s)``."""
    return DecimalType(precision, digits)


def timestamp(precision: int, local: bool = False) -> LogicalType:
    """``TIMESTAMP(p)`` or ``TIMESTAMP_LTZ(p)``."""
    return LocalZonedTimestampType(precision) if local else TimestampType(precision)


def array_of(element: LogicalType) -> LogicalType:
    """``ARRAY<t>``."""
    return ArrayType(element)


def map_of(key: LogicalType, value: LogicalType) -> LogicalType:
    """``MAP<k, v>``."""
    return MapType(key, value)


def row_of(names: Sequence[str], types: Sequence[LogicalType]) -> LogicalType:
    """``ROW<a INT, ...>``."""
    pairs = zip(names, types, strict=True)
    return RowType(tuple(RowField(name, kind) for name, kind in pairs))


def not_null(kind: LogicalType) -> LogicalType:
    """The type without NULL."""
    return kind.with_nullability(False)


def with_nullability(kind: LogicalType, nullable: bool) -> LogicalType:
    """The type with or without NULL."""
    return kind.with_nullability(nullable)


def is_string(kind: LogicalType) -> bool:
    """Whether values are texts."""
    return kind.is_("CHARACTER_STRING")


def is_binary(kind: LogicalType) -> bool:
    """Whether values are bytes."""
    return kind.is_("BINARY_STRING")


def is_numeric(kind: LogicalType) -> bool:
    """Whether values are numbers."""
    return kind.is_("NUMERIC")


def is_interval(kind: LogicalType) -> bool:
    """Whether values are intervals."""
    return kind.is_("INTERVAL")


def is_temporal(kind: LogicalType) -> bool:
    """Whether values are dates, times or timestamps."""
    return kind.is_("DATETIME")


def as_decimal(kind: LogicalType) -> DecimalType:
    """The DECIMAL that holds all values of an exact number."""
    return kind if isinstance(kind, DecimalType) else decimal(width(kind), 0)


def common_type(types: Sequence[LogicalType]) -> LogicalType:
    """The least type that takes the values of all; NULL alone stays NULL."""
    if all(root(kind) == "NULL" for kind in types):
        return NULL
    if is_mixed_days(types):
        precision = max(width(kind) for kind in types)
        local = any(root(kind) == "TIMESTAMP_LTZ" for kind in types)
        return timestamp(precision, local).with_nullability(any(kind.nullable for kind in types))
    found = _merged(types)
    if found is None or _times_with_others(types):
        raise TypesError(f"{' and '.join(map(str, types))} have no common type")
    return found


def chosen_type(types: Sequence[LogicalType]) -> LogicalType:
    """The type of values of which one is chosen: by CASE, IF, VALUES and UNION, in arrays and maps.

    It is the common type. Only for approximate numbers Flink has Calcite's rule here: a DECIMAL beside
    them makes a DOUBLE, and else the first of them gives the type.
    """
    found = common_type(types)
    if root(found) not in ("FLOAT", "DOUBLE"):
        return found
    first = next(kind for kind in types if root(kind) in ("FLOAT", "DOUBLE"))
    has_decimals = any(root(kind) == "DECIMAL" for kind in types)
    return with_nullability(DOUBLE if has_decimals else first, found.nullable)


def plain_interval(kind: LogicalType) -> LogicalType:
    """Intervals as Flink SQL computes with them: of months, or of milliseconds."""
    if not is_interval(kind):
        return kind
    plain = MONTHS if root(kind) == "INTERVAL_MONTHS" else MILLIS
    return with_nullability(plain, kind.nullable)


def is_mixed_days(types: Sequence[LogicalType]) -> bool:
    """Whether the types are dates and timestamps, some of each."""
    names = {root(kind) for kind in types} - {"NULL"}
    return "DATE" in names and len(names) > 1 and names <= {"DATE", "TIMESTAMP", "TIMESTAMP_LTZ"}


def _times_with_others(types: Sequence[LogicalType]) -> bool:
    """Numbers and intervals merge with times for additions; as values they have nothing in common."""
    known = [kind for kind in types if root(kind) != "NULL"]
    return any(map(is_temporal, known)) and not all(map(is_temporal, known))


@lru_cache(maxsize=1024)
def parse_type(text: str) -> LogicalType:
    """A type from its text."""
    return parse_logical_type(text)
