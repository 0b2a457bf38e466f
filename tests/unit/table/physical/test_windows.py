"""Windows and their aggregates, from SQL to rows."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from millstream.kernel.tables.timed.sessions import SessionSpec
from millstream.kernel.tables.timed.window_aggregate import WindowAggregateSpec
from millstream.plan.graph import KeyedNode
from millstream.table.execution.statements import own_graph
from tests.support.sql import Tables, bound
from tests.support.timed_sql import TUMBLE, seconds, timed_tables

BOTH = "window_start, window_end"
SESSION = "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)"


def rows(sql: str, **options) -> Counter:
    found = timed_tables(**options).table(sql)
    return Counter({tuple(map(seconds, row)): number for row, number in found.items()})


def specs(sql: str, tables: Tables | None = None) -> list:
    """The stateful operators of a query."""
    tables = tables or timed_tables()
    planner = tables.planner()
    with own_graph(planner.env):
        planner.add(planner.planned(bound(sql, tables)))
        nodes = [each for each in planner.env._graph if isinstance(each, KeyedNode)]
    return [each.function for each in nodes]


def test_groups_of_windows_end_with_them():
    query = f"SELECT k, window_start, COUNT(*), SUM(v) FROM {TUMBLE} GROUP BY k, {BOTH}"
    assert rows(query) == Counter(
        [("a", 0, 2, 4), ("b", 0, 1, 2), ("a", 10, 1, 5), ("b", 10, 1, 4), ("c", 30, 1, 6)]
    )
    (spec,) = specs(query)
    assert isinstance(spec, WindowAggregateSpec) and not spec.processing


def test_sessions_of_keys():
    query = f"SELECT k, {BOTH}, COUNT(*) FROM {SESSION} GROUP BY k, {BOTH}"
    assert rows(query) == Counter(
        [("a", 1, 9, 2), ("a", 11, 16, 1), ("b", 2, 7, 1), ("b", 12, 17, 1), ("c", 31, 36, 1)]
    )
    assert [type(each) for each in specs(query)] == [SessionSpec, WindowAggregateSpec]


def test_sessions_of_all_rows():
    session = "SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '7' SECOND)"
    query = (
        f"SELECT window_start, window_end, SUM(v) FROM {session} GROUP BY window_start, window_end"
    )
    # The row of second 11 comes when the watermark is 11: the session that ends there is over.
    assert rows(query) == Counter([(1, 11, 6), (11, 19, 9), (31, 38, 6)])


def test_rows_of_sessions_leave_with_them():
    found = rows(f"SELECT v, window_start, window_end FROM {SESSION} WHERE k = 'a'")
    assert found == Counter([(1, 1, 9), (3, 1, 9), (5, 11, 16)])


def test_session_in_group_by():
    query = (
        "SELECT k, SESSION_START(ts, INTERVAL '5' SECOND), SESSION_END(ts, INTERVAL '5' SECOND) "
    )
    query += "FROM t WHERE k <> 'b' GROUP BY k, SESSION(ts, INTERVAL '5' SECOND)"
    assert rows(query) == Counter([("a", 1, 9), ("a", 11, 16), ("c", 31, 36)])


def test_windows_as_spark_writes_them():
    query = "SELECT `window`.`start`, COUNT(*) FROM t GROUP BY WINDOW(ts, '10 seconds')"
    assert rows(query) == Counter([(0, 3), (10, 2), (30, 1)])
    sliding = (
        "SELECT `window`.`end`, COUNT(*) FROM t GROUP BY WINDOW(ts, '10 seconds', '5 seconds')"
    )
    assert rows(sliding)[(15, 2)] == 1
    session = (
        "SELECT session_window.`start`, COUNT(*) FROM t GROUP BY SESSION_WINDOW(ts, '5 seconds'), k"
    )
    assert rows(session)[(1, 2)] == 1


def test_grouping_sets_of_windows():
    query = f"SELECT k, window_start, COUNT(*) FROM {TUMBLE} "
    query += "GROUP BY window_start, window_end, GROUPING SETS ((k), ())"
    found = rows(query)
    assert found[("a", 0, 2)] == found[(None, 0, 3)] == found[(None, 10, 2)] == 1
    assert len(found) == 8
    (spec,) = specs(query)
    assert isinstance(spec, WindowAggregateSpec)


def test_a_window_of_windows():
    inner = (
        f"SELECT k, window_time AS wt, COUNT(*) AS n FROM {TUMBLE} GROUP BY k, {BOTH}, window_time"
    )
    query = f"WITH c AS ({inner}) SELECT window_start, SUM(n) FROM "
    query += (
        "TUMBLE(TABLE c, DESCRIPTOR(wt), INTERVAL '20' SECOND) GROUP BY window_start, window_end"
    )
    assert rows(query) == Counter([(0, 5), (20, 1)])


def test_rows_that_are_taken_back_are_in_no_window():
    windows = "TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
    query = f"SELECT k, window_start, SUM(v) FROM {windows} GROUP BY k, {BOTH}"
    assert rows(query) == Counter([("b", 0, 2), ("a", 10, 4)])


def test_windows_by_the_time_of_day():
    windows = "TUMBLE(TABLE p, DESCRIPTOR(pt), INTERVAL '1' HOUR)"
    query = f"SELECT COUNT(*) FROM {windows} GROUP BY {BOTH}"
    (spec,) = specs(f"WITH p AS (SELECT *, PROCTIME() AS pt FROM t) {query}")
    assert spec.processing
    session = query.replace("TUMBLE", "SESSION")
    first, second = specs(f"WITH p AS (SELECT *, PROCTIME() AS pt FROM t) {session}")
    assert first.processing and second.processing


TIMED = "(TABLE p, DESCRIPTOR(pt), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
BY_PROCESSING_TIME = {
    "TUMBLE(TABLE p, DESCRIPTOR(pt), INTERVAL '10' SECOND)": [
        ("a", 0, 10, 3), ("b", 0, 10, 3), ("a", 10, 20, 4), ("b", 10, 20, 5),
    ],
    f"HOP{TIMED}": [
        ("a", -5, 5, 3), ("a", 0, 10, 3), ("b", 0, 10, 3), ("a", 5, 15, 4), ("b", 5, 15, 3),
        ("a", 10, 20, 4), ("b", 10, 20, 5),
    ],
    f"CUMULATE{TIMED}": [
        ("a", 0, 5, 3), ("a", 0, 10, 3), ("b", 0, 10, 3), ("a", 10, 15, 4), ("a", 10, 20, 4),
        ("b", 10, 20, 5),
    ],
    "SESSION(TABLE p PARTITION BY k, DESCRIPTOR(pt), INTERVAL '7' SECOND)": [
        ("a", 0, 11, 3), ("b", 8, 15, 3), ("a", 12, 19, 4), ("b", 16, 23, 5),
    ],
}  # fmt: skip
"""Of rows that come every four seconds; what is not over at the end, after 24 seconds, never comes."""


@pytest.mark.parametrize("windows", BY_PROCESSING_TIME)
def test_rows_of_windows_by_the_time_of_day(windows):
    tables = Tables()
    given = [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5), ("a", 6)]
    tables.add("t", "k STRING, v INT", given)
    query = f"""WITH p AS (SELECT *, PROCTIME() AS pt FROM t)
                SELECT k, {BOTH}, SUM(v) FROM {windows} GROUP BY k, {BOTH}"""
    found = tables.table(query, epochs=1, ms_per_epoch=4_000)
    plain = [(k, _second(start), _second(end), total) for k, start, end, total in found]
    assert sorted(plain) == sorted(BY_PROCESSING_TIME[windows])


def _second(time: datetime) -> int:
    return int((time - datetime(1970, 1, 1)).total_seconds())


@pytest.mark.parametrize("reads", [1, 2, 3])
@pytest.mark.parametrize("source", [TUMBLE, SESSION])
def test_no_cut_changes_the_result(source, reads):
    query = f"SELECT k, window_start, SUM(v) FROM {source} GROUP BY k, {BOTH}"
    assert rows(query) == Counter(
        {
            tuple(map(seconds, row)): n
            for row, n in timed_tables().table(query, epochs=reads).items()
        }
    )
