"""Starts of a loop: the first one, and those after a failure, from the last snapshot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from threading import Event
from time import monotonic

from millstream.common.errors import MillstreamError, PlanError, UserCodeError
from millstream.common.restart_strategy import DEFAULT_WITH_CHECKPOINTS, Restarts
from millstream.iteration.kernel.snapshots import Snapshot, Snapshots
from millstream.iteration.program import LoopJob
from millstream.iteration.spark.ran import Ran
from millstream.spark.tasks.failures import after_restarts, readable

__all__ = ["Attempts"]

Start = Callable[[Snapshot | None], Ran]

_ENDED: Counter[tuple[str, str]] = Counter()
"""How many loops of a name have ended in this process, with a checkpoint folder. A program that is
started again has its loops in the same order, so the next one finds its own snapshot."""

_OUTAGES = {"WORKER_DIED", "WORKER_NOT_STARTED", "LOOP_TASK_LOST"}
_OUTAGE = re.compile(
    "ExecutorLostFailure|executor [^ ]+ exited|FetchFailed|was lost|heartbeat|"
    "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
)


@dataclass
class Attempts:
    """Runs a loop until it ends, or has failed too often.

    Parameters
    ----------
    job
        The loop.
    snapshots
        Where its snapshots are; None without a checkpoint folder.
    first
        The snapshot that was there at the beginning.
    """

    job: LoopJob
    snapshots: Snapshots | None = field(init=False, default=None)
    first: Snapshot | None = field(init=False, default=None)
    restarts: int = field(init=False, default=0)
    resumed_from: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        job, options = self.job, self.job.options
        if options.snapshot_every is not None and options.snapshot_every < 1:
            raise PlanError(
                "LOOP_SIZE",
                f"snapshot_every of loop {job.name!r} must be at least 1, "
                f"got {options.snapshot_every}",
                location=job.location,
            )
        if options.checkpoint is not None:
            name = f"{job.name}-{_ENDED[options.checkpoint, job.name] + 1}"
            self.snapshots = Snapshots(options.checkpoint, name, _identity(job))
            self.first = self.snapshots.last()

    def run(self, start: Start) -> Ran:
        """Start the loop, and again after a failure that may pass."""
        strategy = self.job.options.restart_strategy
        restarts = Restarts(
            strategy or DEFAULT_WITH_CHECKPOINTS,
            lambda: int(monotonic() * 1000),
            lambda: Random().uniform(-1.0, 1.0),
        )
        if self.snapshots is not None:
            self.snapshots.claim()
        while True:
            snapshot = None if self.snapshots is None else self.snapshots.last()
            self.resumed_from = 0 if snapshot is None else snapshot.step
            try:
                ran = start(snapshot)
            except Exception as error:
                found = readable(error)
                delay = None
                if _may_pass(found, asked=strategy is not None):
                    delay = restarts.after_failure()
                if delay is None:
                    raise after_restarts(found, restarts.count) from None
                Event().wait(delay / 1000)
            else:
                self.restarts = restarts.count
                self._ended()
                return ran

    def _ended(self) -> None:
        options = self.job.options
        if self.snapshots is not None and options.checkpoint is not None:
            self.snapshots.forget()
            _ENDED[options.checkpoint, self.job.name] += 1


def _may_pass(error: BaseException, *, asked: bool) -> bool:
    """Whether the same loop may well run if it is started again.

    An error of the program comes again, unless the user thinks otherwise and has asked for restarts.
    """
    if isinstance(error, UserCodeError):
        return asked
    if isinstance(error, MillstreamError):
        return error.code in _OUTAGES
    return _OUTAGE.search(str(error)) is not None


def _identity(job: LoopJob) -> dict[str, object]:
    program = type(job.program)
    return {
        "name": job.name,
        "program": f"{program.__module__}.{program.__qualname__}",
        "inputs": {name: given.key for name, given in sorted(job.inputs.items())},
        "output": [f"{column.name} {column.type}" for column in job.output],
    }
