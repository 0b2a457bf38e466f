"""Top-N, deduplication and joins of windows, from SQL to rows."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.timed_sql import OTHER, TUMBLE, seconds, timed_tables


def rows(sql: str) -> Counter:
    """The rows; none of them is ever taken back."""
    found = timed_tables().changes(sql)
    assert all(str(row.get_row_kind()) == "+I" for row in found)
    return Counter(tuple(map(seconds, row)) for row in found)


def ranked(order: str, limit: str, function: str = "ROW_NUMBER") -> Counter:
    partition = "PARTITION BY window_start, window_end"
    inner = f"SELECT *, {function}() OVER ({partition} {order}) AS n FROM {TUMBLE}"
    return rows(f"SELECT window_start, v, n FROM ({inner}) WHERE {limit}")


def test_the_first_rows_of_each_window():
    assert ranked("ORDER BY v DESC", "n <= 2") == Counter(
        [(0, 3, 1), (0, 2, 2), (10, 5, 1), (10, 4, 2), (30, 6, 1)]
    )
    assert ranked("ORDER BY v", "n = 2") == Counter([(0, 2, 2), (10, 5, 2)])
    assert ranked("ORDER BY k", "n <= 1", "RANK") == Counter(
        [(0, 1, 1), (0, 3, 1), (10, 5, 1), (30, 6, 1)]
    )


def test_one_row_of_each_key_and_window():
    partition = "PARTITION BY k, window_start, window_end"
    inner = f"SELECT *, ROW_NUMBER() OVER ({partition} ORDER BY ts DESC) AS n FROM {TUMBLE}"
    found = rows(f"SELECT k, v FROM ({inner}) WHERE n = 1")
    assert found == Counter([("a", 3), ("b", 2), ("a", 5), ("b", 4), ("c", 6)])


PAIRS = [(1, 10), (3, 10), (4, 20)]
ALONE = [(2, None), (5, None), (6, None)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("INNER", PAIRS),
        ("LEFT", [*PAIRS, *ALONE]),
        ("RIGHT", [*PAIRS, (None, 30)]),
        ("FULL", [*PAIRS, *ALONE, (None, 30)]),
    ],
)
def test_joins_of_windows(kind, expected):
    on = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    sides = f"(SELECT * FROM {TUMBLE}) l {kind} JOIN (SELECT * FROM {OTHER}) r"
    assert rows(f"SELECT l.v, r.v FROM {sides} ON {on}") == Counter(expected)


def test_computed_keys_and_conditions():
    on = "UPPER(l.k) = UPPER(r.k) AND l.window_start = r.window_start AND l.window_end = r.window_end"
    sides = f"(SELECT * FROM {TUMBLE}) l LEFT JOIN (SELECT * FROM {OTHER}) r"
    found = rows(f"SELECT l.v, r.v FROM {sides} ON {on} AND l.v + r.v > 11")
    assert found == Counter([(3, 10), (4, 20), (1, None), *ALONE])


def test_rows_with_and_without_a_partner():
    inside = f"SELECT k FROM (SELECT * FROM {OTHER}) r WHERE l.window_start = r.window_start "
    inside += "AND l.window_end = r.window_end"
    query = f"SELECT v FROM (SELECT * FROM {TUMBLE}) l WHERE l.k IN ({inside})"
    assert rows(query) == Counter([(1,), (3,), (4,)])
    query = f"SELECT v FROM (SELECT * FROM {TUMBLE}) l WHERE NOT EXISTS ({inside} AND l.k = r.k)"
    assert rows(query) == Counter([(2,), (5,), (6,)])
