"""Graphs: creation, columns, and what `run` calls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millstream.common.errors import PlanError
from millstream.graph import Graph, GraphAlgorithm, GraphAnalytic
from millstream.testing import in_memory


def columns(graph: Graph[Any, Any, Any]) -> tuple[Any, Any]:
    with in_memory():
        return graph.vertex_columns(), graph.edge_columns()


def test_columns_make_a_graph() -> None:
    edges = pa.table({"source": [1, 2], "target": [2, 3], "value": [0.5, 1.5]})
    vertices = pa.table({"value": ["a", "b", "c"], "id": [1, 2, 3], "other": [0, 0, 0]})
    found = columns(Graph.from_arrow(vertices, edges))
    assert found[0].to_pydict() == {"id": [1, 2, 3], "value": ["a", "b", "c"]}
    assert found[1].equals(edges)


def test_without_vertices_they_are_the_ends_of_edges() -> None:
    vertices, edges = columns(Graph.from_arrow(pa.table({"src": ["a", "a"], "dst": ["b", "a"]})))
    assert sorted(vertices.to_pylist(), key=str) == [
        {"id": "a", "value": None},
        {"id": "b", "value": None},
    ]
    assert edges.column_names == ["source", "target", "value"]


def test_columns_stay_columns_where_edges_are_only_turned() -> None:
    table = pa.table(
        {"source": pa.array([1, 2], pa.int32()), "target": [2, 3], "value": ["a", "b"]}
    )
    graph = Graph.from_arrow(table)
    assert columns(graph.reverse())[1].to_pydict() == {
        "source": [2, 3],
        "target": [1, 2],
        "value": ["a", "b"],
    }
    both = columns(graph.get_undirected())[1]
    assert both["source"].to_pylist() == [1, 2, 2, 3] and both["source"].type == pa.int64()
    assert both["target"].to_pylist() == [2, 3, 1, 2]
    assert graph.get_undirected().reverse().vertices_are_ends_of_edges()


def test_missing_columns_are_an_error() -> None:
    with pytest.raises(PlanError, match=r"GRAPH_COLUMNS.*needs columns source, target, value"):
        Graph.from_arrow(pa.table({"source": [1]}))
    with pytest.raises(PlanError, match="GRAPH_ARGUMENTS"):
        Graph.from_arrow()


def test_algorithms_and_analytics_run() -> None:
    class Rows(GraphAlgorithm[Any, Any, Any, Any]):
        def run(self, input: Any) -> Any:
            return input.edge_columns().num_rows

    class CountRows(GraphAnalytic[Any, Any, Any, int]):
        def run(self, input: Any) -> Any:
            self.found = input.edge_columns().num_rows
            return self

        def get_result(self) -> int:
            return int(self.found)

    graph = Graph.from_arrow(pa.table({"source": [1], "target": [2]}))
    with in_memory():
        assert graph.run(Rows()) == 1
        assert graph.run(CountRows()).get_result() == 1
        assert graph.run(CountRows()).execute() == 1
