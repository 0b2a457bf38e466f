"""Groups that are added up before the exchange, too: the same tables, and the same state."""

from __future__ import annotations

import pytest

from tests.properties.test_table_savepoints import COLUMNS, tables
from tests.support.sql import Tables, bound
from tests.support.sql_savepoints import SqlJob

PLAIN = "COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(b), MAX(v), SUM(v) FILTER (WHERE v > 3)"
QUERIES = [
    f"SELECT b, {PLAIN} FROM t GROUP BY b",
    f"SELECT {PLAIN} FROM t",
    "SELECT a, b, COUNT(*) FROM t GROUP BY GROUPING SETS ((a), (b), ())",
    "SELECT n, COUNT(*) FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) GROUP BY n",
]


def with_phases(names: Tables, phases: str) -> Tables:
    names.agg_phases = phases
    return names


@pytest.mark.parametrize("sql", QUERIES)
def test_tables_are_the_same_and_state_goes_from_one_to_the_other(sql: str) -> None:
    one, two = (with_phases(tables(3), each) for each in ("ONE_PHASE", "TWO_PHASE"))
    whole = SqlJob(one, sql).run(reads=5).table()
    assert SqlJob(two, sql, slots=3).run(reads=5).table() == whole
    half = SqlJob(two, sql).run(3, reads=5)
    assert half.stopped(tables=one).run(reads=5).table() == whole
    half = SqlJob(one, sql).run(3, reads=5)
    assert half.stopped(tables=two, slots=1).run(reads=5).table() == whole


def local(sql: str, phases: str, columns: str = COLUMNS, *, updating: bool = False) -> bool:
    names = with_phases(Tables().add("t", columns, [], updating=updating), phases)
    planner = names.planner()
    planner.add(planner.planned(bound(sql, names)))
    return any(node.name == "Local Aggregate" for node in planner.env._graph)


def test_when_groups_are_added_up_before_the_exchange() -> None:
    by_key, all_rows = "SELECT a, SUM(v) FROM t GROUP BY a", "SELECT SUM(v) FROM t"
    assert not local(by_key, "AUTO") and local(all_rows, "AUTO")
    assert local(by_key, "TWO_PHASE") and not local(all_rows, "ONE_PHASE")
    assert not local(by_key, "TWO_PHASE", updating=True)
    assert not local("SELECT a, COUNT(DISTINCT v) FROM t GROUP BY a", "TWO_PHASE")
    assert not local("SELECT a, SUM(v) FROM t GROUP BY a", "TWO_PHASE", "a INT, v DOUBLE")
    assert not local("SELECT a, LISTAGG(b) FROM t GROUP BY a", "TWO_PHASE")
