"""Which operators work window by window."""

from __future__ import annotations

import pytest

from millstream.table.logical.algebra import Aggregate, Distinct, Join
from millstream.table.physical.traits import Traits
from millstream.table.physical.window_columns import (
    distinct_windows,
    rank_windows,
    window_columns,
    window_join,
    window_of,
)
from millstream.table.rules.driver import rewritten
from millstream.table.rules.nodes import Rank
from tests.support.sql import bound
from tests.support.timed_sql import OTHER, TUMBLE, timed_tables

BOTH = "window_start, window_end"
ON = "l.window_start = r.window_start AND l.window_end = r.window_end"


def planned(sql: str, kind: type):
    """The query after all rewrites, and the first node of a kind in it."""
    found = rewritten(bound(sql, timed_tables()))
    return found, next(each for each in found.walk() if isinstance(each, kind))


def joined(on: str, right: str = OTHER) -> Join:
    sql = f"SELECT * FROM (SELECT * FROM {TUMBLE}) l JOIN (SELECT * FROM {right}) r ON {on}"
    return planned(sql, Join)[1]


@pytest.mark.parametrize(
    ("keys", "is_window"),
    [
        ("k, window_start, window_end", True),
        ("window_end, window_start, window_time", True),
        ("k, window_start", False),
        ("k, window_time", False),
        ("window_start, window_end, ROLLUP (k)", True),
        ("ROLLUP (window_start, window_end)", False),
    ],
)
def test_groups_have_start_and_end(keys, is_window):
    relation, aggregate = planned(f"SELECT COUNT(*) FROM {TUMBLE} GROUP BY {keys}", Aggregate)
    assert (window_of(aggregate) is not None) == is_window
    assert Traits().of(relation).updating != is_window


def test_ranks_have_start_and_end():
    ranked = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY v) AS n FROM " + TUMBLE
    for keys, is_window in ((f"{BOTH}, k", True), ("window_start", False)):
        relation, rank = planned(f"SELECT * FROM ({ranked.format(keys)}) WHERE n <= 2", Rank)
        assert (rank_windows(rank) is not None) == is_window
        assert Traits().of(relation).updating != is_window


def test_joins_compare_start_and_end_of_equal_windows():
    assert window_join(joined(f"l.k = r.k AND {ON}")) is not None
    assert window_join(joined("l.k = r.k AND l.window_start = r.window_start")) is None
    longer = OTHER.replace("'10'", "'20'")
    assert window_join(joined(f"l.k = r.k AND {ON}", longer)) is None


def test_outer_joins_of_windows_are_final():
    sql = f"SELECT l.v, r.v FROM (SELECT * FROM {TUMBLE}) l {{}} JOIN (SELECT * FROM {OTHER}) r ON {{}}"
    windows = planned(sql.format("FULL", ON), Join)[0]
    regular = planned(sql.format("FULL", "l.k = r.k"), Join)[0]
    assert not Traits().of(windows).updating and Traits().of(regular).updating


def test_joins_and_ranks_of_windows_keep_them():
    join = joined(f"l.k = r.k AND {ON}")
    found = window_columns(join)
    assert found is not None and found.within(range(len(join.left.row_type.fields)))
    assert window_columns(joined("l.k = r.k")) is None


def test_distinct_rows_with_windows_are_groups():
    relation, distinct = planned(f"SELECT DISTINCT k, {BOTH} FROM {TUMBLE}", Distinct)
    assert window_of(distinct_windows(distinct)) is not None
    assert not Traits().of(relation).updating


def test_a_row_of_several_windows_has_no_key_without_them():
    tables = timed_tables()
    tables.add("key", "id INT NOT NULL, ts TIMESTAMP(3)", [], key=("id",), watermark=("ts", "ts"))
    hop = "HOP(TABLE key, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
    planner = tables.planner()
    keys = planner.planned(bound(f"SELECT * FROM {hop}", tables)).traits.keys
    assert keys == (frozenset({0, 2, 3}),)
