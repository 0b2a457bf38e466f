"""Tables of databases, with SQLite."""

from __future__ import annotations

import datetime
import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest

from millstream.common.errors import PlanError
from millstream.table.table_environment import TableEnvironment


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table totals (name text primary key, n bigint)")
        connection.execute("create table log (name text, d decimal(10, 2), ts timestamp)")
        connection.execute("insert into totals values ('old', 7), ('a', 100)")
        connection.commit()
    return path


def environment(database):
    t_env = TableEnvironment.create()
    t_env.create_temporary_view(
        "t", t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], "id INT, name STRING")
    )
    at = f"'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{database}'"
    t_env.execute_sql(
        "CREATE TABLE totals (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) "
        f"WITH ({at}, 'table-name' = 'totals')"
    )
    t_env.execute_sql(
        "CREATE TABLE log (name STRING, d DECIMAL(10, 2), ts TIMESTAMP(3)) "
        f"WITH ({at}, 'table-name' = 'log')"
    )
    return t_env


def stored(database, sql):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql).fetchall()


def test_a_primary_key_makes_upserts(database):
    environment(database).execute_sql(
        "INSERT INTO totals SELECT name, COUNT(*) FROM t GROUP BY name"
    )
    found = stored(database, "select name, n from totals order by name")
    assert found == [("a", 2), ("b", 1), ("old", 7)]


def test_without_a_primary_key_rows_are_added(database):
    t_env = environment(database)
    t_env.execute_sql(
        "INSERT INTO log SELECT name, 1.25, TIMESTAMP '2020-01-01 00:00:00.5' FROM t WHERE id > 1"
    )
    rows = sorted(map(tuple, t_env.final_rows(t_env.from_path("log"))))
    moment = datetime.datetime(2020, 1, 1, 0, 0, 0, 500_000)
    assert rows == [("a", Decimal("1.25"), moment), ("b", Decimal("1.25"), moment)]
    with pytest.raises(PlanError, match="insertions only"):
        t_env.execute_sql(
            "INSERT INTO log SELECT name, 1.25, MAX(TIMESTAMP '2020-01-01 00:00:00')"
            " FROM t GROUP BY name"
        )


def test_rows_are_read(database):
    t_env = environment(database)
    query = "SELECT n + 1 FROM totals WHERE name = 'old'"
    assert list(map(tuple, t_env.final_rows(t_env.sql_query(query)))) == [(8,)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'table-name' = 'totals'", "needs the option 'url'"),
        ("'url' = 'jdbc:oracle:x', 'table-name' = 'totals'", "oracle"),
        (
            "'url' = 'jdbc:sqlite:x', 'table-name' = 'totals', 'pasword' = 'x'",
            "did you mean 'password'",
        ),
        (
            "'url' = 'jdbc:sqlite:x', 'table-name' = 'totals', 'scan.partition.num' = '2'",
            "give both",
        ),
    ],
)
def test_wrong_options(database, options, message):
    t_env = environment(database)
    t_env.execute_sql(f"CREATE TABLE w (name STRING) WITH ('connector' = 'jdbc', {options})")
    with pytest.raises(PlanError, match=message):
        t_env.final_rows(t_env.from_path("w"))
