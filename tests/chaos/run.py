"""Runs the chaos job, breaks it at random points, starts it again, and checks what it has written.

    python -m tests.chaos.run 1 2 sql-3        # or: make chaos SEEDS="1 2 sql-3"

A seed says all: what is broken, how often, and when; ``sql-`` before it means the job of SQL. "When" is
an event in the job's folders, such as "the sink has committed the third epoch", never a pause, so a seed
breaks about the same point on any machine.
"""

from __future__ import annotations

import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from millstream.checkpoint.savepoints import Savepoint
from millstream.common.errors import CheckpointError
from tests.chaos.disk import SmallDisk, can_mount, cut_last
from tests.chaos.processes import (
    is_working,
    jvms_of,
    kill,
    kill_all,
    pause,
    resume,
    workers_of,
)
from tests.chaos.programs import PROGRAMS
from tests.chaos.scenarios import (
    BY_ALL_MEANS,
    EVENTS,
    STOPPED,
    STOPPED_ALONE,
    STREAMS,
    Break,
    Scenario,
    Step,
)
from tests.chaos.truth import EPOCH_OF_FILE

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 600
POLL_SECONDS = 0.002
ATTEMPTS = 8
STARVED = "Python worker failed to connect back"
"""What Spark says if a process of its own needs more than ten seconds to start: the machine is busy."""

RESTARTED = "restart"
"""What the log of a job says that starts again by itself."""

RESTARTS = re.compile(r"restart \d+ follows")


