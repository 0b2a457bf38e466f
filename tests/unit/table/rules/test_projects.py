"""Projections and filters that follow each other."""

from __future__ import annotations

from millstream.table.logical.algebra import Aggregate, Limit, Project
from millstream.table.rules.driver import rewritten
from millstream.table.rules.projects import aggregates_of_no_columns
from tests.support.sql import Tables, bound, tree

TABLES = Tables().add("t", "a INT, b STRING", [(1, "x"), (2, "y")])


def shown(sql):
    return tree(rewritten(bound(sql, TABLES)))


def test_counts_read_the_table_itself():
    found = rewritten(bound("SELECT COUNT(*) FROM t", TABLES))
    empty = [e for e in found.walk() if isinstance(e, Project) and not e.expressions]
    assert empty == [] and any(isinstance(e, Aggregate) for e in found.walk())
    assert aggregates_of_no_columns(found) is found


def test_two_projections_are_one():
    assert shown("SELECT s + 1 AS r FROM (SELECT a * 2 AS s FROM t)") == (
        "Project[+(*(a, 2), 1)](t[a])"
    )
    assert shown("SELECT a, b FROM (SELECT * FROM t)") == "t[a, b]"


def test_nothing_is_computed_twice():
    twice = shown("SELECT s + 1 AS p, s + 2 AS q FROM (SELECT a * 2 AS s FROM t)")
    assert twice == "Project[+(s, 1), +(s, 2)](Project[*(a, 2)](t[a]))"
    chance = shown("SELECT r + 1 AS p FROM (SELECT RAND() AS r FROM t)")
    assert chance.count("Project") == 2


def test_two_filters_are_one_if_the_upper_cannot_fail():
    assert shown("SELECT a FROM (SELECT a FROM t WHERE a > 1) WHERE a < 9") == (
        "Filter[AND(>(a, 1), <(a, 9))](t[a])"
    )
    risky = "SELECT b FROM (SELECT b FROM t WHERE b <> 'x') WHERE CAST(b AS INT) > 1"
    assert shown(risky).count("Filter") == 2


def test_the_first_rows_are_taken_before_their_projection():
    assert shown("SELECT b FROM t ORDER BY a LIMIT 1").startswith("Project[b](Limit[](Sort[](")
    assert TABLES.table("SELECT b FROM t ORDER BY a DESC LIMIT 1", epochs=1) == {("y",): 1}


def test_two_limits_are_one_and_keep_the_order():
    text = "SELECT * FROM (SELECT * FROM t ORDER BY a DESC OFFSET {}) OFFSET {} ROWS{}"
    for parts, expected in {
        ("1", "2", " FETCH FIRST 3 ROWS ONLY"): (3, 3),
        ("1 ROWS FETCH FIRST 4 ROWS ONLY", "2", ""): (3, 2),
        ("1 ROWS FETCH FIRST 4 ROWS ONLY", "9", " FETCH FIRST 3 ROWS ONLY"): (10, 0),
    }.items():
        found = rewritten(bound(text.format(*parts), TABLES))
        (limit,) = [each for each in found.walk() if isinstance(each, Limit)]
        assert (limit.offset, limit.fetch) == expected
