"""Compare two checkouts: the same benchmarks, alternately, by the processor time that they take.

    git worktree add ../before COMMIT && make -C ../before java
    python benchmarks/compare.py ../before --pairs 5 --records 2000000

Single runs of the same code differ by up to half on a busy machine. So each pair is one run of the old
checkout and one of the new, in turns, and the result is the median of the ratios of their processor
times, JVM and workers included. A ratio below 1 means that the new one takes less. The table goes to the
terminal and to .bench/compare.md, which `run.py` adds to RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from data import DEFAULT_CACHE, ensure
from process_tree import ProcessTree
from registry import MILLSTREAM, MILLSTREAM_WINDOWS, Benchmark

NEW = Path(__file__).resolve().parents[1]
USUAL = (
    "millstream-count",
    "millstream-stateless",
    "millstream-tumbling-1k",
    "millstream-process-window",
    "millstream-interval-join",
)


def cpu_seconds(checkout: Path, benchmark: Benchmark, options: list[str]) -> tuple[float, dict]:
    """Run a benchmark of a checkout once: its processor time, and its own report."""
    python = checkout / ".venv" / "bin" / "python"
    line = [str(python), str(checkout / "benchmarks" / benchmark.script), *benchmark.arguments]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        with output.open("w") as stdout:
            process = subprocess.Popen(
                [*line, *options],
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": folder},
            )
            tree = ProcessTree(process)
            try:
                process.wait()
            finally:
                tree.stop()
        if process.returncode != 0:
            raise SystemExit(f"{benchmark.name} of {checkout} failed with {process.returncode}")
        return tree.cpu_seconds, json.loads(output.read_text().strip().splitlines()[-1])


def compared(benchmark: Benchmark, old: Path, arguments: argparse.Namespace) -> str:
    """A row of the table: medians of both, and the median of the ratios."""
    keys = benchmark.keys or 100_000
    records = min(benchmark.records or arguments.records, arguments.records)
    options = ["--records", str(records), "--keys", str(keys), "--files", "16"]
    options += ["--cache", str(arguments.cache)]
    ensure(records, keys, cache=arguments.cache).prepare(benchmark.workload)
    found: list[tuple[float, float]] = []
    for number in range(arguments.pairs):
        first, second = (old, NEW) if number % 2 == 0 else (NEW, old)
        times = {}
        reports = {}
        for checkout in (first, second):
            times[checkout], reports[checkout] = cpu_seconds(checkout, benchmark, options)
        if reports[old]["checksum"] != reports[NEW]["checksum"]:
            raise SystemExit(f"{benchmark.name}: the two checkouts give different results")
        found.append((times[old], times[NEW]))
        print(f"{benchmark.name}: {times[old]:.1f} -> {times[NEW]:.1f} s", file=sys.stderr)
    ratios = sorted(new / before for before, new in found)
    medians = median(before for before, _ in found), median(new for _, new in found)
    return (
        f"| {benchmark.name.removeprefix('millstream-')} | {records:,} | {medians[0]:.1f} | "
        f"{medians[1]:.1f} | {median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="a checkout with an environment of its own in .venv")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--only", nargs="+", default=USUAL, metavar="NAME")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    arguments = parser.parse_args()
    unknown = set(arguments.only) - {b.name for b in [*MILLSTREAM, *MILLSTREAM_WINDOWS]}
    if unknown or arguments.pairs < 1:
        parser.error(f"unknown: {', '.join(sorted(unknown))}" if unknown else "no pairs")
    old = arguments.old.resolve()
    chosen = [b for b in [*MILLSTREAM, *MILLSTREAM_WINDOWS] if b.name in arguments.only]
    commits = [
        subprocess.run(
            ["git", "-C", str(checkout), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for checkout in (old, NEW)
    ]
    names = " ".join(benchmark.name for benchmark in chosen)
    rows = [
        "",
        "## Two versions of Millstream",
        "",
        f"Processor seconds of {commits[0]} and {commits[1]}, {arguments.pairs} alternating pairs:",
        "",
        "| benchmark | records | old, median | new, median | new / old, median | pairs |",
        "|---|---:|---:|---:|---:|---:|",
        *(compared(benchmark, old, arguments) for benchmark in chosen),
        "",
        f"- Command: `python benchmarks/compare.py CHECKOUT --pairs {arguments.pairs} "
        f"--records {arguments.records} --only {names}`",
    ]
    text = "\n".join(rows) + "\n"
    target = NEW / ".bench" / "compare.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
