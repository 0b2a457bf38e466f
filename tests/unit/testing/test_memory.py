"""Tables in memory: rows for them, what is written into them, and savepoints between."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from millstream.common import Row, RowKind
from millstream.common.errors import PlanError
from millstream.table import TableEnvironment
from millstream.testing import Checkpoint, MemoryTables, in_memory

TIME = datetime.datetime(2024, 3, 14, 12)
UPDATE, DELETE = RowKind.UPDATE_AFTER, RowKind.DELETE
INSERT = "INSERT INTO totals SELECT customer, SUM(amount) FROM orders GROUP BY customer"


def environment(orders: str = "'changelog-mode' = 'I,UA,D'", totals: str = "") -> TableEnvironment:
    t_env = TableEnvironment.create()
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, amount INT, PRIMARY KEY (id) NOT ENFORCED)
        WITH ('connector' = 'values', {orders})
    """)
    t_env.execute_sql(f"""
        CREATE TABLE totals (customer STRING, total INT{totals}) WITH ('connector' = 'values')
    """)
    return t_env


def shown(tables: MemoryTables, name: str = "totals") -> list[str]:
    return [f"{row.get_row_kind()}{list(row)}" for row in tables.changes(name)]


def table(tables: MemoryTables, name: str = "totals") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in tables.rows(name)]


FIRST: list[Any] = [(1, "ann", 5), (2, "bob", 3)]
SECOND: list[Any] = [Row.of_kind(UPDATE, 1, "ann", 8), Row.of_kind(DELETE, 2, None, None)]


def test_changes_of_a_table_without_a_key_have_old_rows() -> None:
    t_env = environment()
    with in_memory(tables={"orders": FIRST + SECOND}, epochs=2) as tables:
        t_env.execute_sql(INSERT).wait()
    assert shown(tables) == [
        "+I['ann', 5]",
        "+I['bob', 3]",
        "-U['ann', 5]",
        "+U['ann', 8]",
        "-D['bob', 3]",
    ]
    assert table(tables) == [("ann", 8)]


def test_a_table_with_a_key_gets_upserts() -> None:
    t_env = environment(totals=", PRIMARY KEY (customer) NOT ENFORCED")
    with in_memory(tables={"orders": FIRST + SECOND}, epochs=2) as tables:
        t_env.execute_sql(INSERT).wait()
    assert shown(tables) == ["+I['ann', 5]", "+I['bob', 3]", "+U['ann', 8]", "-D['bob', 3]"]


@pytest.mark.parametrize("at", range(5))
def test_a_job_goes_on_with_the_rows_of_the_next_block(at: int) -> None:
    t_env = environment(totals=", PRIMARY KEY (customer) NOT ENFORCED")
    rows, checkpoint = FIRST + SECOND, Checkpoint()
    with in_memory(checkpoint=checkpoint, tables={"orders": rows[:at]}, stop=True, epochs=1):
        t_env.execute_sql(INSERT).wait()
    with in_memory(checkpoint=checkpoint, tables={"orders": rows[at:]}, epochs=1) as tables:
        t_env.execute_sql(INSERT).wait()
    assert shown(tables) == ["+I['ann', 5]", "+I['bob', 3]", "+U['ann', 8]", "-D['bob', 3]"]


def test_a_stop_closes_no_window() -> None:
    t_env = TableEnvironment.create()
    t_env.execute_sql("""
        CREATE TABLE events (s BIGINT, ts AS TO_TIMESTAMP_LTZ(s, 0), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'values')
    """)
    t_env.execute_sql("CREATE TABLE counts (n BIGINT) WITH ('connector' = 'values')")
    insert = """
        INSERT INTO counts SELECT COUNT(*)
        FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end
    """
    checkpoint = Checkpoint()
    with in_memory(checkpoint=checkpoint, tables={"events": [(1,), (2,)]}, stop=True) as tables:
        t_env.execute_sql(insert).wait()
        assert tables.changes("counts") == []
    with in_memory(checkpoint=checkpoint, tables={"events": [(3,)]}) as tables:
        t_env.execute_sql(insert).wait()
    assert table(tables, "counts") == [(3,)]


