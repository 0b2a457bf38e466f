"""Gelly's tests of regular graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from millstream.common.errors import MillstreamError
from millstream.dataset import ExecutionEnvironment
from millstream.graph import Graph
from millstream.graph.generator import (
    CirculantGraph,
    CompleteGraph,
    CycleGraph,
    EchoGraph,
    EmptyGraph,
    GraphGenerator,
    GridGraph,
    HypercubeGraph,
    PathGraph,
    SingletonEdgeGraph,
    StarGraph,
)
from millstream.testing import in_memory

ENV = ExecutionEnvironment.get_execution_environment()

ECHO_10_3 = (
    "0,4; 0,5; 0,6; 1,5; 1,6; 1,7; 2,6; 2,7; 2,8; 3,7; 3,8; 3,9; 4,0; 4,8; 4,9; 5,0; 5,1; 5,9;"
    "6,0; 6,1; 6,2; 7,1; 7,2; 7,3; 8,2; 8,3; 8,4; 9,3; 9,4; 9,5"
)
# Graphs with their edges, as Gelly's tests have them.
PUBLISHED: list[tuple[GraphGenerator, int, str]] = [
    (CirculantGraph(ENV, 10).add_range(4, 3), 10, ECHO_10_3),
    (EchoGraph(ENV, 10, 3), 10, ECHO_10_3),
    (
        EchoGraph(ENV, 9, 2),
        9,
        "0,4; 0,5; 1,5; 1,6; 2,6; 2,7; 3,7; 3,8; 4,8; 4,0; 5,0; 5,1; 6,1; 6,2; 7,2; 7,3; 8,3; 8,4",
    ),
    (
        GridGraph(ENV).add_dimension(2, False).add_dimension(3, False),
        6,
        "0,1; 0,3; 1,0; 1,2; 1,4; 2,1; 2,5; 3,0; 3,4; 4,1; 4,3; 4,5; 5,2; 5,4",
    ),
    (CompleteGraph(ENV, 3), 3, "0,1; 0,2; 1,0; 1,2; 2,0; 2,1"),
    (CycleGraph(ENV, 4), 4, "0,1; 1,0; 1,2; 2,1; 2,3; 3,2; 3,0; 0,3"),
    (CycleGraph(ENV, 2), 2, "0,1; 1,0"),
    (PathGraph(ENV, 3), 3, "0,1; 1,0; 1,2; 2,1"),
    (SingletonEdgeGraph(ENV, 2), 4, "0,1; 1,0; 2,3; 3,2"),
    (StarGraph(ENV, 4), 4, "0,1; 1,0; 0,2; 2,0; 0,3; 3,0"),
    (HypercubeGraph(ENV, 2), 4, "0,1; 0,2; 1,0; 1,3; 2,0; 2,3; 3,1; 3,2"),
    (EmptyGraph(ENV, 3), 3, ""),
    (EmptyGraph(ENV, 0), 0, ""),
]


def ends(graph: Graph) -> list[tuple[int, int]]:
    edges = graph.edge_columns().to_pydict()
    return sorted(zip(edges["source"], edges["target"], strict=True))


@pytest.mark.parametrize(("generator", "count", "edges"), PUBLISHED)
def test_edges_are_those_of_gelly(generator: GraphGenerator, count: int, edges: str) -> None:
    with in_memory():
        graph = generator.generate()
        assert sorted(graph.vertex_columns()["id"].to_pylist()) == list(range(count))
        wanted = [tuple(map(int, pair.split(","))) for pair in edges.split(";") if pair.strip()]
        assert ends(graph) == sorted(wanted)
        assert graph.edge_columns()["value"].null_count == len(wanted)


def test_all_vertices_of_a_torus_have_the_same_degree() -> None:
    grid = GridGraph(ENV)
    for size in (2, 3, 5, 7):
        grid.add_dimension(size, True)
    with in_memory():
        edges = ends(grid.generate())
    assert set(Counter(a for a, _ in edges).values()) == {7}
    assert set(Counter(b for _, b in edges).values()) == {7}
    assert len(set(edges)) == len(edges) == 7 * 2 * 3 * 5 * 7


def huge_grid() -> GridGraph:
    return GridGraph(ENV).add_dimension(1 << 40, False).add_dimension(1 << 40, False)


EVEN_AND_ODD = "Vertex count or vertex degree must be an even number but not both."
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: EchoGraph(ENV, 5, 3), EVEN_AND_ODD),
    (lambda: EchoGraph(ENV, 6, 2), EVEN_AND_ODD),
    (lambda: EchoGraph(ENV, 8, 8), "Vertex degree must be less than the vertex count."),
    (lambda: CirculantGraph(ENV, 1), "vertex_count"),
    (lambda: CirculantGraph(ENV, 10).generate(), "no range"),
    (lambda: CirculantGraph(ENV, 10).add_range(0, 1), "offset"),
    (lambda: CirculantGraph(ENV, 10).add_range(8, 3), "less than the number"),
    (lambda: CirculantGraph(ENV, 10).add_range(1, 3).add_range(3, 1).generate(), "in common"),
    (lambda: GridGraph(ENV).generate(), "no dimensions"),
    (lambda: GridGraph(ENV).add_dimension(1, False), "size"),
    (
        lambda: (
            GridGraph(ENV).add_dimension(1 << 40, False).add_dimension(1 << 40, False).generate()
        ),
        "64",
    ),
    (lambda: HypercubeGraph(ENV, 0), "dimensions"),
    (lambda: HypercubeGraph(ENV, 63), "62"),
    (lambda: EmptyGraph(ENV, -1), "vertex_count"),
    (lambda: StarGraph(ENV, 2.5), "vertex_count"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "problem"), WRONG)
def test_wrong_arguments_are_errors(make: Callable[[], Any], problem: str) -> None:
    with in_memory(), pytest.raises(MillstreamError, match=problem) as error:
        make()
    assert error.value.code == "GRAPH_GENERATOR"


def test_a_parallelism_is_at_least_one() -> None:
    with pytest.raises(MillstreamError) as error:
        StarGraph(ENV, 4).set_parallelism(0)
    assert error.value.code == "GRAPH_PARALLELISM"
