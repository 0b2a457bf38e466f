"""UNNEST and table functions, in memory."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.table.table_environment import TableEnvironment
from millstream.table.udf import udtf

ROWS = [
    (1, [10, None], {"a": 1, "b": 2}, [("x", 1), None]),
    (2, [], {}, []),
    (3, None, None, None),
]
SCHEMA = "id INT, xs ARRAY<INT>, m MAP<STRING, INT>, rs ARRAY<ROW<s STRING, n INT>>"


def table(query: str, *functions: Any) -> list[tuple[Any, ...]]:
    t_env = TableEnvironment.create()
    t_env.create_temporary_view("t", t_env.from_elements(ROWS, SCHEMA))
    for each in functions:
        t_env.create_temporary_system_function(each.entry.name, each)
    found = t_env.final_rows(t_env.sql_query(query))
    return sorted((tuple(row) for row in found), key=repr)


def test_elements_of_arrays():
    assert table("SELECT id, x FROM t CROSS JOIN UNNEST(xs) AS u (x)") == [(1, 10), (1, None)]
    assert table("SELECT id, x FROM t, UNNEST(xs) AS u (x)") == [(1, 10), (1, None)]


def test_rows_without_elements_stay_in_left_joins():
    found = table("SELECT id, x FROM t LEFT JOIN UNNEST(xs) AS u (x) ON TRUE")
    assert found == [(1, 10), (1, None), (2, None), (3, None)]


def test_a_condition_of_a_left_join_decides_what_is_joined():
    found = table("SELECT id, x FROM t LEFT JOIN UNNEST(xs) AS u (x) ON x > 100")
    assert found == [(1, None), (2, None), (3, None)]
    assert table("SELECT id, x FROM t INNER JOIN UNNEST(xs) AS u (x) ON x >= 10") == [(1, 10)]


def test_entries_of_maps():
    assert table("SELECT id, k, v FROM t CROSS JOIN UNNEST(m) AS u (k, v)") == [
        (1, "a", 1),
        (1, "b", 2),
    ]


def test_rows_are_their_fields_and_a_missing_row_is_none():
    found = table("SELECT id, s, n FROM t CROSS JOIN UNNEST(rs) AS u (s, n)")
    assert found == [(1, "x", 1)]
    found = table("SELECT id, s, n FROM t LEFT JOIN UNNEST(rs) AS u (s, n) ON TRUE")
    assert found == [(1, "x", 1), (2, None, None), (3, None, None)]


def test_ordinality_counts_from_one():
    found = table("SELECT id, x, o FROM t CROSS JOIN UNNEST(xs) WITH ORDINALITY AS u (x, o)")
    assert found == [(1, 10, 1), (1, None, 2)]
    found = table("SELECT id, k, o FROM t CROSS JOIN UNNEST(m) WITH ORDINALITY AS u (k, v, o)")
    assert found == [(1, "a", 1), (1, "b", 2)]


def test_elements_of_a_multiset_come_as_often_as_they_count():
    query = """SELECT x FROM (SELECT COLLECT(y) AS c FROM (VALUES 1, 1, 2) AS v (y)) t
               CROSS JOIN UNNEST(c) AS u (x)"""
    assert table(query) == [(1,), (1,), (2,)]


def test_elements_of_updating_rows_are_taken_back():
    query = """SELECT x FROM (SELECT ARRAY[id, COUNT(*)] AS a FROM (
                 SELECT id FROM t UNION ALL SELECT id FROM t WHERE id = 1) GROUP BY id) s
               CROSS JOIN UNNEST(a) AS u (x)"""
    assert table(query) == [(1,), (1,), (1,), (2,), (2,), (3,)]


def test_unnest_without_a_table():
    assert table("SELECT x FROM UNNEST(ARRAY[1, 2]) AS u (x)") == [(1,), (2,)]


@udtf(result_types="ROW<word STRING, size INT>", name="words")
def words(text: str | None) -> Any:
    for word in (text or "").split():
        yield word, len(word)


def test_table_functions_in_from():
    query = "SELECT id, word, size FROM t, LATERAL TABLE(words(CAST(id AS STRING) || ' ab'))"
    expected = [(n, w, len(w)) for n in (1, 2, 3) for w in (str(n), "ab")]
    assert table(query, words) == sorted(expected, key=repr)


def test_table_functions_of_left_joins():
    query = """SELECT id, w FROM t LEFT JOIN LATERAL TABLE(
                 words(CASE WHEN id = 1 THEN 'a b' END)) AS u (w, n) ON TRUE"""
    assert table(query, words) == [(1, "a"), (1, "b"), (2, None), (3, None)]


def test_table_functions_without_a_table():
    assert table("SELECT word FROM TABLE(words('a b'))", words) == [("a",), ("b",)]


def test_a_wrong_row_is_an_error_with_function_and_row():
    @udtf(result_types=["INT", "INT"])
    def pairs(n):
        yield (n,)

    with pytest.raises(Exception, match=r"function 'pairs' failed.*1 values.*2 columns"):
        table("SELECT * FROM t, LATERAL TABLE(pairs(id))", pairs)
