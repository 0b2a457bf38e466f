"""How long EXPLAIN of each query of Nexmark takes, in a session that has explained one before.

    python benchmarks/nexmark/explain.py

Writes a section for RESULTS.md to .bench/explain.md; `run.py` appends it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from benchmarks.nexmark.queries import COLUMNS, QUERIES, VIEWS  # noqa: E402
from benchmarks.nexmark.run import COMPARED  # noqa: E402
from data import DEFAULT_CACHE, open_cache  # noqa: E402
from millstream.table import EnvironmentSettings, TableEnvironment  # noqa: E402

RUNS = 5
AIM_MS = 100


def session() -> TableEnvironment:
    """The tables that the queries read."""
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql(f"CREATE TABLE events ({COLUMNS}) WITH ('connector' = 'datagen')")
    for view, query in VIEWS.items():
        tables.execute_sql(f"CREATE VIEW {view} AS {query}")
    return tables


def milliseconds(tables: TableEnvironment, query: str) -> tuple[float, float]:
    """The time of the first EXPLAIN, and the median of several."""
    found = []
    for _ in range(RUNS):
        began = time.perf_counter()
        tables.explain_sql(query)
        found.append((time.perf_counter() - began) * 1_000)
    return found[0], median(found)


def main() -> None:
    tables = session()
    tables.explain_sql(QUERIES["q0"])
    times = {name: milliseconds(tables, QUERIES[name]) for name in COMPARED}
    slowest = max(times, key=lambda name: times[name][0])
    firsts, medians = zip(*times.values(), strict=True)
    text = "\n".join(
        [
            "## EXPLAIN",
            "",
            f"Milliseconds of the queries of Nexmark (aim: below {AIM_MS}).",
            "",
            f"| | {' | '.join(times)} |",
            f"| --- | {' | '.join('---:' for _ in times)} |",
            f"| first time | {' | '.join(f'{each:.0f}' for each in firsts)} |",
            f"| median of {RUNS} | {' | '.join(f'{each:.0f}' for each in medians)} |",
            "",
            f"- The slowest is {slowest} with {times[slowest][0]:.0f} ms.",
            "- Command: `python benchmarks/nexmark/explain.py`",
            "",
        ]
    )
    (open_cache(DEFAULT_CACHE) / "explain.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
