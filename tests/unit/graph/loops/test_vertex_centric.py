"""Vertex-centric iterations as loops: activity, combiners, aggregates, errors."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.graph.functions.messages import ComputeFunction, MessageCombiner
from millstream.graph.loops.vertex_centric import VertexCentricLoop
from millstream.graph.loops.vertex_loop import Settings
from millstream.iteration import Aggregator
from tests.support.graphs import EDGES, VERTICES, run

TASKS = (1, 2, 4)
FAR = 10**9


class ShortestPaths(ComputeFunction[Any, Any, Any, Any]):
    def compute(self, vertex: Any, messages: Any) -> None:
        shortest = min(messages, default=FAR)
        if vertex.get_id() == 1:
            shortest = 0
        if shortest < vertex.get_value():
            self.set_new_vertex_value(shortest)
            for edge in self.get_edges():
                self.send_message_to(edge.get_target(), shortest + edge.get_value())


class Shortest(MessageCombiner[Any, Any]):
    def combine_messages(self, messages: Any) -> None:
        self.send_combined_message(min(messages))


def loop(compute: Any, combiner: Any = None, iterations: int = 20, **settings: Any) -> Any:
    functions = {"compute": compute} | ({"combiner": combiner} if combiner else {})
    return VertexCentricLoop(Settings(iterations, **settings), functions)


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("combiner", [None, Shortest()])
def test_shortest_paths(tasks: int, combiner: Any) -> None:
    vertices = [(key, FAR) for key, _ in VERTICES]
    found = run(loop(ShortestPaths(), combiner), tasks, vertices)
    assert found == [(1, 0), (2, 12), (3, 13), (4, 47), (5, 48)]


class CountMessages(ComputeFunction[Any, Any, Any, Any]):
    """Everybody writes to vertex 1, which says how many messages it has received."""

    def compute(self, vertex: Any, messages: Any) -> None:
        if self.get_superstep_number() == 1:
            self.send_message_to(1, 1)
        else:
            self.set_new_vertex_value(list(messages))


class Sum(MessageCombiner[Any, Any]):
    def combine_messages(self, messages: Any) -> None:
        self.send_combined_message(sum(messages))


@pytest.mark.parametrize("tasks", TASKS)
def test_messages_are_combined_before_they_are_read(tasks: int) -> None:
    untouched = VERTICES[1:]
    assert run(loop(CountMessages()), tasks) == [(1, [1] * 5), *untouched]
    assert run(loop(CountMessages(), Sum()), tasks) == [(1, [5]), *untouched]


class Active(ComputeFunction[Any, Any, Any, Any]):
    """Only vertices with messages are called: 1 wakes 2 and 3, and nobody answers."""

    def compute(self, vertex: Any, messages: Any) -> None:
        self.get_iteration_aggregator("called").aggregate(1)
        previous = self.get_previous_iteration_aggregate("called")
        self.set_new_vertex_value((self.get_superstep_number(), previous))
        if vertex.get_id() == 1 and self.get_superstep_number() == 1:
            self.send_message_to_all_neighbors("wake up")


@pytest.mark.parametrize("tasks", TASKS)
def test_vertices_without_messages_rest(tasks: int) -> None:
    found = run(loop(Active(), aggregators={"called": Aggregator.sum()}), tasks)
    assert found == [(1, (1, None)), (2, (2, 5)), (3, (2, 5)), (4, (1, None)), (5, (1, None))]


class Endless(ComputeFunction[Any, Any, Any, Any]):
    def compute(self, vertex: Any, messages: Any) -> None:
        self.set_new_vertex_value(self.get_superstep_number())
        self.send_message_to_all_neighbors(0)


@pytest.mark.parametrize("tasks", TASKS)
def test_the_maximum_of_iterations_ends_the_loop(tasks: int) -> None:
    assert run(loop(Endless(), iterations=7), tasks) == [(key, 7) for key, _ in VERTICES]


class FailsLater(ComputeFunction[Any, Any, Any, Any]):
    def compute(self, vertex: Any, messages: Any) -> None:
        if self.get_superstep_number() == 2 and vertex.get_id() == "3":
            raise ValueError("three")
        self.send_message_to_all_neighbors(0)


class Ghost(ComputeFunction[Any, Any, Any, Any]):
    def compute(self, vertex: Any, messages: Any) -> None:
        self.send_message_to("ghost", 0)


@pytest.mark.parametrize("tasks", TASKS)
def test_errors_name_vertex_and_superstep(tasks: int) -> None:
    vertices = [(str(key), value) for key, value in VERTICES]
    edges = [(str(source), str(target), value) for source, target, value in EDGES]
    with pytest.raises(UserCodeError) as caught:
        run(loop(FailsLater()), tasks, vertices, edges)
    assert caught.value.message == (
        "FailsLater.compute at vertex '3' in superstep 2 failed: ValueError: three"
    )
    assert caught.value.record == "Vertex('3', 3)"
    assert (
        caught.value.location is not None
        and caught.value.location.code == 'raise ValueError("three")'
    )
    with pytest.raises(PlanError, match="no vertex has the id 'ghost'"):
        run(loop(Ghost()), tasks, vertices, edges)
