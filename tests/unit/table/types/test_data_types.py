"""PyFlink's data types over logical types."""

from __future__ import annotations

import pytest

from millstream.table.types import DataTypes
from millstream.table.types.data_types import data_type, logical_of

ALL = [
    (DataTypes.CHAR(3), "CHAR(3)"),
    (DataTypes.VARCHAR(5), "VARCHAR(5)"),
    (DataTypes.STRING(), "STRING"),
    (DataTypes.BOOLEAN(), "BOOLEAN"),
    (DataTypes.BINARY(2), "BINARY(2)"),
    (DataTypes.VARBINARY(9), "VARBINARY(9)"),
    (DataTypes.BYTES(), "BYTES"),
    (DataTypes.DECIMAL(10, 2), "DECIMAL(10, 2)"),
    (DataTypes.TINYINT(), "TINYINT"),
    (DataTypes.SMALLINT(), "SMALLINT"),
    (DataTypes.INT(), "INT"),
    (DataTypes.BIGINT(), "BIGINT"),
    (DataTypes.FLOAT(), "FLOAT"),
    (DataTypes.DOUBLE(), "DOUBLE"),
    (DataTypes.DATE(), "DATE"),
    (DataTypes.TIME(), "TIME(0)"),
    (DataTypes.TIMESTAMP(3), "TIMESTAMP(3)"),
    (DataTypes.TIMESTAMP_LTZ(3), "TIMESTAMP_LTZ(3)"),
    (DataTypes.ARRAY(DataTypes.INT().not_null()), "ARRAY<INT NOT NULL>"),
    (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), "MAP<STRING, INT>"),
    (DataTypes.MULTISET(DataTypes.STRING()), "MULTISET<STRING>"),
    (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), "ROW<`a` INT>"),
    (DataTypes.ROW([DataTypes.INT(), DataTypes.STRING()]), "ROW<`f0` INT, `f1` STRING>"),
]


@pytest.mark.parametrize(("given", "text"), ALL, ids=[text for _, text in ALL])
def test_types_are_the_logical_ones_there_and_back(given: object, text: str) -> None:
    assert logical_of(given).as_summary() == text  # type: ignore[arg-type]
    assert data_type(logical_of(given)) == given  # type: ignore[arg-type]
    strict = given.not_null()  # type: ignore[attr-defined]
    assert logical_of(strict).as_summary() == f"{text} NOT NULL"
    assert strict.nullable() == given != strict


def test_intervals_have_one_or_two_units() -> None:
    day, second = DataTypes.DAY(3), DataTypes.SECOND(2)
    assert str(logical_of(DataTypes.INTERVAL(day, second))) == "INTERVAL DAY(3) TO SECOND(2)"
    assert str(logical_of(DataTypes.INTERVAL(DataTypes.MONTH()))) == "INTERVAL MONTH"


def test_rows_have_fields_by_name_and_place() -> None:
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]).add("b", DataTypes.STRING())
    assert (row["b"].data_type, row[0].name, len(row)) == (DataTypes.STRING(), "a", 2)
    with pytest.raises(KeyError, match="no field c"):
        row["c"]
