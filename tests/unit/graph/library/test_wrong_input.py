"""Graphs and arguments that algorithms cannot use: clear errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from millstream.common.errors import MillstreamError
from millstream.common.memory_mode import running_in_memory
from millstream.graph import Graph
from millstream.graph.library import (
    HITS,
    AdamicAdar,
    BreadthFirstSearch,
    CommunityDetection,
    CommunityDetectionLabelPropagation,
    ConnectedComponents,
    CoreNumbers,
    JaccardIndex,
    KCore,
    LabelPropagation,
    PageRank,
    PersonalizedPageRank,
    SingleSourceShortestPaths,
    Summarization,
    TriangleEnumerator,
)
from millstream.graph.library.clustering.directed import TriadicCensus
from millstream.graph.library.metric.directed import VertexMetrics

TASKS = pytest.mark.parametrize("tasks", [1, 2])


def weighted(*edges: tuple[Any, Any, Any]) -> Graph:
    columns: list[list[Any]] = [list(column) for column in zip(*edges, strict=True)]
    return Graph.from_arrow(
        pa.table(dict(zip(("source", "target", "value"), columns, strict=True)))
    )


def code_of(graph: Callable[[], Graph], algorithm: Any, tasks: int = 2) -> str:
    with running_in_memory(tasks), pytest.raises(MillstreamError) as error:
        result = graph().run(algorithm)
        result.get_result() if hasattr(result, "get_result") else result.collect()
    return error.value.code


@TASKS
def test_a_negative_cycle_has_no_shortest_paths(tasks: int) -> None:
    edges = [(1, 2, 1.0), (2, 3, -4.0), (3, 2, 1.0), (3, 4, 1.0)]
    paths = SingleSourceShortestPaths(1)
    assert code_of(lambda: weighted(*edges), paths, tasks) == "GRAPH_NEGATIVE_CYCLE"


@TASKS
def test_negative_weights_without_such_a_cycle_are_allowed(tasks: int) -> None:
    with running_in_memory(tasks):
        graph = weighted((1, 2, 5.0), (1, 3, 1.0), (2, 3, -5.0), (4, 5, -1.0), (5, 4, -1.0))
        found = sorted(graph.run(SingleSourceShortestPaths(1)).collect())
    far = SingleSourceShortestPaths.UNREACHED
    assert found == [(1, 0.0), (2, 5.0), (3, 0.0), (4, far), (5, far)]


@TASKS
@pytest.mark.parametrize("make", [SingleSourceShortestPaths, BreadthFirstSearch])
@pytest.mark.parametrize("source", [9, "1", 1.0, True, None, 1 << 70])
def test_a_source_that_is_no_vertex(tasks: int, make: Any, source: Any) -> None:
    assert code_of(lambda: weighted((1, 2, 1.0)), make(source), tasks) == "GRAPH_UNKNOWN_VERTEX"


@TASKS
@pytest.mark.parametrize("source", [9, "1", None])
def test_a_source_of_page_rank_that_is_no_vertex(tasks: int, source: Any) -> None:
    algorithm = PersonalizedPageRank([source], 0.85, 5)
    assert code_of(lambda: weighted((1, 2, 1.0)), algorithm, tasks) == "GRAPH_UNKNOWN_VERTEX"


@pytest.mark.parametrize("weight", [math.nan, -math.inf])
def test_weights_must_be_numbers(weight: float) -> None:
    paths = SingleSourceShortestPaths(1)
    assert code_of(lambda: weighted((1, 2, weight)), paths) == "GRAPH_WEIGHT_NAN"


@pytest.mark.parametrize(
    ("weight", "code"), [("far", "GRAPH_VALUE_TYPE"), (None, "GRAPH_VALUE_NULL")]
)
def test_weights_must_have_a_type(weight: Any, code: str) -> None:
    paths = SingleSourceShortestPaths(1)
    assert code_of(lambda: weighted((1, 2, weight)), paths) == code


def test_an_edge_to_a_vertex_that_is_not_there() -> None:
    def graph() -> Graph:
        edges = pa.table({"source": [1, 2], "target": [2, 7]})
        return Graph.from_arrow(pa.table({"id": [1, 2]}), edges)

    for algorithm in (ConnectedComponents(), CoreNumbers(), LabelPropagation(2)):
        assert code_of(graph, algorithm) == "GRAPH_UNKNOWN_VERTEX"


def test_a_vertex_that_is_there_twice() -> None:
    def graph() -> Graph:
        edges = pa.table({"source": [1], "target": [2]})
        return Graph.from_arrow(pa.table({"id": [1, 2, 2]}), edges)

    assert code_of(graph, ConnectedComponents()) == "GRAPH_DUPLICATE_VERTEX"


@pytest.mark.parametrize("side", ["source", "target", "id"])
def test_null_is_no_id(side: str) -> None:
    def graph() -> Graph:
        columns = {"source": [1, 2], "target": [2, 1], "id": [1, 2]}
        columns[side] = [1, None]  # type: ignore[list-item]
        edges = pa.table({name: columns[name] for name in ("source", "target")})
        return Graph.from_arrow(pa.table({"id": columns["id"]}), edges)

    assert code_of(graph, CoreNumbers()) == "GRAPH_ID_NULL"


@pytest.mark.parametrize(
    ("source", "target"),
    [([1.5], [2.5]), ([1], ["a"]), ([b"a"], [b"b"]), ([True], [False])],
)
def test_ids_have_one_type(source: list[Any], target: list[Any]) -> None:
    def graph() -> Graph:
        edges = pa.table({"source": source, "target": target})
        ids = pa.table({"id": source})
        return Graph.from_arrow(ids, edges)

    for algorithm in (ConnectedComponents(), PageRank(0.85, 5), TriadicCensus()):
        assert code_of(graph, algorithm) == "GRAPH_ID_TYPE"


def test_records_of_several_types_of_ids() -> None:
    def graph() -> Graph:
        return Graph.from_collection([(1, None), ("a", None)], [(1, "a", None)])

    assert code_of(graph, ConnectedComponents()) == "GRAPH_ID_TYPE"


def test_labels_of_communities_are_whole_numbers() -> None:
    def texts() -> Graph:
        return Graph.from_collection([(1, "a"), (2, "b")], [(1, 2, 1.0)])

    def ids() -> Graph:
        return weighted(("a", "b", 1.0))

    assert code_of(texts, CommunityDetection(3, 0.5)) == "GRAPH_VALUE_TYPE"
    assert code_of(ids, CommunityDetection(3, 0.5)) == "GRAPH_VALUE_TYPE"


WRONG: list[Callable[[], Any]] = [
    lambda: PageRank(0.0, 5),
    lambda: PageRank(1.0, 5),
    lambda: PageRank(0.85),
    lambda: PageRank(0.85, 0),
    lambda: PageRank(0.85, -1.0),
    lambda: PersonalizedPageRank([], 0.85, 5),
    lambda: PersonalizedPageRank({1: -1.0, 2: 3.0}, 0.85, 5),
    lambda: HITS(0),
    lambda: HITS(0.0),
    lambda: ConnectedComponents(0),
    lambda: LabelPropagation(1.5),  # type: ignore[arg-type]
    lambda: CommunityDetection(0, 0.5),
    lambda: CommunityDetectionLabelPropagation(True),
    lambda: SingleSourceShortestPaths(1, -1),
    lambda: JaccardIndex().set_minimum_score(2, 1),
    lambda: JaccardIndex().set_maximum_score(-1, 2),
    lambda: JaccardIndex().set_group_size(0),
    lambda: AdamicAdar().set_minimum_score(-1.0),
    lambda: AdamicAdar().set_minimum_ratio(math.nan),
    lambda: KCore(0),
]


@pytest.mark.parametrize("make", WRONG)
def test_wrong_arguments(make: Callable[[], Any]) -> None:
    with pytest.raises(MillstreamError) as error:
        make()
    assert error.value.code == "GRAPH_ARGUMENTS"


def test_a_result_before_there_is_a_graph() -> None:
    with pytest.raises(MillstreamError) as error:
        VertexMetrics().get_result()
    assert error.value.code == "GRAPH_NOT_RUN"


@TASKS
def test_empty_graphs_have_empty_results(tasks: int) -> None:
    algorithms: list[Any] = [ConnectedComponents(), PageRank(0.85, 5), HITS(5), CoreNumbers()]
    algorithms += [LabelPropagation(2), CommunityDetectionLabelPropagation(2), JaccardIndex()]
    algorithms += [AdamicAdar(), TriangleEnumerator()]
    with running_in_memory(tasks):
        for ids in (pa.int64(), pa.string(), pa.null()):
            edges = pa.table({"source": pa.array([], ids), "target": pa.array([], ids)})
            for algorithm in algorithms:
                assert Graph.from_arrow(edges).run(algorithm).collect() == []
            summary = Graph.from_arrow(edges).run(Summarization())
            assert summary.get_vertices().collect() == summary.get_edges().collect() == []


@TASKS
def test_vertices_without_edges_have_results(tasks: int) -> None:
    with running_in_memory(tasks):
        edges = pa.table({"source": pa.array([], pa.string()), "target": pa.array([], pa.string())})
        graph = Graph.from_arrow(pa.table({"id": ["a", "b"]}), edges)
        assert sorted(graph.run(ConnectedComponents()).collect()) == [("a", "a"), ("b", "b")]
        assert sorted(graph.run(BreadthFirstSearch("a")).collect())[0] == ("a", 0)
        ranks = graph.run(PageRank(0.85, 5).set_include_zero_degree_vertices(True)).collect()
        assert sorted(ranks) == [("a", 0.5), ("b", 0.5)]


def test_the_core_of_a_graph_keeps_values() -> None:
    with running_in_memory(2):
        edges = [(1, 2, "x"), (2, 3, "y"), (3, 1, "z"), (3, 4, "w")]
        core = Graph.from_collection(edges, lambda key: key * 10).run(KCore(2))
        assert sorted(core.get_vertices().collect()) == [(1, 10), (2, 20), (3, 30)]
        assert sorted(core.get_edges().collect()) == sorted(edges[:3])
