"""Rows on their way into a table."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.table.execution.statements import Write
from millstream.table.table_environment import TableEnvironment
from millstream.testing import in_memory


def environment(rows=((1, "hello"), (2, None), (3, "x"))):
    t_env = TableEnvironment.create()
    t_env.create_temporary_view("t", t_env.from_elements(rows, "id INT, s STRING"))
    return t_env


def printed(capsys):
    return sorted(capsys.readouterr().out.splitlines())


def test_null_in_a_column_that_is_not_null(capsys):
    t_env = environment()
    t_env.execute_sql("CREATE TABLE o (id INT, s STRING NOT NULL) WITH ('connector' = 'print')")
    with pytest.raises(MillstreamError, match="'s' is NOT NULL"):
        t_env.execute_sql("INSERT INTO o SELECT id, s FROM t").wait()
    t_env.execute_sql("SET 'table.exec.sink.not-null-enforcer' = 'DROP'")
    t_env.execute_sql("INSERT INTO o SELECT id, s FROM t")
    assert printed(capsys) == ["+I[1, hello]", "+I[3, x]"]


def test_lengths_of_texts(capsys):
    t_env = TableEnvironment.create()
    # Texts that their type does not allow: nobody has looked at them, as no cast was needed.
    rows = [("hello", "a"), (None, None), ("x", "ab")]
    t_env.create_temporary_view("t", t_env.from_elements(rows, "v VARCHAR(2), c CHAR(2)"))
    t_env.execute_sql("CREATE TABLE o (v VARCHAR(2), c CHAR(2)) WITH ('connector' = 'print')")
    t_env.execute_sql("SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD'")
    t_env.execute_sql("INSERT INTO o SELECT v, c FROM t")
    assert printed(capsys) == ["+I[he, a ]", "+I[null, null]", "+I[x, ab]"]
    t_env.execute_sql("SET 'table.exec.sink.type-length-enforcer' = 'ERROR'")
    with pytest.raises(MillstreamError, match=r"VARCHAR\(2\)"):
        t_env.execute_sql("INSERT INTO o SELECT v, c FROM t").wait()


def insert(t_env, query, mode, **options):
    entry = t_env.names.find_table(("o",))
    write = Write(t_env.sql_query(query).relation, entry, mode)
    with in_memory(**options):
        t_env._execute_writes([write])


def test_output_modes(capsys):
    t_env = environment([(1, "a"), (2, "b"), (3, "a")])
    t_env.execute_sql("CREATE TABLE o (s STRING, n BIGINT) WITH ('connector' = 'print')")
    query = "SELECT s, COUNT(*) FROM t GROUP BY s"
    insert(t_env, query, "complete", epochs=2)
    assert capsys.readouterr().out.splitlines() == ["+I[a, 1]", "+I[b, 1]", "+I[a, 2]", "+I[b, 1]"]
    with pytest.raises(PlanError, match="append, and Aggregate"):
        insert(t_env, query, "append")
    with pytest.raises(PlanError, match="no output mode 'everything'"):
        insert(t_env, query, "everything")


def keyed(path, rows):
    """Rows of a program, and a table of a database whose key is a number of them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table o (n bigint primary key, s text)")
        connection.commit()
    t_env = environment(rows)
    t_env.execute_sql(
        "CREATE TABLE o (n BIGINT NOT NULL, s STRING, PRIMARY KEY (n) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'o')"
    )
    return t_env


