"""Random graphs with few vertices of many edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.graph.generator.base import (
    Batches,
    GraphGenerator,
    checked_count,
    edge_batch,
    session,
)
from millstream.graph.generator.random import RandomGenerableFactory
from millstream.graph.graph import Graph
from millstream.graph.kernel.chance import RMatShape

if TYPE_CHECKING:
    from millstream.dataset import ExecutionEnvironment

__all__ = ["RMatGraph"]


class RMatGraph(GraphGenerator):
    """A directed graph of the recursive matrix model (R-MAT), as social networks are: few vertices have
    many edges.

    There can be several equal edges, and edges from a vertex to itself; `Simplify` removes them. The
    vertices are the ends of edges: without edges a number is no vertex.

    The same factory, seed and numbers give the graph that Gelly makes of them.

    Parameters
    ----------
    env
        The environment.
    random_generator_factory
        The source of random numbers, such as `JDKRandomGeneratorFactory`.
    vertex_count
        Ids are less than this.
    edge_count
        The number of edges.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import JDKRandomGeneratorFactory, RMatGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     graph = RMatGraph(env, JDKRandomGeneratorFactory(), 1024, 16384).generate()
    ...     [edge[:2] for edge in graph.get_edges().first(3).collect()]
    [(513, 192), (24, 0), (80, 97)]
    """

    MINIMUM_VERTEX_COUNT: ClassVar[int] = 1
    MINIMUM_EDGE_COUNT: ClassVar[int] = 1
    DEFAULT_A: ClassVar[float] = 0.57
    DEFAULT_B: ClassVar[float] = 0.19
    DEFAULT_C: ClassVar[float] = 0.19
    DEFAULT_NOISE: ClassVar[float] = 0.10

    def __init__(
        self,
        env: ExecutionEnvironment | None,
        random_generator_factory: RandomGenerableFactory,
        vertex_count: int,
        edge_count: int,
    ) -> None:
        super().__init__(env)
        self._factory = random_generator_factory
        self._vertices = checked_count("vertex_count", vertex_count, self.MINIMUM_VERTEX_COUNT)
        self._edges = checked_count("edge_count", edge_count, self.MINIMUM_EDGE_COUNT)
        self._constants = (self.DEFAULT_A, self.DEFAULT_B, self.DEFAULT_C)
        self._noise: float | None = None

    def set_constants(self, a: float, b: float, c: float) -> RMatGraph:
        """Set how likely the next bits of source and target are 0 and 0, 0 and 1, 1 and 0.

        Three times 0.25 gives a graph in which all edges are equally likely.
        """
        if min(a, b, c) < 0 or a + b + c > 1:
            raise PlanError(
                "GRAPH_GENERATOR",
                f"a, b and c must be at least 0 and add up to 1 at most, got {a}, {b} and {c}",
                location=user_location(),
            )
        self._constants = (a, b, c)
        return self

    def set_noise(self, noise_enabled: bool, noise: float = DEFAULT_NOISE) -> RMatGraph:
        """Let the constants change at random from bit to bit, by at most half of ``noise``."""
        if not 0 <= noise <= 2:
            raise PlanError(
                "GRAPH_GENERATOR",
                f"noise must be from 0 to 2, got {noise}",
                location=user_location(),
            )
        self._noise = noise if noise_enabled else None
        return self

    def generate(self) -> Graph[int, None, None]:
        """Make the graph."""
        shape = RMatShape(self._vertices, *self._constants, self._noise)
        blocks = self._factory.get_random_generables(self._edges, shape.cycles)
        make = _edges_of(shape, type(self._factory).generator)
        columns = {"seed": pa.array([block.seed for block in blocks], pa.int64())}
        columns["edges"] = pa.array([block.element_count for block in blocks], pa.int64())
        table = pa.table(columns)
        if memory_tasks() is not None:
            return Graph.from_arrow(pa.Table.from_batches(make(table.to_batches())), self._env)
        spark = session()
        parts = min(self._parallelism or spark.sparkContext.defaultParallelism, len(blocks))
        frame = spark.createDataFrame(table).repartition(parts)
        edges = frame.mapInArrow(make, "source bigint, target bigint")
        return Graph.from_dataframes(edges, self._env)


def _edges_of(shape: RMatShape, generator: Any) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def edges(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for block in batch.to_pylist():
                for piece in shape.edges(generator(block["seed"]), block["edges"]):
                    yield edge_batch(*piece)

    return edges
