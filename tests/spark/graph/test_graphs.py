"""Graphs on Spark give what they give in memory."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.common.errors import MillstreamError
from millstream.dataset import ExecutionEnvironment
from millstream.graph import (
    ComputeFunction,
    GatherFunction,
    Graph,
    MessageCombiner,
    ScatterFunction,
    ScatterGatherConfiguration,
)
from millstream.iteration import Aggregator
from tests.support.gelly import CASES, outcome
from tests.support.strategies import scaled

pytestmark = pytest.mark.spark


# MILLSTREAM_EXAMPLES=3 runs all.
STEP = max(1, len(CASES) // scaled(26, fewest=4))


@pytest.mark.parametrize("name", list(CASES)[::STEP])
def test_operations_give_what_gelly_expects(spark: SparkSession, name: str) -> None:
    found, expected = outcome(name, ExecutionEnvironment.get_execution_environment())
    assert found == expected


def test_columns_of_values_without_a_type(spark: SparkSession) -> None:
    graph = Graph.from_collection([(1, 2), (2, 3)], lambda key: key)
    mapped = graph.map_vertices(lambda v: v.get_value() / 2 if v.get_id() > 1 else 0)
    frame = mapped.vertex_columns()
    assert dict(frame.dtypes) == {"id": "bigint", "value": "double"}
    assert sorted(map(tuple, frame.collect())) == [(1, 0.0), (2, 1.0), (3, 1.5)]


def test_columns_of_values_that_are_not_there_or_have_no_type(spark: SparkSession) -> None:
    graph = Graph.from_collection([(1, 2), (2, 3)])
    assert dict(graph.get_undirected().edge_columns().dtypes) == {
        "source": "bigint",
        "target": "bigint",
        "value": "void",
    }
    objects = graph.map_vertices(lambda v: {v.get_id()}).vertex_columns()
    assert dict(objects.dtypes)["value"] == "binary" and objects.count() == 3
    empty = Graph.from_collection([], [])
    assert empty.vertex_columns().count() == empty.edge_columns().count() == 0


def test_dataframes_there_and_back(spark: SparkSession) -> None:
    edges = spark.createDataFrame(
        [("a", "b", 1), ("b", "c", 2)], "src string, dst string, value int"
    )
    graph = Graph.from_dataframes(edges)
    assert sorted(graph.get_vertex_ids().collect()) == ["a", "b", "c"]
    assert graph.number_of_edges() == 2
    turned = graph.reverse().get_edges().collect()
    assert sorted(edge.get_target() for edge in turned) == ["a", "b"]
    assert sorted(turned) == [("b", "a", 1), ("c", "b", 2)]
    vertices, found = graph.to_dataframes()
    assert found.columns == ["source", "target", "value"] and vertices.count() == 3
    assert graph.to_pandas()[1]["value"].tolist() == [1, 2]
    assert graph.to_svg().startswith("<svg")


class Distances(ScatterFunction[Any, Any, Any, Any]):
    def send_messages(self, vertex: Any) -> None:
        if vertex.get_value() < float("inf"):
            for edge in self.get_edges():
                self.send_message_to(edge.get_target(), vertex.get_value() + edge.get_value())


class Shorter(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.get_iteration_aggregator("updates").aggregate(1)
        shortest = min(messages) + sum(self.get_broadcast_set("nothing"))
        if shortest < vertex.get_value():
            self.set_new_vertex_value(shortest)


def weighted() -> Graph[Any, Any, Any]:
    edges = [(1, 2, 12), (1, 3, 13), (2, 3, 23), (3, 4, 34), (3, 5, 35), (4, 5, 45), (5, 1, 51)]
    return Graph.from_collection(edges, lambda key: 0 if key == 1 else float("inf"))


def test_scatter_gather_with_aggregators_and_broadcast_sets(spark: SparkSession) -> None:
    env = ExecutionEnvironment.get_execution_environment()
    settings = ScatterGatherConfiguration().register_aggregator("updates", Aggregator.sum())
    settings.add_broadcast_set_for_gather_function("nothing", env.from_elements(0, 0))
    found = weighted().run_scatter_gather_iteration(Distances(), Shorter(), 10, settings)
    assert sorted(found.get_vertices().collect()) == [(1, 0), (2, 12), (3, 13), (4, 47), (5, 48)]
    assert sorted(found.vertex_columns().toPandas()["value"]) == [0, 12, 13, 47, 48]


class Smallest(ComputeFunction[Any, Any, Any, Any]):
    def compute(self, vertex: Any, messages: Any) -> None:
        smallest = min(messages, default=vertex.get_id())
        if smallest < vertex.get_value():
            self.set_new_vertex_value(smallest)
            self.send_message_to_all_neighbors(smallest)


class OnlySmallest(MessageCombiner[Any, Any]):
    def combine_messages(self, messages: Any) -> None:
        self.send_combined_message(min(messages))


def test_vertex_centric_with_texts_as_ids(spark: SparkSession) -> None:
    graph = Graph.from_collection([("b", "a"), ("c", "b"), ("y", "x")], lambda key: "~")
    found = graph.get_undirected().run_vertex_centric_iteration(Smallest(), OnlySmallest(), 9)
    labels = dict(tuple(each) for each in found.get_vertices().collect())
    assert labels == {"a": "a", "b": "a", "c": "a", "x": "x", "y": "x"}


def test_an_edge_of_an_unknown_vertex_is_an_error(spark: SparkSession) -> None:
    graph = Graph.from_collection([(1, 1)], [(1, 7, 17)])
    with pytest.raises(MillstreamError, match="no vertex has the id 7"):
        graph.in_degrees().collect()
    with pytest.raises(MillstreamError, match="no vertex has the id 7"):
        graph.run_scatter_gather_iteration(Distances(), Shorter(), 3)
