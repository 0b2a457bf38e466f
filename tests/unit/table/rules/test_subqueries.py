"""Queries inside of expressions, run in memory."""

from __future__ import annotations

import pytest

from millstream.common.errors import MillstreamError
from tests.support.sql import Tables, back


def tables() -> Tables:
    found = Tables().add("t", "id INT, a INT", [(1, 1), (2, 2), (3, None), (4, 4)])
    found.add("u", "b INT", [(1,), (2,), back(2)], updating=True)
    found.add("n", "b INT", [(1,), (None,)])
    return found.add("e", "b INT", [])


def test_in_and_exists_inside_of_other_conditions():
    query = "SELECT id FROM t WHERE id = 4 OR a IN (SELECT b FROM u)"
    assert tables().table(query) == {(1,): 1, (4,): 1}
    query = "SELECT id FROM t WHERE NOT (EXISTS (SELECT * FROM u WHERE b = a) OR id = 2)"
    assert tables().table(query) == {(3,): 1, (4,): 1}


def test_in_is_null_where_no_comparison_is_true_and_one_is_null():
    found = tables().table("SELECT id, a IN (SELECT b FROM n) FROM t")
    assert found == {(1, True): 1, (2, None): 1, (3, None): 1, (4, None): 1}
    found = tables().table("SELECT id, a NOT IN (SELECT b FROM u) FROM t")
    assert found == {(1, False): 1, (2, True): 1, (3, None): 1, (4, True): 1}
    # Of no rows nothing is NULL.
    found = tables().table("SELECT id, a IN (SELECT b FROM e) FROM t WHERE id > 2")
    assert found == {(3, False): 1, (4, False): 1}


def test_counts_of_no_rows():
    found = tables().table("SELECT id, (SELECT COUNT(*) FROM u WHERE b = a) FROM t WHERE id < 3")
    assert found == {(1, 1): 1, (2, 0): 1}
    # As in Flink a stream without rows has no count yet.
    assert tables().table("SELECT (SELECT COUNT(*) FROM e) FROM u") == {(None,): 1}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, (SELECT b FROM n) FROM t",
        "SELECT id FROM t WHERE a > (SELECT b FROM n)",
        "SELECT id, (SELECT id FROM t AS o WHERE o.a > t.a) FROM t",
        "SELECT id, (SELECT a FROM t AS o WHERE o.a <> 4 AND t.id = o.id - o.a + 1) FROM t",
    ],
)
def test_a_value_of_several_rows_is_an_error(query):
    with pytest.raises(MillstreamError, match="SUBQUERY_ROWS"):
        tables().table(query)


def test_values_of_queries_with_one_row():
    found = tables().table("SELECT id, (SELECT b FROM n WHERE b = 1) FROM t WHERE id < 3")
    assert found == {(1, 1): 1, (2, 1): 1}
    found = tables().table("SELECT id, (SELECT a FROM t AS o WHERE o.id = t.id + 1) FROM t")
    assert found == {(1, 2): 1, (2, None): 1, (3, 4): 1, (4, None): 1}
    found = tables().table("SELECT id, (SELECT b FROM n ORDER BY b DESC LIMIT 1) FROM t LIMIT 1")
    assert list(found.values()) == [1]
