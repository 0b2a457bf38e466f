"""Tests of DStream programs: the same batches under many schedules, with crashes."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from millstream.dstream.clock import ManualClock
from millstream.dstream.context import StreamingContext
from millstream.dstream.rdd import RDD, SparkContext
from millstream.dstream.streams import DStream

__all__ = ["Schedule", "rebatch"]

Program = Callable[[StreamingContext], DStream[Any]]
Restart = Literal["never", "stop", "crash", "rebuild"]
# A program in a checkpoint has copies of what its functions use: outputs find their run by a number.
_runs: dict[int, _Run] = {}
_numbers = itertools.count()


@dataclass(frozen=True)
class Schedule:
    """Schedule of a run.

    Parameters
    ----------
    together : int
        How many batches end before one is processed: a late program.
    restart : str
        ``"stop"``: the context is stopped and recovered after every so many batches. ``"crash"``: it is
        recovered from what was in the checkpoint when the output of the last of them ran. ``"rebuild"``:
        as ``"stop"``, with ``getOrCreate(..., rebuild=True)``. ``"never"``.
    parallelism : int
        The default number of partitions.
    snapshots : int
        A snapshot of state after that many batches.
    """

    together: int = 1
    restart: Restart = "never"
    parallelism: int = 1
    snapshots: int = 1


SCHEDULES = (
    Schedule(together=100),
    Schedule(together=2, parallelism=2),
    Schedule(restart="stop", snapshots=2),
    Schedule(restart="crash"),
    Schedule(restart="crash", together=3, snapshots=100),
    Schedule(restart="crash", together=2, snapshots=3, parallelism=4),
    Schedule(restart="rebuild", together=2, parallelism=2),
)


def rebatch(
    program: Program,
    *,
    batches: int,
    seconds: float = 1,
    schedules: Sequence[Schedule] = SCHEDULES,
    normalize: Callable[[list[Any]], Any] | None = None,
) -> dict[int, Any]:
    """Check that the batches of a stream do not depend on the schedule; the batches, by their time.

    The program gets a context for each run, and returns a stream. Its batches must be the same when they
    are processed late, together, with other numbers of partitions, and after stops and crashes. Values
    are compared without their order, or as ``normalize`` returns them.

    Examples
    --------
    >>> def program(ssc):
    ...     pairs = ssc.queueStream([[("a", 1)], [("b", 2)], [("a", 3)]])
    ...     return pairs.updateStateByKey(lambda values, total: sum(values, total or 0))
    >>> rebatch(program, batches=3)
    {1000: [('a', 1)], 2000: [('a', 1), ('b', 2)], 3000: [('a', 4), ('b', 2)]}
    """
    expected = _Run(program, Schedule(), batches, seconds, normalize).results()
    for schedule in schedules:
        found = _Run(program, schedule, batches, seconds, normalize).results()
        if found != expected:
            at = next(t for t in {**expected, **found} if expected.get(t) != found.get(t))
            raise AssertionError(
                f"batch {at} depends on the schedule\n  expected: {expected.get(at)!r}\n"
                f"  {schedule}: {found.get(at)!r}"
            )
    return expected


@dataclass
class _Run:
    program: Program
    schedule: Schedule
    batches: int
    seconds: float
    normalize: Callable[[list[Any]], Any] | None

    def results(self) -> dict[int, Any]:
        self.found: dict[int, Any] = {}
        self.crash_at: int | None = None
        self.number = next(_numbers)
        _runs[self.number] = self
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                self._run()
        finally:
            del _runs[self.number]
        return dict(sorted(self.found.items()))

    def _run(self) -> None:
        step = int(self.seconds * 1000)
        self.path = self.folder / "0"
        if self.schedule.restart == "never":
            clock = ManualClock()
            self._advance(self._context(clock, False), clock, self.batches)
            return
        for first in range(0, self.batches, self.schedule.together):
            count = min(self.schedule.together, self.batches - first)
            clock = ManualClock(first * step)
            ssc = self._context(clock, self.schedule.restart == "rebuild")
            if self.schedule.restart == "crash":
                self.crash_at = (first + count) * step
            self._advance(ssc, clock, count)

    def _context(self, clock: ManualClock, rebuild: bool) -> StreamingContext:
        def setup() -> StreamingContext:
            sc = SparkContext(f"local[{self.schedule.parallelism}]")
            ssc = StreamingContext(sc, self.seconds, clock=clock)
            stream = self.program(ssc)
            stream.checkpoint(self.seconds * self.schedule.snapshots)
            stream.foreachRDD(_Collect(self.number))
            return ssc

        if self.schedule.restart == "never":
            return setup()
        return StreamingContext.getOrCreate(str(self.path), setup, rebuild=rebuild, clock=clock)

    def _advance(self, ssc: StreamingContext, clock: ManualClock, batches: int) -> None:
        copy = self.path
        ssc.start()
        clock.advance(self.seconds * batches, late=self.schedule.together > 1)
        ssc.stop()
        ssc.awaitTerminationOrTimeout(0)
        if self.path != copy:
            shutil.rmtree(copy)

    def collect(self, time_ms: int, values: list[Any]) -> None:
        normal = sorted(values, key=repr) if self.normalize is None else self.normalize(values)
        if time_ms in self.found and self.found[time_ms] != normal:
            raise AssertionError(
                f"batch {time_ms} came again with other values: {self.found[time_ms]!r}, {normal!r}"
            )
        self.found[time_ms] = normal
        if time_ms == self.crash_at:
            # A process that is killed here leaves this behind.
            self.crash_at = None
            before, self.path = self.path, self.folder / str(time_ms)
            shutil.copytree(before, self.path)


@dataclass(frozen=True)
class _Collect:
    number: int

    def __call__(self, time: datetime, rdd: RDD[Any]) -> None:
        _runs[self.number].collect(round(time.timestamp() * 1000), rdd.collect())
