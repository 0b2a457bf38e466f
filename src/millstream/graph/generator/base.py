"""The part that all generators share: they make columns, in memory or in the tasks of Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.graph.graph import Graph
from millstream.graph.kernel.shapes import Shape

if TYPE_CHECKING:
    from millstream.dataset import ExecutionEnvironment

__all__ = ["GraphGenerator", "checked_count", "shaped"]

Self = TypeVar("Self", bound="GraphGenerator")
Batches = Iterable[pa.RecordBatch]


class GraphGenerator(ABC):
    """A graph that a rule describes.

    Ids are whole numbers from 0; vertices and edges have no values. `generate` makes columns: no
    function of Python runs per vertex or edge. On Spark the tasks make them, each its part.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import PathGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     [edge[:2] for edge in PathGraph(env, 3).generate().get_edges().collect()]
    [(0, 1), (1, 0), (1, 2), (2, 1)]
    """

    def __init__(self, env: ExecutionEnvironment | None) -> None:
        self._env = env
        self._parallelism: int | None = None

    def set_parallelism(self: Self, parallelism: int) -> Self:
        """Set how many tasks of Spark make the graph; without it as many as Spark chooses."""
        if not isinstance(parallelism, int) or parallelism < 1:
            raise PlanError(
                "GRAPH_PARALLELISM",
                f"a generator needs a parallelism of at least 1, got {parallelism!r}",
                location=user_location(),
            )
        self._parallelism = parallelism
        return self

    @abstractmethod
    def generate(self) -> Graph[int, None, None]:
        """Make the graph."""


def checked_count(what: str, number: Any, least: int) -> int:
    """A number of an argument, which must be at least some other one.

    Examples
    --------
    >>> checked_count("vertex_count", 3, 2)
    3
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise PlanError(
            "GRAPH_GENERATOR",
            f"{what} must be a whole number of at least {least}, got {number!r}",
            location=user_location(),
        )
    return int(number)


def edge_batch(source: Any, target: Any) -> pa.RecordBatch:
    """Edges as a batch of columns.

    Examples
    --------
    >>> edge_batch(np.array([1]), np.array([2])).to_pydict()
    {'source': [1], 'target': [2]}
    """
    columns = {"source": pa.array(source, pa.int64()), "target": pa.array(target, pa.int64())}
    return pa.RecordBatch.from_pydict(columns)


def shaped(
    env: ExecutionEnvironment | None, parallelism: int | None, count: int, shape: Shape
) -> Graph[int, None, None]:
    """A graph with so many vertices and the edges of a shape."""
    if memory_tasks() is not None:
        ids = np.arange(count)
        batches = [edge_batch(*piece) for piece in shape.pieces(ids)] or [edge_batch([], [])]
        return Graph.from_arrow(pa.table({"id": ids}), pa.Table.from_batches(batches), env)
    spark = session()
    vertices = spark.range(0, count, 1, parallelism)
    edges = vertices.mapInArrow(_edges_of(shape), "source bigint, target bigint")
    return Graph.from_dataframes(vertices, edges, env)


def _edges_of(shape: Shape) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def edges(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = batch.column(0).to_numpy()
            for piece in shape.pieces(ids):
                yield edge_batch(*piece)

    return edges


def session() -> Any:
    """The session of Spark."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()
