"""Statements of tables as jobs on Spark."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from millstream.common import JobStatus, Row
from millstream.table import EnvironmentSettings, StreamTableEnvironment
from tests.support.spark.spark_support import PATIENCE_SECONDS, wait_for_job

pytestmark = pytest.mark.spark
ENDLESS = "'connector' = 'datagen', 'rows-per-second' = '50'"


@pytest.fixture
def t_env(make_env: Any) -> StreamTableEnvironment:
    return StreamTableEnvironment.create(make_env())


def status(result: Any) -> JobStatus:
    found: JobStatus = result.get_job_client().get_job_status().result()
    return found


def test_a_query_gives_its_changes_with_kinds(t_env: StreamTableEnvironment) -> None:
    t_env.create_temporary_view(
        "t", t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], ["n", "w"])
    )
    result = t_env.execute_sql("SELECT w, SUM(n) FROM t GROUP BY w")
    with result.collect() as rows:
        assert sorted(map(tuple, rows)) == [("a", 4), ("b", 2)]
    client = result.get_job_client()
    assert client is not None
    client.wait(PATIENCE_SECONDS)
    assert status(result) is JobStatus.FINISHED


def test_batches_give_final_rows(make_env: Any) -> None:
    t_env = StreamTableEnvironment.create(make_env(), EnvironmentSettings.in_batch_mode())
    t = t_env.from_elements([(3, "a"), (1, "b"), (2, "a")], ["n", "w"])
    t_env.create_temporary_view("t", t)
    frame = t_env.sql_query("SELECT w, COUNT(*) AS c FROM t GROUP BY w").to_pandas()
    assert sorted(map(tuple, frame.values.tolist())) == [("a", 2), ("b", 1)]
    ordered = t_env.execute_sql("SELECT n FROM t ORDER BY n").collect()
    assert [row[0] for row in ordered] == [1, 2, 3]


def test_rows_of_an_endless_query_come_while_it_runs_and_closing_stops_it(
    t_env: StreamTableEnvironment,
) -> None:
    t_env.execute_sql(f"CREATE TABLE endless (n INT) WITH ({ENDLESS})")
    result = t_env.sql_query("SELECT n FROM endless").execute()
    with result.collect() as rows:
        first = [next(rows) for _ in range(5)]
        assert all(isinstance(row, Row) and len(row) == 1 for row in first)
        assert status(result) is JobStatus.RUNNING
    assert status(result) is JobStatus.CANCELED


def test_insert_returns_at_once_and_a_set_is_one_job(
    t_env: StreamTableEnvironment, tmp_path: Path
) -> None:
    t_env.create_temporary_view("t", t_env.from_elements([(1,), (2,), (3,)], ["n"]))
    for name in ("ones", "rest"):
        path = tmp_path / name
        t_env.execute_sql(
            f"CREATE TABLE {name} (n BIGINT) WITH "
            f"('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"
        )
    result = t_env.execute_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO ones SELECT n FROM t WHERE n = 1; "
        "INSERT INTO rest SELECT n FROM t WHERE n > 1; END"
    )
    result.wait()
    assert status(result) is JobStatus.FINISHED
    assert result.get_resolved_schema().get_column_count() == 2
    found = t_env.sql_query("SELECT * FROM ones UNION ALL SELECT * FROM rest").to_pandas()
    assert sorted(found["n"]) == [1, 2, 3]


def test_tables_and_streams_are_one_job(t_env: StreamTableEnvironment) -> None:
    words = t_env._env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    t_env.create_temporary_view("words", words)
    counts = t_env.sql_query("SELECT f0, COUNT(*) AS c FROM words GROUP BY f0")
    changes = t_env.to_changelog_stream(counts).map(lambda row: (str(row.get_row_kind()), *row))
    found = sorted(changes.execute_and_collect())
    assert found == [("+I", "a", 2), ("+I", "b", 1)]


def test_a_statement_goes_on_from_the_savepoint_that_it_was_stopped_with(
    make_env: Any, tmp_path: Path
) -> None:
    database = tmp_path / "counts.db"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE counts (k BIGINT PRIMARY KEY, c BIGINT)")
    connection.commit()

    def session() -> StreamTableEnvironment:
        t_env = StreamTableEnvironment.create(make_env())
        t_env.execute_sql(
            "CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', "
            "'rows-per-second' = '100', 'fields.id.kind' = 'sequence', "
            "'fields.id.start' = '1', 'fields.id.end' = '1500')"
        )
        t_env.execute_sql(
            "CREATE TABLE counts (k BIGINT, c BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH "
            f"('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{database}', 'table-name' = 'counts')"
        )
        return t_env

    def counted() -> int:
        return int(connection.execute("SELECT COALESCE(SUM(c), 0) FROM counts").fetchone()[0])

    insert = "INSERT INTO counts SELECT MOD(id, 3), COUNT(*) FROM numbers GROUP BY MOD(id, 3)"
    client = session().execute_sql(insert).get_job_client()
    assert client is not None
    wait_for_job(lambda: counted() > 0, client, "a count")
    savepoint = client.stop_with_savepoint(str(tmp_path / "savepoints"))
    assert 0 < counted() < 1_500
    t_env = session()
    t_env.execute_sql(f"SET 'execution.savepoint.path' = '{savepoint}'")
    t_env.execute_sql(insert).wait()
    rows = connection.execute("SELECT k, c FROM counts ORDER BY k").fetchall()
    assert rows == [(0, 500), (1, 500), (2, 500)]
