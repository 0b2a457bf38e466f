"""File jobs of 2 and 10 million records: Millstream, Spark, Flink SQL and PyFlink in turn.

    python benchmarks/file_jobs.py [--rounds 1] [--only tumbling] [--fresh]

Each system runs with both numbers of records, in processes of its own. The *slope* is the cost of a
record once everything has started: the difference of both runs, divided by that of their records.
Start-up (the JVM and the session) is measured apart; what is left of the smaller run is the start of the
job. Processor seconds are those of all processes of a run.

Runs are added to .bench/file_jobs.json, unless --fresh forgets the earlier ones; the section for
RESULTS.md, with medians of all rounds, goes to .bench/file_jobs.md, and `run.py` appends it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from data import DEFAULT_CACHE, ensure, open_cache
from environments import flink_python
from process_tree import ProcessTree

HERE = Path(__file__).resolve().parent
FILES = 16
SIZES = (2_000_000, 10_000_000)
# PyFlink takes minutes for 10 million records.
FEW = (500_000, 2_000_000)


@dataclass(frozen=True)
class System:
    """A program of one of the workloads, as it is run."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    on_flink: bool = False
    sizes: tuple[int, int] = SIZES
    # PyFlink's worker processes are nobody's children when the job ends: only who watched them all the
    # time knows what they cost.
    loses_workers: bool = False


@dataclass(frozen=True)
class Aim:
    """A system that should be so many times as fast as another, by processor time per record."""

    system: str
    other: str
    at_least: float | None = None


@dataclass(frozen=True)
class Workload:
    title: str
    data: str
    keys: int
    systems: tuple[System, ...]
    aims: tuple[Aim, ...]


PARQUET = ("--source", "parquet")
WORKLOADS = {
    "tumbling": Workload(
        "Tumbling sum over 1,000 keys",
        "tumbling",
        1_000,
        (
            System("Millstream, CSV", "jobs/windows.py"),
            System("Spark, CSV", "baselines/pyspark_windows.py"),
            System("Flink SQL (RocksDB), CSV", "baselines/flinksql_windows.py", (), True),
            System("Millstream, Parquet", "jobs/windows.py", PARQUET),
            System("Spark, Parquet", "baselines/pyspark_windows.py", PARQUET),
        ),
        (
            Aim("Millstream, CSV", "Spark, CSV", 2),
            Aim("Millstream, CSV", "Flink SQL (RocksDB), CSV"),
            Aim("Millstream, Parquet", "Spark, Parquet"),
        ),
    ),
    "count": Workload(
        "Running count over 100,000 keys, each update emitted",
        "count",
        100_000,
        (
            System("Millstream, Python function, CSV", "jobs/count.py"),
            System("Millstream, `key_by(0).sum(1)`, CSV", "jobs/count.py", ("--declarative",)),
            System("Flink SQL (RocksDB), CSV", "baselines/flinksql_count.py", (), True),
            System("Millstream, Python function, Parquet", "jobs/count.py", PARQUET),
            System(
                "Millstream, `key_by(0).sum(1)`, Parquet",
                "jobs/count.py",
                ("--declarative", *PARQUET),
            ),
        ),
        (
            Aim("Millstream, Python function, CSV", "Flink SQL (RocksDB), CSV", 1.5),
            Aim("Millstream, `key_by(0).sum(1)`, CSV", "Flink SQL (RocksDB), CSV"),
        ),
    ),
    "stateless": Workload(
        "Stateless chain: map, filter, map of Python lambdas",
        "stateless",
        100_000,
        (
            System("Millstream, CSV", "jobs/stateless.py"),
            System("Millstream, Parquet", "jobs/stateless.py", PARQUET),
            System(
                "PyFlink, process, CSV",
                "baselines/pyflink_stateless.py",
                ("--mode", "process"),
                True,
                FEW,
                loses_workers=True,
            ),
            System(
                "PyFlink, thread, CSV",
                "baselines/pyflink_stateless.py",
                ("--mode", "thread"),
                True,
                FEW,
            ),
        ),
        (
            Aim("Millstream, CSV", "PyFlink, process, CSV", 10),
            Aim("Millstream, CSV", "PyFlink, thread, CSV", 10),
        ),
    ),
}


# -- runs ------------------------------------------------------------------------------------------


