"""The part that all algorithms of the library share: columns of a graph go into a loop, and its result
becomes a DataSet.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.common.errors import MillstreamError, PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.graph.elements import Vertex
from millstream.graph.graph import Graph
from millstream.graph.graph_algorithm import GraphAlgorithm, GraphAnalytic
from millstream.graph.kernel.ids import id_type
from millstream.graph.kernel.program import GraphProgram
from millstream.graph.operations.sides import data_set_of, plain
from millstream.iteration import LoopInput, LoopJob, LoopOptions, LoopResult, run_loop

__all__ = [
    "ENDLESS",
    "Analytic",
    "Columns",
    "LibraryAlgorithm",
    "VertexAlgorithm",
    "checked_iterations",
    "ids_of",
    "records_of",
    "schema_of",
    "value_type",
    "vertex_value_type",
]

Columns = Any
"""A `pyarrow.Table` in memory, a DataFrame on Spark."""

ENDLESS = (1 << 31) - 1
"""As many iterations as an algorithm takes."""

_Self = TypeVar("_Self", bound="Configured")


def checked_iterations(name: str, number: Any) -> int:
    """A number of iterations, which must be at least 1.

    Examples
    --------
    >>> checked_iterations("iterations", 10)
    10
    """
    number = plain(number)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise PlanError(
            "GRAPH_ARGUMENTS",
            f"{name} must be a whole number of at least 1, got {number!r}",
            location=user_location(),
        )
    return int(number)


def schema_of(columns: Columns) -> pa.Schema:
    """The names and types of columns.

    Examples
    --------
    >>> schema_of(pa.table({"id": [1]})).names
    ['id']
    """
    if isinstance(columns, pa.Table):
        return columns.schema
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(columns.schema, timezone="UTC")


def value_type(columns: Columns) -> pa.DataType | None:
    """The type of the values of vertices or edges; None if all are null.

    Examples
    --------
    >>> value_type(pa.table({"value": [1]})), value_type(pa.table({"value": [None]}))
    (DataType(int64), None)
    """
    kind = schema_of(columns).field("value").type
    if kind == pa.null():
        return None
    # Values of no common type are bytes; so are those of which none was there to give a type.
    if pa.types.is_binary(kind):
        if isinstance(columns, pa.Table):
            return None if columns["value"].null_count == len(columns) else kind
        return kind if columns.where(columns["value"].isNotNull()).limit(1).count() else None
    return kind


def vertex_value_type(graph: Graph[Any, Any, Any]) -> pa.DataType | None:
    """The type of the values of vertices; None if they have none."""
    return value_type(graph.vertex_columns())


def ids_of(graph: Graph[Any, Any, Any]) -> pa.DataType:
    """The type of the ids of a graph: 64-bit numbers or texts; others are an error."""
    edges, vertices = schema_of(graph.edge_columns()), schema_of(graph.vertex_columns())
    kinds = [edges.field("source").type, edges.field("target").type, vertices.field("id").type]
    found = {id_type(kind) for kind in kinds if kind != pa.null()}
    if len(found) > 1:
        raise PlanError(
            "GRAPH_ID_TYPE",
            "the ids of a graph must have one type; sources are "
            f"{kinds[0]}, targets are {kinds[1]}, ids of vertices are {kinds[2]}",
            location=user_location(),
            hint="make ids of one type with translate_graph_ids",
        )
    return found.pop() if found else pa.int64()


def records_of(graph: Graph[Any, Any, Any], columns: Columns, make: Callable[..., Any]) -> Any:
    """A DataSet with a record per row, which a function makes of the fields."""
    return data_set_of(graph.get_context(), columns).map(lambda row: make(*row))


class Configured:
    """Settings that all algorithms have."""

    _parallelism: int | None = None
    _options: LoopOptions = LoopOptions()
    _loop_result: LoopResult | None = None

    @property
    def loop_result(self) -> LoopResult | None:
        """How the loop of the last run went; None before it.

        It has the ``supersteps`` of the loop with their times. In a notebook it is a chart. Gelly has no
        such property.
        """
        return self._loop_result

    def set_parallelism(self: _Self, parallelism: int) -> _Self:
        """Set the number of tasks of the loop; without it as many as the session runs at once."""
        if parallelism != -1 and (not isinstance(parallelism, int) or parallelism < 1):
            raise PlanError(
                "GRAPH_PARALLELISM",
                f"the parallelism of an algorithm must be at least 1, got {parallelism!r}",
                location=user_location(),
                hint="-1 leaves the choice to Millstream",
            )
        self._parallelism = None if parallelism == -1 else parallelism
        return self

    def set_loop_options(self: _Self, options: LoopOptions) -> _Self:
        """Set how the loop runs: its mode, its snapshots, its restarts. Gelly has no such method."""
        self._options = options
        return self

    def _loop(
        self,
        graph: Graph[Any, Any, Any],
        program: GraphProgram,
        output: Mapping[str, pa.DataType],
        *,
        limit: int = ENDLESS,
        isolated: bool = True,
        listed: bool = False,
        values: tuple[str, ...] = (),
    ) -> LoopResult:
        """Run a program on the columns of a graph.

        Parameters
        ----------
        limit
            The most supersteps.
        isolated
            Whether vertices without edges take part.
        listed
            Whether the program wants a list of the vertices even if edges have all of them.
        values
            Whose values the program reads: ``"edges"``, ``"vertices"``.
        """
        # Ids that cannot be are an error here, and not in a task.
        ids_of(graph)
        job = LoopJob(
            type(self).__name__,
            program,
            _inputs(graph, program, isolated, listed, values),
            pa.schema(dict(output)),
            min(limit, ENDLESS),
            tasks=self._parallelism,
            options=self._options,
        )
        try:
            self._loop_result = run_loop(job)
        except MillstreamError as error:
            if error.code != "LOOP_KEY_NULL":
                raise
            raise PlanError(
                "GRAPH_ID_NULL",
                "some ids of vertices are null",
                location=job.location,
                hint="leave such vertices and edges out",
            ) from error
        return self._loop_result


def _inputs(
    graph: Graph[Any, Any, Any],
    program: GraphProgram,
    isolated: bool,
    listed: bool,
    values: tuple[str, ...],
) -> dict[str, LoopInput]:
    edges = _chosen(graph.edge_columns(), ["source", "target"], "edges" in values)
    inputs = {}
    for side in program.sides:
        inputs[side] = LoopInput(edges, key="source" if side == "out" else "target")
    with_values = "vertices" in values
    if with_values or listed or (isolated and not graph.vertices_are_ends_of_edges()):
        vertices = _chosen(graph.vertex_columns(), ["id"], with_values)
        inputs["vertices"] = LoopInput(vertices, key="id")
    return inputs


def _chosen(columns: Columns, names: list[str], with_value: bool) -> Columns:
    """Some columns, with ids of types that can be keys."""
    schema = schema_of(columns)
    if with_value:
        names = [*names, "value"]
    if not isinstance(columns, pa.Table):
        return columns.select(*names)
    table = columns.select(names)
    for place, name in enumerate(names):
        kind = schema.field(name).type
        if kind == pa.null() and name != "value":
            table = table.set_column(place, name, pa.nulls(len(table), pa.int64()))
        elif kind in (pa.large_string(), pa.string_view()) or pa.types.is_dictionary(kind):
            wanted = pa.string() if name == "value" else id_type(kind)
            table = table.set_column(place, name, table[name].cast(wanted))
    return table


def result_columns(result: LoopResult) -> Columns:
    """The rows of a loop: a table in memory, a DataFrame on Spark."""
    return result.to_arrow() if memory_tasks() is not None else result.to_dataframe()


class LibraryAlgorithm(Configured, GraphAlgorithm[Any, Any, Any, Any]):
    """An algorithm of the library, whose result is a DataSet.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library import ConnectedComponents
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (3, 4, None)])
    ...     ConnectedComponents(10).columns(graph).sort_by("id").to_pydict()
    {'id': [1, 2, 3, 4], 'value': [1, 1, 3, 3]}
    """

    RECORD: ClassVar[Callable[..., Any]]

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Run the algorithm on a graph; the result is a DataSet."""
        return records_of(input, self.columns(input), self.RECORD)

    @abstractmethod
    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm on a graph, and return its result as columns.

        They are a `pyarrow.Table` in memory, and a DataFrame on Spark. No function of Python runs per
        row, as it does for the DataSet of `run`. Gelly has no such method.
        """


class VertexAlgorithm(LibraryAlgorithm):
    """An algorithm whose result is a DataSet of vertices with new values."""

    RECORD = Vertex


class Analytic(Configured, GraphAnalytic[Any, Any, Any, Any]):
    """An analytic of the library: `run` takes the graph, `get_result` or `execute` computes.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.metric.directed import VertexMetrics
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 3, None)])
    ...     graph.run(VertexMetrics()).get_result().get_maximum_degree()
    2
    """

    def __init__(self) -> None:
        self._graph: Graph[Any, Any, Any] | None = None
        self._result: Any = None

    def run(self, input: Graph[Any, Any, Any]) -> Any:
        """Take a graph; return this analytic."""
        self._graph = input
        self._result = None
        return self

    def get_result(self) -> Any:
        """Return the result; it is computed once."""
        if self._graph is None:
            raise PlanError(
                "GRAPH_NOT_RUN",
                f"{type(self).__name__} has no graph",
                location=user_location(),
                hint="call run(graph) before get_result()",
            )
        if self._result is None:
            self._result = self._compute(self._graph)
        return self._result

    @abstractmethod
    def _compute(self, graph: Graph[Any, Any, Any]) -> Any:
        """Compute the result."""
