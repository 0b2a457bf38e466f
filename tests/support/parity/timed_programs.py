"""SQL programs about time, run by Flink and by Millstream over the same rows.

Rows are seconds apart, so that Flink's watermark follows each of them, and the same rows are late
there in every run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.parity.flink_env import ROOT
from tests.support.parity.flink_sql import SqlProgram

__all__ = ["PROGRAMS", "RECORDED", "TABLES", "InputTable", "TimedProgram", "flink_programs"]

RECORDED = ROOT / "tests/parity/timed_results.json"


@dataclass(frozen=True)
class InputTable:
    """A table of rows. ``time``: its time column, whose watermark is two seconds behind."""

    columns: str
    rows: tuple[tuple[Any, ...], ...]
    time: str = "ts"

    @property
    def watermark(self) -> str:
        return f"{self.time} - INTERVAL '2' SECOND"

    def names(self) -> list[str]:
        return [each.split()[0] for each in self.columns.split(", ")]


@dataclass(frozen=True)
class TimedProgram:
    """A query over the tables. ``zone``: that of the session. ``batch``: Flink's batch mode."""

    query: str
    zone: str = "UTC"
    batch: bool = False


def _at(seconds: float, day: str = "2024-03-01 08") -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{day}:{int(minutes):02}:{rest:06.3f}"


# Sorted by arrival. The watermark is two seconds behind: rows marked late come after it.
_T = (
    ("a", 1, 1), ("b", 2, 2), ("a", 3, 4), ("a", None, 4), ("b", 5, 3), ("c", 1, 7), ("a", 2, 7),
    ("a", 9, 3),  # late: the watermark is 5
    ("b", 4, 9), ("b", 4, 9), ("a", 7, 12), ("c", 8, 11), ("a", 6, 11), ("b", 3, 16),
    ("c", 2, 13),  # late: the watermark is 14
    (None, 5, 17), ("a", 4, 18), ("b", None, 21), ("c", 6, 22), ("a", 3, 29), ("b", 1, 28),
    ("a", 8, 31), ("b", 2, 43), ("c", 9, 58), ("a", 5, 61), ("b", 7, 60), ("a", 1, 64),
)  # fmt: skip
_R = (
    ("a", 10, 2), ("b", 20, 5), ("a", 30, 6), ("d", 40, 8), ("b", 50, 12), ("c", 60, 14),
    ("a", 70, 19), (None, 80, 18), ("c", 90, 25), ("b", 15, 29), ("a", 25, 33), ("d", 35, 61),
)  # fmt: skip
# Around the change to summer time in Berlin (2024-03-31 01:00 UTC) and New York (2024-03-10 07:00 UTC).
_Z = (
    ("a", 1, "2024-03-10 04:30:00"), ("a", 2, "2024-03-10 06:10:00"), ("b", 3, "2024-03-10 07:20:00"),
    ("a", 4, "2024-03-10 23:50:00"), ("a", 5, "2024-03-11 04:10:00"), ("b", 6, "2024-03-30 22:30:00"),
    ("a", 7, "2024-03-30 23:30:00"), ("b", 8, "2024-03-31 00:40:00"), ("a", 9, "2024-03-31 01:20:00"),
    ("a", 10, "2024-03-31 22:30:00"), ("b", 11, "2024-10-27 00:30:00"), ("a", 12, "2024-10-27 01:30:00"),
    ("b", 13, "2024-10-27 02:10:00"),
)  # fmt: skip

TABLES: dict[str, InputTable] = {
    "t": InputTable("k STRING, v INT, ts TIMESTAMP(3)", tuple((k, v, _at(s)) for k, v, s in _T)),
    "r": InputTable("k STRING, w INT, ts TIMESTAMP(3)", tuple((k, v, _at(s)) for k, v, s in _R)),
    "z": InputTable(
        "k STRING, v INT, ts TIMESTAMP_LTZ(3)", tuple((k, v, f"{s}.000Z") for k, v, s in _Z)
    ),
}

_BY_KEY = "GROUP BY k, window_start, window_end, window_time"
_TUMBLE = "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
_SESSION = "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)"
VIEWS = {
    "c": f"SELECT k, window_time AS wt, COUNT(*) AS n FROM {_TUMBLE} {_BY_KEY}",
    "cs": f"SELECT k, window_time AS wt, COUNT(*) AS n FROM {_SESSION} {_BY_KEY}",
}
"""Results of windows, for windows over windows."""


def _programs() -> Iterator[tuple[str, TimedProgram]]:
    """The queries of the file: ``-- name | marks``, and the text up to a semicolon."""
    text = (ROOT / "tests/parity/timed_programs.sql").read_text(encoding="utf-8")
    for part in text.split("\n\n")[1:]:
        head, query = part.split("\n", 1)
        name, *marks = head.removeprefix("-- ").split(" | ")
        zone = next((each for each in marks if each != "batch"), "UTC")
        plain = " ".join(query.split()).removesuffix(";")
        yield name, TimedProgram(plain, zone)
        if "batch" in marks:
            yield f"{name}, batch", TimedProgram(plain, zone, batch=True)


PROGRAMS: dict[str, TimedProgram] = dict(_programs())


def flink_programs(folder: Path) -> dict[str, SqlProgram]:
    """The programs as Flink runs them: over files in a folder."""
    statements = []
    for name, table in TABLES.items():
        path = folder / f"{name}.json"
        lines = [json.dumps(dict(zip(table.names(), row, strict=True))) for row in table.rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        statements.append(
            f"CREATE TABLE {name} ({table.columns}, WATERMARK FOR {table.time} AS {table.watermark}) "
            f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"
        )
    statements += [f"CREATE TEMPORARY VIEW {name} AS {query}" for name, query in VIEWS.items()]
    return {
        name: {
            "statements": statements,
            "query": program.query,
            "options": {"table.local-time-zone": program.zone},
            "batch": program.batch,
        }
        for name, program in PROGRAMS.items()
    }
