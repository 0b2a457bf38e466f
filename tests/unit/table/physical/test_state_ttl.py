"""For how long operators keep the rows of a key."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
from millstream.kernel.tables.expiry import ExpiringSpec
from millstream.plan.graph import KeyedNode
from millstream.table.physical.state_ttl import StateTtl
from tests.support.sql import Tables, bound


def spans(sql: str, ttl: StateTtl) -> list[tuple[int, ...]]:
    """The spans of the operators of a query that expire."""
    tables = Tables(ttl=ttl).add("t", "a INT, b INT", []).add("u", "a INT, c INT", [])
    planner = tables.planner()
    planner.add(planner.planned(bound(sql, tables)))
    keyed = [n.function for n in planner.env._graph if isinstance(n, KeyedNode)]
    return [each.millis for each in keyed if isinstance(each, ExpiringSpec)]


def test_options_of_the_session():
    hour = {"table.exec.state.ttl": "1 h"}
    assert StateTtl.of(hour.get) == StateTtl(3_600_000)
    assert StateTtl.of({**hour, "table.exec.state.ttl.time": "EVENT"}.get).event
    with pytest.raises(PlanError, match="cannot be 'moon'"):
        StateTtl.of({"table.exec.state.ttl.time": "moon"}.get)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT a FROM t", []),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", [(5,)]),
        ("SELECT /*+ STATE_TTL('t' = '2 s') */ a, COUNT(*) FROM t GROUP BY a", [(2000,)]),
        ("SELECT t.b FROM t JOIN u ON t.a = u.a", [(5, 5)]),
        ("SELECT /*+ STATE_TTL('u' = '2 s') */ t.b FROM t JOIN u ON t.a = u.a", [(5, 2000)]),
        (
            "SELECT /*+ STATE_TTL('u' = '2 s', 't' = '1 s') */ b FROM t JOIN u ON t.a = u.a",
            [(1000, 2000)],
        ),
        # Aliases are not known any more: the first is the left one.
        (
            "SELECT /*+ STATE_TTL('x' = '1 s', 'y' = '2 s') */ b FROM t AS x JOIN u AS y ON x.a = y.a",
            [(1000, 2000)],
        ),
    ],
)
def test_spans_of_operators(sql, found):
    assert spans(sql, StateTtl(5)) == found
