"""Filters that move towards the sources."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from millstream.table.rules.driver import rewritten
from tests.support.sql import Tables, bound, tree

ROWS = [(1, "x", 10), (2, "y", 20), (1, "x", 5), (3, None, 7)]


def tables():
    found = Tables().add("t", "a INT, b STRING, v INT", ROWS)
    return found.add("u", "a INT, c STRING", [(1, "one"), (2, "two"), (4, "four")])


CASES = {
    "SELECT s FROM (SELECT a + 1 AS s FROM t) WHERE s > 2": (
        "Project[+(a, 1)](Filter[>(+(a, 1), 2)](t[a]))"
    ),
    # RAND of a projection is not computed twice.
    "SELECT r FROM (SELECT RAND() AS r FROM t) WHERE r > 2": (
        "Filter[>(r, 2.0)](Project[RAND()](t[a]))"
    ),
    "SELECT * FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) WHERE a > 1 AND n > 0": (
        "Project[a, EXPR$0](Filter[>(EXPR$0, 0)](Aggregate[COUNT()](Filter[>(a, 1)](t[a]))))"
    ),
    "SELECT * FROM (SELECT COUNT(*) AS n FROM t) WHERE n > 1": (
        "Project[EXPR$0](Filter[>(EXPR$0, 1)](Aggregate[COUNT()](t[a])))"
    ),
    "SELECT * FROM (SELECT DISTINCT a FROM t) WHERE a > 1": "Distinct[](Filter[>(a, 1)](t[a]))",
    "SELECT * FROM (SELECT a FROM t EXCEPT SELECT a FROM u) WHERE a > 1": (
        "SetOperation[](Filter[>(a, 1)](t[a]), Filter[>(a, 1)](u[a]))"
    ),
    "SELECT * FROM (SELECT a FROM t ORDER BY a LIMIT 2) WHERE a > 1": (
        "Filter[>(a, 1)](Limit[](Sort[](t[a])))"
    ),
}


def shown(sql):
    return tree(rewritten(bound(sql, tables())))


@pytest.mark.parametrize("sql", CASES)
def test_filters_move_where_rows_do_not_depend_on_each_other(sql):
    assert shown(sql) == CASES[sql]


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [("INNER", 1, 1), ("LEFT", 1, 0), ("RIGHT", 0, 1), ("FULL", 0, 0)],
)
def test_the_kind_of_a_join_says_where_a_filter_may_go(kind, left, right):
    for condition, table, moves in (("v > 6", "t", left), ("c > 'p'", "u", right)):
        sql = f"SELECT v, c FROM t {kind} JOIN u ON t.a = u.a WHERE {condition}"
        found = shown(sql)
        inside = found.index("Filter") > found.index("Join")
        assert inside == bool(moves), found
        if inside:
            assert f"({table}[" in found[found.index("Filter") :]


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [("INNER", 1, 1), ("LEFT", 0, 1), ("RIGHT", 1, 0), ("FULL", 0, 0)],
)
def test_parts_of_a_join_condition_move_into_one_side(kind, left, right):
    for condition, moves in (("v > 6", left), ("c > 'p'", right)):
        found = shown(f"SELECT v, c FROM t {kind} JOIN u ON t.a = u.a AND {condition}")
        assert ("Filter" in found) == bool(moves), found


def test_a_cross_join_with_a_condition_has_a_key():
    found = shown("SELECT v FROM t, u WHERE t.a = u.a")
    assert "Filter" not in found and "Join[inner, =(a, a" in found


def test_windows_and_ranks():
    timed = Tables().add("w", "k INT, ts TIMESTAMP(3), v INT", [], watermark=("ts", "ts"))
    window = "FROM {}(TABLE w {}, DESCRIPTOR(ts), INTERVAL '1' MINUTE) WHERE {}"

    def pushed(sql):
        found = tree(rewritten(bound(sql, timed)))
        return found.startswith(("WindowTable", "Rank", "Project[k](Rank", "Project[k](Window"))

    assert pushed("SELECT * " + window.format("TUMBLE", "", "v > 1"))
    assert not pushed("SELECT * " + window.format("SESSION", "PARTITION BY k", "v > 1"))
    assert pushed("SELECT * " + window.format("SESSION", "PARTITION BY k", "k > 1"))
    assert not pushed(
        "SELECT * " + window.format("TUMBLE", "", "window_start > TIMESTAMP '2020-01-01 00:00:00'")
    )
    rank = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM w"
    assert pushed(f"SELECT k FROM ({rank}) WHERE n < 3 AND k > 1")
    assert not pushed(f"SELECT k FROM ({rank}) WHERE n < 3 AND v > 1")


RESULTS: dict[str, list[Any]] = {
    "SELECT t.v, u.c FROM t LEFT JOIN u ON t.a = u.a AND t.v > 6 WHERE u.c IS NULL": [
        (5, None),
        (7, None),
    ],
    "SELECT t.v, u.c FROM t FULL JOIN u ON t.a = u.a WHERE v > 6 OR c = 'four'": [
        (10, "one"),
        (20, "two"),
        (7, None),
        (None, "four"),
    ],
    "SELECT a, n FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) WHERE a < 3 AND n > 1": [(1, 2)],
    "SELECT b FROM (SELECT b FROM t UNION ALL SELECT c FROM u) WHERE b LIKE '%o%'": [
        ("one",),
        ("two",),
        ("four",),
    ],
    "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE c <> 'two') AND v > 7": [(2,)],
}


@pytest.mark.parametrize("sql", RESULTS)
def test_results_stay(sql):
    assert tables().table(sql, epochs=1, slots=2) == Counter(RESULTS[sql])
