"""The logical types of Flink's tables. Types are equal if all about them is, nullability included.

`as_serializable` is the text that Flink's parser takes back; `as_summary` is the shorter one that
DESCRIBE and errors show, with the mark of time attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from millstream.common.errors import PlanError

__all__ = [
    "MAX_LENGTH",
    "MAX_PRECISION",
    "ArrayType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntType",
    "LocalZonedTimestampType",
    "LogicalType",
    "MapType",
    "MultisetType",
    "NullType",
    "RawType",
    "RowField",
    "RowType",
    "SmallIntType",
    "StructuredType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]

MAX_LENGTH = 2**31 - 1
MAX_PRECISION = 38


def _in_range(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        message = f"the {what} is {value}, and must be from {least} to {most}"
        raise PlanError("SQL_TYPE_RANGE", message, hint="choose a number in this range")


@dataclass(frozen=True)
class LogicalType:
    """The base of all types; every type may hold NULL unless it says NOT NULL.

    Examples
    --------
    >>> IntType(nullable=False).as_summary()
    'INT NOT NULL'
    """

    nullable: bool = field(default=True, kw_only=True)

    root: ClassVar[str] = ""
    families: ClassVar[frozenset[str]] = frozenset()

    def is_(self, *families: str) -> bool:
        """Whether the type belongs to one of some families, such as NUMERIC or TIMESTAMP."""
        return any(family in self.families for family in families)

    def with_nullability(self, nullable: bool) -> Self:
        """The same type with another nullability."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    @property
    def children(self) -> tuple[LogicalType, ...]:
        """The types inside."""
        return ()

    def as_serializable(self) -> str:
        """The full text of the type."""
        return self._text(summary=False) + ("" if self.nullable else " NOT NULL")

    def as_summary(self) -> str:
        """The short text of the type."""
        return self._text(summary=True) + ("" if self.nullable else " NOT NULL")

    def _text(self, summary: bool) -> str:
        return self.root

    def __str__(self) -> str:
        return self.as_summary()


def _shown(type_: LogicalType, summary: bool) -> str:
    return type_.as_summary() if summary else type_.as_serializable()


def _families(*names: str) -> frozenset[str]:
    return frozenset(names)


@dataclass(frozen=True)
class _LengthType(LogicalType):
    """A type with a length; 0 is the length of an empty literal."""

    length: int = 1

    # What stands for the greatest length in the short text.
    longest: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        _in_range("length", self.length, 0, MAX_LENGTH)

    def _text(self, summary: bool) -> str:
        if summary and self.longest and self.length == MAX_LENGTH:
            return self.longest
        return f"{self.root}({self.length})"


@dataclass(frozen=True)
class CharType(_LengthType):
    """``CHAR(n)``: texts of exactly n characters."""

    root = "CHAR"
    families = _families("PREDEFINED", "CHARACTER_STRING")


@dataclass(frozen=True)
class VarCharType(_LengthType):
    """``VARCHAR(n)``: texts of at most n characters; STRING has the greatest length.

    Examples
    --------
    >>> VarCharType(MAX_LENGTH).as_summary(), VarCharType(MAX_LENGTH).as_serializable()
    ('STRING', 'VARCHAR(2147483647)')
    """

    root = "VARCHAR"
    families = _families("PREDEFINED", "CHARACTER_STRING")
    longest = "STRING"


@dataclass(frozen=True)
class BinaryType(_LengthType):
    """``BINARY(n)``: exactly n bytes."""

    root = "BINARY"
    families = _families("PREDEFINED", "BINARY_STRING")


@dataclass(frozen=True)
class VarBinaryType(_LengthType):
    """``VARBINARY(n)``: at most n bytes; BYTES has the greatest length."""

    root = "VARBINARY"
    families = _families("PREDEFINED", "BINARY_STRING")
    longest = "BYTES"


@dataclass(frozen=True)
class BooleanType(LogicalType):
    """``BOOLEAN``."""

    root = "BOOLEAN"
    families = _families("PREDEFINED")


@dataclass(frozen=True)
class DecimalType(LogicalType):
    """``DECIMAL(p, s)``: numbers of p digits, s of them behind the point."""

    precision: int = 10
    scale: int = 0

    root = "DECIMAL"
    families = _families("PREDEFINED", "NUMERIC", "EXACT_NUMERIC")

    def __post_init__(self) -> None:
        _in_range("precision", self.precision, 1, MAX_PRECISION)
        _in_range("scale", self.scale, 0, self.precision)

    def _text(self, summary: bool) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class _IntegerType(LogicalType):
    families = _families("PREDEFINED", "NUMERIC", "INTEGER_NUMERIC", "EXACT_NUMERIC")

    # The digits of the largest number, and the bits of all.
    precision: ClassVar[int]
    bits: ClassVar[int]


