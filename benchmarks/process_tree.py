"""Watching a process and all it starts: peak memory, processor time, and ending it for certain."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

try:
    import psutil
except ImportError:
    psutil = None

PROC = Path("/proc/self/stat")
INTERVAL_SECONDS = 0.25
GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Sample:
    """A process at one moment. Start time tells it from a later one with the same number."""

    pid: int
    parent: int
    started: float
    rss: int
    cpu: float
    # Of the children that have ended, and theirs.
    ended_cpu: float
    python: bool

    @property
    def identity(self) -> tuple[int, float]:
        return self.pid, self.started


def sample_all() -> dict[int, Sample]:
    # psutil's start times are floats that drift with the clock: a process could count twice.
    return _sample_proc() if PROC.exists() else _sample_psutil()


def _sample_psutil() -> dict[int, Sample]:
    found = {}
    names = ["pid", "ppid", "create_time", "memory_info", "cpu_times", "name"]
    for process in psutil.process_iter(names):
        info = process.info
        if info["memory_info"] is None or info["cpu_times"] is None:
            continue
        found[info["pid"]] = Sample(
            pid=info["pid"],
            parent=info["ppid"],
            started=info["create_time"],
            rss=info["memory_info"].rss,
            cpu=info["cpu_times"].user + info["cpu_times"].system,
            ended_cpu=info["cpu_times"].children_user + info["cpu_times"].children_system,
            python=(info["name"] or "").startswith("python"),
        )
    return found


def _sample_proc() -> dict[int, Sample]:
    tick = os.sysconf("SC_CLK_TCK")
    page = os.sysconf("SC_PAGE_SIZE")
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name stands in parentheses and may hold anything, so split after the last one.
            head, _, tail = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = tail.split()
        found[int(folder.name)] = Sample(
            pid=int(folder.name),
            parent=int(fields[1]),
            started=float(fields[19]),
            rss=int(fields[21]) * page,
            cpu=(int(fields[11]) + int(fields[12])) / tick,
            ended_cpu=(int(fields[13]) + int(fields[14])) / tick,
            python=head.partition("(")[2].startswith("python"),
        )
    return found


def cpu_of_tree(root: int) -> float:
    """Processor seconds of a process and all below it until now, those that have ended included."""
    samples = sample_all()
    members = below(samples, {root})
    return sum(samples[pid].cpu + samples[pid].ended_cpu for pid in members if pid in samples)


def below(samples: dict[int, Sample], roots: set[int]) -> set[int]:
    """Some processes with all their descendants."""
    children: dict[int, list[int]] = {}
    for sample in samples.values():
        children.setdefault(sample.parent, []).append(sample.pid)
    known, pending = set(roots), list(roots)
    while pending:
        for child in children.get(pending.pop(), []):
            if child not in known:
                known.add(child)
                pending.append(child)
    return known


class ProcessTree:
    """Follows a started process and its descendants until `stop`.

    Memory is resident set size, added up, so pages shared by forked workers count once for each.
    """

    def __init__(self, root: subprocess.Popen) -> None:
        self.root = root
        self.peak_rss = 0
        self.peak_worker_rss = 0
        self._cpu: dict[tuple[int, float], float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def stop(self) -> None:
        """Stop watching and end whatever of the tree is still there."""
        self._done.set()
        self._thread.join()
        self._look()
        self._signal_all(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while self._alive() and time.monotonic() < deadline:
            time.sleep(0.1)
        self._signal_all(signal.SIGKILL)

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL_SECONDS):
            self._look()

    def _look(self) -> None:
        members = self._members(sample_all())
        self._cpu.update((member.identity, member.cpu) for member in members)
        self.peak_rss = max(self.peak_rss, sum(member.rss for member in members))
        workers = [m.rss for m in members if m.python and m.pid != self.root.pid]
        self.peak_worker_rss = max(self.peak_worker_rss, *workers, 0)

    def _members(self, samples: dict[int, Sample]) -> list[Sample]:
        """The root, its descendants, and descendants seen before whose parent has gone since."""
        known = {pid for pid, sample in samples.items() if sample.identity in self._cpu}
        if self.root.poll() is None:
            known.add(self.root.pid)
        return [samples[pid] for pid in below(samples, known) if pid in samples]

    def _alive(self) -> list[Sample]:
        self.root.poll()
        return [sample for sample in sample_all().values() if sample.identity in self._cpu]

    def _signal_all(self, number: signal.Signals) -> None:
        for sample in self._alive():
            with suppress(ProcessLookupError):
                os.kill(sample.pid, number)
