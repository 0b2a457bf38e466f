"""One task of a loop whose tasks stay where they are, and talk over a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from millstream.iteration.kernel.body import Body, Merged, Report
from millstream.iteration.kernel.memory import Watch, unequal_exchanges
from millstream.iteration.kernel.mesh import Frame, Mesh

__all__ = ["mesh_exchange", "run_over_mesh"]

END = 1
"""The exchange at the end of a superstep."""

WITHIN = 2
"""An exchange that a program has asked for within a superstep."""


def run_over_mesh(body: Body, mesh: Mesh, max_supersteps: int, watch: Watch) -> Merged:
    """Run the task to the end of the loop; how the loop has ended."""
    while True:
        started = perf_counter()
        merged = _superstep(body, mesh)
        watch(merged, perf_counter() - started)
        if merged.finished or merged.step >= max_supersteps:
            return merged


def _superstep(body: Body, mesh: Mesh) -> Merged:
    outbox = body.step()
    parts = outbox.parts or [None] * mesh.count
    report = {"aggregates": dict(outbox.aggregates), "active": outbox.active}
    sent = [{"part": part, **report} for part in parts]
    values = [frame.value for frame in _checked(body.name, END, mesh.exchange(END, sent))]
    reports = [Report(value["aggregates"], value["active"]) for value in values]
    return body.take([value["part"] for value in values], reports)


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
