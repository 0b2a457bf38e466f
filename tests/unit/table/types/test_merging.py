"""Common types and decimals."""

from __future__ import annotations

import pytest

from millstream.table.types.logical import DecimalType
from millstream.table.types.merging import (
    average_type,
    common_type,
    decimal_addition,
    decimal_division,
    decimal_modulo,
    decimal_multiplication,
    decimal_round,
    sum_type,
)
from millstream.table.types.parsing import parse_logical_type as t


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("INT; BIGINT; DECIMAL(2, 2)", "DECIMAL(21, 2)"),
        ("INT NOT NULL; BIGINT NOT NULL", "BIGINT NOT NULL"),
        ("INT NOT NULL; BIGINT", "BIGINT"),
        ("INT NOT NULL; NULL", "INT"),
        ("NULL; NULL", None),
        ("TINYINT; SMALLINT", "SMALLINT"),
        ("INT; FLOAT", "FLOAT"),
        ("FLOAT; DECIMAL(5, 2)", "DOUBLE"),
        ("DECIMAL(5, 2); FLOAT", "FLOAT"),
        ("FLOAT; DOUBLE", "DOUBLE"),
        ("DECIMAL(38, 0); DECIMAL(38, 38)", "DECIMAL(38, 0)"),
        ("CHAR(2); CHAR(2)", "CHAR(2)"),
        ("CHAR(2); CHAR(3)", "VARCHAR(3)"),
        ("VARCHAR(5); CHAR(3)", "VARCHAR(5)"),
        ("CHAR(3); VARCHAR(3)", "VARCHAR(3)"),
        ("VARCHAR(3); CHAR(3)", "VARCHAR(3)"),
        ("BINARY(2); VARBINARY(4)", "VARBINARY(4)"),
        ("STRING; INT", None),
        ("BOOLEAN; BOOLEAN", "BOOLEAN"),
        ("BOOLEAN; INT", None),
        ("DATE; DATE", "DATE"),
        ("TIME(0); TIME(3)", "TIME(3)"),
        ("TIMESTAMP(3); TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("TIMESTAMP(3); TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)"),
        ("TIMESTAMP(3); INTERVAL DAY", "TIMESTAMP(3)"),
        ("INT; DATE", "DATE"),
        ("DATE; TIMESTAMP(3)", "DATE"),
        ("INTERVAL DAY; INTERVAL HOUR TO SECOND(3)", "INTERVAL DAY(2) TO SECOND(6)"),
        ("INTERVAL YEAR; INTERVAL MONTH", "INTERVAL YEAR(2) TO MONTH"),
        ("INTERVAL YEAR; INTERVAL DAY", None),
        ("ARRAY<INT>; ARRAY<BIGINT NOT NULL>", "ARRAY<BIGINT>"),
        ("ARRAY<INT>; INT", None),
        ("MAP<INT, INT>; MAP<BIGINT, FLOAT>", "MAP<BIGINT, FLOAT>"),
        ("MULTISET<INT>; MULTISET<INT>", "MULTISET<INT>"),
        ("ROW<a INT, b STRING>; ROW<c BIGINT, d STRING>", "ROW<`a` BIGINT, `b` STRING>"),
        ("ROW<a INT>; ROW<a INT, b INT>", None),
        ("RAW('a', 'b'); RAW('a', 'b')", "RAW('a', '...')"),
        ("RAW('a', 'b'); INT", None),
    ],
)
def test_common_types(types: str, expected: str | None) -> None:
    found = common_type([t(text) for text in types.split("; ")])
    assert (None if found is None else found.as_summary()) == expected


D = DecimalType


@pytest.mark.parametrize(
    ("left", "right", "added", "multiplied", "divided", "modulo"),
    [
        (D(5, 2), D(4, 3), (7, 3), (10, 5), (13, 7), (4, 3)),
        (D(10, 0), D(10, 0), (11, 0), (21, 0), (21, 11), (10, 0)),
        (D(2, 1), D(10, 0), (12, 1), (13, 1), (13, 12), (2, 1)),
        (D(38, 18), D(38, 18), (38, 17), (38, 6), (38, 6), (38, 18)),
        (D(38, 8), D(32, 8), (38, 7), (38, 6), (38, 6), (32, 8)),
        (D(38, 0), D(38, 0), (38, 0), (38, 0), (38, 6), (38, 0)),
    ],
)
def test_decimal_arithmetic(
    left: DecimalType,
    right: DecimalType,
    added: tuple[int, int],
    multiplied: tuple[int, int],
    divided: tuple[int, int],
    modulo: tuple[int, int],
) -> None:
    expected = (added, multiplied, divided, modulo)
    rules = (decimal_addition, decimal_multiplication, decimal_division, decimal_modulo)
    for rule, digits in zip(rules, expected, strict=True):
        assert rule(left, right) == DecimalType(*digits, nullable=False), rule.__name__


def test_decimal_rounding() -> None:
    assert decimal_round(D(10, 4), 2) == D(9, 2, nullable=False)
    assert decimal_round(D(10, 4), 6) == D(10, 4, nullable=False)
    assert decimal_round(D(10, 4), -1) == D(7, 0, nullable=False)


def test_aggregates() -> None:
    assert str(sum_type(t("DECIMAL(10, 2) NOT NULL"))) == "DECIMAL(38, 2) NOT NULL"
    assert str(average_type(t("DECIMAL(10, 2)"))) == "DECIMAL(38, 6)"
    assert str(average_type(t("DECIMAL(38, 18)"))) == "DECIMAL(38, 18)"
    assert str(sum_type(t("INT"))) == str(average_type(t("INT"))) == "INT"
