"""Subqueries that read columns of the queries around them, run in memory."""

from __future__ import annotations

import pytest

from tests.support.sql import Tables, back


def tables() -> Tables:
    found = Tables().add("t", "id INT, a INT", [(1, 1), (2, 2), (3, None), (4, 4)])
    found.add(
        "o", "k INT, n INT", [(1, 5), (1, 6), (2, 5), (4, 3), (4, 2), back(4, 2)], updating=True
    )
    return found.add("s", "k INT, m INT", [(1, 6), (2, 9), (4, 3)])


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("EXISTS (SELECT * FROM o WHERE EXISTS (SELECT * FROM s WHERE s.k = t.id))", {1, 2, 4}),
        (
            "EXISTS (SELECT * FROM o WHERE o.k = t.id AND"
            " EXISTS (SELECT * FROM s WHERE s.k = t.id AND s.m = o.n))",
            {1, 4},
        ),
        (
            "NOT EXISTS (SELECT * FROM o WHERE o.k = t.id AND"
            " NOT EXISTS (SELECT * FROM s WHERE s.k = t.id AND s.m > o.n))",
            {2, 3},
        ),
        ("id IN (SELECT k FROM o WHERE n IN (SELECT m FROM s WHERE s.k = t.id))", {1, 4}),
        ("2 = (SELECT COUNT(*) FROM o WHERE n <= (SELECT m FROM s WHERE s.k = t.id) - 3)", set()),
        ("EXISTS (SELECT * FROM o WHERE t.id IN (SELECT s.k FROM s WHERE s.m = o.n))", {1, 4}),
        (
            "EXISTS (SELECT * FROM o WHERE o.k = t.id AND (o.n > t.id + 4 OR"
            " EXISTS (SELECT * FROM s WHERE s.k = o.k AND s.m = o.n)))",
            {1, 4},
        ),
        (
            "EXISTS (SELECT * FROM o WHERE EXISTS (SELECT * FROM s WHERE s.m = o.n AND"
            " EXISTS (SELECT * FROM o AS p WHERE p.k = t.id AND p.n = s.m)))",
            {1, 4},
        ),
    ],
)
def test_columns_of_the_outermost_query(condition: str, ids: set[int]) -> None:
    assert tables().table(f"SELECT id FROM t WHERE {condition}") == {(each,): 1 for each in ids}


def test_a_query_of_the_left_row_inside_of_a_subquery() -> None:
    inner = "SELECT o.k FROM o, LATERAL (SELECT m FROM s WHERE s.k = o.k AND s.m = o.n)"
    assert tables().table(f"SELECT id FROM t WHERE id IN ({inner})") == {(1,): 1, (4,): 1}


def test_groups_of_what_is_compared_are_not_those_of_its_columns() -> None:
    # k - n is one value for several pairs of k and n.
    query = "SELECT id, (SELECT COUNT(*) FROM o WHERE n - k = t.id + 2) FROM t"
    assert tables().table(query) == {(1, 1): 1, (2, 1): 1, (3, 1): 1, (4, 0): 1}
    query = "SELECT id, (SELECT COUNT(*) FROM o WHERE MOD(n, 2) = t.id) FROM t WHERE id < 3"
    assert tables().table(query) == {(1, 3): 1, (2, 0): 1}
    query = (
        "SELECT id, n FROM t, LATERAL (SELECT n FROM o WHERE MOD(n, 2) = t.id ORDER BY n LIMIT 1)"
    )
    assert tables().table(query) == {(1, 3): 1}


@pytest.mark.parametrize(
    ("limit", "ids"),
    [("LIMIT 1", {1, 2, 4}), ("LIMIT 0", set()), ("ORDER BY n LIMIT 2 OFFSET 1", {1})],
)
def test_limits_of_the_rows_of_each_row(limit: str, ids: set[int]) -> None:
    query = f"SELECT id FROM t WHERE EXISTS (SELECT * FROM o WHERE k = t.id {limit})"
    assert tables().table(query) == {(each,): 1 for each in ids}


def test_the_first_of_the_rows_of_each_row() -> None:
    query = "SELECT id, (SELECT n FROM o WHERE k = t.id ORDER BY n DESC LIMIT 1) FROM t"
    assert tables().table(query) == {(1, 6): 1, (2, 5): 1, (3, None): 1, (4, 3): 1}


@pytest.mark.parametrize("kind", ["LEFT", "RIGHT", "FULL"])
def test_outer_joins_that_read_columns_from_outside(kind: str) -> None:
    joined = (
        f"(SELECT * FROM o WHERE k = t.id) AS l {kind} JOIN (SELECT * FROM s WHERE k >= t.id) AS r"
    )
    query = f"SELECT id, (SELECT COUNT(*) FROM {joined} ON l.k = r.k) FROM t"
    wanted = {"LEFT": (2, 1, 0, 1), "RIGHT": (4, 2, 1, 1), "FULL": (4, 2, 1, 1)}[kind]
    assert tables().table(query) == {(i + 1, n): 1 for i, n in enumerate(wanted)}
