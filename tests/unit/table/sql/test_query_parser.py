"""Queries."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import Query, Select
from tests.support.sql_shapes import shape


def query(text: str) -> Query:
    found = parse(text)
    assert isinstance(found, Query)
    return found


def select(text: str) -> Select:
    body = query(text).body
    assert isinstance(body, Select)
    return body


def test_the_clauses_of_a_select() -> None:
    found = select(
        "SELECT /*+ BROADCAST(t) */ DISTINCT a AS x, b y, t.* FROM t WHERE c GROUP BY a, ROLLUP (b) "
        "HAVING COUNT(*) > 1 WINDOW w AS (ORDER BY a) QUALIFY d"
    )
    assert shape(found.items) == (
        "[SelectItem(value=a, alias=x), SelectItem(value=b, alias=y), "
        "SelectItem(value=Star(qualifier=t))]"
    )
    assert found.quantifier == "DISTINCT"
    assert shape(found.hints) == ("[Hint(name=BROADCAST, options=[HintOption(key=None, value=t)])]")
    assert shape(found.group_by) == (
        "GroupBy(items=[a, GroupingSets(kind='ROLLUP', elements=[[b]])])"
    )
    assert shape(found.having) == "(> COUNT(Star()) 1)"
    assert shape(found.windows) == (
        "[NamedWindow(name=w, spec=WindowSpec(order_by=[OrderItem(value=a)]))]"
    )
    assert (shape(found.where), shape(found.qualify)) == ("c", "d")


def test_intersect_binds_tighter_than_union() -> None:
    found = shape(query("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3").body)
    assert found.startswith("SetOperation(operator='UNION', all=True, left=Select(")
    assert "right=SetOperation(operator='INTERSECT'" in found


def test_order_and_limits() -> None:
    found = query("SELECT a FROM t ORDER BY a DESC NULLS LAST LIMIT 3 OFFSET 2")
    assert shape(found.order_by) == "[OrderItem(value=a, descending=True, nulls='LAST')]"
    assert (shape(found.limit), shape(found.offset)) == ("3", "2")
    found = query("SELECT a FROM t OFFSET 2 ROWS FETCH NEXT 4 ROWS ONLY")
    assert (shape(found.limit), shape(found.offset)) == ("4", "2")
    assert query("SELECT a FROM t LIMIT ALL").limit is None


def test_with() -> None:
    found = query("WITH q (x) AS (SELECT 1), r AS (SELECT 2) SELECT * FROM q, r")
    assert [(str(each.name), shape(each.columns)) for each in found.with_] == [
        ("q", "[x]"),
        ("r", "[]"),
    ]


def test_values() -> None:
    assert shape(query("VALUES (1, 'a'), ROW(2, 'b')").body) == "Values(rows=[[1, 'a'], [2, 'b']])"
    assert shape(query("VALUES 1, (2)").body) == "Values(rows=[[1], [2]])"
    assert shape(query("VALUES 1 + 2, (DEFAULT)").body) == "Values(rows=[[(+ 1 2)], [Default()]])"


def test_grouping_sets() -> None:
    found = select("SELECT 1 FROM t GROUP BY GROUPING SETS ((a, b), a, ())").group_by
    assert shape(found) == (
        "GroupBy(items=[GroupingSets(kind='GROUPING SETS', elements=[[a, b], [a], []])])"
    )
    assert shape(select("SELECT 1 FROM t GROUP BY ()").group_by) == "GroupBy(items=[[]])"


def test_brackets_around_a_query_change_nothing() -> None:
    assert query("((SELECT a FROM t))") == query("SELECT a FROM t")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("SELECT a, FROM t", 11),
        ("SELECT FROM t", 8),
        ("SELECT a FROM t, WHERE b = 1", 18),
        ("SELECT a FROM t GROUP BY", 25),
        ("SELECT a FROM t GROUP BY ORDER BY a", 26),
        ("SELECT a FROM", 14),
        ("SELECT a FROM t WHERE", 22),
        ("SELECT a FROM t ORDER a", 23),
        ("SELECT a FROM t LIMIT", 22),
        ("SELECT a FROM t LIMIT 'x'", 23),
        ("SELECT a FROM t UNION", 22),
        ("SELECT a AS FROM t", 13),
        ("SELECT a AS 'x' FROM t", 13),
        ("SELECT a FORM t", 15),
        ("WITH q AS SELECT 1 SELECT 2", 11),
        ("SELECT a FROM t HAVING", 23),
        ("SELECT DISTINCT FROM t", 17),
        ("SELECT 1 2", 10),
        ("SELECT a FROM t WHERE a = 1 WHERE b = 2", 29),
        ("SELECT a FROM (SELECT b FROM s", 31),
    ],
)
def test_errors_name_the_place(text: str, column: int) -> None:
    with pytest.raises(SqlError) as info:
        parse(text)
    assert (info.value.line, info.value.column) == (1, column)
