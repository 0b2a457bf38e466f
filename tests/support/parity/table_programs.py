"""Programs for each kind of operator, over small tables with changes; Flink's results are recorded.

The queries are in ``table_programs.sql``.
Each runs in memory in one piece, in small epochs, and with a restore between its rows.
"""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path

from tests.support.parity.sql_programs import Program, Rows

__all__ = ["PROGRAMS"]


def at(clock: str, day: int = 14) -> datetime.datetime:
    """A time of an afternoon: hours, minutes and seconds."""
    return datetime.datetime.fromisoformat(f"2024-03-{day:02}T{clock}")


def on(day: int) -> datetime.date:
    """A day of the month."""
    return datetime.date(2024, 3, day)


ORDERS = Rows.of(
    "id INT, customer STRING, amount INT, price DECIMAL(10, 2)",
    (1, "ann", 5, Decimal("10.50")),
    (2, "bob", 3, Decimal("4.25")),
    (3, "ann", 7, None),
    (4, None, 1, Decimal("0.99")),
    (5, "cid", None, Decimal("100.00")),
    (6, "bob", 3, Decimal("4.25")),
    (7, "ann", 5, Decimal("-1.00")),
)
CHANGES = Rows.of(
    "id INT, customer STRING, amount INT",
    ("+I", 1, "ann", 5),
    ("+I", 2, "bob", 3),
    ("-U", 1, "ann", 5),
    ("+U", 1, "ann", 8),
    ("+I", 3, "ann", 2),
    ("-D", 2, "bob", 3),
    ("+I", 4, "cid", None),
    ("-U", 3, "ann", 2),
    ("+U", 3, "bob", 2),
    ("+I", 5, "dan", 9),
    ("-D", 1, "ann", 8),
    ("-U", 4, "cid", None),
    ("+U", 4, None, 4),
    ("+I", 6, "ann", 9),
)
FLOATS = Rows.of(
    "text STRING, v BIGINT",
    ("0.0", 1),
    ("-0.0", 2),
    ("NaN", 3),
    ("NaN", 4),
    ("1.0", 5),
    ("1.00", 6),
    ("-0.0", 7),
    ("0.0", 8),
)
CHANGING_FLOATS = Rows.of(
    "text STRING, v BIGINT",
    ("+I", "0.0", 1),
    ("+I", "-0.0", 2),
    ("+I", "NaN", 3),
    ("+I", "NaN", 4),
    ("-U", "NaN", 4),
    ("+U", "-0.0", 9),
    ("-D", "0.0", 1),
    ("-D", "NaN", 3),
    ("+I", "1.0", 5),
)
CUSTOMERS = Rows.of(
    "name STRING, city STRING",
    ("+I", "ann", "Rome"),
    ("+I", "bob", "Oslo"),
    ("+I", None, "Nowhere"),
    ("-U", "ann", "Rome"),
    ("+U", "ann", "Paris"),
    ("+I", "eve", "Lima"),
    ("+I", "ann", "Bonn"),
    ("-D", "bob", "Oslo"),
    ("+I", "dan", None),
)
TIMED = "ts TIMESTAMP(3), k STRING, v INT, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND"
EVENTS = Rows.of(
    TIMED,
    (at("12:00:01"), "a", 1),
    (at("12:00:03"), "b", 2),
    (at("12:00:02"), "a", 3),
    (at("12:00:07"), "a", None),
    (at("12:00:06.500"), "b", 5),
    (at("12:00:11"), "c", 6),
    # Late for windows of five seconds.
    (at("12:00:04"), "a", 100),
    (at("12:00:14"), "a", 7),
    (at("12:00:16"), None, 8),
    (at("12:00:15"), "b", 9),
    (at("12:00:27"), "a", 10),
    (at("12:00:28"), "b", 11),
)
# Which row is late for a join depends on both inputs, and so in Flink on the time of day.
ONTIME = Rows(TIMED, tuple(each for each in EVENTS.changes if each[1][2] != 100))
OTHERS = Rows.of(
    TIMED,
    (at("12:00:02"), "a", 10),
    (at("12:00:04"), "c", 20),
    (at("12:00:06"), "b", 30),
    (at("12:00:08"), "a", 40),
    (at("12:00:13"), "a", 50),
    (at("12:00:17"), None, 60),
    (at("12:00:26"), "b", 70),
)
TIMED_CHANGES = Rows.of(
    TIMED,
    ("+I", at("12:00:01"), "a", 1),
    ("+I", at("12:00:02"), "b", 2),
    ("-U", at("12:00:01"), "a", 1),
    ("+U", at("12:00:01"), "a", 5),
    ("+I", at("12:00:03"), "a", 3),
    ("-D", at("12:00:02"), "b", 2),
    ("+I", at("12:00:08"), "b", 4),
    ("+I", at("12:00:09"), "a", 7),
    ("-D", at("12:00:09"), "a", 7),
    ("+I", at("12:00:15"), "a", 9),
)
RATES = Rows.of(
    "currency STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, "
    "PRIMARY KEY (currency) NOT ENFORCED",
    ("+I", "EUR", 110, at("12:00:00")),
    ("+I", "USD", 100, at("12:00:01")),
    ("-U", "EUR", 110, at("12:00:00")),
    ("+U", "EUR", 120, at("12:00:05")),
    ("+I", "YEN", 1, at("12:00:06")),
    ("-D", "USD", 100, at("12:00:08")),
    ("-U", "EUR", 120, at("12:00:05")),
    ("+U", "EUR", 130, at("12:00:20")),
)
QUOTES = Rows.of(
    "currency STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    ("EUR", 110, at("12:00:00")),
    ("USD", 100, at("12:00:01")),
    ("EUR", 120, at("12:00:05")),
    ("YEN", 1, at("12:00:06")),
    ("EUR", 130, at("12:00:20")),
)
PAYMENTS = Rows.of(
    "currency STRING, paid INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    ("EUR", 1, at("12:00:02")),
    ("USD", 2, at("12:00:03")),
    ("EUR", 3, at("12:00:06")),
    ("YEN", 4, at("12:00:04")),
    ("YEN", 5, at("12:00:07")),
    ("USD", 6, at("12:00:09")),
    (None, 7, at("12:00:10")),
    ("EUR", 8, at("12:00:21")),
)
NESTED = Rows.of(
    "id INT, words ARRAY<STRING>, pairs MAP<STRING, INT>, r ROW<a INT, b STRING>",
    (1, ["x", "y"], {"p": 1}, (1, "one")),
    (2, [], {}, (2, None)),
    (3, None, None, None),
    (4, ["z", None], {"p": 4, "q": None}, (None, "four")),
)
_SMALL = (1, 2, 3, 4, Decimal("5.125"), 6.5, 7.25, True)
_LARGE = (127, 32767, 2**31 - 1, 2**63 - 1, Decimal("-999999999.999"), -0.5, 1e10, False)
_BELOW = (-2, -2, -2, -2, Decimal("0.001"), 0.25, -1.5, True)
_EQUAL = (3, 3, 3, 3, Decimal("3.000"), 3.0, 3.0, None)
NUMBERS = Rows.of(
    "k STRING, b TINYINT, s SMALLINT, i INT, l BIGINT, d DECIMAL(12, 3), f FLOAT, g DOUBLE, x BOOLEAN, "
    "t TIMESTAMP(3), y DATE, c TIME(0)",
    ("+I", "a", *_SMALL, at("12:00:00"), on(14), at("10:11:12").time()),
    ("+I", "a", *_LARGE, at("12:00:01"), on(15), at("23:59:59").time()),
    ("+I", "b", *[None] * 11),
    ("+I", "a", *_BELOW, at("11:00:00"), on(1), at("00:00:00").time()),
    ("-D", "a", *_LARGE, at("12:00:01"), on(15), at("23:59:59").time()),
    ("+I", "b", *_EQUAL, at("13:00:00"), on(3), at("03:03:03").time()),
)
# Changes that are rows, as a system outside of Flink writes them.
CHANGE_LOG = Rows.of(
    "op STRING, id INT, name STRING",
    ("INSERT", 1, "ann"),
    ("INSERT", 2, "bob"),
    ("UPDATE_BEFORE", 1, "ann"),
    ("UPDATE_AFTER", 1, "eve"),
    ("INSERT", 3, "bob"),
    ("DELETE", 2, "bob"),
)
CODED_LOG = Rows.of(
    "id INT, code STRING, name STRING",
    (1, "c", "ann"),
    (2, "r", "bob"),
    (1, "b", "ann"),
    (1, "a", "eve"),
    (3, "c", None),
    (2, "d", "bob"),
)

TABLES = {
    "orders": ORDERS,
    "changes": CHANGES,
    "floats": FLOATS,
    "changing_floats": CHANGING_FLOATS,
    "customers": CUSTOMERS,
    "events": EVENTS,
    "ontime": ONTIME,
    "others": OTHERS,
    "tchanges": TIMED_CHANGES,
    "rates": RATES,
    "payments": PAYMENTS,
    "quotes": QUOTES,
    "nested": NESTED,
    "numbers": NUMBERS,
    "changelog": CHANGE_LOG,
    "coded": CODED_LOG,
}
_PROGRAM = re.compile(r"^-- (\w+): ([\w, ]+)\n((?:(?!--).*\n)*)", re.MULTILINE)


def _programs() -> dict[str, Program]:
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    found = {}
    for name, tables, body in _PROGRAM.findall(text):
        *statements, query = (" ".join(part.split("\n  ")) for part in body.strip().split(";\n"))
        used = {each: TABLES[each] for each in tables.split(", ") if each != "none"}
        found[name] = Program(used, query.rstrip(";"), tuple(statements))
    return found


PROGRAMS: dict[str, Program] = _programs()
"""By name."""
