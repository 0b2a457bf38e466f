"""The base of all iterations of user functions: vertices and edges go to their tasks, then
supersteps begin.

The first superstep of the loop routes: each task sends the vertices and edges that it has read to their
owners. So nothing needs to be known about the types of ids and values before the loop starts.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millstream.common.errors import (
    MillstreamError,
    PlanError,
    UserCodeError,
    user_code_error,
    user_location,
)
from millstream.common.pickling import dumps, dumps_apart
from millstream.graph.elements import Edge, EdgeDirection, Vertex
from millstream.graph.functions.base import IterationContext, IterationFunction
from millstream.graph.loops.aggregating import _NOTHING, LocalAggregators, Merge, merged_values
from millstream.graph.loops.values import owners_of, packed, unpacked
from millstream.iteration import Aggregator, LoopProgram, Outbox, Task

__all__ = ["CELL", "RESULT", "Settings", "VertexLoop", "unknown_vertex"]

CELL = "records"
"""The column of inputs and results: cells of packed records."""

RESULT = pa.schema([pa.field(CELL, pa.large_binary())])
_COUNT = "\0vertices"


@dataclass(frozen=True)
class Settings:
    """The settings of a configuration, without its DataSets.

    Examples
    --------
    >>> Settings(max_iterations=3).direction.name
    'OUT'
    """

    max_iterations: int
    direction: EdgeDirection = EdgeDirection.OUT
    degrees: bool = False
    num_vertices: bool = False
    aggregators: Mapping[str, Any] = field(default_factory=dict)
    broadcast_sets: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)


def unknown_vertex(vertex: Any, why: str) -> PlanError:
    """The error of an id that no vertex has.

    Examples
    --------
    >>> print(unknown_vertex(7, "edge Edge(1, 7, None) leads to it").message)
    no vertex has the id 7: edge Edge(1, 7, None) leads to it
    """
    return PlanError(
        "GRAPH_UNKNOWN_VERTEX",
        f"no vertex has the id {vertex!r}: {why}",
        hint="graph.validate(InvalidVertexIdsValidator()) finds such edges; add the vertices, or "
        "remove the edges",
    )


def bad_id(key: Any) -> PlanError:
    """The error of an id that can change.

    Examples
    --------
    >>> print(bad_id([1]).message)
    [1] cannot be the id of a vertex: a list can change
    """
    return PlanError(
        "GRAPH_BAD_ID",
        f"{key!r} cannot be the id of a vertex: a {type(key).__name__} can change",
        location=user_location(),
        hint="use whole numbers, strings, or tuples of them",
    )


def duplicate_vertex(first: Vertex[Any, Any], second: Vertex[Any, Any]) -> PlanError:
    """The error of two vertices with one id.

    Examples
    --------
    >>> print(duplicate_vertex(Vertex(1, "a"), Vertex(1, "b")).message)
    two vertices have the id 1: Vertex(1, 'a') and Vertex(1, 'b')
    """
    return PlanError(
        "GRAPH_DUPLICATE_VERTEX",
        f"two vertices have the id {first[0]!r}: {first!r} and {second!r}",
        location=user_location(),
        hint="make the ids unique, for example by graph.get_vertices().distinct(0)",
    )


class VertexLoop(LoopProgram):
    """A loop over vertices: the values, the edges and the aggregators of one task."""

    def __init__(self, settings: Settings, functions: Mapping[str, IterationFunction]) -> None:
        self.settings = settings
        self.functions = dict(functions)
        self.context = IterationContext(direction=settings.direction)
        self.values: dict[Any, Any] = {}
        self.edges: dict[Any, list[Edge[Any, Any]]] = {}
        self.degrees: dict[Any, list[int]] = {}
        self.changed: list[Any] = []
        self._read: tuple[list[Any], list[Any]] = ([], [])
        self._indexed = False
        self._adjacency: bytes | None = None
        self._half: dict[str, Any] = {}

    # The contract of loops.

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        """Keep what this task has read until it is routed."""
        vertices, edges = (
            [record for cell in inputs[name][CELL].to_pylist() for record in unpacked(cell)]
            for name in ("vertices", "edges")
        )
        self._read = (vertices, edges)
        self._prepare()

    def _prepare(self) -> None:
        self.local = LocalAggregators(self.settings.aggregators)
        self.context.aggregators = self.local.objects
        for role, function in self.functions.items():
            function._context = self.context
            function._broadcast_sets = self.settings.broadcast_sets.get(role, {})

    def aggregators(self) -> Mapping[str, Aggregator]:
        """Those of the user, and the number of vertices."""
        registered = self.settings.aggregators.items()
        own = {name: Aggregator(_NOTHING, Merge(each)) for name, each in registered}
        return own | {_COUNT: Aggregator.sum()}

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        """Route in the first superstep, index in the second one, then run the functions."""
        if task.superstep == 1:
            return self._routed(task)
        if task.superstep == 2:
            self._index(inbox)
            self._indexed = True
            self.changed = list(self.values)
            if self.settings.num_vertices:
                self.context.number_of_vertices = task.aggregates[_COUNT]
            inbox = ()
        return self.step(task, task.superstep - 1, inbox)

    @abstractmethod
    def step(self, task: Task, step: int, inbox: Sequence[Any]) -> Outbox:
        """One superstep of the loop, counted from 1 after the routing."""

    def state(self) -> Any:
        """The values, what is active, and the adjacency, which is pickled once."""
        if self._adjacency is None and self._indexed:
            self._adjacency = dumps((self.edges, self.degrees))
        own = (self.values, self.changed, self._half, self.context.previous)
        return dumps((own, self.context.number_of_vertices, self._read)), self._adjacency

    def restore(self, task: Task, state: Any) -> None:
        """Go on from a state."""
        own, count, self._read = pickle.loads(state[0])
        self.values, self.changed, self._half, self.context.previous = own
        self.context.number_of_vertices = count
        self._adjacency = state[1]
        self._indexed = state[1] is not None
        if self._indexed:
            self.edges, self.degrees = pickle.loads(state[1])

    def result(self) -> pa.Table:
        """The vertices of this task, packed."""
        if any(self._read):  # the loop has ended before it began
            self.values = dict(self._read[0])
        return pa.table({CELL: pa.array(packed(self.values.items()), pa.large_binary())}, RESULT)

    # Vertices and edges on their way to their owners.

    def _routed(self, task: Task) -> Outbox:
        vertices, edges = self._read
        parts: list[dict[str, list[Any]]] = [{} for _ in range(task.count)]
        self._put(task, parts, "vertices", [v[0] for v in vertices], vertices)
        direction, degrees = self.settings.direction, self.settings.degrees
        sources, targets = [e[0] for e in edges], [e[1] for e in edges]
        if direction is not EdgeDirection.IN:
            self._put(task, parts, "out", sources, edges)
        elif degrees:
            self._put(task, parts, "out_ids", sources, sources)
        if direction is not EdgeDirection.OUT:
            self._put(task, parts, "in", targets, edges)
        elif degrees:
            self._put(task, parts, "in_ids", targets, targets)
        count = len(vertices)
        self._read = ([], [])
        # Pickled here: without a memo this is quicker, and values that two vertices share are not
        # shared any more.
        cells = [{name: dumps_apart(records) for name, records in part.items()} for part in parts]
        return Outbox(cells, {_COUNT: count}, active=1)

    @staticmethod
    def _put(
        task: Task,
        parts: list[dict[str, list[Any]]],
        name: str,
        keys: list[Any],
        records: Sequence[Any],
    ) -> None:
        for part in parts:
            part[name] = []
        lists = [part[name] for part in parts]
        for owner, record in zip(owners_of(task, keys), records, strict=True):
            lists[owner].append(record)

    def _index(self, inbox: Sequence[Any]) -> None:
        received = [
            {name: pickle.loads(cell) for name, cell in part.items()} for part in inbox if part
        ]
        for part in received:
            self._add_vertices(part["vertices"])
        if self.settings.degrees:
            self.degrees = {key: [0, 0] for key in self.values}
        self.edges = {key: [] for key in self.values}
        for part in received:
            self._add_edges(part.get("out", ()), 0)
            self._add_edges(part.get("in", ()), 1)
            self._count(part.get("out_ids", ()), 1)
            self._count(part.get("in_ids", ()), 0)

    def _add_vertices(self, vertices: Iterable[tuple[Any, Any]]) -> None:
        values = self.values
        for key, value in vertices:
            try:
                twice = key in values
            except TypeError:
                raise bad_id(key) from None
            if twice:
                raise duplicate_vertex(Vertex(key, values[key]), Vertex(key, value))
            values[key] = value

    def _add_edges(self, edges: Iterable[tuple[Any, Any, Any]], end: int) -> None:
        adjacent = self.edges
        for record in edges:
            edge = Edge(*record)
            try:
                adjacent[edge[end]].append(edge)
            except KeyError:
                verb = "leads to it" if end else "begins there"
                raise unknown_vertex(edge[end], f"{edge!r} {verb}") from None
        if self.settings.degrees:
            self._count((edge[end] for edge in edges), 1 - end)

    def _count(self, ids: Iterable[Any], which: int) -> None:
        for key in ids:
            if key not in self.degrees:
                raise unknown_vertex(
                    key, "an edge begins there" if which else "an edge leads to it"
                )
            self.degrees[key][which] += 1

    # What steps share.

    def take_aggregates(self) -> dict[str, Any]:
        """Return the aggregates of this task, and begin again."""
        return self.local.taken()

    def previous_aggregates(self, *parts: Mapping[str, Any]) -> None:
        """Set what functions see as the aggregates of the superstep before."""
        self.context.previous = merged_values(self.settings.aggregators, *parts)

    def set_degrees(self, key: Any) -> None:
        """Set the degrees of the vertex that a function is called for."""
        if self.settings.degrees:
            self.context.in_degree, self.context.out_degree = self.degrees[key]

    def hook(self, role: str, name: str) -> None:
        """Call `pre_superstep` or `post_superstep` of a function."""
        function = self.functions[role]
        try:
            getattr(function, name)()
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, role, name, None) from error

    def failed(self, error: Exception, role: str, method: str, vertex: Any) -> UserCodeError:
        """The error of a function: it names the vertex and the superstep."""
        name = f"{type(self.functions[role]).__name__}.{method}"
        at = "" if vertex is None else f" at vertex {vertex[0]!r}"
        where = f"{name}{at} in superstep {self.context.superstep}"
        if vertex is None:
            return user_code_error(error, name, subject=where, hint=_HINT)
        return user_code_error(error, name, record=vertex, subject=where, hint=_HINT)


_HINT = "make the function handle such a vertex"
