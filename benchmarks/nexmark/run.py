"""The queries of Nexmark in Millstream and in Flink SQL, by processor seconds.

    python benchmarks/nexmark/run.py [--events FEW MANY] [--only q0 q1 ...] [--repeats N]

Writes a section for RESULTS.md to .bench/nexmark.md; `run.py` appends it. Both systems read the same
file of JSON lines and write nothing. Flink refuses q6; q12 depends on the time of day, and q13 needs
a table that Flink can look up: they are left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from benchmarks.nexmark.generator import Generator, write_json  # noqa: E402
from benchmarks.nexmark.queries import COLUMNS, QUERIES, VIEWS  # noqa: E402
from data import DEFAULT_CACHE  # noqa: E402
from sql_compare import SYSTEMS, Job, Runner, compared, rendered  # noqa: E402

COMPARED = [name for name in QUERIES if name not in ("q6", "q12", "q13")]
RATE = 10_000
"""Events per second of event time."""


def events(count: int, folder: Path) -> Path:
    """A file with the first events."""
    path = folder / f"nexmark-{count}.json"
    if not path.exists():
        write_json(Generator(rate=RATE).events(0, count), path)
    return path


def job(name: str, path: Path) -> Job:
    """A query over a file of events, into nothing: the sink takes the columns that come."""
    files = f"'connector' = 'filesystem', 'format' = 'json', 'path' = '{path.as_uri()}'"
    statements = (
        f"CREATE TABLE events ({COLUMNS}) WITH ({files})",
        *(f"CREATE VIEW {view} AS {query}" for view, query in VIEWS.items()),
    )
    return Job(
        name,
        statements,
        f"CREATE TABLE nowhere WITH ('connector' = 'blackhole') AS {QUERIES[name]}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs=2, default=(1_000_000, 4_000_000))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for one run")
    parser.add_argument("--only", nargs="+", choices=COMPARED, default=COMPARED)
    parser.add_argument("--systems", nargs="+", choices=tuple(SYSTEMS), default=list(SYSTEMS)[:2])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    arguments = parser.parse_args()
    runner = Runner(arguments.cache, arguments.repeats, arguments.time_limit, arguments.flink_env)
    sizes = tuple(arguments.events)
    few, many = (events(size, runner.cache) for size in sizes)
    jobs = [(job(name, few), job(name, many)) for name in arguments.only]
    results = compared(runner, jobs, arguments.systems)
    text = rendered(
        "Nexmark",
        "Events from a file of JSON lines, results go nowhere: seconds of processor time of the job, "
        f"median of {arguments.repeats} runs; M are millions of events.",
        sizes,
        results,
        f"python benchmarks/nexmark/run.py --events {sizes[0]} {sizes[1]}",
    )
    (runner.cache / "nexmark.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
