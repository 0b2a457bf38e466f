"""Pairs of vertices that have neighbours in common."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from millstream.common._logging import accepted_without_effect
from millstream.common.errors import PlanError, user_location
from millstream.graph.graph import Graph
from millstream.graph.kernel.similar import AdamicAdarProgram, JaccardProgram, PairsProgram
from millstream.graph.library.base import Columns, LibraryAlgorithm, ids_of, result_columns
from millstream.graph.library.frames import renamed
from millstream.graph.library.results import BinaryResult

__all__ = ["AdamicAdar", "JaccardIndex"]

Self = TypeVar("Self", bound="_Similarity")


class JaccardResult(BinaryResult):
    """How many neighbours two vertices share, and how many they have together.

    Examples
    --------
    >>> JaccardResult(1, 2, 2, 4).get_jaccard_index_score()
    0.5
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "vertex_id1", "shared_neighbor_count", "distinct_neighbor_count")

    def get_jaccard_index_score(self) -> float:
        """Return the shared neighbours as a part of all."""
        return float(self[2] / self[3])

    def to_printable_string(self) -> str:
        """Return a text that says what the fields are."""
        return (
            f"Vertex IDs: ({self[0]}, {self[1]}), number of shared neighbors: {self[2]}, number of "
            f"distinct neighbors: {self[3]}, jaccard index score: {self.get_jaccard_index_score()}"
        )


class AdamicAdarResult(BinaryResult):
    """The score of two vertices.

    Examples
    --------
    >>> AdamicAdarResult(1, 2, 1.5).get_adamic_adar_score()
    1.5
    """

    __slots__ = ()

    NAMES = ("vertex_id0", "vertex_id1", "adamic_adar_score")

    def to_printable_string(self) -> str:
        """Return a text that says what the fields are."""
        return f"Vertex IDs: ({self[0]}, {self[1]}), adamic-adar score: {self[2]}"


def _at_least_zero(what: str, number: Any) -> float:
    if not number >= 0:
        raise PlanError(
            "GRAPH_ARGUMENTS",
            f"{what} must be at least 0, got {number!r}",
            location=user_location(),
        )
    return float(number)


class _Similarity(LibraryAlgorithm):
    _mirrored = False

    def set_mirror_results(self: Self, mirror_results: bool) -> Self:
        """Set whether each pair is in the result twice, in both orders; by default the smaller id is
        the first one.
        """
        self._mirrored = mirror_results
        return self

    def _pairs(
        self, graph: Graph[Any, Any, Any], program: PairsProgram, names: dict[str, pa.DataType]
    ) -> Columns:
        ids = ids_of(graph)
        output = {"id0": ids, "id1": ids, **names}
        found = result_columns(self._loop(graph, program, output, isolated=False))
        if not self._mirrored:
            return found
        order = ["id1", "id0", *names]
        if isinstance(found, pa.Table):
            return pa.concat_tables([found, renamed(found.select(order), list(output))])
        return found.unionAll(renamed(found.select(*order), list(output)))


class JaccardIndex(_Similarity):
    """The shared neighbours of two vertices as a part of all their neighbours, for all pairs that share
    some.

    Directions of edges do not matter, several edges between two vertices count as one, and edges
    from a vertex to itself do not count. The cost is the sum of the squares of the degrees.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.similarity import JaccardIndex
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 3, None), (2, 3, None), (2, 4, None)])
    ...     for result in sorted(graph.run(JaccardIndex()).collect()):
    ...         print(result, result.get_jaccard_index_score())
    (1,2,1,2) 0.5
    (3,4,1,2) 0.5
    """

    DEFAULT_GROUP_SIZE: ClassVar[int] = 64

    RECORD: ClassVar[type] = JaccardResult
    Result: ClassVar[type] = JaccardResult

    def __init__(self) -> None:
        self._lowest: tuple[int, int] | None = None
        self._highest: tuple[int, int] | None = None

    def set_group_size(self, group_size: int) -> JaccardIndex:
        """Accept Gelly's setting. It has no effect here."""
        if group_size < 1:
            raise PlanError(
                "GRAPH_ARGUMENTS",
                f"group_size must be at least 1, got {group_size!r}",
                location=user_location(),
            )
        accepted_without_effect("set_group_size", "pairs are made in pieces of a fixed size")
        return self

    def set_minimum_score(self, numerator: int, denominator: int) -> JaccardIndex:
        """Leave out pairs whose score is less than a fraction."""
        self._lowest = _fraction("minimum", numerator, denominator)
        return self

    def set_maximum_score(self, numerator: int, denominator: int) -> JaccardIndex:
        """Leave out pairs whose score is greater than a fraction."""
        self._highest = _fraction("maximum", numerator, denominator)
        return self

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id0``, ``id1``, ``shared`` and ``distinct``."""
        program = JaccardProgram(self._lowest, self._highest)
        return self._pairs(graph, program, {"shared": pa.int64(), "distinct": pa.int64()})


def _fraction(what: str, numerator: int, denominator: int) -> tuple[int, int]:
    if not 0 <= numerator <= denominator or denominator < 1:
        raise PlanError(
            "GRAPH_ARGUMENTS",
            f"the {what} score must be a fraction from 0 to 1, got {numerator}/{denominator}",
            location=user_location(),
        )
    return numerator, denominator


class AdamicAdar(_Similarity):
    """The sum of 1 / log(degree) over the shared neighbours of two vertices, for all pairs that share
    some.

    A shared neighbour with few neighbours counts more. Directions of edges do not matter, several
    edges between two vertices count as one, and edges from a vertex to itself do not count. The cost
    is the sum of the squares of the degrees.

    Examples
    --------
    >>> from millstream.graph import Graph
    >>> from millstream.graph.library.similarity import AdamicAdar
    >>> from millstream.testing import in_memory
    >>> with in_memory():
    ...     graph = Graph.from_collection([(1, 3, None), (2, 3, None), (2, 4, None)])
    ...     for result in sorted(graph.run(AdamicAdar()).collect()):
    ...         print(result[0], result[1], round(result.get_adamic_adar_score(), 4))
    1 2 1.4427
    3 4 1.4427
    """

    RECORD: ClassVar[type] = AdamicAdarResult
    Result: ClassVar[type] = AdamicAdarResult

    def __init__(self) -> None:
        self._score = 0.0
        self._ratio = 0.0

    def set_minimum_score(self, score: float) -> AdamicAdar:
        """Leave out pairs with a smaller score."""
        self._score = _at_least_zero("score", score)
        return self

    def set_minimum_ratio(self, ratio: float) -> AdamicAdar:
        """Leave out pairs whose score is less than this multiple of the average."""
        self._ratio = _at_least_zero("ratio", ratio)
        return self

    def columns(self, graph: Graph[Any, Any, Any]) -> Columns:
        """Run the algorithm, and return the columns ``id0``, ``id1`` and ``score``."""
        program = AdamicAdarProgram(self._score, self._ratio)
        return self._pairs(graph, program, {"score": pa.float64()})
