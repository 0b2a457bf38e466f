"""The beginning that all programs of this folder share: edges are read, and tasks linked, in two supersteps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.ids import distinct_ids, id_column
from millstream.graph.kernel.links import Links
from millstream.iteration import LoopProgram, Outbox, Task

__all__ = ["SETUP", "GraphProgram", "ids_of", "joined_ids"]

SETUP = 2
"""The supersteps before the first one of an algorithm: announce, link."""

Inbox = Sequence[dict[str, Any] | None]


class GraphProgram(LoopProgram):
    """An algorithm over the vertices and edges that a task owns.

    The inputs are ``out``, edges at the owner of their source; ``in``, edges at the owner of their target;
    and ``vertices``. A program says which of ``out`` and ``in`` it wants. Without ``vertices`` the vertices
    are the ends of the edges.

    An edge of ``out`` has its source as near end, one of ``in`` its target.
    """

    sides: ClassVar[tuple[str, ...]] = ("out",)

    links: Links

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        """Read the ends of edges, and let the algorithm read the values."""
        near, far = [], []
        for side in self.sides:
            table = inputs[side]
            source, target = id_column(table["source"]), id_column(table["target"])
            near.append(source if side == "out" else target)
            far.append(target if side == "out" else source)
        vertices = None
        if "vertices" in inputs:
            vertices = id_column(inputs["vertices"]["id"])
        self.links = Links(task, joined_ids(near), joined_ids(far), vertices)
        self.read(task, inputs)

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        """Read the values of edges and vertices."""

    def superstep(self, task: Task, inbox: Inbox) -> Outbox:
        """Link the tasks in the first two supersteps, then go on with the algorithm."""
        if task.superstep == 1:
            return Outbox(self.links.announce(), active=1)
        if task.superstep == SETUP:
            self.links.link(inbox)
            self.index(task)
            return self.first(task)
        return self.step(task, inbox)

    def index(self, task: Task) -> None:
        """Index the edges; the tasks are linked. Also called when the loop goes on from a snapshot."""

    @abstractmethod
    def first(self, task: Task) -> Outbox:
        """Set the state to its beginning, and send the first messages."""

    @abstractmethod
    def step(self, task: Task, inbox: Inbox) -> Outbox:
        """Read messages, and send the next ones."""

    @abstractmethod
    def changing(self) -> dict[str, Any]:
        """The attributes that change in a superstep, by name."""

    def state(self) -> Any:
        """What was learned from other tasks, and what has changed."""
        linked = bool(self.links.inbound)
        return {"links": self.links.state(), "changing": self.changing() if linked else None}

    def restore(self, task: Task, state: Any) -> None:
        """Go on from a state."""
        self.links.restore(state["links"])
        if state["changing"] is not None:
            self.index(task)
            for name, value in state["changing"].items():
                setattr(self, name, value)

    def vertex_table(self, column: Any) -> pa.Table:
        """A result with a value per own vertex."""
        ids = ids_of(self.links.vertices.ids)
        return pa.table({"id": ids, "value": pa.array(column)})

    def vertex_values(self, inputs: Mapping[str, pa.Table]) -> Any:
        """The column of values in the order of the own vertices; None if there are no values."""
        table = inputs.get("vertices")
        if table is None or "value" not in table.column_names or table["value"].type == pa.null():
            return None
        _, places = distinct_ids(id_column(table["id"]))
        order = np.empty(len(places), np.int64)
        order[places] = np.arange(len(places))
        column = table["value"].combine_chunks()
        return column.take(pa.array(order))


def joined_ids(columns: list[Any]) -> Any:
    """Several columns of ids, one behind the other."""
    if len(columns) == 1:
        return columns[0]
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return pa.concat_arrays(columns)


def ids_of(ids: Any) -> pa.Array:
    """Ids as an Arrow column."""
    return pa.array(ids) if isinstance(ids, np.ndarray) else ids
