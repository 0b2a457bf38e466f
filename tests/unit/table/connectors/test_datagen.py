"""Tables of rows that are made up."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
from millstream.table.table_environment import TableEnvironment


def rows(columns, options=""):
    t_env = TableEnvironment.create()
    t_env.execute_sql(
        f"CREATE TABLE g ({columns}) WITH ('connector' = 'datagen', 'number-of-rows' = '20' {options})"
    )
    return list(map(tuple, t_env.final_rows(t_env.from_path("g"))))


def test_ranges_lengths_and_sequences():
    found = rows(
        "i INT, s STRING, n BIGINT, d DECIMAL(4, 2)",
        ", 'fields.i.min' = '1', 'fields.i.max' = '3', 'fields.s.length' = '5', "
        "'fields.n.kind' = 'sequence', 'fields.n.start' = '7', 'fields.n.end' = '100'",
    )
    assert len(found) == 20
    assert {row[0] for row in found} == {1, 2, 3}
    assert {len(row[1]) for row in found} == {5}
    assert [row[2] for row in found] == list(range(7, 27))
    assert all(abs(row[3]) < 100 for row in found)


def test_a_sequence_ends_the_table():
    options = ", 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3'"
    assert rows("n INT", options) == [(1,), (2,), (3,)]


def test_rows_depend_on_the_seed_only():
    assert rows("s STRING", ", 'seed' = '1'") == rows("s STRING", ", 'seed' = '1'")
    assert rows("s STRING", ", 'seed' = '1'") != rows("s STRING", ", 'seed' = '2'")


def test_values_of_all_types():
    found = rows(
        "b BOOLEAN, t TINYINT, f FLOAT, y BYTES, c CHAR(4), dt DATE, tm TIME(0), ts TIMESTAMP(3), "
        "z TIMESTAMP_LTZ(3), a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y ARRAY<STRING>>",
        ", 'fields.a.length' = '2', 'fields.a.element.max' = '5', 'fields.m.key.length' = '1'",
    )
    assert all(None not in row for row in found)
    assert {len(row[4]) for row in found} == {4}
    assert all(len(row[9]) == 2 and max(row[9]) <= 5 for row in found)


def test_null_rate():
    assert rows("ts TIMESTAMP(3)", ", 'fields.ts.null-rate' = '1'") == [(None,)] * 20


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("'fields.j.min' = '1'", "column 'j'"),
        ("'fields.i.mim' = '1'", r"did you mean 'fields\.i\.min'"),
        ("'row-per-second' = '1'", "did you mean 'rows-per-second'"),
        ("'number-of-rows ' = '1'", "unknown option"),
    ],
)
def test_wrong_options(option, message):
    with pytest.raises(PlanError, match=message):
        rows("i INT", f", {option}")
