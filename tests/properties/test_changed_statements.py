"""Statements that are changed between a savepoint and the next run."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from millstream.common import Row
from millstream.common.errors import CheckpointError
from tests.support.sql import Tables
from tests.support.sql_savepoints import SqlJob

ROWS = [(1, "x", 10), (2, "y", 20), (1, "x", 5), (2, "y", 1), (3, None, 7), (1, "z", 2)]


def tables(columns: str = "a INT, b STRING, v INT") -> Tables:
    found = Tables().add("t", columns, ROWS)
    return found.add("u", "a INT, c STRING", [(1, "one"), (2, "two"), (1, "eins"), (3, "three")])


def half(sql: str, names: Tables | None = None) -> SqlJob:
    return SqlJob(names or tables(), sql).run(1)


GROUPS = "SELECT a, COUNT(*), SUM(v) FROM t GROUP BY a"
KEPT: dict[str, Any] = {
    # Names, the order of columns, and what is above do not matter.
    "SELECT a AS k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY a": None,
    "SELECT x, COUNT(*), SUM(y) FROM (SELECT v AS y, a AS x FROM t) GROUP BY x": None,
    "SELECT a, n, s FROM (SELECT SUM(v) AS s, COUNT(*) AS n, a FROM t GROUP BY a) WHERE n > 0": None,
    "SELECT a, COUNT(*) FROM t GROUP BY a HAVING SUM(v) > 10": [(1, 3), (2, 2)],
    "SELECT a, SUM(v) FROM t GROUP BY a": [(1, 17), (2, 21), (3, 7)],
}


@pytest.mark.parametrize("sql", KEPT)
def test_state_is_kept_where_the_meaning_is_the_same(sql: str) -> None:
    job = half(GROUPS).stopped(sql)
    job.rows.clear()
    job.run()
    expected = KEPT[sql] or [(1, 3, 17), (2, 2, 21), (3, 1, 7)]
    # All groups get a record behind the savepoint, so their whole rows come again.
    assert Counter({row: n for row, n in job.rows.items() if n > 0}) == Counter(expected)


def test_a_new_aggregate_begins_without_a_past_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    job = half(GROUPS).stopped("SELECT a, COUNT(*), MAX(v) FROM t GROUP BY a")
    job.rows.clear()
    job.run()
    found = {row for row, n in job.rows.items() if n > 0}
    # Rows 1 to 3 came before: the count knows them, the maximum does not.
    assert found == {(1, 3, 2), (2, 2, 1), (3, 1, 7)}
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert "max_" in told and "begins without a past" in told
    assert "sum_" in told and "is no longer computed" in told


def test_nullability_and_wider_types_keep_state() -> None:
    names = tables()
    job = half(GROUPS, names)
    rows = [(*row, 0.5) for row in ROWS]
    wide = tables().add("t", "a INT NOT NULL, b STRING, v BIGINT, more DOUBLE", rows)
    job = job.stopped(tables=wide)
    job.rows.clear()
    job.run()
    assert {row for row, n in job.rows.items() if n > 0} == {(1, 3, 17), (2, 2, 21), (3, 1, 7)}


LOST = {
    "another key": (GROUPS, "SELECT b, COUNT(*), SUM(v) FROM t GROUP BY b"),
    "a filter below": (GROUPS, "SELECT a, COUNT(*), SUM(v) FROM t WHERE v > 3 GROUP BY a"),
    "more columns of a join": (
        "SELECT t.a, u.c FROM t JOIN u ON t.a = u.a",
        "SELECT t.a, u.c, t.b FROM t JOIN u ON t.a = u.a",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_lost_state_is_refused_by_name_and_can_be_allowed(name: str) -> None:
    before, after = LOST[name]
    job = half(before)
    with pytest.raises(CheckpointError, match=r"NON_RESTORED_STATE(.|\n)*sql-(aggregate|join)-t-"):
        job.stopped(after)
    assert job.stopped(after, lost=True).run().table()


FIELDS = "a field by another name"
RETYPED: dict[str, tuple[str, str, list[Any], list[Any]]] = {
    "a number as a text": (
        "v INT",
        "v STRING",
        [10, 20, 5, 1, 7, 2],
        ["10", "20", "5", "1", "7", "2"],
    ),
    "a text as a number": ("v STRING", "v INT", ["1", "2", "1", "2", "3", "4"], [1, 2, 1, 2, 3, 4]),
    "a truth as a text": ("v BOOLEAN", "v STRING", [True] * 6, ["true"] * 6),
    FIELDS: ("v ROW<x INT>", "v ROW<y INT>", [Row(1)] * 6, [Row(1)] * 6),
}
KEEPING = {
    "in a maximum": "SELECT a, MAX(v) FROM t GROUP BY a",
    "in distinct values": "SELECT COUNT(DISTINCT v) FROM t",
    "in rows of a join": "SELECT t.v, u.c FROM t JOIN u ON t.a = u.a",
}


@pytest.mark.parametrize(
    ("name", "kept"),
    [*product(sorted(RETYPED.keys() - {FIELDS}), KEEPING), (FIELDS, "in distinct values")],
)
def test_state_of_another_type_is_refused(name: str, kept: str) -> None:
    """A text sorts in another way than the number that it was made of."""
    before, after, old, new = RETYPED[name]

    def retyped(column: str, values: list[Any]) -> Tables:
        rows = [(row[0], value) for row, value in zip(ROWS, values, strict=True)]
        return tables().add("t", f"a INT, {column}", rows)

    job = half(KEEPING[kept], retyped(before, old))
    with pytest.raises(CheckpointError, match="STATE_COLUMNS_CHANGED"):
        job.stopped(tables=retyped(after, new)).run()


def test_a_hint_names_an_operator_whatever_becomes_of_its_query() -> None:
    before = "SELECT /*+ UID('mine') */ a, COUNT(*) FROM t GROUP BY a"
    after = "SELECT /*+ UID('mine') */ a, COUNT(*) FROM t WHERE v < 100 GROUP BY a"
    job = half(before).stopped(after)
    assert job.run().table() == Counter([(1, 3), (2, 2), (3, 1)])


def test_sources_go_on_where_they_were_if_another_table_comes_before_them() -> None:
    job = half("SELECT a FROM t").stopped("SELECT a FROM u UNION ALL SELECT a FROM t")
    job.run()
    assert job.table() == Counter({(1,): 5, (2,): 3, (3,): 2})