def run(
    workload: Workload, system: System, records: int, options: argparse.Namespace
) -> dict[str, Any]:
    """One run in a process of its own; what its script reports, and the load before it."""
    python = flink_python(options.flink_env, options.cache) if system.on_flink else sys.executable
    # A check by a second run is made of the smaller number of records only.
    unchecked = ["--unchecked"] if records == max(system.sizes) else []
    command = [str(python), str(HERE / system.script), *system.arguments, *unchecked]
    command += ["--records", str(records), "--keys", str(workload.keys), "--files", str(FILES)]
    command += ["--cache", str(options.cache)]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        output = Path(folder) / "output"
        log = options.cache / f"file_jobs-{Path(system.script).stem}.log"
        with output.open("w") as stdout, log.open("w") as stderr:
            variables = {**os.environ, "TMPDIR": folder}
            process = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=variables)
            tree = ProcessTree(process)
            try:
                process.wait()
            finally:
                tree.stop()
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed with {process.returncode}, see {log}")
        report = json.loads(output.read_text().strip().splitlines()[-1])
    if system.loses_workers:
        report["job_cpu"] = round(tree.cpu_seconds - report["startup_cpu"], 2)
    return {**report, "load": round(load, 1)}


def rounds(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """All runs: in each round, the systems of a workload one after the other."""
    for _ in range(options.rounds):
        for name, workload in chosen(options).items():
            for system in workload.systems:
                if options.systems and not any(part in system.name for part in options.systems):
                    continue
                for records in system.sizes:
                    try:
                        found = run(workload, system, records // options.divide, options)
                    except RuntimeError as error:
                        print(error, flush=True)
                        break
                    found["size"] = records
                    print(
                        f"{name}: {system.name}, {records // options.divide:,} records: "
                        f"start-up {found['startup_seconds']:.1f} s, {found['startup_cpu']} CPU s; "
                        f"job {found['seconds']:.1f} s, {found['job_cpu']} CPU s; "
                        f"load before {found['load']}",
                        flush=True,
                    )
                    yield f"{name}/{system.name}", found


def chosen(options: argparse.Namespace) -> dict[str, Workload]:
    return {name: WORKLOADS[name] for name in options.only or WORKLOADS}


# -- what they mean --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """Medians of the runs of a system."""

    runs: int
    startup_seconds: float
    startup_cpu: float
    seconds: tuple[float, float]
    cpu: tuple[float, float]
    sizes: tuple[int, int]
    slopes: tuple[float, ...]
    """Microseconds of processor time per record in each round."""

    @property
    def us(self) -> float:
        """Microseconds of processor time per record."""
        return (self.cpu[1] - self.cpu[0]) / (self.sizes[1] - self.sizes[0]) * 1e6

    @property
    def wall_us(self) -> float:
        """Microseconds per record."""
        return (self.seconds[1] - self.seconds[0]) / (self.sizes[1] - self.sizes[0]) * 1e6


def costs(runs: list[dict[str, Any]]) -> Costs | None:
    sizes = sorted({run["size"] for run in runs})
    if len(sizes) < 2:
        return None
    by_size = [[run for run in runs if run["size"] == size] for size in sizes]

    def both(what: str) -> tuple[float, float]:
        few, many = (median(run[what] for run in found) for found in by_size)
        return few, many

    return Costs(
        runs=min(map(len, by_size)),
        startup_seconds=median(run["startup_seconds"] for run in runs),
        startup_cpu=median(run["startup_cpu"] for run in runs),
        seconds=both("seconds"),
        cpu=both("job_cpu"),
        sizes=(by_size[0][0]["records"], by_size[1][0]["records"]),
        slopes=tuple(
            (many["job_cpu"] - few["job_cpu"]) / (many["records"] - few["records"]) * 1e6
            for few, many in zip(*by_size, strict=False)
        ),
    )


def section(found: dict[str, list[dict[str, Any]]]) -> str:
    loads = [run["load"] for runs in found.values() for run in runs]
    lines = [
        "\n## File jobs of 10 million records\n",
        "Each system ran with two numbers of records, all systems of a table in turn. Processor (CPU) "
        "seconds are those of all processes. Start-up is that of the JVM and the session. A job's "
        "seconds include the start of the job; figures per record are slopes, without both starts: the "
        "difference of both runs, divided by that of their records. Medians of the rounds; in "
        "parentheses the least and the most of them.",
    ]
    for name, workload in WORKLOADS.items():
        known = {
            system.name: figures
            for system in workload.systems
            if (figures := costs(found.get(f"{name}/{system.name}", []))) is not None
        }
        if known:
            lines += [
                "",
                f"### {workload.title}",
                "",
                *table(known),
                "",
                *verdicts(workload, known),
            ]
    lines += [
        "",
        "- Outputs of the smaller runs were checked; those of the larger ones only where the job itself "
        "counts them. Flink SQL reads CSV only.",
        f"- Load average before the runs: {min(loads)} to {max(loads)}, most of it the run before.",
        "- Command: `python benchmarks/file_jobs.py`, once for each run: about ten minutes.",
    ]
    return "\n".join(lines) + "\n"


def table(known: dict[str, Costs]) -> list[str]:
    lines = [
        "| System | Runs | Records | Start-up s | Start-up CPU s | Job s | Job CPU s | us per record | "
        "CPU us per record |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, one in known.items():
        few, many = (f"{size / 1e6:g}" for size in one.sizes)
        lines.append(
            f"| {name} | {one.runs} | {few} and {many} M | {one.startup_seconds:.1f} | "
            f"{one.startup_cpu:.1f} | {one.seconds[0]:.1f} and {one.seconds[1]:.1f} | "
            f"{one.cpu[0]:.1f} and {one.cpu[1]:.1f} | {_shown(one.wall_us)} | "
            f"{_shown(one.us)}{_spread(one.slopes)} |"
        )
    return lines


def verdicts(workload: Workload, known: dict[str, Costs]) -> Iterator[str]:
    for aim in workload.aims:
        if aim.system in known and aim.other in known:
            own, other = known[aim.system], known[aim.other]
            ratio = other.us / own.us
            aimed = ""
            if aim.at_least is not None:
                verdict = "reached" if ratio >= aim.at_least else "missed"
                aimed = f" (aim: at least {aim.at_least:g} times by CPU per record: {verdict})"
            totals = ""
            if own.sizes == other.sizes:
                cpu = (other.startup_cpu + other.cpu[1]) / (own.startup_cpu + own.cpu[1])
                wall = (other.startup_seconds + other.seconds[1]) / (
                    own.startup_seconds + own.seconds[1]
                )
                totals = (
                    f"; of the larger run with all starts, {cpu:.2f} by CPU, {wall:.2f} by time"
                )
            walls = f"{other.wall_us / own.wall_us:.2f}" if _both(own, other) else "not known"
            yield (
                f"- {aim.system} against {aim.other}: {ratio:.2f} times by CPU per record{aimed}, "
                f"{walls} by time per record{totals}."
            )


def _shown(us: float) -> str:
    """A slope; where other programs took the machine in the smaller run, it may be no figure at all."""
    return f"{us:.2f}" if us > 0 else "-"


def _spread(slopes: tuple[float, ...]) -> str:
    return f" ({min(slopes):.2f} to {max(slopes):.2f})" if len(slopes) > 1 else ""


def _both(own: Costs, other: Costs) -> bool:
    return own.wall_us > 0 and other.wall_us > 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--only", nargs="+", choices=tuple(WORKLOADS))
    options.add_argument(
        "--systems", nargs="+", metavar="PART", help="names that have this in them"
    )
    options.add_argument(
        "--divide", type=int, default=1, help="run with so many times fewer records"
    )
    options.add_argument("--fresh", action="store_true", help="forget earlier runs")
    options.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    options.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    arguments = options.parse_args()
    folder = open_cache(arguments.cache)
    for workload in chosen(arguments).values():
        for size in {size for system in workload.systems for size in system.sizes}:
            records = size // arguments.divide
            ensure(records, workload.keys, FILES, arguments.cache).prepare(workload.data)
    kept = folder / ("file_jobs.json" if arguments.divide == 1 else "file_jobs-small.json")
    found: dict[str, list[dict[str, Any]]] = {}
    if kept.exists() and not arguments.fresh:
        found = json.loads(kept.read_text())
    for name, outcome in rounds(arguments):
        found.setdefault(name, []).append(outcome)
        kept.write_text(json.dumps(found, indent=1) + "\n")
    text = section(found)
    if arguments.divide == 1:
        (folder / "file_jobs.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
