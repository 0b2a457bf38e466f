"""Logical types and what they print."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
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

STRING = VarCharType(MAX_LENGTH)
FIELDS = (RowField("a", IntType(nullable=False)), RowField("b`c", STRING, "it's"))
TEXTS: list[tuple[LogicalType, str, str]] = [
    (CharType(3), "CHAR(3)", "CHAR(3)"),
    (VarCharType(3), "VARCHAR(3)", "VARCHAR(3)"),
    (STRING, "STRING", "VARCHAR(2147483647)"),
    (BooleanType(), "BOOLEAN", "BOOLEAN"),
    (BinaryType(3), "BINARY(3)", "BINARY(3)"),
    (VarBinaryType(MAX_LENGTH), "BYTES", "VARBINARY(2147483647)"),
    (DecimalType(10, 2), "DECIMAL(10, 2)", "DECIMAL(10, 2)"),
    (TinyIntType(), "TINYINT", "TINYINT"),
    (SmallIntType(), "SMALLINT", "SMALLINT"),
    (IntType(nullable=False), "INT NOT NULL", "INT NOT NULL"),
    (BigIntType(), "BIGINT", "BIGINT"),
    (FloatType(), "FLOAT", "FLOAT"),
    (DoubleType(), "DOUBLE", "DOUBLE"),
    (DateType(), "DATE", "DATE"),
    (TimeType(3), "TIME(3)", "TIME(3)"),
    (TimestampType(3), "TIMESTAMP(3)", "TIMESTAMP(3)"),
    (TimestampType(3, "ROWTIME"), "TIMESTAMP(3) *ROWTIME*", "TIMESTAMP(3)"),
    (
        LocalZonedTimestampType(3, "PROCTIME", nullable=False),
        "TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
        "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL",
    ),
    (ZonedTimestampType(6), "TIMESTAMP(6) WITH TIME ZONE", "TIMESTAMP(6) WITH TIME ZONE"),
    (YearMonthIntervalType(), "INTERVAL YEAR(2) TO MONTH", "INTERVAL YEAR(2) TO MONTH"),
    (YearMonthIntervalType("YEAR", "YEAR"), "INTERVAL YEAR(2)", "INTERVAL YEAR(2)"),
    (YearMonthIntervalType("MONTH", "MONTH"), "INTERVAL MONTH", "INTERVAL MONTH"),
    (
        DayTimeIntervalType(),
        "INTERVAL DAY(2) TO SECOND(6)",
        "INTERVAL DAY(2) TO SECOND(6)",
    ),
    (DayTimeIntervalType("HOUR", "MINUTE"), "INTERVAL HOUR TO MINUTE", "INTERVAL HOUR TO MINUTE"),
    (
        DayTimeIntervalType("SECOND", "SECOND", fraction=3),
        "INTERVAL SECOND(3)",
        "INTERVAL SECOND(3)",
    ),
    (ArrayType(STRING), "ARRAY<STRING>", "ARRAY<VARCHAR(2147483647)>"),
    (MultisetType(IntType()), "MULTISET<INT>", "MULTISET<INT>"),
    (
        MapType(STRING, IntType(nullable=False)),
        "MAP<STRING, INT NOT NULL>",
        "MAP<VARCHAR(2147483647), INT NOT NULL>",
    ),
    (
        RowType(FIELDS),
        "ROW<`a` INT NOT NULL, `b``c` STRING '...'>",
        "ROW<`a` INT NOT NULL, `b``c` VARCHAR(2147483647) 'it''s'>",
    ),
    (
        StructuredType("a.B", FIELDS[:1]),
        "STRUCTURED<'a.B', `a` INT NOT NULL>",
        "STRUCTURED<'a.B', `a` INT NOT NULL>",
    ),
    (RawType("a.B", "xyz"), "RAW('a.B', '...')", "RAW('a.B', 'xyz')"),
    (NullType(), "NULL", "NULL"),
]


@pytest.mark.parametrize(("type_", "summary", "serializable"), TEXTS, ids=lambda value: str(value))
def test_texts(type_: LogicalType, summary: str, serializable: str) -> None:
    assert (type_.as_summary(), type_.as_serializable()) == (summary, serializable)
    assert str(type_) == summary


def test_nullability_is_a_part_of_the_type() -> None:
    assert IntType() != IntType(nullable=False)
    assert IntType().with_nullability(False) == IntType(nullable=False)
    assert len({IntType(), IntType(), IntType(nullable=False)}) == 2


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (CharType, (-1,)),
        (VarCharType, (MAX_LENGTH + 1,)),
        (DecimalType, (39, 0)),
        (DecimalType, (0, 0)),
        (DecimalType, (5, 6)),
        (TimestampType, (10,)),
        (YearMonthIntervalType, ("YEAR", "YEAR", 5)),
        (DayTimeIntervalType, ("DAY", "DAY", 7)),
    ],
)
def test_ranges(make: type[LogicalType], arguments: tuple[object, ...]) -> None:
    with pytest.raises(PlanError) as info:
        make(*arguments)
    assert info.value.code == "SQL_TYPE_RANGE"


def test_fields_have_different_names() -> None:
    with pytest.raises(PlanError, match="SQL_DUPLICATE_FIELD"):
        RowType((FIELDS[0], FIELDS[0]))


def test_a_time_attribute_can_become_plain() -> None:
    assert TimestampType(3, "ROWTIME").with_kind(None) == TimestampType(3)
