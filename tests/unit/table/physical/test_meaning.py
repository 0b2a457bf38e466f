"""Uids of operators by what they compute."""

from __future__ import annotations

import pytest

from millstream.table.expressions.kinds import INT
from millstream.table.expressions.tree import Cast, InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import Aggregate, Join, Relation
from millstream.table.physical.meaning import call_label, identity_of, meaning_of, uid_of
from millstream.table.rules.driver import rewritten
from tests.support.sql import Tables, bound


def tables(columns="a INT, b STRING, c INT"):
    return Tables().add("t", columns, []).add("u", "a INT, d STRING, e INT", [])


def uid(sql: str, kind: type[Relation] = Aggregate, names: Tables | None = None) -> str:
    known = names or tables()
    (found,) = (e for e in rewritten(bound(sql, known)).walk() if isinstance(e, kind))
    return uid_of(found)


GROUPS = "SELECT a, COUNT(*) FROM t GROUP BY a"
SAME = [
    "SELECT a AS x, COUNT(*) AS n FROM t GROUP BY a",
    "SELECT COUNT(*), a FROM t GROUP BY a",
    "SELECT x, COUNT(*) FROM (SELECT b, a AS x FROM t) GROUP BY x",
    "SELECT a, COUNT(*), MAX(c) FROM t GROUP BY a",
    "SELECT a, SUM(c) FROM t GROUP BY a",
    "SELECT a FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) WHERE n > 1",
]
OTHER = [
    "SELECT b, COUNT(*) FROM t GROUP BY b",
    "SELECT a, COUNT(*) FROM t WHERE c > 1 GROUP BY a",
    "SELECT a, COUNT(*) FROM u GROUP BY a",
    "SELECT a, b, COUNT(*) FROM t GROUP BY a, b",
    "SELECT a + 1, COUNT(*) FROM t GROUP BY a + 1",
]


@pytest.mark.parametrize("sql", SAME)
def test_names_and_what_is_computed_of_the_groups_do_not_count(sql):
    assert uid(sql) == uid(GROUPS)


@pytest.mark.parametrize("sql", OTHER)
def test_rows_and_keys_count(sql):
    assert uid(sql) != uid(GROUPS)


def test_uids_name_the_kind_and_the_tables():
    assert uid(GROUPS).startswith("sql-aggregate-t-")
    join = "SELECT t.b FROM t JOIN u ON t.a = u.a"
    assert uid(join, Join).startswith("sql-join-t-u-")
    assert uid("SELECT /*+ UID('mine') */ a, COUNT(*) FROM t GROUP BY a") == "sql-aggregate-mine"


def test_other_columns_and_nullability_of_a_table_do_not_count():
    wide = tables("a INT NOT NULL, x DOUBLE, b STRING, c BIGINT")
    assert uid(GROUPS, names=wide) == uid(GROUPS)
    join = "SELECT t.b FROM t JOIN u ON t.a = u.a"
    assert uid(join, Join, wide) == uid(join, Join)


def test_a_join_keeps_rows_so_its_columns_count_and_the_order_of_conditions_does_not():
    join = "SELECT t.b FROM t JOIN u ON t.a = u.a AND t.c > u.e WHERE t.c > 1"
    turned = "SELECT b FROM u, t WHERE t.c > 1 AND t.c > u.e AND t.a = u.a"
    again = "SELECT t.b FROM t, u WHERE t.c > 1 AND t.c > u.e AND t.a = u.a"
    assert uid(join, Join) == uid(again, Join) != uid(turned, Join)
    assert uid("SELECT t.b, u.d FROM t JOIN u ON t.a = u.a", Join) != uid(
        "SELECT t.b FROM t JOIN u ON t.a = u.a", Join
    )


def aggregate(sql: str) -> Aggregate:
    (found,) = (e for e in rewritten(bound(sql, tables())).walk() if isinstance(e, Aggregate))
    return found


def test_states_are_named_by_what_is_aggregated():
    one = aggregate("SELECT a, SUM(c), COUNT(*) FROM t GROUP BY a")
    other = aggregate("SELECT COUNT(*), SUM(x), a FROM (SELECT c AS x, a FROM t) GROUP BY a")
    labels = [call_label(each, one.input) for each in one.calls]
    assert sorted(labels) == sorted(call_label(each, other.input) for each in other.calls)
    assert labels[0].startswith("sum_") and labels[1].startswith("count_")
    third = aggregate("SELECT a, SUM(c) FILTER (WHERE c > 1) FROM t GROUP BY a")
    assert call_label(third.calls[0], third.input) not in labels


def test_identity_has_names_and_types():
    named = [f"SELECT a AS {name} FROM t" for name in ("x", "y", "x")]
    one, other, again = (identity_of(rewritten(bound(sql, tables()))) for sql in named)
    assert one == again != other


def test_meanings_of_expressions_have_no_types():
    a = InputRef(INT, 0, "a")
    plus = bind("+", [a, Literal(INT, 2)])
    assert meaning_of(plus, lambda i: f"#{i}") == ("+", "#0", ("INT", 2))
    cast = Cast(INT.with_nullability(False), a)
    assert meaning_of(cast, lambda i: i) == ("CAST", "INT", False, 0)
