"""One task of a loop whose tasks stay where they are, and talk over a mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from millstream.iteration.kernel.body import Body, Merged, Report
from millstream.iteration.kernel.memory import unequal_exchanges
from millstream.iteration.kernel.mesh import Frame, Mesh
from millstream.iteration.kernel.snapshots import Snapshot, Snapshots

__all__ = ["Rhythm", "Stayer", "mesh_exchange", "put_back", "snapshot_of"]

END = 1
"""The exchange at the end of a superstep."""

WITHIN = 2
"""An exchange that a program has asked for within a superstep."""

WRITTEN = 3
"""The exchange of tasks that have written their part of a snapshot."""

Steps = list[tuple[Merged, float]]


@dataclass
class Rhythm:
    """The supersteps after which there is a snapshot.

    Parameters
    ----------
    every
        After so many supersteps; None: by the time.
    seconds
        The time from one snapshot to the next.
    clock
        Gives seconds.

    Examples
    --------
    >>> rhythm = Rhythm(every=2, seconds=10.0)
    >>> [step for step in range(1, 6) if rhythm.is_due(step)]
    [2, 4]
    """

    every: int | None
    seconds: float
    clock: Callable[[], float] = perf_counter
    _last: float | None = field(default=None, init=False)

    def is_due(self, step: int) -> bool:
        """Whether there is a snapshot after this superstep."""
        if self.every is not None:
            return step % self.every == 0
        now = self.clock()
        if self._last is None or now - self._last >= self.seconds:
            # The time begins with the first superstep that has ended.
            due, self._last = self._last is not None, now
            return due
        return False


def snapshot_of(body: Body, state: Any, inbox: Sequence[Any], steps: Steps) -> Any:
    """The part of one task in a snapshot."""
    return {
        "state": state,
        "inbox": {str(sender): part for sender, part in enumerate(inbox)},
        "aggregates": dict(body.task.aggregates),
        "steps": steps if body.task.index == 0 else [],
    }


def put_back(body: Body, step: int, part: Mapping[str, Any]) -> Steps:
    """Let a task go on from a snapshot; the supersteps until then."""
    body.task.superstep, body.task.aggregates = step, part["aggregates"]
    body.inbox = [part["inbox"][str(sender)] for sender in range(body.task.count)]
    body.restore(part["state"])
    steps: Steps = part["steps"]
    return steps


class Stayer:
    """A task that runs all supersteps of a loop.

    Parameters
    ----------
    body
        The task, which has loaded its inputs.
    mesh
        Its way to the others.
    snapshots
        Where snapshots go; None for none.
    rhythm
        When there is one: the first task decides for all.
    watch
        Called after each superstep.
    """

    def __init__(
        self,
        body: Body,
        mesh: Mesh,
        snapshots: Snapshots | None,
        rhythm: Rhythm,
        watch: Callable[[Merged, float], None],
    ) -> None:
        self.steps: Steps = []
        self._body = body
        self._mesh = mesh
        self._snapshots = snapshots
        self._rhythm = rhythm
        self._watch = watch

    def begin(self, start: Snapshot | None) -> None:
        """Go on from a snapshot, if there is one."""
        if start is not None and self._snapshots is not None:
            part = self._snapshots.read(start, self._mesh.index)
            self.steps = put_back(self._body, start.step, part)

    def run(self, max_supersteps: int) -> Merged:
        """Run to the end of the loop; how it has ended."""
        while True:
            started = perf_counter()
            merged, due = self._superstep()
            seconds = perf_counter() - started
            if self._mesh.index == 0:
                self.steps.append((merged, seconds))
            self._watch(merged, seconds)
            if merged.finished or merged.step >= max_supersteps:
                return merged
            if due and self._snapshots is not None:
                self._snapshot(self._snapshots, merged.step)

    def _superstep(self) -> tuple[Merged, bool]:
        body, mesh = self._body, self._mesh
        outbox = body.step()
        parts = outbox.parts or [None] * mesh.count
        due = (
            mesh.index == 0
            and self._snapshots is not None
            and self._rhythm.is_due(body.task.superstep)
        )
        report = {"aggregates": dict(outbox.aggregates), "active": outbox.active, "due": due}
        frames = mesh.exchange(END, [{"part": part, **report} for part in parts])
        values = [frame.value for frame in _checked(body.name, END, frames)]
        reports = [Report(value["aggregates"], value["active"]) for value in values]
        return body.take([value["part"] for value in values], reports), values[0]["due"]

    def _snapshot(self, snapshots: Snapshots, step: int) -> None:
        body, mesh = self._body, self._mesh
        part = snapshot_of(body, body.state(), body.inbox, self.steps)
        checksum = snapshots.write(step, mesh.index, part)
        frames = mesh.exchange(WRITTEN, [checksum] * mesh.count)
        if mesh.index == 0:
            snapshots.commit(step, [frame.value for frame in frames])
        # From here on a failure costs no superstep up to this one.
        mesh.exchange(WRITTEN, [None] * mesh.count)


def mesh_exchange(name: str, mesh: Mesh) -> Any:
    """The exchange of a `MeshProgram` within a superstep."""

    def exchange(parts: Sequence[Any]) -> list[Any]:
        sent = parts or [None] * mesh.count
        return [frame.value for frame in _checked(name, WITHIN, mesh.exchange(WITHIN, sent))]

    return exchange


def _checked(name: str, kind: int, frames: list[Frame]) -> list[Frame]:
    if any(frame.kind != kind for frame in frames):
        raise unequal_exchanges(name)
    return frames