def test_the_next_job_after_the_end_begins_with_empty_tables() -> None:
    t_env, checkpoint = environment(), Checkpoint()
    for _ in range(2):
        with in_memory(checkpoint=checkpoint, tables={"orders": FIRST}) as tables:
            t_env.execute_sql(INSERT).wait()
        assert table(tables) == [("ann", 5), ("bob", 3)]


def test_a_table_of_another_system_is_replaced_for_reading_and_writing() -> None:
    t_env = TableEnvironment.create()
    kafka = "'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'none:1'"
    formats = "'key.format' = 'json', 'value.format' = 'json'"
    for name in ("names", "copies"):
        columns = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({kafka}, {formats})")
    rows: list[Any] = [
        (1, "a"),
        (2, "b"),
        Row.of_kind(UPDATE, 1, "c"),
        Row.of_kind(DELETE, 2, None),
    ]
    with in_memory(tables={"names": rows, "copies": []}) as tables:
        t_env.execute_sql("INSERT INTO copies SELECT id, UPPER(name) FROM names").wait()
    assert table(tables, "copies") == [(1, "C")]


def test_metadata_and_nested_rows_are_columns_of_the_rows() -> None:
    t_env = TableEnvironment.create()
    t_env.execute_sql("""
        CREATE TABLE events (r ROW<a INT, b STRING>, place BIGINT METADATA FROM 'offset' VIRTUAL,
        twice AS r.a * 2) WITH ('connector' = 'values')
    """)
    t_env.execute_sql(
        "CREATE TABLE found (a INT, p BIGINT, r ROW<a INT, b STRING>) WITH ('connector' = 'values')"
    )
    with in_memory(tables={"events": [((1, "x"), 7), (None, 8)]}) as tables:
        t_env.execute_sql("INSERT INTO found SELECT twice, place, r FROM events").wait()
    assert table(tables, "found") == [(2, 7, Row(a=1, b="x")), (None, 8, None)]


def test_a_table_that_takes_insertions_only_refuses_changes() -> None:
    t_env = environment()
    t_env.execute_sql("""
        CREATE TABLE strict (customer STRING, total INT)
        WITH ('connector' = 'values', 'sink-insert-only' = 'true')
    """)
    with (
        in_memory(tables={"orders": FIRST}),
        pytest.raises(PlanError, match="takes insertions only"),
    ):
        t_env.execute_sql(INSERT.replace("totals", "strict"))


def test_the_kinds_that_are_read_may_be_upserts_without_insertions() -> None:
    t_env = environment("'changelog-mode' = 'UA,D'")
    with in_memory(tables={"orders": FIRST + SECOND}, epochs=2) as tables:
        t_env.execute_sql(INSERT).wait()
    assert table(tables) == [("ann", 8)]


def test_wrong_kinds_and_unknown_tables_are_refused() -> None:
    t_env = environment("'changelog-mode' = 'I,X'")
    with in_memory(tables={"orders": FIRST}) as tables:
        with pytest.raises(PlanError, match="'changelog-mode' = 'I,X'"):
            t_env.execute_sql(INSERT)
        with pytest.raises(PlanError, match="nothing was written into a table 'none'"):
            tables.rows("none")


def test_values_without_a_test_say_what_to_do() -> None:
    with pytest.raises(PlanError, match="there are no rows for it"):
        environment().sql_query("SELECT * FROM orders").explain()


def test_insert_overwrite_forgets_what_was_there() -> None:
    t_env = environment()
    with in_memory(tables={"orders": FIRST}) as tables:
        t_env.execute_sql(INSERT).wait()
        overwrite = "INSERT OVERWRITE totals SELECT customer, amount FROM orders WHERE id = 2"
        t_env.execute_sql(overwrite).wait()
    assert table(tables) == [("bob", 3)]


def test_options_of_watermarks_change_no_row() -> None:
    t_env = TableEnvironment.create()
    options = "'scan.watermark.emit.strategy' = 'on-event', 'scan.watermark.alignment.group' = 'g'"
    t_env.execute_sql(f"""
        CREATE TABLE events (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'values', {options})
    """)
    t_env.execute_sql("CREATE TABLE found (a INT) WITH ('connector' = 'values')")
    with in_memory(tables={"events": [(1, TIME), (2, TIME)]}) as tables:
        t_env.execute_sql("INSERT INTO found SELECT a FROM events").wait()
    assert table(tables, "found") == [(1,), (2,)]
