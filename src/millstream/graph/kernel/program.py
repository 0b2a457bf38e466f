"""The beginning that all programs of this folder share: edges are read, and tasks linked, in two
supersteps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.graph.kernel.ids import distinct_ids, id_column
from millstream.graph.kernel.links import Links
from millstream.graph.kernel.words import WORD_STEPS, Words
from millstream.iteration import Aggregator, LoopProgram, Outbox, Task

__all__ = ["SETUP", "GraphProgram", "LabelledProgram", "ids_of", "joined_ids", "numbers_of"]

SETUP = 2
"""The supersteps before the first one of an algorithm: announce, link."""

Inbox = Sequence[dict[str, Any] | None]


class GraphProgram(LoopProgram):
    """An algorithm over the vertices and edges that a task owns.

    The inputs are ``out``, edges at the owner of their source; ``in``, edges at the owner of their
    target; and ``vertices``. A program says which of ``out`` and ``in`` it wants. Without
    ``vertices`` the vertices are the ends of the edges.

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
        """The knowledge that came from other tasks, and what has changed."""
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


class LabelledProgram(GraphProgram):
    """An algorithm whose vertices have labels: whole numbers, other numbers, or texts.

    Texts have numbers in the same order while the algorithm runs. The first labels are the values
    of the vertices; if there are none, the ids are.

    Parameters
    ----------
    rounds
        The most supersteps of the algorithm itself.
    """

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.labels: Any = None
        self.start: Any = None
        self.words: Words | None = None
        self.ending = 0
        self.texts: Any = None

    def found(self) -> Any:
        """The labels, or the numbers of texts."""
        return self.labels

    def read(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        column = self.vertex_values(inputs)
        if column is not None:
            texts = column.type == pa.string() and not column.null_count
            self.start = column if texts else _ordered(numbers_of(column, "values of vertices"))

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {"left": Aggregator.sum()}

    def superstep(self, task: Task, inbox: Inbox) -> Outbox:
        """Make numbers of texts after the tasks are linked, and texts of numbers at the end."""
        if task.superstep < SETUP:
            return super().superstep(task, inbox)
        number = task.superstep - SETUP
        if number == 0:
            return self._linked(task, inbox)
        if self.words is None:
            return self.step(task, inbox)
        return self._with_words(task, inbox, self.words, number)

    def _linked(self, task: Task, inbox: Inbox) -> Outbox:
        self.links.link(inbox)
        self.index(task)
        if self.start is None:
            ids = self.links.vertices.ids
            self.start = np.array(ids) if isinstance(ids, np.ndarray) else ids
        if isinstance(self.start, np.ndarray):
            return self.first(task)
        self.words = Words(self.start)
        return Outbox(self.words.sample(task), active=1)

    def _with_words(self, task: Task, inbox: Inbox, words: Words, number: int) -> Outbox:
        if number == 1:
            return Outbox(words.divide(task, inbox), active=1)
        if number == 2:
            return Outbox(words.answer(task, inbox), active=1)
        if number == WORD_STEPS:
            self.start = words.numbers(inbox)
            outbox = self.first(task)
        elif self.ending:
            return self._end(inbox, words)
        elif not task.aggregates["left"] or number - WORD_STEPS > self.rounds:
            self.ending = 1
            return Outbox(words.ask(self.found()), active=1)
        else:
            outbox = self.step(task, inbox)
        outbox.aggregates = {"left": outbox.active}
        outbox.active = 1
        return outbox

    def _end(self, inbox: Inbox, words: Words) -> Outbox:
        self.ending += 1
        if self.ending == 2:
            return Outbox(words.tell(inbox), active=1)
        self.texts = words.read(inbox)
        return Outbox()

    def state(self) -> Any:
        words = self.words and self.words.state()
        kept = {name: getattr(self, name) for name in ("ending", "start", "texts")}
        return {**super().state(), "words": words, "kept": kept}

    def restore(self, task: Task, state: Any) -> None:
        super().restore(task, state)
        self.words = None if state["words"] is None else Words.restored(state["words"])
        for name, value in state["kept"].items():
            setattr(self, name, value)

    def result(self) -> pa.Table:
        return self.vertex_table(self.found() if self.texts is None else self.texts)


def _ordered(labels: Any) -> Any:
    """Labels that can be compared; NaN is an error."""
    if labels.dtype == np.float64 and np.isnan(labels).any():
        raise PlanError(
            "GRAPH_VALUE_NULL",
            f"{np.isnan(labels).sum()} of {len(labels)} values of vertices are NaN",
            hint="give all of them a value",
        )
    return labels


def numbers_of(column: Any, what: str) -> Any:
    """A column of values as 64-bit numbers, whole or not; nulls are an error.

    Examples
    --------
    >>> numbers_of(pa.array([1, 2], pa.int8()), "values")
    array([1, 2])
    """
    if column.null_count:
        raise PlanError(
            "GRAPH_VALUE_NULL",
            f"{column.null_count} of {len(column)} {what} are null",
            hint="give all of them a value",
        )
    kind = column.type
    if kind == pa.null():
        # Without rows there is nothing to say what they are.
        return np.zeros(0)
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not whole and not pa.types.is_floating(kind) and not pa.types.is_decimal(kind):
        raise PlanError(
            "GRAPH_VALUE_TYPE",
            f"{what} must be numbers here, got {kind}",
            hint="map them to numbers, with map_vertices or map_edges",
        )
    numbers = column.cast(pa.int64() if whole else pa.float64())
    if isinstance(numbers, pa.ChunkedArray):
        numbers = numbers.combine_chunks()
    return numbers.to_numpy(zero_copy_only=False).copy()


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
