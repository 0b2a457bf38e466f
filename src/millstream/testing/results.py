"""Results of a local run, and the state from which the next run continues."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import CheckpointError, PlanError, user_location
from millstream.connectors.memory_tables import MemoryTables
from millstream.metrics import JobMetrics
from millstream.testing.engine.local import Snapshot
from millstream.testing.engine.local_sinks import Attempts
from millstream.testing.engine.records import StreamRecord

__all__ = ["RESULT", "Checkpoint", "Results"]

RESULT = "result"
"""The name of the sink of an observed stream."""


@dataclass(frozen=True)
class Results:
    """The results of a local run.

    Attributes
    ----------
    sinks : dict
        The records that each sink got, by the sink's name; the second ``Print`` is ``Print 2``.
    finished : bool
        Whether the job came to its end; False if it stopped at EOF marks.
    epochs : int
        How many epochs were committed.
    restarts : int
        How often the job was started again.
    accumulators : dict
        What the functions have added up.
    metrics : JobMetrics
        What the operators and the functions have measured, by uid.
    """

    sinks: dict[str, list[StreamRecord]]
    finished: bool
    epochs: int
    restarts: int = 0
    accumulators: dict[str, Any] = field(default_factory=dict)
    metrics: JobMetrics = field(default_factory=JobMetrics)

    def values(self, sink: str | None = None) -> list[Any]:
        """The values of a sink; without a name, of the only one or of the observed stream."""
        return [record.value for record in self.records(sink)]

    def records(self, sink: str | None = None) -> list[StreamRecord]:
        """The values of a sink with their event times, see `values`."""
        if sink is None and RESULT in self.sinks:
            sink = RESULT
        elif sink is None and len(self.sinks) == 1:
            (sink,) = self.sinks
        if sink is None or sink not in self.sinks:
            what = f"no sink {sink!r}" if sink is not None else f"{len(self.sinks)} sinks"
            raise PlanError(
                "UNKNOWN_SINK",
                f"the program has {what}",
                location=user_location(),
                hint=f"name one of {', '.join(map(repr, self.sinks))}",
            )
        return list(self.sinks[sink])

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the result of an accumulator; None if there is no such accumulator."""
        return self.accumulators.get(accumulator_name)


class Checkpoint:
    """Where local runs keep what they have committed: give it to the next run, and it goes on.

    Examples
    --------
    >>> Checkpoint().finished
    False
    """

    def __init__(self) -> None:
        self.finished = False
        self.attempts = Attempts()
        self._shape: object = None
        self._parts: dict[int, bytes] = {}
        self._ended: set[int] = set()
        self._tables = MemoryTables()

    def begin_tables(self) -> MemoryTables:
        """The tables in memory of the next run: those of the run before, if that has not ended."""
        if self.finished:
            self._tables = MemoryTables()
        return self._tables

    def begin(self, shape: object) -> bool:
        """Whether a run of a job of this shape continues from here; if not, it starts from 0."""
        if self.finished or not self._parts:
            # As on Spark: a finished job does not go on, the next one is a new one.
            self.finished, self._shape = False, shape
            self.attempts = Attempts()
            self._parts.clear()
            self._ended.clear()
            return False
        if shape != self._shape:
            raise CheckpointError(
                "CHECKPOINT_MISMATCH",
                "the checkpoint is of another program, or has another number of slots",
                location=user_location(),
                hint="give each program a Checkpoint() of its own",
            )
        return True

    def save(self, component: int, snapshot: Snapshot, *, ended: bool) -> None:
        """Keep what a part of the job has committed, as bytes."""
        self._parts[component] = pickle.dumps(snapshot)
        if ended:
            self._ended.add(component)

    def load(self, component: int) -> Snapshot | None:
        """Return the committed state of a part of the job."""
        data = self._parts.get(component)
        return None if data is None else pickle.loads(data)

    def has_ended(self, component: int) -> bool:
        """Whether a part of the job has come to its end."""
        return component in self._ended
