"""Types from texts."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
from millstream.table.sql.errors import SqlError
from millstream.table.types.logical import LogicalType
from millstream.table.types.parsing import parse_logical_type
from tests.unit.table.types.test_logical import TEXTS

PLAIN = [type_ for type_, summary, _ in TEXTS if "*" not in summary]


@pytest.mark.parametrize("type_", PLAIN, ids=str)
def test_what_a_type_prints_is_read_back(type_: LogicalType) -> None:
    assert parse_logical_type(type_.as_serializable()) == type_


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("varchar", "STRING"),
        ("VARBINARY", "BYTES"),
        ("CHAR", "CHAR(1)"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("DEC(5)", "DECIMAL(5, 0)"),
        ("TIME", "TIME(0)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ(6)"),
        ("REAL", "FLOAT"),
        ("INT NOT NULL ARRAY NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"),
        ("ROW(a INT, b STRING)", "ROW<`a` INT, `b` STRING>"),
        ("INTERVAL DAY(3)", "INTERVAL DAY(3)"),
        ("INTERVAL SECOND", "INTERVAL SECOND(6)"),
        ("INTERVAL DAY TO SECOND(3)", "INTERVAL DAY(2) TO SECOND(3)"),
        ("ARRAY<INTERVAL MONTH>", "ARRAY<INTERVAL MONTH>"),
    ],
)
def test_defaults_and_synonyms(text: str, expected: str) -> None:
    assert parse_logical_type(text).as_summary() == expected


def test_errors() -> None:
    with pytest.raises(PlanError, match=r"there is no type a\.MyType"):
        parse_logical_type("a.MyType")
    with pytest.raises(PlanError, match="SQL_TYPE_RANGE"):
        parse_logical_type("DECIMAL(50, 2)")
    with pytest.raises(SqlError, match="line 1, column 7"):
        parse_logical_type("ARRAY<")
