"""Runs a job from Kafka into a system, breaks job and servers at random points, checks what is there.

    python -m tests.chaos.connectors.run 1 2 3        # or: make chaos-connectors SEEDS="1 2 3"

A seed says all: which pipeline, what is killed, how often, and when. "When" is an event that can be seen
from outside, such as "a part of the third epoch is being finished", never a pause.
"""

from __future__ import annotations

import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.chaos.connectors.pipelines import PARTITIONS, PIPELINES, Pipeline, Place, expected, fill
from tests.chaos.processes import jvms_of, kill, kill_all, workers_of
from tools.servers import SERVERS, Server

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 300
POLL_SECONDS = 0.001
ATTEMPTS = 6
STARVED = "Python worker failed to connect back"
"""What Spark says if a process of its own needs more than ten seconds to start: the machine is busy."""

FILES = {
    "planned": "checkpoint/*/query-0/offsets/[0-9]*",
    "committed": "checkpoint/*/query-0/commits/[0-9]*",
}
"""The files by which events can be seen from outside that are not marks of sinks."""

KINDS = ("driver", "jvm", "worker", "server")


@dataclass(frozen=True)
class Break:
    """What to kill when something has happened for the n-th time."""

    victim: str
    event: str
    count: int

    def __str__(self) -> str:
        return f"{self.victim} at {self.event} {self.count}"


@dataclass(frozen=True)
class Scenario:
    """What a seed stands for. ``restarts``: how often the job starts again by itself."""

    seed: int
    pipeline: str
    kind: str
    records: int
    per_epoch: int
    restarts: int
    breaks: tuple[Break, ...]

    @staticmethod
    def of(seed: int) -> Scenario:
        """The scenario of a seed.

        Seeds in a row go through all kinds, then all pipelines, then all events. So 60 seeds in a row
        have each kind with each event of the sinks of each pipeline; the rest is by chance.
        """
        turn, kind = seed // len(KINDS), KINDS[seed % len(KINDS)]
        turn, pipeline = turn // len(PIPELINES), list(PIPELINES)[turn % len(PIPELINES)]
        dice = random.Random(f"{pipeline} {kind} {seed}")
        per_epoch, epochs = dice.randint(30, 60), dice.randint(4, 6)
        counts = sorted(dice.sample(range(1, epochs + 1), dice.choice((1, 1, 2))))
        victims = PIPELINES[pipeline].servers if kind == "server" else (kind,)
        events = (*PIPELINES[pipeline].points, "planned", "committed")
        first = Break(victims[turn % len(victims)], events[turn % len(events)], counts[0])
        others = (Break(dice.choice(victims), dice.choice(events), n) for n in counts[1:])
        breaks = (first, *others)
        restarts = 0 if kind == "driver" else dice.choice((0, 5))
        return Scenario(seed, pipeline, kind, per_epoch * epochs, per_epoch, restarts, breaks)

    def __str__(self) -> str:
        again = f", {self.restarts} restarts by itself" if self.restarts else ""
        return (
            f"seed {self.seed}: {self.pipeline}: {', '.join(map(str, self.breaks))}; "
            f"{self.records} records, {self.per_epoch} an epoch{again}"
        )