def stored(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("select n, s from o order by n").fetchall()


@pytest.mark.parametrize("epochs", [1, "all"])
def test_the_key_of_the_table_may_be_another_one(tmp_path, epochs):
    path = tmp_path / "a.db"
    t_env = keyed(path, [(1, "a"), (2, "b"), (3, "a"), (4, "c")])
    insert(t_env, "SELECT COUNT(*), s FROM t GROUP BY s", None, epochs=epochs)
    # a has two, and of b and c, which have one, the last to come counts.
    assert stored(path) == [(1, "c"), (2, "a")]


SAME_KEYS = [(1, "a"), (2, "b"), (1, "c"), (2, "b")]


@pytest.mark.parametrize("epochs", [1, "all"])
@pytest.mark.parametrize(
    ("action", "wanted"),
    [
        ("", [(1, "c"), (2, "b")]),
        ("ON CONFLICT DO DEDUPLICATE", [(1, "c"), (2, "b")]),
        ("ON CONFLICT DO NOTHING", [(1, "a"), (2, "b")]),
    ],
)
def test_on_conflict_says_which_row_of_a_key_counts(tmp_path, action, wanted, epochs):
    t_env = keyed(tmp_path / "a.db", SAME_KEYS)
    with in_memory(epochs=epochs):
        t_env.execute_sql(f"INSERT INTO o SELECT id, s FROM t {action}").wait()
    assert stored(tmp_path / "a.db") == wanted


def test_on_conflict_do_error_fails_if_a_key_has_two_rows(tmp_path):
    t_env = keyed(tmp_path / "a.db", SAME_KEYS)
    with pytest.raises(MillstreamError, match=r"(?s)SEVERAL_ROWS_OF_KEY.*n = "):
        t_env.execute_sql("INSERT INTO o SELECT id, s FROM t ON CONFLICT DO ERROR").wait()


def test_rows_whose_key_is_that_of_the_table_have_no_conflict(tmp_path):
    t_env = keyed(tmp_path / "a.db", SAME_KEYS)
    query = "SELECT CAST(id AS BIGINT), MAX(s) FROM t GROUP BY CAST(id AS BIGINT)"
    with in_memory(epochs=1):
        t_env.execute_sql(f"INSERT INTO o {query} ON CONFLICT DO ERROR").wait()
    assert stored(tmp_path / "a.db") == [(1, "c"), (2, "b")]
    plan = t_env.explain_sql(f"INSERT INTO o {query} ON CONFLICT DO ERROR")
    assert "conflictStrategy=[ERROR]" in plan


def test_on_conflict_without_effect_is_refused(tmp_path):
    t_env = keyed(tmp_path / "a.db", SAME_KEYS)
    t_env.execute_sql("CREATE TABLE p (n BIGINT, s STRING) WITH ('connector' = 'print')")
    with pytest.raises(PlanError, match=r"ON_CONFLICT.*takes no upserts"):
        t_env.execute_sql("INSERT INTO p SELECT id, s FROM t ON CONFLICT DO NOTHING")
    t_env.execute_sql("SET 'table.exec.sink.upsert-materialize' = 'NONE'")
    with pytest.raises(PlanError, match=r"ON_CONFLICT.*is NONE"):
        t_env.execute_sql("INSERT INTO o SELECT id, s FROM t ON CONFLICT DO NOTHING")
    t_env.execute_sql("SET 'table.exec.sink.upsert-materialize' = 'SOME'")
    with pytest.raises(PlanError, match="cannot be 'SOME'"):
        t_env.execute_sql("INSERT INTO o SELECT id, s FROM t")


def test_without_the_rows_of_a_key_a_deletion_takes_any(tmp_path):
    rows = [(1, "a"), (2, "b"), (3, "a")]
    for mode, wanted in (("AUTO", [(1, "b"), (2, "a")]), ("NONE", [(2, "a")])):
        path = tmp_path / f"{mode}.db"
        t_env = keyed(path, rows)
        t_env.execute_sql(f"SET 'table.exec.sink.upsert-materialize' = '{mode}'")
        with in_memory(epochs=1):
            t_env.execute_sql("INSERT INTO o SELECT COUNT(*), s FROM t GROUP BY s").wait()
        assert stored(path) == wanted


def test_a_table_that_only_grows_says_who_updates(tmp_path):
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE o (s STRING, n BIGINT) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    with pytest.raises(PlanError, match=r"(?s)Aggregate in the query.*PRIMARY KEY"):
        t_env.execute_sql("INSERT INTO o SELECT s, COUNT(*) FROM t GROUP BY s")
