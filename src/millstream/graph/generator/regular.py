"""Regular graphs: circles, grids, stars."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from millstream.common.errors import PlanError, user_location
from millstream.graph.generator.base import GraphGenerator, checked_count, shaped
from millstream.graph.graph import Graph
from millstream.graph.kernel.shapes import Circulant, Grid, NoEdges, Pairs, Shape, Star

if TYPE_CHECKING:
    from millstream.dataset import ExecutionEnvironment

__all__ = [
    "CirculantGraph",
    "CompleteGraph",
    "CycleGraph",
    "EchoGraph",
    "EmptyGraph",
    "GridGraph",
    "HypercubeGraph",
    "PathGraph",
    "SingletonEdgeGraph",
    "StarGraph",
]


class _Regular(GraphGenerator):
    """A graph whose number of vertices is an argument."""

    MINIMUM_VERTEX_COUNT: ClassVar[int] = 2

    def __init__(self, env: ExecutionEnvironment | None, vertex_count: int) -> None:
        super().__init__(env)
        self._count = checked_count("vertex_count", vertex_count, self.MINIMUM_VERTEX_COUNT)

    def _shape(self) -> Shape:
        raise NotImplementedError

    def generate(self) -> Graph[int, None, None]:
        """Make the graph."""
        return shaped(self._env, self._parallelism, self._count, self._shape())


class CirculantGraph(_Regular):
    """Vertices in a circle, each with edges to those that come some places later.

    Parameters
    ----------
    env
        The environment.
    vertex_count
        The number of vertices, at least 2.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import CirculantGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     graph = CirculantGraph(env, 5).add_range(1, 2).generate()
    ...     [edge[:2] for edge in graph.get_edges().first(4).collect()]
    [(0, 1), (0, 2), (1, 2), (1, 3)]
    """

    MINIMUM_OFFSET: ClassVar[int] = 1

    def __init__(self, env: ExecutionEnvironment | None, vertex_count: int) -> None:
        super().__init__(env, vertex_count)
        self._ranges: list[tuple[int, int]] = []

    def add_range(self, offset: int, length: int) -> CirculantGraph:
        """Add edges over ``length`` distances, of which ``offset`` is the first one."""
        offset = checked_count("offset", offset, self.MINIMUM_OFFSET)
        length = checked_count("length", length, 1)
        if length > self._count - offset:
            raise PlanError(
                "GRAPH_GENERATOR",
                f"the distances from {offset} to {offset + length - 1} must be less than the number of "
                f"vertices, which is {self._count}",
                location=user_location(),
            )
        self._ranges.append((offset, length))
        return self

    def _shape(self) -> Shape:
        ranges = sorted(self._ranges)
        if not ranges:
            raise PlanError(
                "GRAPH_GENERATOR",
                "the graph has no range of distances",
                location=user_location(),
                hint="call add_range() before generate()",
            )
        for (first, length), (other, _) in pairwise(ranges):
            if first + length > other:
                raise PlanError(
                    "GRAPH_GENERATOR",
                    f"the ranges that begin at {first} and {other} have distances in common",
                    location=user_location(),
                )
        return Circulant(self._count, ranges)


class CompleteGraph(_Regular):
    """Vertices that all have edges to all others.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import CompleteGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     sorted(edge[:2] for edge in CompleteGraph(env, 3).generate().get_edges().collect())
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    """

    def _shape(self) -> Shape:
        return Circulant(self._count, [(1, self._count - 1)])


class CycleGraph(_Regular):
    """Vertices in a circle, each with edges to the next and to the last one.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import CycleGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     sorted(edge[:2] for edge in CycleGraph(env, 4).generate().get_edges().collect())[:4]
    [(0, 1), (0, 3), (1, 0), (1, 2)]
    """

    def _shape(self) -> Shape:
        return Grid([(self._count, self._count > 2)])


class EchoGraph(_Regular):
    """Vertices in a circle, each with edges to those on the other side.

    Parameters
    ----------
    env
        The environment.
    vertex_count
        The number of vertices, at least 2.
    vertex_degree
        The number of edges of each vertex. It is odd if the number of vertices is even, and even if
        that is odd.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import EchoGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     [edge[:2] for edge in EchoGraph(env, 9, 2).generate().get_edges().collect()][:4]
    [(0, 4), (0, 5), (1, 5), (1, 6)]
    """

    MINIMUM_VERTEX_DEGREE: ClassVar[int] = 1

    def __init__(
        self, env: ExecutionEnvironment | None, vertex_count: int, vertex_degree: int
    ) -> None:
        super().__init__(env, vertex_count)
        self._degree = checked_count("vertex_degree", vertex_degree, self.MINIMUM_VERTEX_DEGREE)
        if self._degree >= self._count:
            problem = "Vertex degree must be less than the vertex count."
        elif (self._count % 2 == 0) == (self._degree % 2 == 0):
            problem = "Vertex count or vertex degree must be an even number but not both."
        else:
            return
        raise PlanError(
            "GRAPH_GENERATOR",
            f"{problem} Got {self._count} vertices of degree {self._degree}.",
            location=user_location(),
        )

    def _shape(self) -> Shape:
        return Circulant(self._count, [((self._count - self._degree + 1) // 2, self._degree)])


class EmptyGraph(_Regular):
    """Vertices without edges. There may be none.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import EmptyGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     EmptyGraph(env, 3).generate().get_vertices().count()
    3
    """

    MINIMUM_VERTEX_COUNT: ClassVar[int] = 0

    def _shape(self) -> Shape:
        return NoEdges()


class GridGraph(GraphGenerator):
    """Vertices in a grid of one or more dimensions, each with edges to its neighbours.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import GridGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> grid = GridGraph(env).add_dimension(2, False).add_dimension(3, False)
    >>> with in_memory():
    ...     [edge[:2] for edge in grid.generate().get_edges().collect()][:5]
    [(0, 3), (0, 1), (1, 4), (1, 0), (1, 2)]
    """

    def __init__(self, env: ExecutionEnvironment | None) -> None:
        super().__init__(env)
        self._dimensions: list[tuple[int, bool]] = []

    def add_dimension(self, size: int, wrap_endpoints: bool) -> GridGraph:
        """Add a dimension.

        Parameters
        ----------
        size
            The number of vertices, at least 2.
        wrap_endpoints
            Whether the first and the last one are neighbours; of two they are in any case.
        """
        size = checked_count("size", size, 2)
        self._dimensions.append((size, bool(wrap_endpoints) and size > 2))
        return self

    def generate(self) -> Graph[int, None, None]:
        """Make the graph."""
        if not self._dimensions:
            raise PlanError(
                "GRAPH_GENERATOR",
                "the grid has no dimensions",
                location=user_location(),
                hint="call add_dimension() before generate()",
            )
        count = 1
        for size, _ in self._dimensions:
            count *= size
        if count >= 1 << 63:
            raise PlanError(
                "GRAPH_GENERATOR",
                f"the grid has {count} vertices: their ids are no 64-bit numbers",
                location=user_location(),
            )
        return shaped(self._env, self._parallelism, count, Grid(self._dimensions))


class HypercubeGraph(GraphGenerator):
    """A cube of some dimensions: each vertex has an edge to one other vertex per dimension.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import HypercubeGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     HypercubeGraph(env, 3).generate().get_edges().count()
    24
    """

    MINIMUM_DIMENSIONS: ClassVar[int] = 1

    def __init__(self, env: ExecutionEnvironment | None, dimensions: int) -> None:
        super().__init__(env)
        self._dimensions = checked_count("dimensions", dimensions, self.MINIMUM_DIMENSIONS)
        if self._dimensions > 62:
            raise PlanError(
                "GRAPH_GENERATOR",
                f"a cube has 62 dimensions at most, got {dimensions}",
                location=user_location(),
            )

    def generate(self) -> Graph[int, None, None]:
        """Make the graph."""
        shape = Grid([(2, False)] * self._dimensions)
        return shaped(self._env, self._parallelism, 1 << self._dimensions, shape)


class PathGraph(_Regular):
    """Vertices in a row, each with edges to the next and to the last one.

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

    def _shape(self) -> Shape:
        return Grid([(self._count, False)])


class SingletonEdgeGraph(GraphGenerator):
    """Pairs of vertices with edges to each other, and no others.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import SingletonEdgeGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     [edge[:2] for edge in SingletonEdgeGraph(env, 2).generate().get_edges().collect()]
    [(0, 1), (1, 0), (2, 3), (3, 2)]
    """

    MINIMUM_VERTEX_PAIR_COUNT: ClassVar[int] = 1

    def __init__(self, env: ExecutionEnvironment | None, vertex_pair_count: int) -> None:
        super().__init__(env)
        least = self.MINIMUM_VERTEX_PAIR_COUNT
        self._pairs = checked_count("vertex_pair_count", vertex_pair_count, least)

    def generate(self) -> Graph[int, None, None]:
        """Make the graph."""
        return shaped(self._env, self._parallelism, 2 * self._pairs, Pairs())


class StarGraph(_Regular):
    """A vertex 0 with edges to and from all others.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> from millstream.graph.generator import StarGraph
    >>> from millstream.testing import in_memory
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> with in_memory():
    ...     [edge[:2] for edge in StarGraph(env, 3).generate().get_edges().collect()]
    [(0, 1), (1, 0), (0, 2), (2, 0)]
    """

    def _shape(self) -> Shape:
        return Star()
