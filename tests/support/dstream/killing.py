"""Runs `tests.support.dstream.killed`, kills it while records come, and reads what it has printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["Killed"]

ROOT = Path(__file__).parents[3]
KILLS = 3
PER_STEP = 5


class Killed:
    """A program that is killed several times, each time after some batches with records.

    Parameters
    ----------
    arguments : list
        The arguments of the program.
    feed : callable
        Gives numbers to the program's input.
    """

    def __init__(self, arguments: list[str], feed: Callable[[list[str]], None]) -> None:
        self._arguments = arguments
        self._feed = feed
        self._next = 0
        self.batches: list[tuple[float, list[str]]] = []
        """All batches that were printed, some of them twice."""

    def run(self) -> list[str]:
        """Run it to the end; the numbers that it was given."""
        for kill in range(KILLS + 1):
            process = self._started()
            try:
                self._work(process, batches=2 if kill < KILLS else 1, until_all=kill == KILLS)
            finally:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                assert process.stdout is not None
                process.stdout.close()
            self._give()  # While nobody runs.
            if kill == KILLS - 1:
                self._give()
        return [str(number) for number in range(self._next - PER_STEP)]

    def _started(self) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "tests.support.dstream.killed", *self._arguments]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}
        )

    def _give(self) -> None:
        numbers = range(self._next, self._next + PER_STEP)
        self._next += PER_STEP
        self._feed([str(number) for number in numbers])

    def _work(self, process: subprocess.Popen[str], *, batches: int, until_all: bool) -> None:
        self._give()
        for batch in self._lines(process):
            self.batches.append(batch)
            batches -= 1
            if until_all:
                if len({number for _, found in self.batches for number in found}) == self._next:
                    return
            elif not batches:
                return
            else:
                self._give()

    def _lines(self, process: subprocess.Popen[str]) -> Iterator[tuple[float, list[str]]]:
        assert process.stdout is not None
        for line in process.stdout:
            time, records = json.loads(line)
            yield time, records
        raise AssertionError(f"the program has ended: {process.wait()}")

    def by_time(self) -> dict[float, list[str]]:
        """The batches, each once: a batch that came again had the same records."""
        found: dict[float, list[str]] = {}
        for time, records in self.batches:
            assert found.setdefault(time, records) == records, time
        return found