@dataclass(frozen=True)
class TinyIntType(_IntegerType):
    """``TINYINT``: 8 bits."""

    root = "TINYINT"
    precision = 3
    bits = 8


@dataclass(frozen=True)
class SmallIntType(_IntegerType):
    """``SMALLINT``: 16 bits."""

    root = "SMALLINT"
    precision = 5
    bits = 16


@dataclass(frozen=True)
class IntType(_IntegerType):
    """``INT``: 32 bits."""

    root = "INTEGER"
    precision = 10
    bits = 32

    def _text(self, summary: bool) -> str:
        return "INT"


@dataclass(frozen=True)
class BigIntType(_IntegerType):
    """``BIGINT``: 64 bits."""

    root = "BIGINT"
    precision = 19
    bits = 64


@dataclass(frozen=True)
class FloatType(LogicalType):
    """``FLOAT``: 32 bits."""

    root = "FLOAT"
    families = _families("PREDEFINED", "NUMERIC", "APPROXIMATE_NUMERIC")


@dataclass(frozen=True)
class DoubleType(LogicalType):
    """``DOUBLE``: 64 bits."""

    root = "DOUBLE"
    families = _families("PREDEFINED", "NUMERIC", "APPROXIMATE_NUMERIC")


@dataclass(frozen=True)
class DateType(LogicalType):
    """``DATE``."""

    root = "DATE"
    families = _families("PREDEFINED", "DATETIME")


@dataclass(frozen=True)
class _SecondsType(LogicalType):
    """A type with digits behind the second."""

    precision: int = 6

    def __post_init__(self) -> None:
        _in_range("precision", self.precision, 0, 9)


@dataclass(frozen=True)
class TimeType(_SecondsType):
    """``TIME(p)``: a time of the day."""

    precision: int = 0

    root = "TIME_WITHOUT_TIME_ZONE"
    families = _families("PREDEFINED", "DATETIME", "TIME")

    def _text(self, summary: bool) -> str:
        return f"TIME({self.precision})"


@dataclass(frozen=True)
class _AttributeType(_SecondsType):
    """A timestamp that can be the time of its table: `kind` is ROWTIME, PROCTIME or None."""

    kind: str | None = None

    def as_summary(self) -> str:
        """The short text, with the mark of a time attribute behind it."""
        text = super().as_summary()
        return f"{text} *{self.kind}*" if self.kind else text

    def with_kind(self, kind: str | None) -> Self:
        """The same type as another, or as no, time attribute."""
        return replace(self, kind=kind)


@dataclass(frozen=True)
class TimestampType(_AttributeType):
    """``TIMESTAMP(p)``: a date and a time, without any time zone.

    Examples
    --------
    >>> TimestampType(3, "ROWTIME").as_summary()
    'TIMESTAMP(3) *ROWTIME*'
    """

    root = "TIMESTAMP_WITHOUT_TIME_ZONE"
    families = _families("PREDEFINED", "DATETIME", "TIMESTAMP")

    def _text(self, summary: bool) -> str:
        return f"TIMESTAMP({self.precision})"


@dataclass(frozen=True)
class LocalZonedTimestampType(_AttributeType):
    """``TIMESTAMP_LTZ(p)``: an instant, shown in the time zone of the session."""

    root = "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
    families = _families("PREDEFINED", "DATETIME", "TIMESTAMP", "EXTENSION")

    def _text(self, summary: bool) -> str:
        if summary:
            return f"TIMESTAMP_LTZ({self.precision})"
        return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"


@dataclass(frozen=True)
class ZonedTimestampType(_AttributeType):
    """``TIMESTAMP(p) WITH TIME ZONE``: an instant with its own time zone."""

    root = "TIMESTAMP_WITH_TIME_ZONE"
    families = _families("PREDEFINED", "DATETIME", "TIMESTAMP")

    def _text(self, summary: bool) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"


@dataclass(frozen=True)
class YearMonthIntervalType(LogicalType):
    """``INTERVAL YEAR(p) TO MONTH``; `first` and `last` are its units, equal if there is one."""

    first: str = "YEAR"
    last: str = "MONTH"
    year_precision: int = 2

    root = "INTERVAL_YEAR_MONTH"
    families = _families("PREDEFINED", "INTERVAL")

    def __post_init__(self) -> None:
        _in_range("precision of years", self.year_precision, 1, 4)

    def _text(self, summary: bool) -> str:
        if self.first == "MONTH":
            return "INTERVAL MONTH"
        ending = "" if self.last == "YEAR" else " TO MONTH"
        return f"INTERVAL YEAR({self.year_precision}){ending}"


