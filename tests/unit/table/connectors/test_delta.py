"""Tables of Delta."""

from __future__ import annotations

from decimal import Decimal

import pytest

from millstream.table.table_environment import TableEnvironment

deltalake = pytest.importorskip("deltalake")


def environment(path):
    t_env = TableEnvironment.create()
    t_env.create_temporary_view(
        "t", t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], "id INT, name STRING")
    )
    at = f"'connector' = 'delta', 'table-path' = '{path}"
    t_env.execute_sql(f"CREATE TABLE log (name STRING, d DECIMAL(10, 2)) WITH ({at}/log')")
    t_env.execute_sql(
        "CREATE TABLE totals (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) "
        f"WITH ({at}/totals')"
    )
    return t_env


def rows(t_env, query):
    return sorted(map(tuple, t_env.final_rows(t_env.sql_query(query))))


def test_rows_are_added_and_versions_are_read(tmp_path):
    t_env = environment(tmp_path)
    statement = "INSERT INTO log SELECT name, CAST(1.5 AS DECIMAL(10, 2)) FROM t"
    t_env.execute_sql(statement)
    version = deltalake.DeltaTable(f"{tmp_path}/log").version()
    t_env.execute_sql(statement)
    one = [("a", Decimal("1.50")), ("a", Decimal("1.50")), ("b", Decimal("1.50"))]
    assert rows(t_env, "SELECT * FROM log") == sorted(one * 2)
    assert rows(t_env, f"SELECT * FROM log /*+ OPTIONS('versionAsOf' = '{version}') */") == one


def test_a_primary_key_merges(tmp_path):
    t_env = environment(tmp_path)
    for _ in range(2):
        t_env.execute_sql("INSERT INTO totals SELECT name, COUNT(*) FROM t GROUP BY name")
    assert rows(t_env, "SELECT * FROM totals") == [("a", 2), ("b", 1)]
