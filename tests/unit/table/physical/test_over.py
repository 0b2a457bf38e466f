"""OVER: how it is computed, and what comes out. Late rows and frames: see the kernel's tests."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from millstream.common.errors import PlanError
from millstream.table.logical.algebra import Over, Relation
from millstream.table.physical.over import over_mode
from tests.support.sql import Tables, back, bound


def at(second: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


ROWS = [("a", 1, at(1)), ("b", 2, at(2)), ("a", 3, at(5)), ("a", 4, at(4)), ("b", None, at(9))]
MAPS = [(1, {1.5: 2.5}, at(1)), (2, {3.5: 4.5}, at(2))]


def tables(*, batch: bool = False) -> Tables:
    found = Tables(batch=batch)
    found.add(
        "t", "k STRING, v INT, ts TIMESTAMP(3)", ROWS, watermark=("ts", "ts - INTERVAL '2' SECOND")
    )
    found.add("m", "v INT, x MAP<DOUBLE, DOUBLE>, ts TIMESTAMP(3)", MAPS, watermark=("ts", "ts"))
    changes = [("a", 1), ("b", 2), ("a", 3), back("a", 1)]
    return found.add("u", "k STRING, v INT", changes, updating=True)


def the_over(relation: Relation) -> Over:
    return next(each for each in relation.walk() if isinstance(each, Over))


def values(call: str, window: str, source: str = "t", **options: bool) -> Counter:
    return tables(**options).table(f"SELECT k, v, {call} OVER ({window}) FROM {source}")


@pytest.mark.parametrize(
    ("call", "window", "mode"),
    [
        ("SUM(v)", "PARTITION BY k ORDER BY ts", "rowtime"),
        ("SUM(v)", "ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "rowtime"),
        ("LAG(v)", "ORDER BY ts", "rowtime"),
        ("ROW_NUMBER()", "ORDER BY ts", "rowtime"),
        ("SUM(v)", "PARTITION BY k ORDER BY PROCTIME()", "arrival"),
        ("SUM(v)", "ORDER BY ts DESC", "updating"),
        ("SUM(v)", "ORDER BY v", "updating"),
        ("SUM(v)", "ORDER BY ts, v", "updating"),
        ("SUM(v)", "PARTITION BY k", "updating"),
        ("SUM(v)", "ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING", "updating"),
        ("LEAD(v)", "ORDER BY ts", "updating"),
        ("NTILE(2)", "ORDER BY ts", "updating"),
        ("PERCENT_RANK()", "ORDER BY ts", "updating"),
    ],
)
def test_results_are_final_if_time_says_that_nothing_comes_before_them(call, window, mode):
    over = the_over(bound(f"SELECT {call} OVER ({window}) FROM t", tables()))
    assert over_mode(over, changes=False) == mode
    assert over_mode(over, changes=True) == over_mode(over, changes=False, batch=True) == "updating"


def test_sums_in_the_order_of_time():
    window = "PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
    assert values("SUM(v)", window) == Counter(
        [("a", 1, 1), ("a", 4, 5), ("a", 3, 7), ("b", 2, 2), ("b", None, 2)]
    )


def test_range_counts_in_time():
    window = "ORDER BY ts RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW"
    assert values("COUNT(*)", window) == Counter(
        [("a", 1, 1), ("b", 2, 2), ("a", 4, 2), ("a", 3, 2), ("b", None, 1)]
    )


def test_by_arrival_each_row_sees_those_before_it():
    assert values("COUNT(*)", "PARTITION BY k ORDER BY PROCTIME()") == Counter(
        [("a", 1, 1), ("b", 2, 1), ("a", 3, 2), ("a", 4, 3), ("b", None, 2)]
    )


def test_distinct_and_filter():
    found = tables().table(
        "SELECT v, COUNT(DISTINCT k) OVER w, SUM(v) FILTER (WHERE v > 1) OVER w FROM t "
        "WINDOW w AS (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )
    assert found == Counter([(1, 1, None), (2, 2, 2), (4, 2, 6), (3, 2, 9), (None, 2, 9)])


def test_lag_with_offset_and_default():
    assert values("LAG(v, 2, -1)", "PARTITION BY k ORDER BY ts") == Counter(
        [("a", 1, -1), ("a", 4, -1), ("a", 3, 1), ("b", 2, -1), ("b", None, -1)]
    )


def test_lag_of_a_map():
    found = tables().changes("SELECT v, LAG(x, 1) OVER (ORDER BY ts) FROM m")
    assert [(v, x and dict(x)) for v, x in found] == [(1, None), (2, {1.5: 2.5})]


def test_lead_and_tiles_change_what_was_given():
    assert values("LEAD(v)", "PARTITION BY k ORDER BY ts") == Counter(
        [("a", 1, 4), ("a", 4, 3), ("a", 3, None), ("b", 2, None), ("b", None, None)]
    )
    tiles = values("NTILE(2)", "ORDER BY ts")
    assert [n for _, _, n in sorted(tiles, key=str)].count(1) == 3


def test_rows_that_are_taken_back():
    assert values("SUM(v)", "ORDER BY v", "u") == Counter([("b", 2, 2), ("a", 3, 5)])


def test_several_windows_in_one_query():
    found = tables().table(
        "SELECT v, COUNT(*) OVER (ORDER BY ts), COUNT(*) OVER (PARTITION BY k ORDER BY ts) FROM t"
    )
    assert found == Counter([(1, 1, 1), (2, 2, 1), (4, 3, 2), (3, 4, 3), (None, 5, 2)])


def test_in_batch_mode_no_row_is_late():
    late = Tables(batch=True)
    rows = [("a", 1, at(9)), ("a", 2, at(1))]
    late.add("t", "k STRING, v INT, ts TIMESTAMP(3)", rows, watermark=("ts", "ts"))
    assert late.table("SELECT v, SUM(v) OVER (ORDER BY ts) FROM t") == Counter([(2, 2), (1, 3)])


def test_offsets_are_numbers():
    with pytest.raises(PlanError, match="needs a whole number as argument 2") as error:
        values("LAG(v, v)", "ORDER BY ts")
    assert error.value.code == "OVER_ARGUMENT"
