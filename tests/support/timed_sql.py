"""Two small tables with a time, for queries about windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.support.sql import Tables, back

__all__ = ["OTHER", "TUMBLE", "at", "seconds", "timed_tables"]

START = datetime(2024, 1, 1)
COLUMNS = "k STRING, v INT, ts TIMESTAMP(3)"
ROWS = [
    ("a", 1, 1),
    ("b", 2, 2),
    ("a", 3, 4),
    ("b", 4, 12),
    ("a", 5, 11),
    ("a", 9, 3),
    ("c", 6, 31),
]
"""The row of value 9 is late: the watermark is one second behind."""
OTHERS = [("d", 30, 2), ("a", 10, 5), ("b", 20, 13)]
MARK = ("ts", "ts - INTERVAL '1' SECOND")

TUMBLE = "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
OTHER = "TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '10' SECOND)"


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def seconds(time: Any) -> Any:
    """A time as the seconds behind the first, and other values as they are."""
    return (time - START).total_seconds() if isinstance(time, datetime) else time


def timed_tables(**options: Any) -> Tables:
    """Tables t and o, and u whose rows change."""
    tables = Tables(**options)
    tables.add("t", COLUMNS, [(k, v, at(s)) for k, v, s in ROWS], watermark=MARK)
    tables.add("o", COLUMNS, [(k, v, at(s)) for k, v, s in OTHERS], watermark=MARK)
    changes = [("a", 1, at(1)), ("b", 2, at(2)), back("a", 1, at(1)), ("a", 4, at(14))]
    return tables.add("u", COLUMNS, changes, updating=True, watermark=MARK)
