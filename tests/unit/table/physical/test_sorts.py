"""ORDER BY: by time in a stream, by anything in batch mode."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from millstream.common.errors import PlanError
from tests.support.sql import Tables, back

START = datetime(2024, 1, 1)
ROWS = [(v, START + timedelta(seconds=s)) for v, s in ((3, 2), (1, 1), (2, 2), (5, 9), (4, 1))]


def found(sql: str, *, batch: bool = False) -> list[int]:
    tables = Tables(batch=batch)
    tables.add("t", "v INT, ts TIMESTAMP(3)", ROWS, watermark=("ts", "ts - INTERVAL '3' SECOND"))
    tables.add("u", "v INT, w INT", [(1, 1), back(1, 1), (2, 2)], updating=True)
    return [row[0] for row in tables.changes(sql)]


def test_rows_leave_in_the_order_of_time_and_late_ones_are_dropped():
    # When the last row comes, the watermark is 6, and rows of the second 2 have left.
    assert found("SELECT v FROM t ORDER BY ts") == [1, 3, 2, 5]
    assert found("SELECT v FROM t ORDER BY ts, v DESC") == [1, 3, 2, 5]
    assert found("SELECT v FROM t ORDER BY ts, v") == [1, 2, 3, 5]


def test_the_order_of_arrival_is_there_already():
    assert found("SELECT v FROM t ORDER BY PROCTIME()") == [3, 1, 2, 5, 4]


@pytest.mark.parametrize("order", ["v", "ts DESC"])
def test_other_orders_need_a_limit(order):
    with pytest.raises(PlanError, match="may never end") as error:
        found(f"SELECT v FROM t ORDER BY {order}")
    assert error.value.code == "SORT_NEEDS_TIME" and "add LIMIT" in str(error.value)


def test_rows_that_change_are_not_sorted():
    with pytest.raises(PlanError, match="rows that change"):
        found("SELECT v FROM u ORDER BY w")


def test_batch_sorts_by_anything():
    assert found("SELECT v FROM t ORDER BY v DESC", batch=True) == [5, 4, 3, 2, 1]
    assert found("SELECT v FROM t ORDER BY ts, v", batch=True) == [1, 4, 2, 3, 5]


def test_the_order_of_a_query_in_from_does_not_count():
    assert sorted(found("SELECT v + 1 FROM (SELECT * FROM t ORDER BY v)")) == [2, 3, 4, 5, 6]
    assert sorted(found("WITH s AS (SELECT v FROM t ORDER BY v) SELECT v FROM s")) == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_offset_without_limit_needs_all_rows():
    with pytest.raises(PlanError, match="stands without LIMIT") as error:
        found("SELECT v FROM t ORDER BY ts OFFSET 2 ROWS")
    assert error.value.code == "OFFSET_NEEDS_LIMIT"
    assert found("SELECT v FROM t ORDER BY v OFFSET 2 ROWS", batch=True) == [3, 4, 5]


def test_limits_of_a_batch_come_in_their_order():
    assert found("SELECT v FROM t ORDER BY v DESC LIMIT 2", batch=True) == [5, 4]
    assert found("SELECT v FROM t ORDER BY v LIMIT 2 OFFSET 1", batch=True) == [2, 3]
