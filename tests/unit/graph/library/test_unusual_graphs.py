"""Graphs that programs seldom have: without edges, with ids at the ends of their range, with numbers
of numpy, and with values that have no type of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from millstream.common.errors import PlanError
from millstream.common.memory_mode import running_in_memory
from millstream.dataset import ExecutionEnvironment
from millstream.graph import Graph, Vertex
from millstream.graph.asm.degree.annotate.directed import EdgeSourceDegrees
from millstream.graph.asm.degree.annotate.undirected import EdgeSourceDegree, VertexDegree
from millstream.graph.asm.degree.filter.undirected import MaximumDegree
from millstream.graph.asm.simple import directed, undirected
from millstream.graph.library import (
    BreadthFirstSearch,
    CommunityDetection,
    ConnectedComponents,
    GSASingleSourceShortestPaths,
    KCore,
    LabelPropagation,
    PageRank,
    PersonalizedPageRank,
    SingleSourceShortestPaths,
)

TASKS = pytest.mark.parametrize("tasks", [1, 2, 4])

GRAPHS: list[Callable[[], Any]] = [
    lambda: KCore(1),
    lambda: MaximumDegree(3),
    lambda: directed.Simplify(),
    lambda: undirected.Simplify(False),
    lambda: undirected.Simplify(True),
    lambda: CommunityDetection(3, 0.5),
]


def elements(graph: Graph) -> tuple[list[Any], list[Any]]:
    return (
        sorted(graph.get_vertices().collect(), key=lambda vertex: vertex[0]),
        sorted(graph.get_edges().collect(), key=lambda edge: edge[:2]),
    )


@TASKS
@pytest.mark.parametrize("make", GRAPHS)
def test_algorithms_make_an_empty_graph_of_one(make: Callable[[], Any], tasks: int) -> None:
    with running_in_memory(tasks):
        assert elements(Graph.from_collection([], []).run(make())) == ([], [])


@TASKS
@pytest.mark.parametrize("key", [5, "five"])
def test_vertices_without_any_edge(key: Any, tasks: int) -> None:
    with running_in_memory(tasks):
        graph = Graph.from_collection([Vertex(key, 1)], [])
        for make in GRAPHS[1:]:
            assert elements(graph.run(make())) == ([(key, 1)], [])
        for paths in (SingleSourceShortestPaths, GSASingleSourceShortestPaths):
            assert graph.run(paths(key, 10)).collect() == [(key, 0.0)]


@TASKS
def test_ids_at_both_ends_of_their_range(tasks: int) -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    with running_in_memory(tasks):
        graph = Graph.from_collection([(low, 0, 1.0), (0, high, 1.0)])
        assert sorted(graph.run(SingleSourceShortestPaths(low, 10)).collect()) == [
            (low, 0.0),
            (0, 1.0),
            (high, 2.0),
        ]
        assert sorted(graph.run(BreadthFirstSearch(low)).collect())[2] == (high, 2)


@pytest.mark.parametrize("source", [-(1 << 63) - 1, 1 << 63, True, "1", None, 1.0])
def test_a_source_that_cannot_be_an_id(source: Any) -> None:
    with running_in_memory(2), pytest.raises(PlanError, match="GRAPH_UNKNOWN_VERTEX"):
        Graph.from_collection([(1, 2, 1.0)]).run(SingleSourceShortestPaths(source)).collect()


@TASKS
def test_numbers_and_texts_of_numpy_are_ids(tasks: int) -> None:
    pairs = np.array([[1, 2], [2, 3]])
    with running_in_memory(tasks):
        graph = Graph.from_collection([(a, b, np.float64(0.5)) for a, b in pairs])
        assert str(sorted(graph.get_edges().collect())) == "[Edge(1, 2, 0.5), Edge(2, 3, 0.5)]"
        most: Any = np.int64(10)
        paths = graph.run(SingleSourceShortestPaths(np.int64(1), most))
        assert sorted(paths.collect()) == [(1, 0.0), (2, 0.5), (3, 1.0)]
        ranks = graph.run(PersonalizedPageRank(np.array([1]), 0.85, 10)).collect()
        assert [each[0] for each in sorted(ranks)] == [1, 2, 3]
        texts = Graph.from_collection([tuple(pair) for pair in np.array([["a", "b"]])])
        assert sorted(texts.run(BreadthFirstSearch(np.str_("a"))).collect()) == [("a", 0), ("b", 1)]


def test_functions_may_return_numbers_of_numpy() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    with running_in_memory(2):
        edges = env.generate_sequence(1, 3).map(
            lambda n: (np.int64(n), np.int32(n + 1), np.float32(n))
        )
        found = Graph.from_data_set(edges, env).run(SingleSourceShortestPaths(1))
        assert sorted(found.collect()) == [(1, 0.0), (2, 1.0), (3, 3.0), (4, 6.0)]


@TASKS
@pytest.mark.parametrize("make", GRAPHS[:5])
def test_values_without_a_type_stay_what_they_are(make: Callable[[], Any], tasks: int) -> None:
    vertices = [Vertex(1, {7}), Vertex(2, "two"), Vertex(3, None), Vertex(4, (1, "x"))]
    edges = [(1, 2, {8}), (2, 1, {8}), (2, 3, {8}), (3, 2, {8}), (3, 4, {8}), (4, 3, {8})]
    kept = [] if isinstance(make(), undirected.Simplify) and make()._clip_and_flip else edges
    with running_in_memory(tasks):
        found, between = elements(Graph.from_collection(vertices, edges).run(make()))
        assert found == vertices
        if kept:
            assert between == edges
        else:
            assert {each[2] == {8} for each in between} == {True}


@TASKS
@pytest.mark.parametrize("make", [EdgeSourceDegree, EdgeSourceDegrees])
def test_values_without_a_type_beside_degrees(make: Callable[[], Any], tasks: int) -> None:
    with running_in_memory(tasks):
        graph = Graph.from_collection([(1, 2, {8}), (2, 1, "x")])
        found = sorted(graph.run(make()).collect(), key=lambda edge: edge[0])
        assert [edge[2][0] for edge in found] == [{8}, "x"]


@pytest.mark.parametrize("pair", [(1, "a"), ((1, 2), (3, 4)), (1 << 63, 1), (1.5, "a")])
@pytest.mark.parametrize("make", [*GRAPHS, VertexDegree, EdgeSourceDegrees])
def test_ids_that_cannot_be_compared(make: Callable[[], Any], pair: tuple[Any, Any]) -> None:
    with running_in_memory(2), pytest.raises(PlanError, match="GRAPH_ID_TYPE"):
        found = Graph.from_collection([Vertex(each) for each in pair], [(*pair, 1.0)]).run(make())
        found.get_vertices().collect() if hasattr(found, "get_vertices") else found.collect()


def test_columns_of_records_with_gaps() -> None:
    with running_in_memory(2):
        graph = Graph.from_collection([Vertex(1, (1, "a")), Vertex(2, None)], [(1, 2)])
        assert graph.vertex_columns()["value"].to_pylist() == [{"f0": 1, "f1": "a"}, None]


@pytest.mark.parametrize("make", [lambda: SingleSourceShortestPaths(1, 10), lambda: KCore(1)])
def test_algorithms_know_how_their_loop_went(make: Callable[[], Any]) -> None:
    with running_in_memory(2):
        algorithm: Any = make()
        before = algorithm.loop_result
        assert before is None
        Graph.from_collection([(1, 2, 1.0), (2, 3, 1.0)]).run(algorithm)
        assert algorithm.loop_result.supersteps[-1].active == 0


def test_an_empty_data_frame_has_ids_of_no_type() -> None:
    pd = pytest.importorskip("pandas")
    with running_in_memory(2):
        graph = Graph.from_pandas(pd.DataFrame({"source": [], "target": []}).astype("float64"))
        assert graph.run(ConnectedComponents(3)).collect() == []


@TASKS
@pytest.mark.parametrize("algorithm", [ConnectedComponents, LabelPropagation])
def test_labels_that_are_no_numbers(algorithm: Any, tasks: int) -> None:
    with (
        running_in_memory(tasks),
        pytest.raises(PlanError, match=r"1 of \d values of vertices are NaN"),
    ):
        graph = Graph.from_collection([Vertex(1, math.nan), Vertex(2, 2.0)], [(1, 2, 1.0)])
        graph.run(algorithm(5)).collect()


def test_wrong_numbers_are_named() -> None:
    graph = Graph.from_collection([(1, 2, 1.0)])
    damping: Any = "much"
    with pytest.raises(PlanError, match="damping_factor must be between 0 and 1, got 'much'"):
        PageRank(damping, 5)
    with running_in_memory(2), pytest.raises(PlanError, match="max_vertices must be"):
        graph.to_svg(max_vertices=-1)
