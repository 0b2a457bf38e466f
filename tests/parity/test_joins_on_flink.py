"""Joins in time, correlated queries and UNNEST give what Flink gives, over random rows.

Flink does what SQL does not say: its joins with versions find NULL equal to NULL, and a LATERAL
aggregate of no rows has no row.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.parity.flink_env import NoFlinkError, flink_python
from tests.support.sql import Tables

pytestmark = pytest.mark.parity

SCRIPT = Path(__file__).parent / "on_flink/run_sql.py"
START = datetime(2024, 1, 1)
COLUMNS = {
    "l": "k STRING, v INT, ts TIMESTAMP(3)",
    "r": "k STRING, w INT, ts TIMESTAMP(3)",
}
INTERVALS = [
    "l.ts BETWEEN r.ts - INTERVAL '5' SECOND AND r.ts + INTERVAL '10' SECOND",
    "l.ts = r.ts",
    "l.ts > r.ts AND l.ts < r.ts + INTERVAL '7' SECOND",
    "r.ts BETWEEN l.ts - INTERVAL '20' SECOND AND l.ts - INTERVAL '3' SECOND",
]
LAST = """(SELECT k, w, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n
           FROM r) WHERE n = 1)"""
QUERIES = {
    **{
        f"{kind} interval": f"""SELECT l.k, l.v, l.ts, r.w FROM l {kind} JOIN r
            ON l.k = r.k AND {within}"""
        for kind, within in zip(("INNER", "LEFT", "RIGHT", "FULL"), INTERVALS, strict=True)
    },
    "interval with a condition": f"""SELECT l.k, l.v, r.w FROM l LEFT JOIN r
        ON l.k = r.k AND l.v < r.w AND {INTERVALS[0]}""",
    "interval and windows": """SELECT window_start, COUNT(*), SUM(w) FROM TUMBLE(TABLE j,
        DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end""",
    "versions": """SELECT l.k, l.v, l.ts, t.w FROM l JOIN versions FOR SYSTEM_TIME AS OF l.ts AS t
        ON l.k = t.k""",
    "versions left": """SELECT l.k, l.v, l.ts, t.w FROM l LEFT JOIN versions
        FOR SYSTEM_TIME AS OF l.ts AS t ON l.k = t.k AND t.w > l.v""",
    "versions of a key": """SELECT l.k, l.v, l.ts, t.w FROM l LEFT JOIN keyed
        FOR SYSTEM_TIME AS OF l.ts AS t ON l.k = t.k""",
    "counts of each": """SELECT d.k, t.n, t.s FROM keys_of_r d, LATERAL (
        SELECT COUNT(*) AS n, SUM(v) AS s FROM l WHERE l.k = d.k) AS t""",
    "rows of each": """SELECT d.k, t.v FROM keys_of_r d LEFT JOIN LATERAL (
        SELECT v FROM l WHERE l.k = d.k AND l.v > 3) AS t ON TRUE""",
    "unnest": """SELECT k, x FROM (SELECT k, ARRAY[v, v + 1] AS a FROM l)
        CROSS JOIN UNNEST(a) AS u (x)""",
    "unnest with numbers": """SELECT k, x, o FROM (SELECT k, ARRAY[v, v + 1] AS a FROM l)
        CROSS JOIN UNNEST(a) WITH ORDINALITY AS u (x, o)""",
    "unnest of a map": """SELECT k, a, b FROM (SELECT k, MAP['a', v, 'b', 2] AS m FROM l)
        CROSS JOIN UNNEST(m) AS u (a, b)""",
    "unnest left": """SELECT k, x FROM (SELECT k, CASE WHEN v > 2 THEN ARRAY[v] END AS a FROM l)
        LEFT JOIN UNNEST(a) AS u (x) ON TRUE""",
    "unnest of a multiset": """SELECT k, x FROM (SELECT k, COLLECT(v) AS c FROM l GROUP BY k)
        CROSS JOIN UNNEST(c) AS u (x)""",
}
VIEWS = {
    "keys_of_r": "SELECT DISTINCT k FROM r",
    "versions": LAST[1:-1],
    "j": f"SELECT l.k, l.ts, r.w FROM l JOIN r ON l.k = r.k AND {INTERVALS[0]}",
}


def rows(seed: int) -> list[tuple[Any, ...]]:
    chosen = random.Random(seed)
    times = sorted(chosen.sample(range(80), 25))
    return [
        (chosen.choice(["x", "y", "z", None]), chosen.randint(0, 9), START + timedelta(seconds=t))
        for t in times
    ]


def statements(folder: Path, data: dict[str, list[Any]]) -> list[str]:
    found = []
    for name, columns, keyed in (("l", "l", False), ("r", "r", False), ("keyed", "r", True)):
        path = folder / f"{name}.csv"
        with path.open("w", newline="") as file:
            for k, v, ts in data[name]:
                csv.writer(file).writerow([k or "", v, ts.isoformat(" ")])
        text = COLUMNS[columns]
        if keyed:
            text = f"{text}, PRIMARY KEY (k) NOT ENFORCED"
        found.append(
            f"""CREATE TABLE {name} ({text}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
                WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv',
                      'csv.null-literal' = '')"""
        )
    return [*found, *(f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items())]


def of_flink(python: Path, folder: Path, seed: int) -> dict[str, Any]:
    data = tables_of(seed)
    made = statements(folder, data)
    programs = {name: {"statements": made, "query": query} for name, query in QUERIES.items()}
    source, target = folder / "programs.json", folder / "results.json"
    source.write_text(json.dumps(programs))
    subprocess.run([python, SCRIPT, source, target], check=True, stdout=subprocess.DEVNULL)
    found: dict[str, Any] = json.loads(target.read_text())
    return found


def tables_of(seed: int) -> dict[str, list[Any]]:
    keyed = [row for row in rows(seed + 2) if row[0] is not None]
    return {"l": rows(seed), "r": rows(seed + 1), "keyed": keyed}


def ours(query: str, seed: int) -> Counter[Any]:
    tables, data = Tables(), tables_of(seed)
    mark = ("ts", "ts - INTERVAL '1' SECOND")
    tables.add("l", COLUMNS["l"], data["l"], watermark=mark)
    tables.add("r", COLUMNS["r"], data["r"], watermark=mark)
    tables.add("keyed", COLUMNS["r"], data["keyed"], watermark=mark, key=("k",))
    views = ", ".join(f"{name} AS ({text})" for name, text in VIEWS.items())
    found = tables.table(f"WITH {views} {query}")
    return Counter({json.dumps([_plain(each) for each in row]): n for row, n in found.items()})


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def test_joins_are_those_of_flink(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("runs Flink, and may install it: ask for it with -m parity")
    try:
        python = flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))
    results = of_flink(python, tmp_path, 7)
    failed = {}
    for name, query in QUERIES.items():
        expected = results[name]
        assert "error" not in expected, f"{name}: {expected['error']}"
        wanted = Counter(json.dumps(row) for row in expected["rows"])
        found = ours(query, 7)
        if found != wanted:
            failed[name] = {"only Flink": wanted - found, "only ours": found - wanted}
    assert not failed
