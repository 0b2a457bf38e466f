"""SQL texts after all rewrites, run in memory."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.table.logical.algebra import Relation
from millstream.table.rules.driver import rewritten
from millstream.table.sql.errors import SqlError
from tests.parity.record_schemas import ANSWERS
from tests.support.catalogs import catalog, run
from tests.support.sql import Tables, back, bound

ROWS = [(1, "x", 10), (2, "y", 20), (1, "x", 5), (3, None, 7)]
CASES: dict[str, list[Any]] = {
    "SELECT a, v + 1 FROM t WHERE v > 6": [(1, 11), (2, 21), (3, 8)],
    "SELECT b, COUNT(*), SUM(v) FROM t GROUP BY b": [("y", 1, 20), ("x", 2, 15), (None, 1, 7)],
    "SELECT COUNT(*) FROM t": [(4,)],
    "SELECT t.a, u.c FROM t JOIN u ON t.a = u.a": [(1, "one"), (1, "one"), (2, "two")],
    "SELECT t.a, u.c FROM t LEFT JOIN u ON t.a = u.a AND u.c <> 'two'": [
        (1, "one"),
        (1, "one"),
        (2, None),
        (3, None),
    ],
    "SELECT DISTINCT b FROM t": [("x",), ("y",), (None,)],
    "SELECT a FROM t UNION SELECT a FROM u": [(1,), (2,), (3,), (4,)],
    "SELECT a FROM t EXCEPT SELECT a FROM u": [(3,)],
    "SELECT a FROM t WHERE a IN (SELECT a FROM u)": [(1,), (1,), (2,)],
    "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)": [(3,)],
    "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)": [(3,)],
    "SELECT a, (SELECT MAX(c) FROM u WHERE u.a = t.a) FROM t": [
        (1, "one"),
        (1, "one"),
        (2, "two"),
        (3, None),
    ],
    "SELECT a FROM t WHERE v > (SELECT AVG(v) FROM t)": [(2,)],
    "SELECT a, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v DESC) AS n FROM t) "
    "WHERE n <= 1": [(1, 10), (2, 20), (3, 7)],
    "SELECT b, COUNT(*) FROM t GROUP BY ROLLUP (b)": [("x", 2), ("y", 1), (None, 1), (None, 4)],
    "SELECT a, v FROM t ORDER BY v LIMIT 2": [(1, 5), (3, 7)],
    "VALUES (1, 'a'), (2, 'b')": [(1, "a"), (2, "b")],
    "SELECT b, COUNT(DISTINCT a) FILTER (WHERE v > 5) FROM t GROUP BY b HAVING COUNT(*) > 1": [
        ("x", 1)
    ],
    "WITH q AS (SELECT a, SUM(v) AS s FROM t GROUP BY a) SELECT COUNT(*) FROM q WHERE s > 10": [
        (2,)
    ],
}


def tables():
    found = Tables().add("t", "a INT, b STRING, v BIGINT", ROWS)
    return found.add("u", "a INT, c STRING", [(1, "one"), (2, "two"), (4, "four")])


@pytest.mark.parametrize("sql", CASES)
def test_results_do_not_depend_on_cuts_and_restarts(sql):
    expected = Counter(CASES[sql])
    assert tables().table(sql) == expected
    assert tables().table(sql, epochs=1, restarts="every", slots=3) == expected


def test_rows_that_are_taken_back():
    found = Tables().add("t", "a INT, v INT", [(1, 5), (1, 7), back(1, 7)], updating=True)
    assert found.table("SELECT a, MAX(v) FROM t GROUP BY a", epochs=1) == Counter([(1, 5)])
    assert found.shown("SELECT a, MAX(v) FROM t GROUP BY a", epochs=1) == [
        "+I(1, 5)",
        "-U(1, 5)",
        "+U(1, 7)",
        "-U(1, 7)",
        "+U(1, 5)",
    ]


def test_windows_fire_by_the_watermark():
    import datetime

    def at(second):
        return datetime.datetime(2024, 1, 1, 0, 0, second)

    rows = [(at(1), 1), (at(4), 2), (at(11), 3)]
    found = Tables().add("t", "ts TIMESTAMP(3), v INT", rows, watermark=("ts", "ts"))
    sql = (
        "SELECT window_start, SUM(v) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) "
        "GROUP BY window_start, window_end"
    )
    assert found.table(sql, epochs=1) == Counter([(at(0), 3), (at(10), 3)])


def test_a_table_without_anything_to_rewrite_stays():
    once = rewritten(bound("SELECT a, v + 1 FROM t WHERE a > 1", tables()))
    assert rewritten(once) == once


def test_names_and_types_of_columns_stay():
    manager = catalog()
    changed = []
    for query in json.loads(ANSWERS.read_text(encoding="utf-8")):
        try:
            relation = run(query, manager)
            assert isinstance(relation, Relation)
            found = rewritten(relation)
        except (SqlError, PlanError):
            continue
        changed += [query] if found.row_type != relation.row_type else []
        assert rewritten(found) == found, query
    assert changed == []
