"""Hubs and authorities."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa

from millstream.graph.graph import Graph
from millstream.graph.kernel.ranks import HitsProgram
from millstream.graph.library.base import Columns, LibraryAlgorithm, ids_of, result_columns
from millstream.graph.library.linkanalysis.limits import limits_of
from millstream.graph.library.results import UnaryResult

__all__ = ["HITS", "HitsResult"]


class HitsResult(UnaryResult):
    """The scores of a vertex as a hub and as an authority.

    Examples
    --------
    >>> HitsResult(7, 0.5, 0.0).get_authority_score()
    0.0
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "hub_score", "authority_score")
    TEXTS = ("Vertex ID", "hub score", "authority score")


class HITS(LibraryAlgorithm):
    """Hubs and authorities: a good hub leads to good authorities, and good hubs lead to a good
    authority.

    The squares of the scores of all hubs add up to 1, and those of all authorities. Vertices
    without edges have no scores. An iteration reads all edges twice.

    Parameters
    ----------
    iterations
        The number of iterations; with a threshold the most. A float in its place is the threshold.
    convergence_threshold
        The algorithm ends when the scores change by this at most, all together.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.linkanalysis import HITS
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 2, None), (3, 2, None), (3, 4, None)])
    ...     for result in sorted(graph.run(HITS(20)).collect()):
    ...         print(result[0], round(result.get_hub_score(), 2), round(result[2], 2))
    1 0.53 0.0
    2 0.0 0.85
    3 0.85 0.0
    4 0.0 0.53
    """

    RECORD: ClassVar[type] = HitsResult
    Result: ClassVar[type] = HitsResult

    def __init__(
        self,
        iterations: int | float | None = None,
        convergence_threshold: float | None = None,
    ) -> None:
        self._iterations, self._threshold = limits_of(iterations, convergence_threshold)

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id``, ``hub`` and ``authority``."""
        output = {"id": ids_of(graph), "hub": pa.float64(), "authority": pa.float64()}
        program = HitsProgram(self._iterations, self._threshold)
        return result_columns(self._loop(graph, program, output, isolated=False))
