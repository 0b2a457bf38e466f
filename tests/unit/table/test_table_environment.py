"""SQL through the environment, in memory."""

from __future__ import annotations

import pytest

from millstream.common import Row
from millstream.common.errors import MillstreamError, PlanError
from millstream.table.table_environment import TableEnvironment


def environment():
    t_env = TableEnvironment.create()
    t = t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], "id INT, name STRING")
    t_env.create_temporary_view("t", t)
    return t_env


def test_queries_are_collected():
    found = environment().execute_sql("SELECT name, COUNT(*) FROM t GROUP BY name").collect()
    assert sorted(map(tuple, found)) == [("a", 2), ("b", 1)]


def test_insert_prints_changes(capsys):
    t_env = environment()
    t_env.execute_sql("CREATE TABLE p (name STRING, n BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql("INSERT INTO p SELECT name, COUNT(*) FROM t GROUP BY name")
    assert sorted(capsys.readouterr().out.split("\n")[:-1]) == ["+I[a, 2]", "+I[b, 1]"]


def test_tables_of_the_catalog():
    t_env = environment()
    assert sorted(map(tuple, t_env.final_rows(t_env.from_path("t")))) == [
        (1, "a"),
        (2, "b"),
        (3, "a"),
    ]


def test_mistakes_are_errors_with_a_hint():
    t_env = environment()
    with pytest.raises(PlanError, match="takes a query"):
        t_env.sql_query("CREATE TABLE p (a INT)")
    with pytest.raises(MillstreamError, match="connector"):
        t_env.execute_sql("CREATE TABLE q (a INT) WITH ('connector' = 'prnt')")
        t_env.execute_sql("INSERT INTO q SELECT id FROM t")


def test_rows_in_rows_maps_and_arrays_come_back_as_they_were_given():
    t_env = TableEnvironment.create()
    row = (Row(1, "a"), {"k": 2}, [Row(None, "b")])
    t = t_env.from_elements(
        [row], "r ROW<n INT, s STRING>, m MAP<STRING, INT>, l ARRAY<ROW<n INT, s STRING>>"
    )
    (found,) = t_env.final_rows(t)
    assert [found[0], found[1], found[2]] == [Row(n=1, s="a"), {"k": 2}, [Row(n=None, s="b")]]
