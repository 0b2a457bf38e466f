"""Tables with times: late rows, texts that become times, upserts, versions, and rows taken back."""

from __future__ import annotations

from decimal import Decimal

from tests.support.parity.sql_programs import Rows
from tests.support.parity.table_programs import at

__all__ = ["TIMED_TABLES"]


def _upserts(columns: str, *rows: tuple[object, ...]) -> Rows:
    """A table whose rows replace those of their keys."""
    return Rows(columns, Rows.of(columns, *rows).changes, upsert=True)


# The time is made of a text. One row is late.
BIDS = Rows.of(
    "t STRING, i INT, d DOUBLE, f FLOAT, c DECIMAL(10, 2), s STRING, name STRING, "
    "rowtime AS TO_TIMESTAMP(t), proctime AS PROCTIME(), "
    "WATERMARK FOR rowtime AS rowtime - INTERVAL '1' SECOND",
    ("2020-10-10 00:00:01", 1, 1.0, 1.5, Decimal("1.11"), "Hi", "a"),
    ("2020-10-10 00:00:02", 2, 2.0, 2.5, Decimal("2.22"), "Comment#1", "a"),
    ("2020-10-10 00:00:03", 2, 2.0, None, Decimal("2.22"), "Comment#1", "a"),
    ("2020-10-10 00:00:04", 5, 5.0, 5.0, Decimal("5.55"), None, "a"),
    ("2020-10-10 00:00:07", 3, 3.0, 3.0, None, "Hello", "b"),
    ("2020-10-10 00:00:06", 6, 6.0, 6.25, Decimal("6.66"), "Hi", "b"),
    ("2020-10-10 00:00:08", 3, None, 3.0, Decimal("3.33"), "Comment#2", "a"),
    ("2020-10-10 00:00:04", 5, 5.0, 5.0, Decimal("5.55"), "late", "a"),
    ("2020-10-10 00:00:16", 4, 4.0, 4.0, Decimal("4.44"), "Hi", "b"),
    ("2020-10-10 00:00:32", 7, 7.0, 7.0, Decimal("7.77"), None, None),
    ("2020-10-10 00:00:34", 1, 3.0, 3.0, Decimal("3.33"), "Comment#3", "b"),
)
# No row is late: for a join, that would depend on the other table.
LEFTS = Rows.of(
    "id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    (1, "a", 1, at("12:00:01")),
    (2, "b", 2, at("12:00:02")),
    (3, "a", 3, at("12:00:04")),
    (4, None, 4, at("12:00:05")),
    (5, "c", 5, at("12:00:05")),
    (6, "a", None, at("12:00:09")),
    (7, "b", 7, at("12:00:11")),
    (8, "b", 7, at("12:00:11")),
    (9, "d", 9, at("12:00:21")),
    (10, "a", 1, at("12:00:25")),
)
RIGHTS = Rows.of(
    "rid INT, rk STRING, w INT, rt TIMESTAMP(3), WATERMARK FOR rt AS rt - INTERVAL '2' SECOND",
    (1, "a", 10, at("12:00:00")),
    (2, "a", 20, at("12:00:03")),
    (3, "c", 30, at("12:00:03")),
    (4, None, 40, at("12:00:05")),
    (5, "e", 50, at("12:00:08")),
    (6, "b", 2, at("12:00:12")),
    (7, "a", 1, at("12:00:13")),
    (8, "b", 80, at("12:00:19")),
    (9, "a", 90, at("12:00:24")),
    (10, "d", None, at("12:00:26")),
)
# Instants, around the change to summer time in New York.
MILLIS = Rows.of(
    "id INT, ms BIGINT, k STRING, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '0.5' SECOND",
    (1, 1709974800000, "a"),
    (2, 1709974801500, "b"),
    (3, 1709974801100, "a"),
    (4, 1709974804000, "a"),
    (5, 1710053999999, "b"),
    (6, 1710054000000, "a"),
    (7, 1710057600000, "a"),
    (8, 1710061200001, "b"),
    (9, 1710140400000, "b"),
    (10, 1710140399000, "a"),
    (11, 1710144000000, None),
)
# Updates move rows from window to window, and some of the rows that they take back are late.
TUPS = _upserts(
    "id INT, k STRING, v INT, ts TIMESTAMP(3), "
    "PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '3' SECOND",
    ("+I", 1, "a", 1, at("12:00:01")),
    ("+I", 2, "b", 2, at("12:00:02")),
    ("+U", 1, "a", 5, at("12:00:03")),
    ("+U", 2, "a", 2, at("12:00:04")),
    ("+I", 3, "c", 3, at("12:00:05")),
    ("-D", 3, "c", 3, at("12:00:05")),
    ("+I", 4, "b", 4, at("12:00:07")),
    ("+U", 4, "b", 6, at("12:00:12")),
    ("+I", 5, "c", 8, at("12:00:13")),
    ("+U", 1, "b", 9, at("12:00:14")),
    ("+I", 6, "a", 10, at("12:00:25")),
)
TRETS = Rows.of(
    "id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND",
    ("+I", 1, "a", 1, at("12:00:01")),
    ("+I", 2, "b", 2, at("12:00:02")),
    ("-U", 1, "a", 1, at("12:00:01")),
    ("+U", 1, "a", 5, at("12:00:03")),
    ("+I", 3, "c", 3, at("12:00:05")),
    ("-D", 3, "c", 3, at("12:00:05")),
    ("+I", 4, "b", 4, at("12:00:07")),
    ("-U", 4, "b", 4, at("12:00:07")),
    ("+U", 4, "b", 6, at("12:00:08")),
    ("+I", 5, "c", 8, at("12:00:13")),
    ("+I", 6, "a", 10, at("12:00:25")),
    ("-D", 6, "a", 10, at("12:00:25")),
    ("+I", 7, "a", 11, at("12:00:26")),
)
ORDERSX = Rows.of(
    "amount BIGINT, currency STRING, ot TIMESTAMP(3), WATERMARK FOR ot AS ot",
    (2, "Euro", at("12:00:02")),
    (1, "US Dollar", at("12:00:03")),
    (50, "Yen", at("12:00:04")),
    (3, "Euro", at("12:00:05")),
    (7, "Pound", at("12:00:06")),
    (5, "US Dollar", at("12:00:07")),
    (9, "Euro", at("12:00:10")),
    (10, None, at("12:00:11")),
    (11, "Yen", at("12:00:12")),
)
RATEHIST = Rows.of(
    "currency STRING, rate BIGINT, rt TIMESTAMP(3), WATERMARK FOR rt AS rt",
    ("US Dollar", 102, at("12:00:01")),
    ("Euro", 114, at("12:00:01")),
    ("Yen", 1, at("12:00:01")),
    ("Euro", 116, at("12:00:05")),
    ("Euro", 119, at("12:00:07")),
    ("US Dollar", None, at("12:00:07")),
    ("Yen", 2, at("12:00:12")),
    ("Euro", 120, at("12:00:20")),
)
RATEUPS = _upserts(
    "currency STRING, rate BIGINT, rt TIMESTAMP(3), "
    "PRIMARY KEY (currency) NOT ENFORCED, WATERMARK FOR rt AS rt",
    ("+I", "US Dollar", 102, at("12:00:01")),
    ("+I", "Euro", 114, at("12:00:01")),
    ("+I", "Yen", 1, at("12:00:01")),
    ("+U", "Euro", 116, at("12:00:05")),
    ("-D", "US Dollar", 102, at("12:00:06")),
    ("+U", "Euro", 119, at("12:00:07")),
    ("+I", "Yen", 2, at("12:00:12")),
    ("+U", "Euro", 120, at("12:00:20")),
)
RATERETS = Rows.of(
    "currency STRING, rate BIGINT, rt TIMESTAMP(3), "
    "PRIMARY KEY (currency) NOT ENFORCED, WATERMARK FOR rt AS rt",
    ("+I", "US Dollar", 102, at("12:00:01")),
    ("+I", "Euro", 114, at("12:00:01")),
    ("+I", "Yen", 1, at("12:00:01")),
    ("-U", "Euro", 114, at("12:00:01")),
    ("+U", "Euro", 116, at("12:00:05")),
    ("-D", "US Dollar", 102, at("12:00:01")),
    ("-U", "Euro", 116, at("12:00:05")),
    ("+U", "Euro", 119, at("12:00:07")),
    ("+I", "US Dollar", 99, at("12:00:09")),
)
TIMED_TABLES = {
    "bids": BIDS,
    "lefts": LEFTS,
    "rights": RIGHTS,
    "millis": MILLIS,
    "tups": TUPS,
    "trets": TRETS,
    "ordersx": ORDERSX,
    "ratehist": RATEHIST,
    "rateups": RATEUPS,
    "raterets": RATERETS,
}
"""By name."""