@dataclass(frozen=True)
class DayTimeIntervalType(LogicalType):
    """``INTERVAL DAY(p) TO SECOND(q)``; `first` and `last` are its units, equal if there is one."""

    first: str = "DAY"
    last: str = "SECOND"
    day_precision: int = 2
    fraction: int = 6

    root = "INTERVAL_DAY_TIME"
    families = _families("PREDEFINED", "INTERVAL")

    def __post_init__(self) -> None:
        _in_range("precision of days", self.day_precision, 1, 6)
        _in_range("precision of seconds", self.fraction, 0, 9)

    def _text(self, summary: bool) -> str:
        units = [self.first] if self.first == self.last else [self.first, self.last]
        digits = {"DAY": f"({self.day_precision})", "SECOND": f"({self.fraction})"}
        return "INTERVAL " + " TO ".join(unit + digits.get(unit, "") for unit in units)


@dataclass(frozen=True)
class ArrayType(LogicalType):
    """``ARRAY<t>``."""

    element: LogicalType = field(default_factory=lambda: NullType())

    root = "ARRAY"
    families = _families("CONSTRUCTED", "COLLECTION")

    @property
    def children(self) -> tuple[LogicalType, ...]:
        return (self.element,)

    def _text(self, summary: bool) -> str:
        return f"ARRAY<{_shown(self.element, summary)}>"


@dataclass(frozen=True)
class MultisetType(LogicalType):
    """``MULTISET<t>``: elements and how often each is there."""

    element: LogicalType = field(default_factory=lambda: NullType())

    root = "MULTISET"
    families = _families("CONSTRUCTED", "COLLECTION")

    @property
    def children(self) -> tuple[LogicalType, ...]:
        return (self.element,)

    def _text(self, summary: bool) -> str:
        return f"MULTISET<{_shown(self.element, summary)}>"


@dataclass(frozen=True)
class MapType(LogicalType):
    """``MAP<k, v>``."""

    key: LogicalType = field(default_factory=lambda: NullType())
    value: LogicalType = field(default_factory=lambda: NullType())

    root = "MAP"
    families = _families("CONSTRUCTED", "EXTENSION")

    @property
    def children(self) -> tuple[LogicalType, ...]:
        return (self.key, self.value)

    def _text(self, summary: bool) -> str:
        return f"MAP<{_shown(self.key, summary)}, {_shown(self.value, summary)}>"


@dataclass(frozen=True)
class RowField:
    """A field of a row or of a structured type."""

    name: str
    type: LogicalType
    comment: str | None = None

    def text(self, summary: bool) -> str:
        """The field as it stands in the text of its type."""
        name = self.name.replace("`", "``")
        text = f"`{name}` {_shown(self.type, summary)}"
        if self.comment is None:
            return text
        comment = "..." if summary else self.comment.replace("'", "''")
        return f"{text} '{comment}'"


@dataclass(frozen=True)
class RowType(LogicalType):
    """``ROW<a INT, b STRING>``.

    Examples
    --------
    >>> RowType((RowField("a", IntType()), RowField("b", VarCharType(MAX_LENGTH)))).as_summary()
    'ROW<`a` INT, `b` STRING>'
    """

    fields: tuple[RowField, ...] = ()

    root = "ROW"
    families = _families("CONSTRUCTED")

    def __post_init__(self) -> None:
        _distinct(self.fields)

    @property
    def children(self) -> tuple[LogicalType, ...]:
        return tuple(each.type for each in self.fields)

    def _text(self, summary: bool) -> str:
        return f"ROW<{', '.join(each.text(summary) for each in self.fields)}>"


@dataclass(frozen=True)
class StructuredType(LogicalType):
    """``STRUCTURED<'class', a INT>``: fields and the class that holds them."""

    class_name: str = ""
    fields: tuple[RowField, ...] = ()

    root = "STRUCTURED_TYPE"
    families = _families("USER_DEFINED")

    def __post_init__(self) -> None:
        _distinct(self.fields)

    @property
    def children(self) -> tuple[LogicalType, ...]:
        return tuple(each.type for each in self.fields)

    def _text(self, summary: bool) -> str:
        parts = [f"'{self.class_name}'", *(each.text(summary) for each in self.fields)]
        return f"STRUCTURED<{', '.join(parts)}>"


def _distinct(fields: tuple[RowField, ...]) -> None:
    names = [each.name for each in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"fields of one row have the same name: {', '.join(twice)}"
        raise PlanError("SQL_DUPLICATE_FIELD", message, hint="rename one of them")


@dataclass(frozen=True)
class RawType(LogicalType):
    """``RAW('class', 'snapshot')``: objects that no function looks into."""

    class_name: str = ""
    snapshot: str = ""

    root = "RAW"
    families = _families("EXTENSION")

    def _text(self, summary: bool) -> str:
        return f"RAW('{self.class_name}', '{'...' if summary else self.snapshot}')"


@dataclass(frozen=True)
class NullType(LogicalType):
    """The type of NULL itself, before it is known what it stands for."""

    root = "NULL"
    families = _families("EXTENSION")
