"""How large the state of queries is, in Millstream and in Flink (RocksDB and hashmap), per key.

    python benchmarks/table_state.py [--records N] [--keys N]

Writes a section for RESULTS.md to .bench/table_state.md; `run.py` appends it. Flink takes a checkpoint a
second, none of them incremental: the state is the largest of them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from data import DEFAULT_CACHE, ensure
from sql_compare import SYSTEMS, Runner
from tables import job

QUERIES = ("count and sum by key", "join", "top 3 by key")
CHECKPOINTS = {
    "execution.checkpointing.interval": "1 s",
    "execution.checkpointing.incremental": "false",
}


def rows(runner: Runner, records: int, keys: int, files: int) -> list[str]:
    dataset = ensure(records, keys, files, runner.cache)
    found = []
    for name in QUERIES:
        cells = [name]
        for system in SYSTEMS:
            options = {} if system == "Millstream" else CHECKPOINTS
            output = runner.run(replace(job(name, dataset), options=options), system)
            cells.append("-" if output is None else f"{output['state'] / keys:.0f}")
        print(cells, flush=True)
        found.append(f"| {' | '.join(cells)} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--time-limit", type=float, default=600, help="seconds for one run")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    arguments = parser.parse_args()
    runner = Runner(arguments.cache, 1, arguments.time_limit, arguments.flink_env)
    records, keys = arguments.records, arguments.keys
    lines = [
        "## State of queries",
        "",
        f"Bytes of state per key after {records:,} records of {keys:,} keys: pages of Millstream at "
        "the end, the largest full checkpoint of Flink.",
        "",
        f"| Query | {' | '.join(SYSTEMS)} |",
        f"| --- | {' | '.join('---:' for _ in SYSTEMS)} |",
        *rows(runner, records, keys, arguments.files),
        "",
        f"- Command: `python benchmarks/table_state.py --records {records} --keys {keys}`",
        "",
    ]
    (runner.cache / "table_state.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