@dataclass
class Run:
    """One scenario, on servers that other runs use too."""

    scenario: Scenario
    folder: Path
    servers: dict[str, Server]
    exits: list[int] = field(default_factory=list)
    broken: list[Break] = field(default_factory=list)
    left: list[Break] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def pipeline(self) -> Pipeline:
        return PIPELINES[self.scenario.pipeline]

    def run(self) -> None:
        """Run the job until it ends well; raises AssertionError if the output is wrong."""
        dice = random.Random(self.scenario.seed)
        topic = f"chaos-{self.scenario.seed}-{os.getpid()}-{time.time_ns()}"
        place = Place(self.servers["kafka"].address, topic, self.folder)
        fill(place, self.scenario.records, dice)
        place = replace(place, target=self.pipeline.prepare(place, self.servers))
        self.left = list(self.scenario.breaks)
        self._run_until_done(place, dice)
        self.notes += [f"{one} never came" for one in self.left]
        wanted = expected(self.scenario.records)
        for name, found in self.pipeline.found(place).items():
            missing, surplus = wanted - found, found - wanted
            assert not missing and not surplus, (
                f"{self.scenario}: in {name} {missing.total()} missing {sorted(missing)[:5]}, "
                f"{surplus.total()} too many {sorted(surplus)[:5]}"
            )

    def _run_until_done(self, place: Place, dice: random.Random) -> None:
        failures = 0
        for _ in range(ATTEMPTS):
            code = self._attempt(place, dice)
            self.exits.append(code)
            if code == 0:
                return
            if STARVED in self._log(-1).read_text():
                self.notes.append("Spark gave up a worker that started too slowly")
                continue
            failures += 1
            assert failures <= len(self.broken), f"{self.scenario}: fails by itself\n{self._tail()}"
        raise AssertionError(f"{self.scenario}: never ended well\n{self._tail()}")

    def _attempt(self, place: Place, dice: random.Random) -> int:
        scenario = self.scenario
        options = {
            "--servers": place.servers,
            "--topic": place.topic,
            "--target": place.target,
            # The limit of the source is one of each partition.
            "--per-epoch": scenario.per_epoch // PARTITIONS,
            "--restarts": scenario.restarts,
        }
        words = [str(word) for option in options.items() for word in option]
        module = "tests.chaos.connectors.job"
        command = [sys.executable, "-m", module, str(place.folder), scenario.pipeline, *words]
        inherited = {name: value for name, value in os.environ.items() if "SPARK" not in name}
        environment = {**inherited, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        with open(self._log(), "w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)
            try:
                return self._watched(process, dice)
            finally:
                if process.poll() is None:
                    kill_all(process.pid)

    def _watched(self, process: subprocess.Popen[bytes], dice: random.Random) -> int:
        moment = threading.Event()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while process.poll() is None:
            assert time.monotonic() < deadline, f"{self.scenario}: hangs\n{self._tail()}"
            if self.left and self._has_come(self.left[0]):
                if self._break(self.left[0], process.pid, dice):
                    self.broken.append(self.left.pop(0))
            moment.wait(POLL_SECONDS if self.left else 50 * POLL_SECONDS)
        return process.returncode

    def _has_come(self, wanted: Break) -> bool:
        # Parts of an epoch have marks of their own: the first counts.
        pattern = FILES.get(wanted.event, f"marks/{wanted.event}-*-*")
        found = glob.glob(pattern, root_dir=self.folder)
        return len({Path(path).name.rsplit("-", 1)[0] for path in found}) >= wanted.count

    def _break(self, wanted: Break, pid: int, dice: random.Random) -> bool:
        """Kill something; whether there was something to kill."""
        victim = wanted.victim
        if victim in self.servers:
            self.servers[victim].kill()
            self.servers[victim].start()
            return True
        if victim == "driver":
            kill_all(pid)
            return True
        victims = jvms_of(pid) if victim == "jvm" else workers_of(pid)
        # The worker that has come to the point, if one has; others may have nothing to do.
        victims = [one for one in victims if one in self._marking(wanted.event)] or victims
        if victims:
            kill(dice.choice(victims))
        return bool(victims)

    def _marking(self, event: str) -> set[int]:
        """The processes that have left the marks of an event in its last epoch."""
        marks = sorted(self.folder.glob(f"marks/{event}-*-*"))
        last = [mark for mark in marks if mark.name.split("-")[1] == marks[-1].name.split("-")[1]]
        return {int(mark.read_text() or 0) for mark in last}

    def _log(self, number: int = 0) -> Path:
        return self.folder / f"log-{len(self.exits) + number}"

    def _tail(self) -> str:
        logs = sorted(self.folder.glob("log-*"))
        return "\n".join(f"{log}: {log.read_text()[-3_000:]}" for log in logs[-1:])


def run_seed(seed: int, servers: dict[str, Server], say: Callable[[str], None] = print) -> Run:
    """Run the scenario of a seed; the folder of a run that went wrong is kept."""
    scenario = Scenario.of(seed)
    say(str(scenario))
    run = Run(scenario, Path(tempfile.mkdtemp(prefix=f"millstream-chaos-{seed}-")), servers)
    try:
        run.run()
    except BaseException:
        say(f"seed {seed}: see {run.folder}; exits {run.exits}, {'; '.join(run.notes)}")
        raise
    say(f"  right; exits {run.exits}; {'; '.join(run.notes)}")
    shutil.rmtree(run.folder)
    return run


def main(seeds: list[str]) -> int:
    numbers = [int(seed) for seed in seeds or ["1"]]
    wrong = []
    with ExitStack() as stack:
        wanted = {name for n in numbers for name in PIPELINES[Scenario.of(n).pipeline].servers}
        servers = {name: stack.enter_context(SERVERS[name]()) for name in sorted(wanted)}
        for number in numbers:
            began = time.monotonic()
            try:
                run_seed(number, servers)
            except AssertionError as error:
                wrong.append(number)
                print(f"  WRONG {error}")
            print(f"  {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(numbers) - len(wrong)} right, {len(wrong)} wrong {wrong or ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
