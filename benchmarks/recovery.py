"""Recovery after SIGKILL: from starting a killed program again to its first new output.

    python benchmarks/recovery.py [--cache FOLDER] [--repeats N] [--only NAME ...]

Writes a section for RESULTS.md to .bench/recovery.md; `run.py` appends it. A program that counts
records per key is killed with all it has started, by SIGKILL, and the same command is started again:
Millstream and PyFlink in turn. New output is a committed file that was written after the restart,
so a file that was complete before and is only published late does not count. At the end all that
was committed is read: the counts of a key have to be 1, 2, 3, ... without a gap and without one twice.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import environments
from contract import PARALLELISM
from data import DEFAULT_CACHE, open_cache
from millstream.spark.session.class_archive import existing_archive
from millstream.spark.session.session import require_java
from millstream.spark.session.spark_home import quick_home
from process_tree import Sample, sample_all

HERE = Path(__file__).resolve().parent
KEYS = 10_000
# Less than half of what PyFlink's process mode counts in RESULTS.md: this is about starting again,
# not about throughput.
RATE = 500
FEWEST_FILES = 10
# Counted from the first output, because a job is under way then.
SECONDS_BEFORE_KILL = 10.0
# So that the check sees what a job does after its first output too.
SECONDS_AFTER = 5.0
POLL_SECONDS = 0.02
LIMIT_SECONDS = 300.0
PARTS = {
    "imports": "Python and imports",
    "session": "JVM and session",
    "submit": "plan and submit",
    "file": "to the first file",
}


@dataclass(frozen=True)
class Contender:
    """A program that can be started, killed and started again."""

    title: str
    script: str
    arguments: tuple[str, ...] = ()

    @property
    def flink(self) -> bool:
        return self.script.startswith("baselines/")


CONTENDERS = {
    "millstream": Contender("Millstream", "jobs/recovery.py"),
    "pyflink-process": Contender(
        "PyFlink, process mode", "baselines/pyflink_recovery.py", ("--mode", "process")
    ),
    "pyflink-thread": Contender(
        "PyFlink, thread mode", "baselines/pyflink_recovery.py", ("--mode", "thread")
    ),
    "pyflink-loopback": Contender(
        "PyFlink, functions in the driver", "baselines/pyflink_recovery.py", ("--mode", "loopback")
    ),
}


@dataclass(frozen=True)
class Found:
    """What one restart took, and of what; `lines` were checked."""

    seconds: float
    parts: dict[str, float]
    lines: int


# -- starting and killing ------------------------------------------------------------------------


@contextmanager
def started(command: list[str], folder: Path, log: Path) -> Iterator[subprocess.Popen]:
    """A process that runs meanwhile, and is killed at the end with all it has started."""
    # Who is killed leaves temporary files behind: they go with the folder.
    (folder / "scratch").mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "TMPDIR": str(folder / "scratch")}
    with log.open("a") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=variables)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen) -> None:
    """SIGKILL for a process and its descendants, stopped first lest one of them starts another."""
    known: dict[int, Sample] = {}
    while found := {pid: s for pid, s in family(process.pid).items() if pid not in known}:
        send(signal.SIGSTOP, found)
        known |= found
    send(signal.SIGKILL, known)
    process.wait()
    identities = {sample.identity for sample in known.values()}
    # A dead process may stay listed until its parent has asked for it, but has no memory.
    while any(sample.identity in identities and sample.rss for sample in sample_all().values()):
        time.sleep(POLL_SECONDS)


def family(root: int) -> dict[int, Sample]:
    samples = sample_all()
    members = {root} & samples.keys()
    while more := {s.pid for s in samples.values() if s.parent in members} - members:
        members |= more
    return {pid: samples[pid] for pid in members}


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


# -- output --------------------------------------------------------------------------------------


def committed(folder: Path) -> list[os.DirEntry]:
    """The finished files; both systems hide what is not finished."""
    out = folder / "out"
    if not out.exists():
        return []
    return [entry for entry in os.scandir(out) if entry.name.startswith("part-")]


def written_since(folder: Path, moment: float) -> bool:
    return any(entry.stat().st_mtime >= moment for entry in committed(folder))


class Output:
    """The counts of each key in the committed files; a file is read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: set[str] = set()
        self.counts: dict[int, list[int]] = defaultdict(list)

    def look(self) -> Output:
        for entry in committed(self.folder):
            if entry.name not in self.files:
                self.files.add(entry.name)
                for line in Path(entry.path).read_text().splitlines():
                    key, count = line.split()
                    self.counts[int(key)].append(int(count))
        return self

    def is_on_its_way(self) -> bool:
        """Whether there are enough files, and all keys have their state."""
        self.look()
        return len(self.files) >= FEWEST_FILES and len(self.counts) == KEYS

    def check(self) -> int:
        """The number of lines, if the counts of each key are 1, 2, 3, ... each of them once."""
        wrong = [
            key for key, seen in self.counts.items() if sorted(seen) != [*range(1, len(seen) + 1)]
        ]
        if wrong or self.counts.keys() != set(range(KEYS)):
            missing = KEYS - len(self.counts)
            raise SystemExit(f"{len(wrong)} keys with wrong counts, {missing} keys missing")
        return sum(len(seen) for seen in self.counts.values())


