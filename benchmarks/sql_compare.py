"""Queries in Millstream and in Flink SQL, one after the other in one run, by processor seconds.

Each query runs with two numbers of records. The *slope*, the difference of both runs divided by that of
their records, is what a record costs without the start of the job.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median

import environments
from data import open_cache
from process_tree import ProcessTree

HERE = Path(__file__).resolve().parent
SYSTEMS = {
    "Millstream": ("millstream",),
    "Flink, RocksDB": ("flink", "--backend", "rocksdb"),
    "Flink, hashmap": ("flink", "--backend", "hashmap"),
}


@dataclass(frozen=True)
class Job:
    """A query to be timed: the statements before it, the INSERT itself, and options of the session."""

    name: str
    statements: tuple[str, ...]
    insert: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Runner:
    """Runs jobs in processes of their own."""

    cache: Path
    repeats: int
    time_limit: float
    flink_env: str | None = None

    def __post_init__(self) -> None:
        self.cache = open_cache(self.cache)

    @cached_property
    def flink_python(self) -> Path:
        """The interpreter with PyFlink; it is only installed if Flink is asked for."""
        return environments.flink_python(self.flink_env, self.cache)

    def seconds(self, job: Job, system: str) -> float | None:
        """The median of the processor seconds of a job; None if it does not run."""
        found = []
        for _ in range(self.repeats):
            output = self.run(job, system)
            if output is None:
                return None
            found.append(output["cpu"])
        return median(found)

    def run(self, job: Job, system: str) -> dict | None:
        """What `sql_job.py` says of one run; None if the job does not run."""
        arguments = SYSTEMS[system]
        content = {"statements": job.statements, "insert": job.insert, "options": dict(job.options)}
        with tempfile.TemporaryDirectory(prefix="sql-", dir=self.cache) as name:
            folder = Path(name)
            (folder / "job.json").write_text(json.dumps(content))
            python = sys.executable if arguments[0] == "millstream" else str(self.flink_python)
            line = [python, str(HERE / "sql_job.py"), arguments[0]]
            line += [str(folder / "job.json"), *arguments[1:]]
            return run_child(line, folder, self.time_limit)


def run_child(line: list[str], folder: Path, time_limit: float) -> dict | None:
    """The last line that a process prints, as JSON; None if it fails or takes too long."""
    # Files, not pipes: a JVM that outlives its script would hold a pipe open.
    with (folder / "out").open("w") as stdout, (folder / "err").open("w") as stderr:
        process = subprocess.Popen(line, stdout=stdout, stderr=stderr)
        tree = ProcessTree(process)
        try:
            process.wait(time_limit)
        except subprocess.TimeoutExpired:
            print(f"  stopped after {time_limit:.0f} s", flush=True)
            return None
        finally:
            tree.stop()
    if process.returncode != 0:
        print((folder / "err").read_text()[-2000:], flush=True)
        return None
    return json.loads((folder / "out").read_text().strip().splitlines()[-1])


Sizes = tuple[int, int]
Seconds = tuple[float, float]
"""Processor seconds of the smaller and of the larger run."""
Results = dict[str, dict[str, Seconds]]


def compared(runner: Runner, jobs: Sequence[tuple[Job, Job]], systems: Sequence[str]) -> Results:
    """The processor seconds of all jobs, by name and system; a job is a pair of its sizes."""
    found: Results = {}
    for small, large in jobs:
        found[small.name] = {}
        for system in systems:
            seconds = runner.seconds(small, system), runner.seconds(large, system)
            print(f"{small.name}, {system}: {seconds} s of processor time", flush=True)
            if None not in seconds:
                found[small.name][system] = seconds
    return found


def rendered(title: str, text: str, sizes: Sizes, results: Results, command: str) -> str:
    """A section for RESULTS.md: seconds, slopes, and how often Millstream fits into the others."""
    lines = [f"## {title}", "", text, ""]
    few, many = (f"{size / 1e6:g} M" for size in sizes)
    lines.append(
        f"| Query | System | CPU s, {few} | CPU s, {many} | CPU us per record | Times as fast |"
    )
    lines.append("| --- | --- | ---: | ---: | ---: | --- |")
    ratios: dict[str, dict[str, float]] = {}
    for name, systems in results.items():
        own = systems.get("Millstream")
        for system, seconds in systems.items():
            times = "-"
            if own is not None and system != "Millstream":
                times = f"{seconds[1] / own[1]:.2f} with the start of the job"
                # Other programs on the machine can make a slope negative: then it says nothing.
                if min(_slope(own, sizes), _slope(seconds, sizes)) > 0:
                    by_slope = _slope(seconds, sizes) / _slope(own, sizes)
                    ratios.setdefault(system, {})[name] = by_slope
                    times = f"{by_slope:.2f}; {times}"
            cells = [name, system, *(f"{each:.1f}" for each in seconds)]
            lines.append(f"| {' | '.join(cells)} | {_slope(seconds, sizes):.2f} | {times} |")
    lines += ["", *(_summary(system, each) for system, each in ratios.items())]
    return "\n".join([*lines, f"- Command: `{command}`", ""])


def _slope(seconds: Seconds, sizes: Sizes) -> float:
    return (seconds[1] - seconds[0]) * 1e6 / (sizes[1] - sizes[0])


def _summary(system: str, ratios: dict[str, float]) -> str:
    worst = min(ratios, key=lambda name: ratios[name])
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    return (
        f"- Against {system}, by slopes: geometric mean of {len(ratios)} queries {mean:.2f}, "
        f"lowest {ratios[worst]:.2f} ({worst})."
    )
