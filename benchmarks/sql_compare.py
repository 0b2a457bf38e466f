"""Queries in Millstream and in Flink SQL, one after the other in one run, by processor seconds."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
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
    """A query to be timed: the statements before it, and the INSERT itself."""

    name: str
    statements: tuple[str, ...]
    insert: str


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
        arguments = SYSTEMS[system]
        found = []
        for _ in range(self.repeats):
            output = self._run(job, arguments)
            if output is None:
                return None
            found.append(output["cpu"])
        return median(found)

    def _run(self, job: Job, arguments: tuple[str, ...]) -> dict | None:
        content = {"statements": job.statements, "insert": job.insert}
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


def compared(runner: Runner, jobs: list[Job], systems: list[str]) -> dict[str, dict[str, float]]:
    """The processor seconds of all jobs, by name and system."""
    found: dict[str, dict[str, float]] = {}
    for job in jobs:
        found[job.name] = {}
        for system in systems:
            seconds = runner.seconds(job, system)
            print(f"{job.name}, {system}: {seconds} s of processor time", flush=True)
            if seconds is not None:
                found[job.name][system] = seconds
    return found


def rendered(title: str, text: str, results: dict[str, dict[str, float]], command: str) -> str:
    """A section for RESULTS.md: seconds of each system, and how often Millstream fits into them."""
    systems = list(dict.fromkeys(system for each in results.values() for system in each))
    lines = [f"## {title}", "", text, "", f"| Query | {' | '.join(systems)} | Times as fast |"]
    lines.append("| --- |" + " ---: |" * len(systems) + " --- |")
    ratios: dict[str, list[float]] = {}
    for name, seconds in results.items():
        own, parts = seconds.get("Millstream"), []
        for system, other in seconds.items():
            if system != "Millstream" and own:
                ratios.setdefault(system, []).append(other / own)
                parts.append(f"{other / own:.2f} ({system})")
        cells = [f"{seconds[s]:.2f}" if s in seconds else "does not run" for s in systems]
        lines.append(f"| {name} | {' | '.join(cells)} | {', '.join(parts)} |")
    for system, each in ratios.items():
        mean = math.exp(sum(map(math.log, each)) / len(each))
        lines += ["", f"- Geometric mean against {system}: {mean:.2f}, lowest {min(each):.2f}."]
    return "\n".join([*lines, "", f"- Command: `{command}`", ""])
