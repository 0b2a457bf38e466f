"""PageRank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.graph.graph import Graph
from millstream.graph.kernel.ranks import PageRankProgram
from millstream.graph.library.base import Columns, LibraryAlgorithm, ids_of, result_columns
from millstream.graph.library.linkanalysis.limits import limits_of
from millstream.graph.library.paths import checked_source
from millstream.graph.library.results import UnaryResult
from millstream.graph.operations.sides import plain

__all__ = ["PageRank", "PageRankResult", "PersonalizedPageRank"]

Self = TypeVar("Self", bound="PageRank")


class PageRankResult(UnaryResult):
    """The score of a vertex.

    Examples
    --------
    >>> PageRankResult(7, 0.25).to_printable_string()
    'Vertex ID: 7, PageRank score: 0.25'
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "page_rank_score")
    TEXTS = ("Vertex ID", "PageRank score")


class PageRank(LibraryAlgorithm):
    """PageRank: how often somebody comes to a vertex who goes on over edges at random.

    From a vertex he goes on over one of its edges with the probability ``damping_factor``, else to any
    vertex; from a vertex without edges always to any vertex. The scores add up to 1. An iteration
    reads all edges.

    Parameters
    ----------
    damping_factor
        The probability, between 0 and 1.
    iterations
        The number of iterations; with a threshold the most. A float in its place is the threshold.
    convergence_threshold
        The algorithm ends when the scores change by this at most, all together.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.linkanalysis import PageRank
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (3, 2, None), (2, 1, None)])
    ...     for result in sorted(graph.run(PageRank(0.85, 20)).collect()):
    ...         print(result.get_vertex_id0(), round(result.get_page_rank_score(), 3))
    1 0.469
    2 0.481
    3 0.05
    """

    RECORD: ClassVar[type] = PageRankResult
    Result: ClassVar[type] = PageRankResult

    def __init__(
        self,
        damping_factor: float,
        iterations: int | float | None = None,
        convergence_threshold: float | None = None,
    ) -> None:
        number = isinstance(damping_factor, (int, float))
        if not number or not 0 < damping_factor < 1:
            raise PlanError(
                "GRAPH_ARGUMENTS",
                f"damping_factor must be between 0 and 1, got {damping_factor!r}",
                location=user_location(),
            )
        self._damping = float(damping_factor)
        self._iterations, self._threshold = limits_of(iterations, convergence_threshold)
        self._isolated = False

    def set_include_zero_degree_vertices(self: Self, include_zero_degree_vertices: bool) -> Self:
        """Set whether vertices without edges have scores; by default they have none."""
        self._isolated = include_zero_degree_vertices
        return self

    def _sources(self, graph: Graph[Any, Any, Any]) -> Mapping[Any, float] | None:
        """Where somebody goes who does not go on over an edge; None: to any vertex."""
        return None

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id`` and ``value``."""
        output = {"id": ids_of(graph), "value": pa.float64()}
        sources = self._sources(graph)
        program = PageRankProgram(self._damping, self._iterations, self._threshold, sources)
        return result_columns(self._loop(graph, program, output, isolated=self._isolated))


class PersonalizedPageRank(PageRank):
    """PageRank for some vertices: somebody who does not go on over an edge goes to one of these.

    Vertices without edges have scores. Gelly has no such algorithm.

    Parameters
    ----------
    sources
        The ids of the vertices, or a mapping from ids to their shares.
    damping_factor, iterations, convergence_threshold
        As for `PageRank`.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.linkanalysis import PersonalizedPageRank
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (2, 1, None), (3, 1, None)])
    ...     for result in sorted(graph.run(PersonalizedPageRank([1], 0.85, 50)).collect()):
    ...         print(result.get_vertex_id0(), round(result.get_page_rank_score(), 3))
    1 0.541
    2 0.459
    3 0.0
    """

    def __init__(
        self,
        sources: Iterable[Any] | Mapping[Any, float],
        damping_factor: float = 0.85,
        iterations: int | float | None = None,
        convergence_threshold: float | None = None,
    ) -> None:
        super().__init__(damping_factor, iterations, convergence_threshold)
        self._isolated = True
        shares = dict(sources) if isinstance(sources, Mapping) else dict.fromkeys(sources, 1.0)
        shares = {plain(source): share for source, share in shares.items()}
        total = float(sum(shares.values()))
        if not shares or min(shares.values()) < 0 or not 0 < total < float("inf"):
            raise PlanError(
                "GRAPH_ARGUMENTS",
                f"sources must be vertices with shares that are positive, got {dict(shares)!r}",
                location=user_location(),
            )
        self._shares = {key: share / total for key, share in shares.items()}

    def _sources(self, graph: Graph[Any, Any, Any]) -> Mapping[Any, float] | None:
        for source in self._shares:
            checked_source(graph, source)
        return self._shares