class Sight:
    """What has happened in a job's folder since it was first looked at, counted by event."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = {event: self._look(event) for event in EVENTS}
        self.seen: dict[str, set[str]] = {event: set() for event in EVENTS}

    def has_come(self, wanted: Break) -> bool:
        for event in {wanted.event, BY_ALL_MEANS[wanted.event]}:
            self.seen[event] |= self._look(event) - self.before[event]
            if len(self.seen[event]) >= wanted.count:
                return True
        return False

    def _look(self, event: str) -> set[str]:
        found = glob.glob(EVENTS[event], root_dir=self.folder)
        epochs = {path: EPOCH_OF_FILE.search(path) for path in found}
        return {path if epoch is None else epoch[1] for path, epoch in epochs.items()}


class Chaos:
    """Runs one scenario in a folder."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.program = PROGRAMS[scenario.program]
        self.folder = folder
        self.job = folder / "job"
        self.dice = random.Random(scenario.seed)
        self.exits: list[int] = []
        self.broken: list[Break] = []
        self.notes: list[str] = []
        self.left: list[Break] = []
        self.savepoint: str | None = None
        self.damaged: Path | None = None
        self.disk: SmallDisk | None = None
        self.followed = False

    def run(self) -> None:
        """Run all steps; raises AssertionError if the output is wrong."""
        self.job.mkdir()
        self.program.write_inputs(
            self.folder / "in", self.scenario.records, self.scenario.per_epoch
        )
        if self.scenario.disk is not None:
            self.disk = SmallDisk(self.job / self.scenario.disk)
        try:
            for step in self.scenario.steps:
                self._run_step(step)
            self._check()
        finally:
            if self.disk is not None:
                self.disk.remove()

    # -- steps -----------------------------------------------------------------------------------

    def _run_step(self, step: Step) -> None:
        """Start the program of a step until it has ended well."""
        sight = Sight(self.job)
        self.left = list(step.breaks)
        from_savepoint = self.savepoint if step.restored else None
        failures, done_before = 0, len(self.broken)
        for _ in range(ATTEMPTS):
            code = self._attempt(step, sight, self.job, from_savepoint)
            self.exits.append(code)
            again = len(RESTARTS.findall(self._log(-1).read_text()))
            self.notes += [f"{again} restarts by itself"] if again else []
            if self.followed:
                self._require_followed(code)
                break
            if code == 0:
                break
            if STARVED in self._log(-1).read_text():
                self.notes.append("Spark gave up a worker that started too slowly")
                continue
            failures += 1
            causes = len(self.broken) - done_before + (self.scenario.fail_at is not None)
            if self.damaged is not None:
                self._require_clear_error()
                from_savepoint = self._repaired(from_savepoint)
                failures -= 1
            elif self.scenario.cut is not None:
                self._cut()
            assert failures <= causes, f"{self.scenario}: fails by itself\n{self._tail()}"
        assert self.followed or self.exits[-1] == 0, (
            f"{self.scenario}: never ended well\n{self._tail()}"
        )
        self.notes += [f"{one} never came" for one in self.left]
        if step.stop_at is not None:
            stopped = self.job / "stopped"
            assert stopped.exists(), f"{self.scenario}: no savepoint\n{self._tail()}"
            self.savepoint = stopped.read_text()

    def _attempt(self, step: Step, sight: Sight, folder: Path, from_savepoint: str | None) -> int:
        command = self._command(step, folder, from_savepoint)
        with open(self._log(), "w") as log:
            process = subprocess.Popen(command, env=self._environment(), stdout=log, stderr=log)
            try:
                return self._watched(process, sight)
            finally:
                if process.poll() is None:
                    kill_all(process.pid)
                if self.disk is not None:
                    self.disk.free()

    def _command(self, step: Step, folder: Path, from_savepoint: str | None) -> list[str]:
        scenario = self.scenario
        options = {
            "--records": scenario.records,
            "--per-epoch": scenario.per_epoch,
            "--parallelism": step.parallelism,
            "--restarts": scenario.restarts,
            "--fail-at": scenario.fail_at,
            "--savepoint-at": step.savepoint_at,
            "--stop-at": step.stop_at,
            "--from-savepoint": from_savepoint,
            "--host": "first" if scenario.continued_after else None,
        }
        given = {name: value for name, value in options.items() if value is not None}
        words = [str(word) for option in given.items() for word in option]
        return [
            sys.executable,
            str(Path(__file__).with_name(self.program.script)),
            str(folder),
            *words,
        ]

    def _watched(self, process: subprocess.Popen[bytes], sight: Sight) -> int:
        """Break what is due until the process ends."""
        pause = threading.Event()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while process.poll() is None:
            assert time.monotonic() < deadline, f"{self.scenario}: hangs\n{self._tail()}"
            if self.left and sight.has_come(self.left[0]):
                if self._break(self.left[0].victim, process.pid):
                    self.broken.append(self.left.pop(0))
            elif self.disk is not None and RESTARTED in self._log().read_text():
                self.disk.free()
            pause.wait(POLL_SECONDS if self.left else 25 * POLL_SECONDS)
        return process.returncode

    def _break(self, victim: str, pid: int) -> bool:
        """Break something; whether there was something to break."""
        if victim == "disk":
            assert self.disk is not None
            self.disk.fill(self.scenario.pages_left)
            return True
        if victim == "driver":
            kill_all(pid)
            return True
        if victim == "driver alone":
            kill(pid)
            return True
        if victim in (STOPPED, STOPPED_ALONE):
            self._take_over(pid, alone=victim == STOPPED_ALONE)
            return True
        victims = jvms_of(pid)
        if victim == "worker":
            # Of those that wait for a task nobody would notice the end.
            victims = [worker for worker in workers_of(pid) if is_working(worker)]
        if victims:
            kill(self.dice.choice(victims))
        return bool(victims)

    # -- two drivers ---------------------------------------------------------------------------------

    def _take_over(self, pid: int, *, alone: bool) -> None:
        """Stop a driver, let another one take over, and let the first one go on beside it."""
        stopped = pause(pid, alone=alone)
        sight = Sight(self.job)
        enough = Break(STOPPED, "committed", self.scenario.continued_after)
        try:
            for attempt in range(ATTEMPTS):
                second = self.folder / f"log-second-{attempt}"
                with open(second, "w") as log:
                    command = [*self._command(Step(), self.job, None), "--host", "second"]
                    process = subprocess.Popen(
                        command, env=self._environment(), stdout=log, stderr=log
                    )
                    try:
                        code = self._beside(process, sight, enough, stopped)
                    finally:
                        if process.poll() is None:
                            kill_all(process.pid)
                said = second.read_text()
                if code == 0 or not ("CHECKPOINT_IN_USE" in said or STARVED in said):
                    break
        finally:
            resume(stopped)
        assert code == 0, f"{self.scenario}: the second driver fails\n{said[-3_000:]}"
        self.followed = True

    def _beside(
        self, process: subprocess.Popen[bytes], sight: Sight, enough: Break, stopped: list[int]
    ) -> int:
        """Wait for the second driver; the first goes on when the second has done enough."""
        moment = threading.Event()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while process.poll() is None:
            assert time.monotonic() < deadline, f"{self.scenario}: the second driver hangs"
            if sight.has_come(enough):
                resume(stopped)
            moment.wait(25 * POLL_SECONDS)
        return process.returncode

    def _require_followed(self, code: int) -> None:
        """The driver that was followed has to notice it, and to say so."""
        said = self._log(-1).read_text()
        assert code != 0, f"{self.scenario}: the driver that was followed ended well"
        assert "LEASE_LOST" in said, f"{self.scenario}: does not say why it ended\n{self._tail()}"

    # -- damage ----------------------------------------------------------------------------------

    def _cut(self) -> None:
        assert self.scenario.cut is not None
        self.damaged = cut_last(self.job, self.scenario.cut, self.scenario.cut_to)
        where = None if self.damaged is None else self.damaged.relative_to(self.job)
        self.notes.append(f"cut {where}")

    def _require_clear_error(self) -> None:
        """A job that cannot go on has to say which file is damaged."""
        assert self.damaged is not None
        words = ("CHECKPOINT_DAMAGED", "/".join(self.damaged.parts[-2:]))
        log = self._log(-1).read_text()
        assert all(word in log for word in words), (
            f"{self.scenario}: does not say that {self.damaged} is damaged\n{self._tail()}"
        )

    def _repaired(self, from_savepoint: str | None) -> str | None:
        """Do what the documentation says, and return the savepoint to go on from, if any."""
        damaged, self.damaged = self.damaged, None
        assert damaged is not None
        if self.scenario.cut in ("states", "commits"):
            damaged.unlink()
            damaged.with_name(f".{damaged.name}.crc").unlink(missing_ok=True)
            return from_savepoint
        words = ["savepoint", str(self.job / "checkpoint"), str(self.job / "rescued"), "--json"]
        command = [sys.executable, "-m", "millstream.cli", *words]
        done = subprocess.run(
            command, env=self._environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{self.scenario}: {done.stdout}{done.stderr[-3_000:]}"
        made: str = json.loads(done.stdout)["savepoint"]
        self.notes.append(f"rescued {Path(made).name}")
        return made

    # -- checks ----------------------------------------------------------------------------------

    def _check(self) -> None:
        wanted = self.program.expected(self.scenario.records)
        difference = self.program.output(self.job).difference(wanted)
        assert not difference, f"{self.scenario}: {difference}"
        whole = [
            savepoint
            for folder in sorted(self.job.glob("savepoints/*"))
            if (savepoint := self._loaded(folder)) is not None
        ]
        if whole and self.scenario.kind == "savepoint":
            self._check_fork(self.dice.choice(whole))

    def _loaded(self, folder: Path) -> Savepoint | None:
        """A savepoint that is whole; of any other folder nobody may take it for one."""
        if (folder / "savepoint.json").exists():
            savepoint = Savepoint.load(str(folder))
            for table in savepoint.tables:
                for file in table.files:
                    savepoint.read(file)
            return savepoint
        with suppress(CheckpointError):
            Savepoint.load(str(folder))
            raise AssertionError(f"{self.scenario}: {folder} passes for a savepoint")
        self.notes.append("half a savepoint refused")
        return None

    def _check_fork(self, savepoint: Savepoint) -> None:
        """What there was up to the savepoint, and what comes from it, is everything once."""
        fork = self.folder / f"fork-{savepoint.id}"
        fork.mkdir()
        code = self._attempt(Step(), Sight(fork), fork, savepoint.path)
        assert code == 0, f"{self.scenario}: a fork fails\n{self._tail()}"
        both = self.program.output(self.job, savepoint.epoch) + self.program.output(fork)
        difference = both.difference(self.program.expected(self.scenario.records))
        assert not difference, f"{self.scenario}: a fork: {difference}"
        self.notes.append(f"fork of epoch {savepoint.epoch} right")

    def _environment(self) -> dict[str, str]:
        inherited = {name: v for name, v in os.environ.items() if "SPARK" not in name}
        local = {"SPARK_LOCAL_DIRS": str(self.job / "local")}
        path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
        return {**inherited, **(local if self.scenario.disk == "local" else {}), "PYTHONPATH": path}

    def _log(self, number: int | None = None) -> Path:
        """The log of the attempt at hand, or of one before (-1)."""
        return self.folder / f"log-{len(self.exits) + (number or 0)}"

    def _tail(self) -> str:
        logs = sorted(self.folder.glob("log-*"))
        return "\n".join(f"{log}: {log.read_text()[-2_000:]}" for log in logs[-1:])


def scenario_of(word: str) -> Scenario:
    """The scenario of a seed as it is written: ``7``, or ``sql-7``."""
    program, _, seed = word.rpartition("-")
    return Scenario.of(int(seed), program or STREAMS)


def run_scenario(scenario: Scenario, say: Callable[[str], None] = print) -> Chaos:
    """Run a scenario; the folder of a run that went wrong is kept."""
    seed = scenario.seed
    say(str(scenario))
    folder = Path(tempfile.mkdtemp(prefix=f"millstream-chaos-{seed}-"))
    chaos = Chaos(scenario, folder)
    try:
        chaos.run()
    except BaseException:
        say(f"seed {seed}: see {folder}; exits {chaos.exits}, {'; '.join(chaos.notes)}")
        raise
    say(f"  right; exits {chaos.exits}; {'; '.join(chaos.notes)}")
    shutil.rmtree(folder)
    return chaos


def main(seeds: list[str]) -> int:
    wrong, skipped = [], []
    for seed in seeds or ["1"]:
        scenario = scenario_of(seed)
        if scenario.kind == "disk" and not can_mount():
            skipped.append(seed)
            print(f"seed {seed}: skipped, a small disk is mounted for it, which needs root or sudo")
            continue
        began = time.monotonic()
        try:
            run_scenario(scenario)
        except AssertionError as error:
            wrong.append(seed)
            print(f"  WRONG {error}")
        print(f"  {time.monotonic() - began:.0f} s", flush=True)
    right = len(seeds or ["1"]) - len(wrong) - len(skipped)
    print(f"{right} right, {len(wrong)} wrong {wrong or ''}, {len(skipped)} skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
