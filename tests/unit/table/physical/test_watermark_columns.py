"""CURRENT_WATERMARK in SQL: where it may stand, and what EXPLAIN says of it."""

from __future__ import annotations

import pytest

from millstream.common.errors import MillstreamError
from millstream.table import TableEnvironment
from tests.support.parity.sql_programs import Program, through_sink
from tests.support.parity.timed_tables import TIMED_TABLES

COLUMNS = "k INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts"


def environment() -> TableEnvironment:
    t_env = TableEnvironment.create()
    t_env.execute_sql(f"CREATE TABLE t ({COLUMNS}) WITH ('connector' = 'values')")
    return t_env


def test_late_rows_are_left_out_by_a_filter():
    late = "rowtime <= CURRENT_WATERMARK(rowtime)"
    run = through_sink(Program(TIMED_TABLES, f"SELECT i, s FROM bids WHERE {late}"))
    assert run.printed == ["[5, late]", "[6, Hi]"]


def test_the_result_does_not_depend_on_the_schedule():
    query = "SELECT k FROM t WHERE CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts)"
    text = environment().explain_sql(query)
    assert "order=[D]" in text
    assert "order=[P]" not in text
    assert "table: the watermark that the channel of each row had before it" in text


def test_there_is_no_watermark_in_batch_mode():
    query, batch = "SELECT i, CURRENT_WATERMARK(rowtime) FROM bids", "execution.runtime-mode"
    run = through_sink(Program(TIMED_TABLES, query, options=((batch, "batch"),)))
    assert len(run.printed) == 11
    assert all(each.endswith(", null]") for each in run.printed)


@pytest.mark.parametrize("column", ["k", "p", "ts + INTERVAL '1' SECOND", "MAX(ts)"])
def test_what_has_no_watermark_is_refused(column: str):
    with pytest.raises(MillstreamError) as caught:
        environment().sql_query(f"SELECT CURRENT_WATERMARK({column}) FROM t")
    assert caught.value.code == "WRONG_ARGUMENTS"


@pytest.mark.parametrize("table", ["trets", "tups"])
def test_rows_that_change_are_refused(table: str):
    # Flink takes a row back under another watermark than it came with, so that both stay.
    with pytest.raises(MillstreamError, match="CURRENT_WATERMARK over rows that change"):
        through_sink(Program(TIMED_TABLES, f"SELECT id, CURRENT_WATERMARK(ts) FROM {table}"))
