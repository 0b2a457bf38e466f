"""Columns that nobody reads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from millstream.table.rules.driver import rewritten
from tests.support.sql import Tables, bound, tree

WIDE = "a INT, b STRING, c INT, d STRING, arr ARRAY<INT>, ts TIMESTAMP(3)"


def tables():
    rows = [
        (1, "x", 10, "p", [1, 2], None),
        (2, "y", 20, "q", [3], None),
        (1, "z", 5, "r", [], None),
    ]
    return Tables().add("t", WIDE, rows).add("u", WIDE, rows)


CASES: dict[str, tuple[str, list[Any]]] = {
    "SELECT d, b FROM t": ("Project[d, b](t[b, d])", [("p", "x"), ("q", "y"), ("r", "z")]),
    "SELECT COUNT(*) FROM t": ("Aggregate[COUNT()](t[a])", [(3,)]),
    "SELECT c FROM t WHERE a = 1": ("Project[c](Filter[=(a, 1)](t[a, c]))", [(10,), (5,)]),
    "SELECT n FROM (SELECT a, COUNT(*) AS n, MAX(b) FROM t GROUP BY a)": (
        "Project[EXPR$0](Aggregate[COUNT()](t[a]))",
        [(2,), (1,)],
    ),
    # What keeps rows does not keep columns that only a filter below it has read.
    "SELECT t.c, u.d FROM t JOIN u ON t.b = u.b AND t.a > 1": (
        "Project[c, d](Join[inner, =(b, b)](Project[b, c](Filter[>(a, 1)](t[a, b, c])), u[b, d]))",
        [(20, "q")],
    ),
    "SELECT c FROM t WHERE b IN (SELECT b FROM u WHERE c > 5)": (
        "Project[c](Join[semi, =(b, b)](t[b, c], Project[b](Filter[>(c, 5)](u[b, c]))))",
        [(10,), (20,)],
    ),
    "SELECT c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY c) AS n FROM t) WHERE n = 1": (
        "Project[c](Rank[](t[a, c]))",
        [(5,), (20,)],
    ),
    "SELECT x FROM (SELECT c AS x, b FROM t UNION ALL SELECT a, d FROM u)": (
        "SetOperation[](Project[c](t[c]), u[a])",
        [(10,), (20,), (5,), (1,), (2,), (1,)],
    ),
    "SELECT COUNT(*) FROM (SELECT a, b FROM t EXCEPT SELECT c, d FROM u)": (
        "Aggregate[COUNT()](SetOperation[](t[a, b], u[c, d]))",
        [(3,)],
    ),
    "SELECT d FROM t ORDER BY c LIMIT 1": (
        "Project[d](Limit[](Sort[](Project[d, c](t[c, d]))))",
        [("r",)],
    ),
    "SELECT y FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y)": (
        "Project[y](Values[]())",
        [("a",), ("b",)],
    ),
}


@pytest.mark.parametrize("sql", CASES)
def test_tables_have_the_columns_that_are_read(sql):
    shown, rows = CASES[sql]
    assert tree(rewritten(bound(sql, tables()))) == shown
    assert tables().table(sql, epochs=1, slots=2) == Counter(rows)
