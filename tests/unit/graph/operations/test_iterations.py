"""Iterations by methods of graphs: the values of Gelly's tests of configurations."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.dataset import ExecutionEnvironment
from millstream.dataset.aggregators import LongSumAggregator
from millstream.graph import (
    ApplyFunction,
    ComputeFunction,
    EdgeDirection,
    GatherFunction,
    Graph,
    GSAConfiguration,
    MessageCombiner,
    ScatterFunction,
    ScatterGatherConfiguration,
    SumFunction,
    VertexCentricConfiguration,
)
from millstream.testing import in_memory
from tests.support.graphs import EDGES, VERTICES

TASKS = (1, 2, 4)


def ones() -> Graph[Any, Any, Any]:
    return Graph.from_collection(VERTICES, EDGES).map_vertices(lambda vertex: 1)


def sets() -> Graph[Any, Any, Any]:
    return Graph.from_collection(VERTICES, EDGES).map_vertices(lambda vertex: set())


def result(graph: Graph[Any, Any, Any]) -> dict[Any, Any]:
    return dict(tuple(vertex) for vertex in graph.get_vertices().collect())


class Message(ScatterFunction[Any, Any, Any, Any]):
    def pre_superstep(self) -> None:
        assert sorted(self.get_broadcast_set("messagingBcastSet")) == [4, 5, 6]
        assert self.get_number_of_vertices() == 5
        if self.get_superstep_number() == 2:
            assert self.get_previous_iteration_aggregate("superstepAggregator") == 5

    def send_messages(self, vertex: Any) -> None:
        self.send_message_to_all_neighbors(vertex.get_value())


class Update(GatherFunction[Any, Any, Any]):
    def pre_superstep(self) -> None:
        assert sorted(self.get_broadcast_set("updateBcastSet")) == [1, 2, 3]
        self.aggregator = self.get_iteration_aggregator("superstepAggregator")

    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.aggregator.aggregate(self.get_superstep_number())
        self.set_new_vertex_value(vertex.get_value() + 1)


@pytest.mark.parametrize("tasks", TASKS)
def test_scatter_gather_with_configuration(tasks: int) -> None:
    env = ExecutionEnvironment.get_execution_environment()
    parameters = ScatterGatherConfiguration()
    parameters.add_broadcast_set_for_scatter_function(
        "messagingBcastSet", env.from_elements(4, 5, 6)
    )
    parameters.add_broadcast_set_for_gather_function("updateBcastSet", env.from_elements(1, 2, 3))
    parameters.register_aggregator("superstepAggregator", LongSumAggregator())
    parameters.set_opt_num_vertices(True).set_parallelism(tasks)
    with in_memory():
        found = ones().run_scatter_gather_iteration(Message(), Update(), 10, parameters)
        assert result(found) == dict.fromkeys(range(1, 6), 11)


class Default(ScatterFunction[Any, Any, Any, Any]):
    def send_messages(self, vertex: Any) -> None:
        assert self.get_number_of_vertices() == -1
        assert (self.get_in_degree(), self.get_out_degree()) == (-1, -1)
        assert self.get_direction() is EdgeDirection.OUT
        self.send_message_to_all_neighbors(vertex.get_value())


class PlusOne(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        assert (self.get_in_degree(), self.get_out_degree()) == (-1, -1)
        self.set_new_vertex_value(vertex.get_value() + 1)


def test_the_default_configuration() -> None:
    with in_memory():
        found = ones().run_scatter_gather_iteration(Default(), PlusOne(), 5)
        assert result(found) == dict.fromkeys(range(1, 6), 6)


class SendIds(ScatterFunction[Any, Any, Any, Any]):
    def send_messages(self, vertex: Any) -> None:
        self.send_message_to_all_neighbors(vertex.get_id())


class TakeIds(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        vertex.get_value().clear()
        for message in messages:
            vertex.get_value().add(message)
        self.set_new_vertex_value(vertex.get_value())


DIRECTIONS = {
    EdgeDirection.OUT: {1: {5}, 2: {1}, 3: {1, 2}, 4: {3}, 5: {3, 4}},
    EdgeDirection.IN: {1: {2, 3}, 2: {3}, 3: {4, 5}, 4: {5}, 5: {1}},
    EdgeDirection.ALL: {1: {2, 3, 5}, 2: {1, 3}, 3: {1, 2, 4, 5}, 4: {3, 5}, 5: {1, 3, 4}},
}


@pytest.mark.parametrize("direction", list(EdgeDirection))
def test_directions(direction: EdgeDirection) -> None:
    parameters = ScatterGatherConfiguration().set_direction(direction).set_parallelism(2)
    with in_memory():
        found = sets().run_scatter_gather_iteration(SendIds(), TakeIds(), 5, parameters)  # type: ignore[arg-type]
        assert result(found) == DIRECTIONS[direction]


class Degrees(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.set_new_vertex_value((self.get_in_degree(), self.get_out_degree()))


def test_degrees() -> None:
    with in_memory():
        parameters = ScatterGatherConfiguration().set_opt_degrees(True)
        found = ones().run_scatter_gather_iteration(SendIds(), Degrees(), 5, parameters)
        assert result(found) == {1: (1, 2), 2: (1, 1), 3: (2, 2), 4: (1, 1), 5: (2, 1)}


class Gather(GatherFunction[Any, Any, Any]):
    def pre_superstep(self) -> None:
        assert sorted(self.get_broadcast_set("gatherBcastSet")) == [1, 2, 3]
        assert self.get_number_of_vertices() == 5
        if self.get_superstep_number() == 2:
            assert self.get_previous_iteration_aggregate("superstepAggregator") == 7

    def gather(self, neighbor: Any) -> Any:
        return neighbor.get_neighbor_value()


class Zero(SumFunction[Any, Any, Any]):
    def pre_superstep(self) -> None:
        assert sorted(self.get_broadcast_set("sumBcastSet")) == [4, 5, 6]
        self.aggregator = self.get_iteration_aggregator("superstepAggregator")

    def sum(self, new_value: Any, current_value: Any) -> Any:
        self.aggregator.aggregate(self.get_superstep_number())
        return 0


class Apply(ApplyFunction[Any, Any, Any]):
    def pre_superstep(self) -> None:
        assert sorted(self.get_broadcast_set("applyBcastSet")) == [7, 8, 9]
        self.aggregator = self.get_iteration_aggregator("superstepAggregator")

    def apply(self, new_value: Any, current_value: Any) -> None:
        self.aggregator.aggregate(self.get_superstep_number())
        self.set_result(current_value + 1)


@pytest.mark.parametrize("tasks", TASKS)
def test_gather_sum_apply_with_configuration(tasks: int) -> None:
    env = ExecutionEnvironment.get_execution_environment()
    parameters = GSAConfiguration()
    parameters.add_broadcast_set_for_gather_function("gatherBcastSet", env.from_elements(1, 2, 3))
    parameters.add_broadcast_set_for_sum_function("sumBcastSet", env.from_elements(4, 5, 6))
    parameters.add_broadcast_set_for_apply_function("applyBcastSet", env.from_elements(7, 8, 9))
    parameters.register_aggregator("superstepAggregator", LongSumAggregator())
    parameters.set_opt_num_vertices(True).set_parallelism(tasks)
    with in_memory():
        found = ones().run_gather_sum_apply_iteration(Gather(), Zero(), Apply(), 10, parameters)
        assert result(found) == dict.fromkeys(range(1, 6), 11)


class Reachable(GatherFunction[Any, Any, Any]):
    def gather(self, neighbor: Any) -> Any:
        return neighbor.get_neighbor_value()


class Union(SumFunction[Any, Any, Any]):
    def sum(self, new_value: Any, current_value: Any) -> Any:
        current_value |= new_value
        return current_value


class Grow(ApplyFunction[Any, Any, Any]):
    def apply(self, new_value: Any, current_value: Any) -> None:
        new_value |= current_value
        if len(new_value) > len(current_value):
            self.set_result(new_value)


ALL = {1, 2, 3, 4, 5}
REACHED: dict[EdgeDirection, dict[int, set[int]]] = {
    EdgeDirection.OUT: {1: ALL, 2: {2}, 3: ALL, 4: ALL, 5: ALL},
    EdgeDirection.IN: {1: ALL - {2}, 2: ALL, 3: ALL - {2}, 4: ALL - {2}, 5: ALL - {2}},
    EdgeDirection.ALL: {1: ALL, 2: ALL, 3: ALL, 4: ALL, 5: ALL},
}


@pytest.mark.parametrize("direction", list(EdgeDirection))
def test_what_is_reached_in_a_direction(direction: EdgeDirection) -> None:
    with in_memory():
        graph = Graph.from_collection(VERTICES, EDGES[1:]).map_vertices(lambda v: {v.get_id()})
        parameters = GSAConfiguration().set_direction(direction)
        found = graph.run_gather_sum_apply_iteration(Reachable(), Union(), Grow(), 4, parameters)
        assert result(found) == REACHED[direction]


class Compute(ComputeFunction[Any, Any, Any, Any]):
    def pre_superstep(self) -> None:
        assert sorted(self.get_broadcast_set("updateBcastSet")) == [1, 2, 3]
        self.aggregator = self.get_iteration_aggregator("superstepAggregator")
        assert self.get_number_of_vertices() == 5

    def compute(self, vertex: Any, messages: Any) -> None:
        superstep = self.get_superstep_number()
        self.aggregator.aggregate(superstep)
        if superstep == 2:
            assert self.get_previous_iteration_aggregate("superstepAggregator") == 5
        self.set_new_vertex_value(vertex.get_value() + 1)
        self.send_message_to_all_neighbors(vertex.get_value())


class First(MessageCombiner[Any, Any]):
    def combine_messages(self, messages: Any) -> None:
        self.send_combined_message(next(messages))


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("combiner", [None, First()])
def test_vertex_centric_with_configuration(tasks: int, combiner: Any) -> None:
    env = ExecutionEnvironment.get_execution_environment()
    parameters = VertexCentricConfiguration()
    parameters.add_broadcast_set("updateBcastSet", env.from_elements(1, 2, 3))
    parameters.register_aggregator("superstepAggregator", LongSumAggregator())
    parameters.set_opt_num_vertices(True).set_parallelism(tasks)
    with in_memory():
        found = ones().run_vertex_centric_iteration(Compute(), combiner, 10, parameters)
        assert result(found) == dict.fromkeys(range(1, 6), 11)
        assert sorted(found.get_edges().collect()) == sorted(EDGES)


@pytest.mark.parametrize("tasks", TASKS)
def test_a_graph_knows_how_its_iteration_went(tasks: int) -> None:
    with in_memory(parallelism=tasks):
        graph = ones()
        assert graph.loop_result is None
        found = graph.run_scatter_gather_iteration(Default(), PlusOne(), 3)
        assert found.loop_result is not None
        assert found.loop_result.supersteps[-1].active == 0
        assert "<svg" in found.loop_result._repr_html_()
        assert found.map_vertices(lambda vertex: 0).loop_result is None
