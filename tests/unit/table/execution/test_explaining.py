"""EXPLAIN of a statement that would begin with a savepoint: what becomes of the stored state."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.checkpoint.savepoints import Savepoint
from millstream.table import EnvironmentSettings, TableEnvironment

TOTALS = "SELECT customer, SUM(price) FROM orders GROUP BY customer"


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE orders (customer STRING, price BIGINT) WITH ('connector' = 'datagen')"
    )
    return t_env


def begin_with(t_env: TableEnvironment, folder: Path, uid: str) -> None:
    """Let statements begin with a savepoint that has the state of one operator."""
    folder.mkdir(exist_ok=True)
    operator = {"number": 1, "kind": "keyed", "name": "GroupAggregate", "named": True}
    operator |= {"hosted": True, "query": 0, "signature": "aggregate", "layout": "columns"}
    Savepoint(
        path=str(folder),
        id="abc",
        job_id="job",
        name="totals",
        epoch=7,
        created_ms=1,
        operators={uid: operator},
        states={uid: {}},
        sources={},
        time={"channels": [], "peaks": [], "ended": [], "now_ms": 0, "clocks": {}},
        tables=(),
        channel_order="arrival",
    ).write()
    t_env.execute_sql(f"SET 'execution.savepoint.path' = '{folder}'")


def told(t_env: TableEnvironment, query: str = TOTALS) -> list[str]:
    lines = t_env.explain_sql(query).splitlines()
    return [line for line in lines if "restored: " in line or "begins empty: " in line]


def uid_of(t_env: TableEnvironment, folder: Path) -> str:
    """The uid of the aggregate: another savepoint lets EXPLAIN name it."""
    begin_with(t_env, folder, "other")
    return told(t_env)[0].split("'")[1]


def test_without_a_savepoint_nothing_is_said(t_env: TableEnvironment) -> None:
    assert told(t_env) == []


def test_state_that_no_operator_takes_over_is_named(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    begin_with(t_env, tmp_path, "gone")
    empty, gone = told(t_env)
    assert empty.startswith("begins empty: 'sql-aggregate-orders-")
    assert gone == (
        "not restored: no operator takes over the state of 'gone', which has to be allowed"
    )


def test_a_changed_statement_finds_its_state(t_env: TableEnvironment, tmp_path: Path) -> None:
    uid = uid_of(t_env, tmp_path / "other")
    begin_with(t_env, tmp_path / "own", uid)
    assert told(t_env) == [f"restored: the state of {uid!r}"]
    changed = "SELECT MAX(price), customer AS c FROM orders GROUP BY customer HAVING MAX(price) > 3"
    assert told(t_env, changed) == [f"restored: the state of {uid!r}"]


def test_another_key_loses_the_state(t_env: TableEnvironment, tmp_path: Path) -> None:
    uid = uid_of(t_env, tmp_path / "other")
    begin_with(t_env, tmp_path / "own", uid)
    empty, gone = told(t_env, "SELECT price, COUNT(*) FROM orders GROUP BY price")
    assert empty.startswith("begins empty: ") and uid not in empty
    assert repr(uid) in gone
