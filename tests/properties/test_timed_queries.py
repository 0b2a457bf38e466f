"""Timed queries of SQL: no cut into epochs, number of slots or restart changes their table."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sql import Tables
from tests.support.strategies import examples

START = datetime(2024, 1, 1)
COLUMNS = "k STRING, v INT, ts TIMESTAMP(3)"
TUMBLE = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
SESSION = "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND)"
BOTH = "window_start, window_end"
SAME = "l.window_start = r.window_start AND l.window_end = r.window_end"
COUNTED = (
    f"SELECT k, {BOTH}, window_time AS wt, COUNT(*) AS n FROM {{}} GROUP BY k, {BOTH}, window_time"
)
OVER = "SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts {}) FROM t"
RANKED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY v, ts) AS n FROM {}"
JOINED = (
    f"FROM (SELECT * FROM {TUMBLE.format('t')}) l {{}} JOIN (SELECT * FROM {TUMBLE.format('o')}) r"
)
QUERIES = {
    "tumble": COUNTED.format(TUMBLE.format("t")),
    "session": COUNTED.format(SESSION),
    "session rows": f"SELECT * FROM {SESSION}",
    "sets": f"SELECT k, v, {BOTH}, COUNT(*) FROM {TUMBLE.format('t')} GROUP BY {BOTH}, CUBE (k, v)",
    "windows of windows": f"WITH c AS ({COUNTED.format(TUMBLE.format('t'))}) SELECT {BOTH}, SUM(n) "
    f"FROM TUMBLE(TABLE c, DESCRIPTOR(wt), INTERVAL '20' SECOND) GROUP BY {BOTH}",
    "windows of sessions": f"WITH c AS ({COUNTED.format(SESSION)}) SELECT {BOTH}, SUM(n) "
    f"FROM TUMBLE(TABLE c, DESCRIPTOR(wt), INTERVAL '20' SECOND) GROUP BY {BOTH}",
    "over range": OVER.format("RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW"),
    "over rows": OVER.format("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    "over all": OVER.format(""),
    "over changes": "SELECT k, n, SUM(n) OVER (ORDER BY n) FROM "
    "(SELECT k, COUNT(*) AS n FROM t GROUP BY k)",
    "sort": "SELECT * FROM t ORDER BY ts, v",
    "window top": f"SELECT * FROM ({RANKED.format(BOTH, TUMBLE.format('t'))}) WHERE n <= 2",
    "window join": f"SELECT l.v, r.v {JOINED.format('FULL')} ON l.k = r.k AND {SAME}",
}


def table(rows: list[Any], query: str, **schedule: Any) -> Any:
    tables = Tables()
    given = [(k, v, START + timedelta(seconds=s)) for k, v, s in rows]
    mark = ("ts", "ts - INTERVAL '3' SECOND")
    tables.add("t", COLUMNS, given, watermark=mark)
    tables.add("o", COLUMNS, given[::-2], watermark=mark)
    return tables.table(query, **schedule)


@pytest.mark.parametrize("name", QUERIES)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3), st.integers(0, 40)),
        max_size=12,
    ),
    epochs=st.integers(1, 5),
    slots=st.integers(1, 3),
    restarts=st.sampled_from(["marks", "every"]),
)
@examples(10)
def test_no_schedule_changes_the_table(
    name: str, rows: list[Any], epochs: int, slots: int, restarts: Any
) -> None:
    found = table(rows, QUERIES[name], epochs=epochs, slots=slots, restarts=restarts)
    assert found == table(rows, QUERIES[name], epochs="all")
