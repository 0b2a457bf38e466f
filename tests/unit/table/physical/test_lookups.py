"""Lookup joins with rows of the program and with SQLite, in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.common.errors import MillstreamError
from millstream.kernel.tables.functions import Column
from millstream.table.expressions.kinds import INT
from millstream.table.physical.lookups import LookedUp, Retry
from millstream.table.table_environment import TableEnvironment
from tests.support.sql import row_type

ORDERS = [(1, 10), (2, 20), (3, None), (4, 99), (5, 10)]
QUERY = """SELECT o.id, c.name FROM (SELECT *, PROCTIME() AS pt FROM orders) o
           {kind} JOIN customers FOR SYSTEM_TIME AS OF o.pt AS c ON o.customer = c.id{more}"""


def environment() -> Any:
    t_env = TableEnvironment.create()
    t_env.create_temporary_view("orders", t_env.from_elements(ORDERS, "id INT, customer INT"))
    customers = t_env.from_elements([(10, "ada"), (20, "bob"), (20, "bo")], "id INT, name STRING")
    t_env.create_temporary_view("customers", customers)
    return t_env


def rows_of(t_env: Any, query: str) -> set[Any]:
    return {tuple(row) for row in t_env.final_rows(t_env.sql_query(query))}


def test_rows_of_the_program_are_looked_up():
    found = rows_of(environment(), QUERY.format(kind="", more=""))
    assert found == {(1, "ada"), (2, "bob"), (2, "bo"), (5, "ada")}
    found = rows_of(environment(), QUERY.format(kind="LEFT", more=""))
    assert found == {(1, "ada"), (2, "bob"), (2, "bo"), (5, "ada"), (3, None), (4, None)}


def test_other_conditions_are_checked_too():
    found = rows_of(
        environment(), QUERY.format(kind="LEFT", more=" AND c.name <> 'bob' AND o.id < 5")
    )
    assert found == {(1, "ada"), (2, "bo"), (3, None), (4, None), (5, None)}


def test_views_with_filters_and_projections_are_looked_up():
    t_env = environment()
    t_env.execute_sql(
        """CREATE TEMPORARY VIEW short AS
           SELECT UPPER(name) AS name, id FROM customers WHERE name <> 'bob'"""
    )
    query = QUERY.format(kind="", more="").replace("customers", "short")
    assert rows_of(t_env, query) == {(1, "ADA"), (2, "BO"), (5, "ADA")}


def test_tables_of_databases_are_looked_up(tmp_path: Path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table customers (id integer, name text, born text)")
        connection.execute(
            "insert into customers values (10, 'ada', '1815-12-10'), (20, 'bob', null)"
        )
    connection.close()
    t_env = environment()
    t_env.execute_sql(
        f"""CREATE TABLE people (id INT, name STRING, born DATE, shout AS UPPER(name)) WITH (
              'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'customers',
              'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '100')"""
    )
    query = """SELECT o.id, c.shout, CAST(c.born AS STRING) FROM
                 (SELECT *, PROCTIME() AS pt FROM orders) o
               LEFT JOIN people FOR SYSTEM_TIME AS OF o.pt AS c ON o.customer = c.id"""
    assert rows_of(t_env, query) == {
        (1, "ADA", "1815-12-10"),
        (2, "BOB", None),
        (3, None, None),
        (4, None, None),
        (5, "ADA", "1815-12-10"),
    }


def test_what_cannot_be_looked_up_is_refused():
    t_env = environment()
    query = QUERY.format(kind="", more="").replace("o.customer = c.id", "o.customer > c.id")
    with pytest.raises(MillstreamError, match="needs a column of"):
        rows_of(t_env, query)
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW counts AS SELECT id, COUNT(*) AS name FROM customers GROUP BY id"
    )
    with pytest.raises(MillstreamError, match="this is the result of a query"):
        rows_of(t_env, QUERY.format(kind="", more="").replace("customers", "counts"))
    t_env.execute_sql(
        "CREATE TABLE f (id INT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    with pytest.raises(MillstreamError, match="cannot be looked up by key"):
        rows_of(t_env, QUERY.format(kind="", more="").replace("customers", "f"))


class Appearing:
    """Rows that are there when they are asked for the second time."""

    def __init__(self) -> None:
        self.asked: list[Sequence[Any]] = []

    def find(self, keys: Sequence[Any]) -> Any:
        self.asked.append(list(keys))
        return {key: [key] if len(self.asked) > 1 else [] for key in keys}


def test_missing_keys_are_looked_up_again():
    lookup = Appearing()
    step = LookedUp(lookup, (Column(0),), (INT,), row_type("a INT"), (), Retry(3, 0))
    rows, (column,) = step(pa.RecordBatch.from_pydict({"a": pa.array([7, 8, 7, None], pa.int32())}))
    assert (rows.tolist(), column.to_pylist()) == ([0, 1, 2], [7, 8, 7])
    assert lookup.asked == [[(7,), (8,)], [(7,), (8,)]]


def test_hints_say_how_to_retry():
    hint = """/*+ LOOKUP('table'='customers', 'retry-predicate'='lookup_miss',
              'retry-strategy'='fixed_delay', 'fixed-delay'='1ms', 'max-attempts'='2') */"""
    query = QUERY.format(kind="", more="").replace("SELECT o.id", f"SELECT {hint} o.id")
    assert len(rows_of(environment(), query)) == 4
    wrong = query.replace("'max-attempts'='2'", "'max-attempts'='many'")
    with pytest.raises(MillstreamError, match="does not say how to retry"):
        rows_of(environment(), wrong)
