"""Conditions in SQL: a database keeps at least the rows that are wanted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.connectors.conditions import Comparison
from millstream.connectors.databases.conditions import as_sql
from millstream.connectors.databases.dialect import Column
from millstream.connectors.databases.sqlite import Sqlite

COLUMNS = [
    Column("n", "BIGINT", pa.int64()),
    Column("name", "TEXT", pa.string()),
    Column("at", "TIMESTAMP", pa.timestamp("us")),
]


@pytest.mark.parametrize(
    ("groups", "text", "values"),
    [
        ([], "", []),
        ([[("n", ">=", (3,))]], '("n" >= ?)', [3]),
        ([[("n", "=", (1, 2)), ("name", "=", ("a",))]], '("n" in (?, ?) and "name" in (?))',
         [1, 2, "a"]),
        ([[("n", "<", (1,))], [("at", "IS NULL")]], '("n" < ?) or ("at" IS NULL)', [1]),
        # Databases order texts in their own way, and a number may be a text there.
        ([[("name", "<", ("a",)), ("n", ">", (1,))]], '("n" > ?)', [1]),
        ([[("name", "<>", ("a",))]], "", []),
        ([[("name", "=", (5,))]], "", []),
        ([[("n", "=", tuple(range(101)))]], "", []),
        # If one reader wants all rows, all are read.
        ([[("n", "<", (1,))], [("name", ">", ("b",))]], "", []),
        ([[("gone", "=", (1,))]], "", []),
    ],
)  # fmt: skip
def test_conditions_as_sql(groups: list, text: str, values: list) -> None:
    conditions = tuple(tuple(Comparison(*each) for each in group) for group in groups)
    assert as_sql(conditions, COLUMNS, Sqlite()) == (text, values)
