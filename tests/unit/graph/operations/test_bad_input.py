"""Unknown vertices, vertices that come twice, empty graphs, things that are no functions."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.dataset import ExecutionEnvironment
from millstream.graph import (
    DuplicateVertexIdsValidator,
    EdgeDirection,
    GatherFunction,
    Graph,
    InvalidVertexIdsValidator,
    ScatterFunction,
    Vertex,
)
from millstream.testing import in_memory

ALL = EdgeDirection.ALL


class Tell(ScatterFunction[Any, Any, Any, Any]):
    def send_messages(self, vertex: Any) -> None:
        self.send_message_to_all_neighbors(vertex.get_value())


class Take(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        pass


def invalid() -> Graph[Any, Any, Any]:
    return Graph.from_collection([(1, 1), (2, 2)], [(1, 2, 12), (1, 7, 17)])


@pytest.mark.parametrize(
    "use",
    [
        lambda g: g.in_degrees(),
        lambda g: g.get_degrees(),
        lambda g: g.group_reduce_on_edges(lambda v, edges, out: [], EdgeDirection.IN),
        lambda g: g.group_reduce_on_edges(lambda v, edges, out: [], ALL),
        lambda g: g.group_reduce_on_neighbors(lambda v, near, out: [], EdgeDirection.IN),
        lambda g: g.run_scatter_gather_iteration(Tell(), Take(), 3).get_vertices(),
    ],
)
def test_edges_of_unknown_vertices_are_errors(use: Any) -> None:
    with in_memory(), pytest.raises(MillstreamError, match="no vertex has the id 7"):
        use(invalid()).collect()


def test_validators_find_them_before() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    with in_memory():
        assert InvalidVertexIdsValidator().invalid_ids(invalid()).collect() == [7]
        assert invalid().validate(DuplicateVertexIdsValidator())
        twice = env.from_elements((1, "a"), (1, "b"))
        graph = Graph.from_data_set(twice, env.from_elements((1, 1, 0)), env)
        assert not graph.validate(DuplicateVertexIdsValidator())
        assert graph.validate(InvalidVertexIdsValidator())


def test_vertices_that_come_twice_are_errors() -> None:
    with pytest.raises(PlanError, match=r"two vertices have the id 1: Vertex\(1, 'a'\) and"):
        Graph.from_collection([(1, "a"), (2, "x"), (1, "b")], [])
    vertex = Vertex(1, "a")
    with pytest.raises(PlanError, match="GRAPH_DUPLICATE_VERTEX"):
        Graph.from_collection([vertex, vertex], [])
    frame = pd.DataFrame({"id": ["x", "y", "x"], "value": [1, 2, 3]})
    edges = pd.DataFrame({"source": ["x"], "target": ["y"]})
    with pytest.raises(PlanError, match=r"id 'x': Vertex\('x', 1\) and Vertex\('x', 3\)"):
        Graph.from_pandas(frame, edges)
    with pytest.raises(PlanError, match="GRAPH_BAD_ID"):
        Graph.from_collection([([1], "a")], [])


def test_empty_graphs() -> None:
    with in_memory(parallelism=2):
        empty = Graph.from_collection([], [])
        assert empty.number_of_vertices() == empty.number_of_edges() == 0
        assert empty.get_triplets().collect() == empty.get_degrees().collect() == []
        assert empty.vertex_columns().column_names == ["id", "value"]
        assert empty.edge_columns().num_rows == 0
        assert empty.validate(InvalidVertexIdsValidator())
        assert empty.union(empty).intersect(empty, True).get_edges().collect() == []
        assert empty.run_scatter_gather_iteration(Tell(), Take(), 3).get_vertices().collect() == []
        assert "an empty graph" in empty.to_svg()
        assert Graph.from_collection([]).get_vertices().collect() == []
        assert empty.to_networkx().number_of_nodes() == 0


def test_what_is_no_function_is_an_error() -> None:
    graph = invalid()
    for use in (graph.map_vertices, graph.map_edges, graph.filter_on_edges):
        with pytest.raises(PlanError, match="GRAPH_FUNCTION"):
            use(5)
    with pytest.raises(PlanError, match=r"GRAPH_FUNCTION.* takes 1 arguments"):
        graph.group_reduce_on_edges(lambda edges: [], ALL)
    with pytest.raises(MillstreamError, match="GRAPH_DIRECTION"):
        graph.reduce_on_edges(max, "in")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"GRAPH_FUNCTION.*scatter function must be a Scatter"):
        graph.run_scatter_gather_iteration(Take(), Take(), 3)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="GRAPH_ITERATIONS"):
        graph.run_scatter_gather_iteration(Tell(), Take(), 0)


def test_records_with_other_fields_are_errors() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    graph = Graph.from_data_set(env.from_elements(1, 2), env.from_elements((1, 2, 3)), env)
    with in_memory(), pytest.raises(PlanError, match="GRAPH_RECORDS"):
        graph.vertex_columns()


def test_errors_of_functions_name_their_line() -> None:
    with in_memory(), pytest.raises(MillstreamError, match=r"test_bad_input\.py"):
        invalid().map_vertices(lambda vertex: vertex.nothing).get_vertices().collect()
