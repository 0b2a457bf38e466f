"""Interval and temporal joins in SQL, in memory."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import MillstreamError
from millstream.common.types import Row, RowKind
from millstream.table import TableEnvironment
from tests.support.parity.sql_programs import Program, through_sink
from tests.support.parity.timed_tables import TIMED_TABLES
from tests.support.sql import Tables, back

START = datetime(2024, 1, 1)


def t(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def orders_and_payments() -> Tables:
    orders = [(1, "a", t(0)), (2, "b", t(10)), (3, "a", t(20))]
    payments = [(1, "x", t(5)), (2, "y", t(40)), (3, "z", t(18))]
    columns = "id INT, name STRING, ts TIMESTAMP(3)"
    tables = Tables()
    tables.add("orders", columns, orders, watermark=("ts", "ts - INTERVAL '30' SECOND"))
    return tables.add(
        "payments",
        "order_id INT, how STRING, pts TIMESTAMP(3)",
        payments,
        watermark=("pts", "pts - INTERVAL '30' SECOND"),
    )


WITHIN = [
    "p.pts BETWEEN o.ts AND o.ts + INTERVAL '10' SECOND",
    "p.pts >= o.ts AND p.pts <= o.ts + INTERVAL '10' SECOND",
    "o.ts <= p.pts AND p.pts - INTERVAL '10' SECOND <= o.ts",
    "p.pts > o.ts - INTERVAL '0.001' SECOND AND p.pts < o.ts + INTERVAL '10.001' SECOND",
]


@pytest.mark.parametrize("within", WITHIN)
def test_rows_of_near_times_however_it_is_written(within: str):
    query = f"SELECT o.id, p.how FROM orders o JOIN payments p ON o.id = p.order_id AND {within}"
    assert set(orders_and_payments().table(query)) == {(1, "x")}


def test_conditions_may_stand_in_where():
    query = f"""SELECT o.id, p.how FROM orders o, payments p WHERE o.id = p.order_id
                AND {WITHIN[0]}"""
    assert set(orders_and_payments().table(query)) == {(1, "x")}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("LEFT", {(1, "x"), (2, None), (3, None)}),
        ("RIGHT", {(1, "x"), (None, "y"), (None, "z")}),
        ("FULL", {(1, "x"), (2, None), (3, None), (None, "y"), (None, "z")}),
    ],
)
def test_outer_joins_only_insert(kind: str, expected: set[Any]):
    query = f"""SELECT o.id, p.how FROM orders o {kind} JOIN payments p
                ON o.id = p.order_id AND {WITHIN[0]}"""
    tables = orders_and_payments()
    assert set(tables.table(query)) == expected
    assert {text[:2] for text in tables.shown(query)} == {"+I"}


def test_other_conditions_are_checked_too():
    query = f"""SELECT o.id, p.how FROM orders o LEFT JOIN payments p
                ON o.id = p.order_id AND o.name <> p.how AND p.how <> 'x' AND {WITHIN[0]}"""
    assert set(orders_and_payments().table(query)) == {(1, None), (2, None), (3, None)}


def test_results_keep_their_time_for_windows():
    query = """SELECT window_start, COUNT(*) FROM TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '15' SECOND)
                GROUP BY window_start, window_end"""
    join = f"""SELECT o.id, o.ts FROM orders o LEFT JOIN payments p
               ON o.id = p.order_id AND {WITHIN[0]}"""
    found = orders_and_payments().table(f"WITH j AS ({join}) {query}")
    assert set(found) == {(t(0), 2), (t(15), 1)}


def test_times_stay_if_where_says_how_near_they_are():
    join = f"SELECT o.ts FROM orders o, payments p WHERE o.id = p.order_id AND {WITHIN[0]}"
    query = f"""WITH j AS ({join}) SELECT window_start, COUNT(*) FROM
                TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '15' SECOND)
                GROUP BY window_start, window_end"""
    assert set(orders_and_payments().table(query)) == {(t(0), 1)}


def test_two_bounds_in_one_direction_are_a_regular_join():
    query = """SELECT o.id FROM orders o LEFT JOIN payments p ON o.id = p.order_id
               AND p.pts >= o.ts AND p.pts > o.ts - INTERVAL '5' SECOND"""
    tables = orders_and_payments()
    assert set(tables.table(query)) == {(1,), (2,), (3,)}
    windows = f"""WITH j AS ({query.replace("SELECT o.id", "SELECT o.ts")})
                  SELECT COUNT(*) FROM TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '15' SECOND)
                  GROUP BY window_start, window_end"""
    with pytest.raises(MillstreamError, match="time"):
        tables.table(windows)


def test_rows_of_one_moment_meet_by_processing_time():
    tables = Tables()
    tables.add("a", "k INT", [(1,), (2,)])
    tables.add("b", "j INT", [(1,), (3,)])
    query = """SELECT k, j FROM (SELECT *, PROCTIME() AS p FROM a) a
               JOIN (SELECT *, PROCTIME() AS q FROM b) b
               ON k = j AND p BETWEEN q - INTERVAL '1' HOUR AND q + INTERVAL '1' HOUR"""
    assert set(tables.table(query)) == {(1, 1)}


def test_one_bound_is_a_regular_join():
    query = (
        "SELECT o.id, p.how FROM orders o JOIN payments p ON o.id = p.order_id AND p.pts >= o.ts"
    )
    assert set(orders_and_payments().table(query)) == {(1, "x"), (2, "y")}


# Versions.

RATES = [("eur", 114, t(0)), ("yen", 1, t(5)), ("eur", 116, t(20)), ("eur", 119, t(40))]
SALES = [
    (1, "eur", t(10)),
    (2, "eur", t(20)),
    (3, "yen", t(30)),
    (4, "usd", t(30)),
    (5, "eur", t(50)),
]
JOIN = """SELECT s.id, r.rate FROM sales s {kind} JOIN rates FOR SYSTEM_TIME AS OF s.ts AS r
          ON s.currency = r.currency"""


def sales(rates: list[Any], **options: Any) -> Tables:
    tables = Tables()
    seconds = "INTERVAL '60' SECOND"
    tables.add(
        "sales",
        "id INT, currency STRING, ts TIMESTAMP(3)",
        SALES,
        watermark=("ts", f"ts - {seconds}"),
    )
    columns = "currency STRING, rate INT, rts TIMESTAMP(3)"
    return tables.add("rates", columns, rates, watermark=("rts", f"rts - {seconds}"), **options)


def test_rows_meet_the_version_of_their_time():
    tables = sales(RATES, key=("currency",))
    expected = {(1, 114), (2, 116), (3, 1), (5, 119)}
    assert set(tables.table(JOIN.format(kind=""))) == expected
    assert set(tables.table(JOIN.format(kind="LEFT"))) == expected | {(4, None)}


@pytest.mark.parametrize("epochs", [1, 2, 3, 6])
def test_versions_of_a_changelog(epochs: int):
    """An update ends no version before its own time, wherever epochs cut it from the old row."""
    changes = [
        *RATES[:2],
        Row.of_kind(RowKind.UPDATE_BEFORE, "eur", 114, t(0)),
        *RATES[2:3],
        back("eur", 116, t(45)),
        back("yen", 1, t(30)),
    ]
    tables = sales(changes, key=("currency",), updating=True)
    assert set(tables.table(JOIN.format(kind="LEFT"), epochs=epochs)) == {
        (1, 114),
        (2, 116),
        (3, None),
        (4, None),
        (5, None),
    }


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_deletion_of_the_row_as_it_was_is_no_update(epochs: int):
    changes = [*RATES[:2], back("eur", 114, t(0)), *RATES[2:3]]
    tables = sales(changes, key=("currency",), updating=True)
    assert set(tables.table(JOIN.format(kind=""), epochs=epochs)) == {(2, 116), (3, 1), (5, 116)}


UPSERTS = [
    *RATES[:3],
    back("yen", 1, t(25)),
    *RATES[3:],
    # As it was: no update, the version is over from its own time on.
    back("eur", 119, t(40)),
    ("eur", 120, t(55)),
]


@pytest.mark.parametrize("epochs", [1, 3, 6])
@pytest.mark.parametrize("read", ["rates", "(SELECT rts, currency, rate + 0 AS rate FROM rates)"])
def test_each_upsert_is_a_version_however_many_come_at_once(read: str, epochs: int):
    tables = sales(UPSERTS, key=("currency",), upsert=True)
    query = JOIN.format(kind="LEFT").replace("rates", "r0")
    found = tables.table(f"WITH r0 AS (SELECT * FROM {read}) {query}", epochs=epochs)
    assert set(found) == {(1, 114), (2, 116), (3, None), (4, None), (5, None)}


@pytest.mark.parametrize("epochs", [1, 3, 6])
def test_a_table_of_upserts_has_the_last_row_of_each_key_elsewhere(epochs: int):
    tables = sales(UPSERTS, key=("currency",), upsert=True)
    query = f"""SELECT COUNT(*) FROM ({JOIN.format(kind="")}) UNION ALL SELECT rate FROM rates"""
    assert set(tables.table(query, epochs=epochs)) == {(2,), (120,)}


def test_null_is_a_key_of_versions_as_in_flink():
    rates = [*RATES, (None, 7, t(1))]
    tables = sales(rates)
    tables.entries["sales"] = (
        Tables()
        .add(
            "sales",
            "id INT, currency STRING, ts TIMESTAMP(3)",
            [*SALES, (6, None, t(0)), (7, None, t(9))],
            watermark=("ts", "ts - INTERVAL '60' SECOND"),
        )
        .entries["sales"]
    )
    view = """WITH last AS (SELECT currency, rate, rts FROM (
                SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY rts DESC) AS n FROM rates)
              WHERE n = 1) """
    query = view + JOIN.format(kind="").replace("rates", "last")
    assert set(tables.table(query)) == {(1, 114), (2, 116), (3, 1), (5, 119), (7, 7)}


def test_versions_of_a_view_of_last_rows():
    tables = sales(RATES)
    view = """WITH last AS (SELECT currency, rate, rts FROM (
                SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY rts DESC) AS n FROM rates)
              WHERE n = 1) """
    query = view + JOIN.format(kind="").replace("rates", "last")
    assert set(tables.table(query)) == {(1, 114), (2, 116), (3, 1), (5, 119)}


def test_other_conditions_of_versions():
    tables = sales(RATES, key=("currency",))
    query = JOIN.format(kind="LEFT") + " AND r.rate > s.id * 50"
    assert set(tables.table(query)) == {(1, 114), (2, 116), (3, None), (4, None), (5, None)}


def test_a_filter_behind_the_join_does_not_bring_old_versions_back():
    tables = sales(RATES, key=("currency",))
    query = JOIN.format(kind="") + " WHERE r.rate < 115"
    assert set(tables.table(query)) == {(1, 114), (3, 1)}


def test_results_keep_the_time_of_the_left_row():
    tables = sales(RATES, key=("currency",))
    query = """WITH j AS (
                 SELECT s.id, s.ts, r.rate FROM sales s JOIN rates FOR SYSTEM_TIME AS OF s.ts AS r
                 ON s.currency = r.currency)
               SELECT window_start, SUM(rate) FROM TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '25' SECOND)
               GROUP BY window_start, window_end"""
    # Windows of 25 seconds do not begin at the full minute.
    assert sum(row[1] for row in tables.table(query)) == 114 + 116 + 1 + 119


def test_tables_without_key_or_time_are_refused():
    with pytest.raises(MillstreamError, match="this one has no primary key"):
        sales(RATES).table(JOIN.format(kind=""))
    tables = sales(RATES)
    tables.add("plain", "currency STRING, rate INT", [("eur", 1)], key=("currency",))
    with pytest.raises(MillstreamError, match="this one has no time attribute"):
        tables.table(JOIN.format(kind="").replace("rates", "plain"))
    tables = sales(RATES, key=("currency", "rate"))
    with pytest.raises(
        MillstreamError, match=r"whole primary key of the table: \(currency, rate\)"
    ):
        tables.table(JOIN.format(kind=""))


LAST = "SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY rt DESC) AS n FROM"


@pytest.mark.parametrize(
    "view",
    [
        "SELECT * FROM rateups WHERE rate < 119",
        "SELECT * FROM raterets WHERE rate < 119",
        f"SELECT currency, rate, rt FROM ({LAST} rateups) WHERE n = 1",
        f"SELECT currency, rate, rt FROM ({LAST} ratehist) WHERE n = 1 AND rate < 119",
    ],
)
def test_a_view_that_does_not_show_all_versions_is_refused(view: str):
    query = """SELECT amount, rate FROM ordersx AS o
               JOIN v FOR SYSTEM_TIME AS OF o.ot AS r ON o.currency = r.currency"""
    with pytest.raises(MillstreamError, match="shows only some of them") as caught:
        through_sink(Program(TIMED_TABLES, query, (f"CREATE VIEW v AS {view}",)))
    assert caught.value.code == "VERSIONED_TABLE"


STEPS = [(114, 0), (116, 20), (119, 40)]


def test_versions_of_messages_with_old_rows(tmp_path: Path):
    """An update of debezium-json has the old row; it is no deletion."""
    old, new, last = (
        {"currency": "eur", "rate": r, "rts": f"2024-01-01 00:00:{s:02}"} for r, s in STEPS
    )
    messages = [
        {"before": None, "after": old, "op": "c"},
        {"before": old, "after": new, "op": "u"},
        {"before": new, "after": last, "op": "u"},
        {"before": {**last, "rts": "2024-01-01 00:00:45"}, "after": None, "op": "d"},
    ]
    (tmp_path / "rates.json").write_text("".join(json.dumps(each) + "\n" for each in messages))
    t_env = TableEnvironment.create()
    t_env.execute_sql(
        f"""CREATE TABLE rates (currency STRING, rate INT, rts TIMESTAMP(3), PRIMARY KEY (currency)
            NOT ENFORCED, WATERMARK FOR rts AS rts - INTERVAL '60' SECOND) WITH (
            'connector' = 'filesystem', 'path' = '{tmp_path}/rates.json', 'format' = 'debezium-json')"""
    )
    t_env.execute_sql(
        f"""CREATE TABLE sales (id INT, currency STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts -
            INTERVAL '60' SECOND) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / "sales"}',
            'format' = 'csv')"""
    )
    (tmp_path / "sales").mkdir()
    sold = "".join(f"{i},{c},{ts.isoformat(' ')}\n" for i, c, ts in SALES)
    (tmp_path / "sales/part").write_text(sold)
    found = t_env.final_rows(t_env.sql_query(JOIN.format(kind="LEFT")))
    assert {tuple(row) for row in found} == {(1, 114), (2, 116), (3, None), (4, None), (5, None)}
