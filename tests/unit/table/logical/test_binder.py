"""Queries as relations: nodes, names and types."""

from __future__ import annotations

from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Limit,
    Over,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TemporalJoin,
    WindowTable,
)
from tests.support.catalogs import catalog, run, schema


def nodes(sql: str) -> list[type[Relation]]:
    found = run(sql, catalog())
    assert isinstance(found, Relation)
    return [type(each) for each in found.walk()]


def test_the_nodes_of_a_plain_query() -> None:
    assert nodes("SELECT a FROM t WHERE b > 1") == [Project, Filter, Scan]


def test_groups_stand_on_a_projection_of_what_they_need() -> None:
    sql = "SELECT c, SUM(a + 1) FROM t GROUP BY c HAVING COUNT(*) > 1 ORDER BY 2 LIMIT 3"
    assert nodes(sql) == [Limit, Sort, Project, Filter, Aggregate, Project, Scan]


def test_joins_of_all_kinds() -> None:
    assert nodes("SELECT * FROM t JOIN u ON t.a = u.a") == [Project, Join, Scan, Scan]
    versions = "SELECT * FROM t JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.c = u.k"
    assert nodes(versions) == [Project, TemporalJoin, Scan, Scan]
    assert nodes("SELECT x FROM t, UNNEST(arr) AS q(x)") == [Project, Correlate, Scan]


def test_windows_and_over() -> None:
    tumble = "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)"
    assert nodes(tumble) == [Project, WindowTable, Scan]
    legacy = "SELECT COUNT(*) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)"
    assert nodes(legacy) == [Project, Aggregate, WindowTable, Project, Scan]
    spark = "SELECT COUNT(*) FROM t GROUP BY `window`(ts, '1 hour', '5 minutes')"
    assert nodes(spark) == [Project, Aggregate, WindowTable, Project, Scan]
    assert nodes("SELECT ROW_NUMBER() OVER (ORDER BY ts) FROM t") == [Project, Over, Scan]


def test_set_operations_cast_their_sides() -> None:
    found = nodes("SELECT a FROM t UNION ALL SELECT b FROM t")
    assert found == [SetOperation, Project, Project, Scan, Project, Scan]


def test_time_attributes_stay_in_projections_and_are_lost_in_joins() -> None:
    manager = catalog()
    assert schema("SELECT ts FROM t", manager) == [["ts", "TIMESTAMP(3) *ROWTIME*"]]
    assert schema("SELECT t.ts FROM t JOIN u ON t.a = u.a", manager) == [["ts", "TIMESTAMP(3)"]]
    bounded = "SELECT t.ts FROM t, u WHERE t.a = u.a"
    assert schema(bounded, manager) == [["ts", "TIMESTAMP(3)"]]


def test_a_long_chain_of_conditions_is_no_problem() -> None:
    chain = " OR ".join(f"a = {number}" for number in range(3000))
    assert nodes(f"SELECT a FROM t WHERE {chain}") == [Project, Filter, Scan]


def test_views_are_bound_where_they_are_used() -> None:
    manager = catalog()
    run("CREATE VIEW v (x) AS SELECT a FROM t", manager)
    assert schema("SELECT * FROM v", manager) == [["x", "INT"]]


def test_trim_takes_the_characters_off_the_text_in_all_forms() -> None:
    manager = catalog()
    for form in ("BOTH 'a' FROM c", "'a' FROM c", "LEADING 'a' FROM c"):
        found = run(f"SELECT TRIM({form}) FROM t", manager)
        assert isinstance(found, Project)
        assert [str(each) for each in found.expressions[0].children()][1:] == ["c", "'a'"]
