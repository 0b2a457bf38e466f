"""Runs the chaos job, breaks it at random points, starts it again, and checks what it has written.

    python -m tests.chaos.run 1 2 3        # or: make chaos SEEDS="1 2 3"

A seed says all: what is broken, how often, and when. "When" is an event in the job's folders, such as
"the sink has committed epoch 3", never a pause, so a seed breaks about the same point on any machine.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.job import expected, output

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 400
POLL_SECONDS = 0.002
ATTEMPTS = 12
KINDS = ("driver", "worker", "exception")
EVENTS = {
    "planned": "checkpoint/*/query-0/offsets/{epoch}",
    "staged": "out/_millstream/*/staging/*-{epoch:08d}-*",
    "committed by the sink": "out/_millstream/*/{epoch:08d}.json",
    "published": "out/*-{epoch:08d}-*",
    "committed": "checkpoint/*/query-0/commits/{epoch}",
}
"""What can be seen of an epoch from outside, in the order it happens."""


@dataclass(frozen=True)
class Break:
    """A point at which to break something: an epoch has come so far."""

    event: str
    epoch: int

    def is_due(self, folder: Path) -> bool:
        # A staged file may come and go between two looks; its epoch's commit stays.
        patterns = {EVENTS[self.event], EVENTS["committed"]}
        return any(any(folder.glob(p.format(epoch=self.epoch))) for p in patterns)

    def __str__(self) -> str:
        return f"epoch {self.epoch} {self.event}"


@dataclass(frozen=True)
class Scenario:
    """What a seed stands for."""

    seed: int
    kind: str
    records: int
    per_epoch: int
    breaks: tuple[Break, ...]
    fail_at: int | None
    in_one_process: bool

    @staticmethod
    def of(seed: int, kind: str | None = None) -> Scenario:
        dice = random.Random(seed)
        chosen = dice.choice(KINDS)
        kind = kind or chosen
        per_epoch = dice.randint(4, 9)
        epochs = dice.randint(5, 8)
        records = per_epoch * epochs - dice.randint(0, 2)
        breaks = _breaks(dice, epochs) if kind != "exception" else ()
        fail_at = dice.randrange(records) if kind == "exception" else None
        together = kind != "driver" and dice.random() < 0.7
        return Scenario(seed, kind, records, per_epoch, breaks, fail_at, together)

    def __str__(self) -> str:
        what = (
            f"record {self.fail_at}"
            if self.kind == "exception"
            else " and ".join(map(str, self.breaks))
        )
        where = "one process" if self.in_one_process else "a process each"
        return (
            f"seed {self.seed}: {self.kind} at {what}; {self.records} records, "
            f"{self.per_epoch} an epoch, {where}"
        )


def _breaks(dice: random.Random, epochs: int) -> tuple[Break, ...]:
    """One or two points, in the order they come."""
    chosen = sorted(dice.sample(range(epochs), dice.choice((1, 1, 2))))
    return tuple(Break(dice.choice(list(EVENTS)), epoch) for epoch in chosen)


# -- processes ------------------------------------------------------------------------------------


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def workers_of(pid: int) -> list[int]:
    """The Python workers of a driver: what PySpark's daemons have forked, and what asks sources."""
    found = [(child, _command(child)) for child in _descendants(pid)]
    forked = [w for p, command in found if "pyspark.daemon" in command for w in _children(p)]
    return forked + [p for p, command in found if "python_streaming_source_runner" in command]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_driver(pid: int) -> None:
    """The driver and its JVM at once: nobody is left to tidy up."""
    jvms = [child for child in _children(pid) if "java" in _command(child)]
    for victim in [pid, *jvms]:
        _kill(victim)


# -- runs -----------------------------------------------------------------------------------------


class Chaos:
    """Runs one scenario in a folder."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.folder = folder
        self.dice = random.Random(scenario.seed)
        self.left = list(scenario.breaks)
        self.exits: list[int] = []

    @property
    def failures(self) -> int:
        """How often the job failed, in one process or in several."""
        again = (self.folder / "log").read_text().count("attempts left")
        return again + sum(code != 0 for code in self.exits)

    def run(self) -> None:
        """Start the job until it has ended well; raises AssertionError if its output is wrong."""
        while len(self.exits) < ATTEMPTS:
            self.exits.append(self._attempt())
            if self.exits[-1] == 0:
                break
        self._check()

    def _check(self) -> None:
        tail = (self.folder / "log").read_text()[-3_000:]
        assert self.exits[-1] == 0, f"{self.scenario}: never ended well\n{tail}"
        missing, surplus = _difference(expected(self.scenario.records), output(self.folder))
        assert not missing and not surplus, (
            f"{self.scenario}: {len(missing)} lines missing {missing[:5]}, "
            f"{len(surplus)} too many {surplus[:5]}"
        )

    def _attempt(self) -> int:
        with open(self.folder / "log", "a") as log:
            process = subprocess.Popen(self._command(), env=self._env(), stdout=log, stderr=log)
            try:
                self._watch(process)
                return process.wait(PATIENCE_SECONDS)
            finally:
                if process.poll() is None:
                    kill_driver(process.pid)

    def _command(self) -> list[str]:
        scenario = self.scenario
        options = {
            "--records": scenario.records,
            "--per-epoch": scenario.per_epoch,
            "--attempts": ATTEMPTS if scenario.in_one_process else 1,
        }
        if scenario.fail_at is not None:
            options["--fail-at"] = scenario.fail_at
        words = [str(word) for option in options.items() for word in option]
        return [sys.executable, str(Path(__file__).with_name("job.py")), str(self.folder), *words]

    def _env(self) -> dict[str, str]:
        inherited = {name: v for name, v in os.environ.items() if "SPARK" not in name}
        return {**inherited, "PYTHONPATH": str(ROOT / "src")}

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Break what is due until the process ends or nothing is left to break."""
        pause = threading.Event()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.left and process.poll() is None and time.monotonic() < deadline:
            if self.left[0].is_due(self.folder) and self._break(process.pid):
                self.left.pop(0)
            pause.wait(POLL_SECONDS)

    def _break(self, pid: int) -> bool:
        if self.scenario.kind == "driver":
            kill_driver(pid)
            return True
        victims = workers_of(pid)
        if victims:
            _kill(self.dice.choice(victims))
        return bool(victims)


def _difference(wanted: list[object], got: list[object]) -> tuple[list[object], list[object]]:
    missing, surplus = list(wanted), []
    for line in got:
        if line in missing:
            missing.remove(line)
        else:
            surplus.append(line)
    return missing, surplus


def run_seed(seed: int, kind: str | None = None, say: Callable[[str], None] = print) -> Chaos:
    """Run the scenario of a seed; the folder of a run that went wrong is kept."""
    scenario = Scenario.of(seed, kind)
    say(str(scenario))
    folder = Path(tempfile.mkdtemp(prefix=f"millstream-chaos-{seed}-"))
    chaos = Chaos(scenario, folder)
    try:
        chaos.run()
    except BaseException:
        say(f"seed {seed}: see {folder}")
        raise
    say(f"  right after {chaos.failures} failures, exits {chaos.exits}")
    shutil.rmtree(folder)
    return chaos


def main(seeds: list[str]) -> int:
    wrong = []
    for seed in seeds or ["1"]:
        began = time.monotonic()
        try:
            run_seed(int(seed))
            print(f"  {time.monotonic() - began:.0f} s")
        except AssertionError as error:
            wrong.append(seed)
            print(f"  WRONG {error}")
    print(f"{len(seeds or ['1']) - len(wrong)} right, {len(wrong)} wrong {wrong or ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
