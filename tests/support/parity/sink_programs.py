"""Programs with upserts, sinks, zones and options; Flink's results are recorded.

The queries are in ``sink_programs.sql`` and ``relation_programs.sql``, those of batch mode only in
``batch_programs.sql``. Their tables are in
memory, and what they write is kept there.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from tests.support.parity.relation_tables import RELATION_TABLES
from tests.support.parity.sql_programs import Program, Rows
from tests.support.parity.table_programs import RATES, TABLES, TIMED, at
from tests.support.parity.timed_tables import TIMED_TABLES

__all__ = ["BATCH_PROGRAMS", "SINK_PROGRAMS"]


def upserts(columns: str, *rows: tuple[object, ...]) -> Rows:
    """A table whose rows replace those of their keys."""
    return Rows(columns, Rows.of(columns, *rows).changes, upsert=True)


def zoned(text: str) -> datetime.datetime:
    """An instant."""
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


KEYED = "id INT, customer STRING, amount INT, PRIMARY KEY (id) NOT ENFORCED"
UPSERTS = upserts(
    KEYED,
    ("+I", 1, "ann", 5),
    ("+I", 2, "bob", 3),
    ("+U", 1, "ann", 8),
    ("+U", 3, "cid", None),
    ("+U", 2, "ann", 3),
    ("-D", 3, None, None),
    ("+I", 4, None, 7),
    ("-D", 9, "eve", 1),
    ("+U", 1, "bob", 2),
    ("+I", 3, "dan", 4),
    ("+U", 4, "ann", 7),
    ("+U", 4, "ann", 7),
    ("-D", 2, "ann", 3),
    ("+I", 5, "ann", 6),
)
KEYED_CHANGES = Rows.of(
    KEYED,
    ("+I", 1, "ann", 5),
    ("+I", 2, "bob", 3),
    ("-U", 1, "ann", 5),
    ("+U", 1, "ann", 8),
    ("+I", 3, "ann", 2),
    ("-D", 2, "bob", 3),
    ("-U", 3, "ann", 2),
    ("+U", 3, "bob", 2),
    ("+I", 7, "dan", 1),
)
TWICE = Rows.of(
    KEYED,
    ("+I", 1, "ann", 5),
    ("+I", 1, "ann", 5),
    ("+I", 2, "bob", 3),
    ("-U", 1, "ann", 5),
    ("+U", 1, "ann", 8),
    ("-U", 1, "ann", 5),
    ("+U", 1, "ann", 8),
    ("-D", 2, "bob", 3),
    ("-D", 2, "bob", 3),
    ("+I", 3, "ann", 4),
    ("+I", 3, "ann", 4),
)
CITIES = Rows.of(
    "name STRING, city STRING, PRIMARY KEY (name) NOT ENFORCED",
    ("+I", "ann", "Rome"),
    ("+I", "bob", "Oslo"),
    ("-U", "ann", "Rome"),
    ("+U", "ann", "Paris"),
    ("-D", "bob", "Oslo"),
    ("+I", "dan", None),
)
TIMED_UPSERTS = upserts(
    f"id INT, {TIMED}, PRIMARY KEY (id) NOT ENFORCED",
    ("+I", 1, at("12:00:01"), "a", 1),
    ("+I", 2, at("12:00:02"), "b", 2),
    ("+U", 1, at("12:00:01"), "a", 5),
    ("+I", 3, at("12:00:03"), "a", 3),
    ("-D", 2, at("12:00:02"), "b", 2),
    ("+I", 4, at("12:00:08"), "b", 4),
    ("+U", 4, at("12:00:09"), "b", 6),
    ("+I", 5, at("12:00:15"), "a", 9),
)
UPSERT_RATES = upserts(
    RATES.columns, *((kind, *values) for kind, values in RATES.changes if kind != "-U")
)
ZONED = Rows.of(
    "ts TIMESTAMP_LTZ(3), k STRING, v INT, WATERMARK FOR ts AS ts - INTERVAL '1' HOUR",
    (zoned("2024-03-09T10:00:00"), "a", 1),
    (zoned("2024-03-09T15:30:00"), "b", 2),
    (zoned("2024-03-09T16:30:00"), "a", 3),
    (zoned("2024-03-10T04:59:59.999"), "a", 4),
    (zoned("2024-03-10T06:30:00"), "b", 5),
    (zoned("2024-03-10T07:30:00"), "a", 6),
    (zoned("2024-03-10T22:00:00"), "b", 7),
    (zoned("2024-03-11T03:59:00"), "a", None),
    (zoned("2024-03-11T04:01:00"), None, 9),
    (zoned("2024-03-11T16:00:00"), "b", 10),
)
TEXTS = Rows.of(
    "s STRING, b BYTES",
    ("a", b"\x01"),
    ("ab ", b"\x01\x02"),
    ("abcdef", b"\x01\x02\x03\x04"),
    ("", b""),
    (None, None),
    ("äöü€x", b"\xff\xfe\xfd"),
)
STAMPS = Rows.of(
    "k STRING, v INT, w BIGINT, ts TIMESTAMP(3)",
    ("a", 1, 10, at("10:10:00")),
    ("b", 7, 20, at("12:20:00")),
    ("a", 3, 30, at("09:30:00")),
    ("c", None, 40, at("11:00:00")),
    ("a", 2, 50, at("10:59:59.999")),
    ("b", 5, 60, at("12:00:00")),
    (None, 4, 70, at("09:00:00")),
    ("a", 6, None, at("13:15:00")),
)
MORE = {
    "upserts": UPSERTS,
    "keyed": KEYED_CHANGES,
    "twice": TWICE,
    "cities": CITIES,
    "tupserts": TIMED_UPSERTS,
    "turates": UPSERT_RATES,
    "zoned": ZONED,
    "texts": TEXTS,
    "stamps": STAMPS,
}
FILES = ("sink_programs.sql", "relation_programs.sql")
_PROGRAM = re.compile(r"^-- (\w+): ([\w, ]+)\n((?:(?!--).*\n)*)", re.MULTILINE)
_SET = re.compile(r"SET '(.*)' = '(.*)'")
_SINK = re.compile(r"CREATE TABLE sink \((.*)\)")


def _program(tables: str, body: str) -> Program:
    options: dict[str, str] = {}
    sink, statements = "", []
    *before, query = (" ".join(part.split("\n  ")) for part in body.strip().split(";\n"))
    for each in before:
        if found := _SET.fullmatch(each):
            options[found[1]] = found[2]
        elif found := _SINK.fullmatch(each):
            sink = found[1]
        else:
            statements.append(each)
    known = TABLES | MORE | RELATION_TABLES | TIMED_TABLES
    used = {name: known[name] for name in tables.split(", ") if name != "none"}
    zone = options.pop("table.local-time-zone", "UTC")
    given = tuple(options.items())
    return Program(used, query.rstrip(";"), tuple(statements), zone, given, sink)


def _programs(*names: str) -> dict[str, Program]:
    files = (Path(__file__).with_name(name) for name in names)
    text = "".join(each.read_text(encoding="utf-8") for each in files)
    return {name: _program(tables, body) for name, tables, body in _PROGRAM.findall(text)}


SINK_PROGRAMS: dict[str, Program] = _programs(*FILES)
"""By name."""
BATCH_PROGRAMS: dict[str, Program] = _programs("batch_programs.sql")
"""The same for those that run in batch mode only."""
