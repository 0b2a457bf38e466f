"""Types of expressions that choose one of several values of different types; all are Flink 2.3's."""

from __future__ import annotations

import pytest

from millstream.table import TableEnvironment
from millstream.table.sql.errors import SqlError
from millstream.testing import in_memory

VALUES = (
    "(VALUES (1, CAST(2 AS BIGINT), CAST(1.5 AS DECIMAL(5, 2)), CAST(2.5 AS DOUBLE), 'ab', "
    "DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05', TRUE, CAST(NULL AS INT), "
    "CAST(1.25 AS FLOAT))) AS t(i, b, d, f, s, dt, ts, bo, n, fl)"
)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("IFNULL(i, b)", "BIGINT NOT NULL"),
        ("IFNULL(i, d)", "DECIMAL(12, 2) NOT NULL"),
        ("IFNULL(b, f)", "DOUBLE NOT NULL"),
        ("IFNULL(d, fl)", "FLOAT NOT NULL"),
        ("IFNULL(ts, dt)", "DATE NOT NULL"),
        ("IFNULL('a', 'bbb')", "CHAR(1) NOT NULL"),
        ("IFNULL(n, CAST(5000000000 AS BIGINT))", "BIGINT NOT NULL"),
        ("NULLIF(i, b)", "INT"),
        ("LAG(i, 1, b) OVER (ORDER BY PROCTIME())", "INT NOT NULL"),
        ("LAG(s, 1, i) OVER (ORDER BY PROCTIME())", "CHAR(2) NOT NULL"),
        ("COALESCE(d, fl)", "FLOAT NOT NULL"),
        ("COALESCE(fl, f)", "DOUBLE NOT NULL"),
        ("CASE WHEN i = 1 THEN d ELSE fl END", "DOUBLE NOT NULL"),
        ("CASE WHEN i = 1 THEN fl ELSE f END", "FLOAT NOT NULL"),
        ("CASE WHEN i = 1 THEN f ELSE fl END", "DOUBLE NOT NULL"),
        ("CASE WHEN i = 1 THEN fl WHEN i = 2 THEN f END", "FLOAT"),
        ("IF(bo, fl, d)", "DOUBLE NOT NULL"),
        ("IF(bo, fl, f)", "FLOAT NOT NULL"),
        ("ARRAY[d, fl]", "ARRAY<DOUBLE NOT NULL> NOT NULL"),
        ("ARRAY[fl, f]", "ARRAY<FLOAT NOT NULL> NOT NULL"),
        ("MAP['a', fl, 'b', d]", "MAP<CHAR(1) NOT NULL, DOUBLE NOT NULL> NOT NULL"),
    ],
)
def test_types(expression: str, kind: str) -> None:
    assert type_of(f"SELECT {expression} AS x FROM {VALUES}") == kind


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [("d", "fl", "DOUBLE"), ("fl", "d", "DOUBLE"), ("fl", "f", "FLOAT"), ("f", "fl", "DOUBLE")],
)
@pytest.mark.parametrize("operator", ["UNION ALL", "INTERSECT"])
def test_types_of_set_operations(first: str, second: str, operator: str, kind: str) -> None:
    query = f"SELECT {first} AS x FROM {VALUES} {operator} SELECT {second} FROM {VALUES}"
    assert type_of(query) == f"{kind} NOT NULL"


def test_the_type_of_rows_of_values() -> None:
    rows = "(VALUES (CAST(1.5 AS FLOAT)), (CAST(2.5 AS DOUBLE)))"
    assert type_of(f"SELECT x FROM {rows} AS v(x)") == "FLOAT NOT NULL"


@pytest.mark.parametrize(
    "expression",
    [
        *("IFNULL(i, s)", "IFNULL(i, dt)", "IFNULL(bo, i)", "IFNULL(s, ts)"),
        *("NULLIF(i, dt)", "NULLIF(dt, ts)", "NULLIF(bo, i)", "NULLIF(i, s)"),
        *("GREATEST(i, s)", "LEAST(s, d)", "GREATEST(s, dt)"),
        *("PERCENTILE(i, s)", "PERCENTILE(i, dt)"),
        "LAG(i, 1, dt) OVER (ORDER BY PROCTIME())",
        "LEAD(bo, 1, i) OVER (ORDER BY PROCTIME())",
    ],
)
def test_values_without_a_common_type_are_refused(expression: str) -> None:
    with pytest.raises(SqlError, match="WRONG_ARGUMENTS"):
        type_of(f"SELECT {expression} AS x FROM {VALUES}")


def test_a_replacement_of_a_wider_type_is_whole() -> None:
    query = (
        f"SELECT IFNULL(i, b), IFNULL(n, CAST(5000000000 AS BIGINT)), NULLIF(i, b) FROM {VALUES}"
    )
    with in_memory(), TableEnvironment.create().execute_sql(query).collect() as rows:
        assert [tuple(row) for row in rows] == [(1, 5_000_000_000, 1)]


def type_of(query: str) -> str:
    (field,) = TableEnvironment.create().sql_query(query).relation.row_type.fields
    return field.type.as_serializable()
