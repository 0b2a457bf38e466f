"""Golden savepoints of SQL jobs, one for each way in which operators of tables keep state.

A file ``tables-v<format>/<case>.zip`` holds a savepoint folder, and ``given.json``: the table that the
job had given until then.
"""

from __future__ import annotations

import datetime
import json
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from millstream.table.physical.state_ttl import StateTtl
from millstream.testing.engine.local import LocalSavepoint
from tests.support.migration.golden import _read, _write
from tests.support.properties.savepoint_runs import Run, Setting
from tests.support.sql import Tables, back
from tests.support.sql_savepoints import SqlJob

__all__ = ["CASES", "load", "make", "shown", "tables"]

EPOCHS = 4
GIVEN = "given.json"
START = datetime.datetime(2024, 1, 1)
AGGREGATES = "COUNT(*), SUM(v), AVG(v), MIN(v), MAX(v), COUNT(DISTINCT v)"
WINDOWS = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
CASES = {
    "groups": f"SELECT b, {AGGREGATES} FROM t GROUP BY b",
    "groups of changes": f"SELECT b, {AGGREGATES} FROM c GROUP BY b",
    "one group": f"SELECT {AGGREGATES} FROM c",
    "joined rows": "SELECT t.a, t.v, c.v FROM t FULL JOIN c ON t.a = c.a AND t.v > c.v",
    "inner join": "SELECT t.a, t.v, c.v FROM t JOIN c ON t.a = c.a",
    "semi join": "SELECT a, v FROM t WHERE a IN (SELECT v FROM c)",
    "first rows": "SELECT a, v FROM (SELECT a, v, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v, b) AS n "
    "FROM t) WHERE n <= 2",
    "first rows of changes": "SELECT a, v, n FROM (SELECT a, v, RANK() OVER (PARTITION BY a ORDER BY v) "
    "AS n FROM c) WHERE n <= 2",
    "distinct rows": "SELECT DISTINCT a, b FROM c",
    "bags": "SELECT a FROM t EXCEPT ALL SELECT a FROM c",
    "windows": f"SELECT b, window_start, {AGGREGATES} FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
    "INTERVAL '10' SECOND)) GROUP BY b, window_start, window_end",
    "rows of partitions": "SELECT a, LAG(v) OVER (PARTITION BY b ORDER BY v, a, ts) FROM c",
    "sums over time": "SELECT a, SUM(v) OVER (PARTITION BY b ORDER BY ts) FROM t",
    "waiting rows": "SELECT a, v FROM t ORDER BY ts",
    "rows of near times": "SELECT x.a, x.v, y.b FROM t x LEFT JOIN t y ON x.a = y.v AND x.ts BETWEEN "
    "y.ts - INTERVAL '4' SECOND AND y.ts + INTERVAL '6' SECOND",
    "versions": "SELECT t.a, t.v, u.v FROM t LEFT JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.a = u.a",
    "first rows of windows": "SELECT a, v, n, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION "
    f"BY window_start, window_end, b ORDER BY v DESC, a) AS n FROM {WINDOWS}) WHERE n <= 2",
    "joined windows": f"SELECT x.a, x.v, y.b, x.window_start FROM (SELECT * FROM {WINDOWS}) x "
    f"FULL JOIN (SELECT * FROM {WINDOWS}) y ON x.a = y.v AND x.window_start = y.window_start "
    "AND x.window_end = y.window_end",
    "sessions": "SELECT b, window_start, window_end, SUM(v) FROM TABLE(SESSION(TABLE t PARTITION BY b, "
    "DESCRIPTOR(ts), INTERVAL '3' SECOND)) GROUP BY b, window_start, window_end",
    "last rows of keys": "SELECT b, COUNT(*), SUM(v) FROM u GROUP BY b",
    "groups that expire": "SELECT /*+ STATE_TTL('t' = '8 s') */ b, COUNT(*) FROM t GROUP BY b",
}


def tables() -> Tables:
    """The input of all cases; it never changes."""
    columns = "a INT, b STRING, v INT, ts TIMESTAMP(3)"
    rows: list[Any] = []
    for i in range(30):
        time = START + datetime.timedelta(seconds=i - i % 3)
        rows.append((i * 7 % 5, [None, "x", "y", "z"][i * 5 % 4], i * 11 % 13, time))
    changes = [*rows[:8], back(*rows[2]), *rows[8:16], back(*rows[0]), back(*rows[9]), *rows[16:]]
    found = Tables(ttl=StateTtl(event=True))
    late = ("ts", "ts - INTERVAL '2' SECOND")
    found.add("t", columns, rows, watermark=late)
    found.add("c", columns, changes, updating=True)
    # Keys 0 to 4 again and again; two of them are deleted in between.
    upserts = [
        *rows[:13],
        back(*rows[12][:3], rows[13][3]),
        *rows[13:22],
        back(*rows[21][:3], rows[22][3]),
    ]
    return found.add("u", columns, [*upserts, *rows[22:]], upsert=True, key=("a",), watermark=late)


def shown(rows: Counter[Any]) -> Counter[str]:
    """A table as texts; rows without a number are left out."""
    return Counter({repr(row): number for row, number in rows.items() if number})


def make(name: str, target: Path) -> None:
    """Run a case until its savepoint, and keep that with what the job has given."""
    job = SqlJob(tables(), CASES[name], slots=2).run(EPOCHS)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _write(Run(job.job, {}), Setting(slots=2, order="arrival"), folder)
        (folder / GIVEN).write_text(json.dumps(shown(job.rows), indent=1, sort_keys=True))
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    info = zipfile.ZipInfo(str(path.relative_to(folder)), (2026, 11, 18, 0, 0, 0))
                    file.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)


def load(golden: Path, folder: Path) -> tuple[LocalSavepoint, Counter[str]]:
    """A golden savepoint, and what its job had given."""
    with zipfile.ZipFile(golden) as file:
        file.extractall(folder)
    return _read(folder), Counter(json.loads((folder / GIVEN).read_text()))
