"""Run the benchmarks one after the other and write their results.

    python benchmarks/run.py [--quick] [--only NAME ...] [--records N] [--repeats N]

Figures go to .bench/results.json and the table made from them to benchmarks/RESULTS.md; with
`--quick` (100 000 records, once) both go to .bench/quick/ instead. `--only` runs some benchmarks
and keeps what is already known of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import environments
from data import DEFAULT_CACHE, ensure, open_cache
from machine import describe
from process_tree import ProcessTree
from registry import REGISTRY, Benchmark
from table import render

HERE = Path(__file__).resolve().parent
QUICK_RECORDS = 100_000
# What a run that took too long is divided by before it is tried again.
REDUCTION = 5
FEWEST_RECORDS = 10_000
# What scripts of their own have measured: appended if it is there.
SECTIONS = (
    "file_jobs.md",
    "columns.md",
    "rolling.md",
    "window_state.md",
    "window_operators.md",
    "chaining.md",
    "savepoints.md",
    "durability.md",
    "kafka_sink.md",
    "kafka_transactions.md",
    "lake.md",
    "recovery.md",
    "latency.md",
    "kafka_latency.md",
    "kafka.md",
    "databases.md",
    "compare.md",
    "tables.md",
    "nexmark.md",
    "explain.md",
    "table_state.md",
)


class TooSlow(Exception):
    pass


@dataclass
class Settings:
    records: int
    keys: int
    files: int
    repeats: int
    time_limit: float
    cache: Path
    pythons: dict[str, Path]
    folder: Path
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "logs"
        self.log.mkdir(parents=True, exist_ok=True)


def command(benchmark: Benchmark, settings: Settings, records: int) -> list[str]:
    return [
        str(settings.pythons[benchmark.python]),
        str(HERE / benchmark.script),
        *benchmark.arguments,
        *("--records", str(records)),
        *("--keys", str(benchmark.keys or settings.keys)),
        *("--files", str(settings.files)),
        *("--cache", str(settings.cache)),
    ]


def run_once(benchmark: Benchmark, settings: Settings, records: int) -> dict:
    """One run in a process of its own, as a dictionary; TooSlow if it passes the time limit."""
    log = settings.log / f"{benchmark.name}.log"
    output = settings.log / f"{benchmark.name}.out"
    load = os.getloadavg()[0]
    # Files, not pipes: a JVM that outlives its script would hold a pipe open.
    with output.open("w") as stdout, log.open("w") as stderr, scratch(settings) as folder:
        line = command(benchmark, settings, records)
        variables = {**os.environ, "TMPDIR": folder}
        process = subprocess.Popen(line, stdout=stdout, stderr=stderr, env=variables)
        tree = ProcessTree(process)
        try:
            process.wait(settings.time_limit)
        except subprocess.TimeoutExpired:
            raise TooSlow from None
        finally:
            tree.stop()
    if process.returncode != 0:
        raise RuntimeError(f"{benchmark.name} failed with {process.returncode}, see {log}")
    return {
        **json.loads(output.read_text().strip().splitlines()[-1]),
        "peak_rss": tree.peak_rss,
        "peak_worker_rss": tree.peak_worker_rss,
        "cpu_seconds": round(tree.cpu_seconds, 1),
        "load_before": round(load, 2),
    }


def scratch(settings: Settings) -> tempfile.TemporaryDirectory:
    """Where a run keeps its temporary files, which it cannot remove itself when it is stopped."""
    return tempfile.TemporaryDirectory(
        prefix="run-", dir=settings.folder, ignore_cleanup_errors=True
    )


def wanted_records(benchmark: Benchmark, settings: Settings) -> int:
    return min(settings.records, benchmark.records or settings.records)


def run_benchmark(benchmark: Benchmark, settings: Settings) -> dict:
    """All repeats of a benchmark, on as many records as it can manage within the time limit."""
    wanted = wanted_records(benchmark, settings)
    records = min(wanted, benchmark.most_records or wanted)
    while True:
        try:
            return summarise(benchmark, settings, repeat(benchmark, settings, records))
        except TooSlow:
            say(f"  {records} records took over {settings.time_limit:.0f} s: stopped")
            records //= REDUCTION
            if records < FEWEST_RECORDS:
                raise RuntimeError(f"{benchmark.name} is too slow to measure") from None


def repeat(benchmark: Benchmark, settings: Settings, records: int) -> list[dict]:
    dataset = ensure(records, benchmark.keys or settings.keys, settings.files, settings.cache)
    dataset.prepare(benchmark.workload)
    runs = []
    for _ in range(min(settings.repeats, benchmark.most_repeats or settings.repeats)):
        runs.append(run_once(benchmark, settings, records))
        say(f"  {runs[-1]['records_per_second']:.0f} records/s, {runs[-1]['seconds']} s")
    return runs


def summarise(benchmark: Benchmark, settings: Settings, runs: list[dict]) -> dict:
    rates = [run["records_per_second"] for run in runs]
    rate = median(rates)
    wanted = wanted_records(benchmark, settings)
    return {
        "name": benchmark.name,
        "workload": benchmark.section or benchmark.workload,
        "baseline": benchmark.baseline,
        "command": shown_command(benchmark, settings, runs[0]["records"]),
        "requested_records": wanted,
        "records": runs[0]["records"],
        "keys": runs[0]["keys"],
        "records_per_second": rate,
        "slowest": min(rates),
        "fastest": max(rates),
        "seconds_for_requested": round(wanted / rate, 1),
        "extrapolated": runs[0]["records"] != wanted,
        "measured_at": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "runs": runs,
    }


def shown_command(benchmark: Benchmark, settings: Settings, records: int) -> str:
    # As anyone would type it: no path of this machine.
    options = [
        *benchmark.arguments,
        *("--records", str(records), "--keys", str(benchmark.keys or settings.keys)),
        *("--files", str(settings.files)),
    ]
    return " ".join(["python", f"benchmarks/{benchmark.script}", *options])


def say(text: str) -> None:
    print(text, flush=True)


def selected(names: Iterable[str] | None) -> list[Benchmark]:
    if not names:
        return REGISTRY
    unknown = set(names) - {benchmark.name for benchmark in REGISTRY}
    if unknown:
        known = ", ".join(benchmark.name for benchmark in REGISTRY)
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))}; there are {known}")
    return [benchmark for benchmark in REGISTRY if benchmark.name in names]


def load_results(path: Path) -> dict[str, dict]:
    return json.loads(path.read_text())["results"] if path.exists() else {}


def save(settings: Settings, results: dict[str, dict], markdown: Path) -> None:
    order = [benchmark.name for benchmark in REGISTRY]
    known = {name: results[name] for name in order if name in results}
    machine = describe()
    text = json.dumps({"machine": machine, "results": known}, indent=2)
    (settings.folder / "results.json").write_text(text + "\n")
    text = render(machine, list(known.values()), [name for name in order if name not in known])
    sections = [settings.folder / name for name in SECTIONS]
    markdown.write_text(text + "".join(path.read_text() for path in sections if path.exists()))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few records, once")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these alone")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    parser.add_argument("--records", type=int)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for one run")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    parser.add_argument("--spark-python", type=Path, default=Path(sys.executable))
    return parser.parse_args()


def make_settings(arguments: argparse.Namespace, chosen: list[Benchmark]) -> Settings:
    cache = open_cache(arguments.cache)
    pythons = {"spark": arguments.spark_python}
    if any(benchmark.python == "flink" for benchmark in chosen):
        pythons["flink"] = environments.flink_python(arguments.flink_env, cache)
    return Settings(
        records=arguments.records or (QUICK_RECORDS if arguments.quick else 4_000_000),
        keys=arguments.keys,
        files=arguments.files,
        repeats=arguments.repeats or (1 if arguments.quick else 3),
        time_limit=arguments.time_limit,
        cache=cache,
        pythons=pythons,
        folder=cache / "quick" if arguments.quick else cache,
    )


def main() -> int:
    arguments = parse_arguments()
    chosen = selected(arguments.only)
    if arguments.list:
        say("\n".join(benchmark.name for benchmark in chosen))
        return 0
    settings = make_settings(arguments, chosen)
    markdown = settings.folder / "RESULTS.md" if arguments.quick else HERE / "RESULTS.md"
    results = load_results(settings.folder / "results.json")
    failed = False
    for benchmark in chosen:
        say(benchmark.name)
        try:
            results[benchmark.name] = run_benchmark(benchmark, settings)
        except RuntimeError as error:
            # A figure from an earlier run must not stand in for one that could not be had now.
            results.pop(benchmark.name, None)
            say(f"  {error}")
            failed = True
        save(settings, results, markdown)
    say(f"wrote {markdown}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
