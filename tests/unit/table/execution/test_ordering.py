"""Queries whose result depends on the order of rows take them in the order of watermarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.table.explain_detail import ExplainDetail
from millstream.table.table_environment import TableEnvironment

TIMED = "k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
UNTIMED = "k STRING, v INT, ts TIMESTAMP(3)"
LAST = "SELECT k, LAST_VALUE(v) FROM t GROUP BY k"
BY_ARRIVAL = "order=[O: depends on the order of arrival]"
BY_WATERMARK = "order=[O: in the order of watermarks]"


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    t_env = TableEnvironment.create()
    (tmp_path / "t").mkdir()
    for name, columns in (("t", TIMED), ("untimed", UNTIMED)):
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH "
            f"('connector' = 'filesystem', 'path' = '{tmp_path}/t', 'format' = 'json')"
        )
    t_env.execute_sql(f"CREATE TABLE single ({TIMED}) WITH ('connector' = 'datagen')")
    return t_env


def explained(t_env: TableEnvironment, query: str) -> str:
    return t_env.sql_query(query).explain(ExplainDetail.PLAN_ADVICE)


@pytest.mark.parametrize(
    "query",
    [
        LAST,
        "SELECT MAX(v) FROM (SELECT k, LAST_VALUE(v) AS v FROM t GROUP BY k)",
        "SELECT k, FIRST_VALUE(v), COUNT(*) FROM t GROUP BY k",
        "SELECT k, LISTAGG(k) FROM t GROUP BY k",
        "SELECT a.k, LAST_VALUE(b.v) FROM t a JOIN single b ON a.k = b.k GROUP BY a.k",
    ],
)
def test_rows_of_several_channels_wait_for_each_other(t_env: TableEnvironment, query: str) -> None:
    text = explained(t_env, query)
    assert BY_WATERMARK in text
    assert BY_ARRIVAL not in text
    assert "channel order 'watermark'" in text
    assert "millstream.channel-order" not in text


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("SELECT k, SUM(v) FROM t GROUP BY k", "order=[D]"),
        ("SELECT k, v + 1 FROM t LIMIT 2", BY_ARRIVAL),
        ("SELECT LAST_VALUE(n) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k)", BY_ARRIVAL),
        ("SELECT k, LAST_VALUE(v) FROM single GROUP BY k", BY_ARRIVAL),
        ("SELECT k, LAST_VALUE(v) FROM untimed GROUP BY k", BY_ARRIVAL),
        (
            "SELECT a.k, LAST_VALUE(b.v) FROM t a JOIN untimed b ON a.k = b.k GROUP BY a.k",
            BY_ARRIVAL,
        ),
    ],
    ids=[
        "any order",
        "some rows",
        "over changes",
        "one channel",
        "no watermark",
        "one without a watermark",
    ],
)
def test_else_rows_come_as_they_arrive(t_env: TableEnvironment, query: str, order: str) -> None:
    text = explained(t_env, query)
    assert order in text
    assert "channel order 'arrival'" in text


def test_advice_names_the_table_without_a_watermark(t_env: TableEnvironment) -> None:
    text = explained(t_env, "SELECT k, LAST_VALUE(v) FROM untimed GROUP BY k")
    assert "channel-order is arrival: declare watermarks for untimed" in text
    text = explained(t_env, "SELECT k, LAST_VALUE(v) FROM single GROUP BY k")
    assert "order in which rows" not in text


@pytest.mark.parametrize("inside", ["COUNT(*)", "LAST_VALUE(v)"])
def test_advice_says_that_changes_have_no_order(t_env: TableEnvironment, inside: str) -> None:
    query = f"SELECT LAST_VALUE(n) FROM (SELECT k, {inside} AS n FROM t GROUP BY k)"
    text = explained(t_env, query)
    assert BY_ARRIVAL in text
    assert "depends on the order of changes" in text


def test_what_the_session_says_comes_first(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'millstream.channel-order' = 'arrival'")
    text = explained(t_env, LAST)
    assert BY_ARRIVAL in text
    assert "channel-order is arrival: set it to watermark" in text


def test_a_batch_has_one_order_anyway(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'execution.runtime-mode' = 'batch'")
    assert "channel order 'arrival'" in explained(t_env, LAST)
