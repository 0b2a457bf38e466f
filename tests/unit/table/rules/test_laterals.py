"""LATERAL queries as joins, in memory."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.errors import MillstreamError
from tests.support.sql import Tables


def tables() -> Tables:
    found = Tables()
    found.add("d", "k STRING, m INT", [("x", 1), ("y", 2), ("z", 3)])
    rows = [("x", 1), ("x", 5), ("x", 3), ("y", 2), (None, 9)]
    found.add("t", "k STRING, v INT", rows)
    return found.add("a", "id INT, xs ARRAY<INT>", [(1, [1, 2]), (2, []), (3, None)])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT d.k, q.v FROM d, LATERAL (SELECT v FROM t WHERE t.k = d.k) AS q",
            {("x", 1), ("x", 5), ("x", 3), ("y", 2)},
        ),
        (
            """SELECT d.k, q.v FROM d LEFT JOIN LATERAL (SELECT v FROM t WHERE t.k = d.k AND v > d.m)
               AS q ON TRUE""",
            {("x", 5), ("x", 3), ("y", None), ("z", None)},
        ),
        (
            """SELECT d.k, q.v FROM d, LATERAL (
                 SELECT v FROM t WHERE t.k = d.k ORDER BY v DESC LIMIT 2) AS q""",
            {("x", 5), ("x", 3), ("y", 2)},
        ),
        (
            """SELECT d.k, q.v FROM d LEFT JOIN LATERAL (
                 SELECT v FROM t WHERE t.k = d.k ORDER BY v LIMIT 1) AS q ON TRUE""",
            {("x", 1), ("y", 2), ("z", None)},
        ),
        (
            """SELECT d.k, q.n, q.s FROM d, LATERAL (
                 SELECT COUNT(*) AS n, SUM(v) + 1 AS s FROM t WHERE t.k = d.k) AS q""",
            {("x", 3, 10), ("y", 1, 3)},
        ),
        (
            """SELECT d.k, q.n, q.s FROM d LEFT JOIN LATERAL (
                 SELECT COUNT(*) AS n, SUM(v) + 1 AS s FROM t WHERE t.k = d.k) AS q ON TRUE""",
            {("x", 3, 10), ("y", 1, 3), ("z", 0, None)},
        ),
        (
            """SELECT d.k, q.s FROM d, LATERAL (
                 SELECT COUNT(*) + d.m AS s FROM t WHERE t.k = d.k) AS q""",
            {("x", 4), ("y", 3)},
        ),
        (
            """SELECT d.k, q.b, q.n FROM d, LATERAL (
                 SELECT v > 2 AS b, COUNT(*) AS n FROM t WHERE t.k = d.k GROUP BY v > 2) AS q""",
            {("x", False, 1), ("x", True, 2), ("y", False, 1)},
        ),
        (
            "SELECT id, x FROM a, LATERAL (SELECT y * 10 FROM UNNEST(a.xs) AS u (y)) AS q (x)",
            {(1, 10), (1, 20)},
        ),
        (
            """SELECT id, x FROM a, LATERAL (
                 SELECT y FROM UNNEST(a.xs) AS u (y) WHERE y > a.id) AS q (x)""",
            {(1, 2)},
        ),
        ("SELECT k, b FROM d, LATERAL (SELECT m + 1) AS q (b)", {("x", 2), ("y", 3), ("z", 4)}),
    ],
)
def test_queries_of_the_left_row(query: str, expected: set[Any]):
    assert set(tables().table(query)) == expected


def test_what_no_join_can_do_is_refused():
    query = """SELECT d.k, q.v FROM d, LATERAL (
                 SELECT v FROM t WHERE t.v > d.m ORDER BY v LIMIT 1) AS q"""
    with pytest.raises(MillstreamError, match="in a way that does not run yet"):
        tables().table(query)


def test_columns_of_the_left_row_and_of_the_query_may_have_one_name() -> None:
    found = Tables().add("t", "id INT, a INT", [(1, 1), (2, 1)])
    query = (
        "SELECT t.id, q.id FROM t, LATERAL (SELECT id FROM t AS o WHERE o.a = t.a AND id > 1) AS q"
    )
    assert found.table(query) == {(1, 2): 1, (2, 2): 1}