# -- measuring -----------------------------------------------------------------------------------


def measure(command: list[str], folder: Path, log: Path) -> Found:
    with started(command, folder, log) as process:
        wait_for(process, log, lambda: len(committed(folder)) > 0)
        ready = time.monotonic() + SECONDS_BEFORE_KILL
        output = Output(folder)
        wait_for(process, log, lambda: output.is_on_its_way() and time.monotonic() >= ready)
    (folder / "marks.json").unlink()
    began = time.time()
    with started(command, folder, log) as process:
        wait_for(process, log, lambda: written_since(folder, began))
        ended = time.time()
        wait_for(process, log, lambda: time.time() >= ended + SECONDS_AFTER)
        wait_for(process, log, lambda: written_since(folder, ended))
    marks = json.loads((folder / "marks.json").read_text())
    parts = durations(began, {**marks, "file": ended})
    return Found(ended - began, parts, Output(folder).look().check())


def wait_for(process: subprocess.Popen, log: Path, what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not what():
        if process.poll() is not None:
            raise SystemExit(f"the program ended with {process.returncode}, see {log}")
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing came of it in {LIMIT_SECONDS:.0f} s, see {log}")
        time.sleep(POLL_SECONDS)


def durations(began: float, marks: dict[str, float]) -> dict[str, float]:
    times = [began, *(marks[name] for name in PARTS)]
    return {name: times[i + 1] - times[i] for i, name in enumerate(PARTS)}


def run(names: list[str], repeats: int, cache: Path, flink_env: str | None) -> dict:
    pythons = {False: Path(sys.executable)}
    if any(CONTENDERS[name].flink for name in names):
        pythons[True] = environments.flink_python(flink_env, cache)
    (cache / "logs").mkdir(exist_ok=True)
    found: dict[str, list[Found]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:
            contender = CONTENDERS[name]
            log = cache / "logs" / f"recovery-{name}.log"
            with tempfile.TemporaryDirectory(
                prefix="recovery-", ignore_cleanup_errors=True
            ) as folder:
                script = str(HERE / contender.script)
                options = ["--keys", str(KEYS), "--rate", str(RATE), *contender.arguments]
                command = [str(pythons[contender.flink]), script, folder, *options]
                found[name].append(measure(command, Path(folder), log))
            print(f"{name}: {found[name][-1].seconds:.1f} s", flush=True)
    return found


# -- reporting -----------------------------------------------------------------------------------


def table(found: dict[str, list[Found]]) -> list[str]:
    header = ["Program", "Seconds", "All of them", *PARTS.values()]
    rows = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for name, runs in found.items():
        seconds = [run.seconds for run in runs]
        parts = [median(run.parts[part] for run in runs) for part in PARTS]
        every = ", ".join(f"{value:.1f}" for value in seconds)
        cells = [f"{value:.1f}" for value in parts]
        rows.append([CONTENDERS[name].title, f"{median(seconds):.1f}", every, *cells])
    return ["| " + " | ".join(row) + " |" for row in rows]


def section(found: dict[str, list[Found]], repeats: int, load: float) -> str:
    lines = sum(run.lines for runs in found.values() for run in runs)
    options = [] if len(found) == len(CONTENDERS) else ["--only", *found]
    command = ["python", "benchmarks/recovery.py", "--repeats", str(repeats), *options]
    with quick_home({}):
        archive = "with" if existing_archive(require_java()) else "without"
    text = [
        "",
        "## Recovery after SIGKILL",
        "",
        f"A running count per key, {KEYS:,} keys, {RATE:,} records per second without an end, "
        f"parallelism {PARALLELISM}, a checkpoint per second, exactly-once file sink. The driver and "
        f"all its processes are killed when all keys have a count and {SECONDS_BEFORE_KILL:.0f} s have "
        "gone by since the first output, and the same command is started again. Seconds are those "
        "from its start to the first committed file that was written since: medians, and what they "
        "are made of. PyFlink "
        f"{environments.FLINK_VERSION} goes on from its newest checkpoint, state in its hash map "
        "backend.",
        "",
        *table(found),
        "",
        f"- Checked in all runs: {lines:,} committed lines, the counts of each key without a gap and "
        "without one twice.",
        f"- Millstream {archive} the class archive that `python -m millstream.warm_up` makes.",
        f"- Command: `{' '.join(command)}`; load average before {load:.1f}",
    ]
    return "\n".join(text) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    arguments = parser.parse_args()
    # What was started is killed at the end even if this program is asked to end.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    load = os.getloadavg()[0]
    cache = open_cache(arguments.cache)
    found = run(arguments.only, arguments.repeats, cache, arguments.flink_env)
    text = section(found, arguments.repeats, load)
    (cache / "recovery.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
