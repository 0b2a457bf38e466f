"""Scatter-gather and gather-sum-apply as loops: hooks, aggregates, copies of values, errors."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.graph.elements import EdgeDirection
from millstream.graph.functions.messages import (
    ApplyFunction,
    GatherFunction,
    ScatterFunction,
    SumFunction,
)
from millstream.graph.loops.two_phases import GatherSumApplyLoop, ScatterGatherLoop
from millstream.graph.loops.vertex_loop import Settings
from millstream.iteration import Aggregator, Outbox, Task
from tests.support.graphs import EDGES, VERTICES, run

TASKS = (1, 2, 4)
FAR = 10**9


class Distances(ScatterFunction[Any, Any, Any, Any]):
    def send_messages(self, vertex: Any) -> None:
        for edge in self.get_edges():
            self.send_message_to(edge.get_target(), vertex.get_value() + edge.get_value())


class Shorter(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        shortest = min(messages)
        if shortest < vertex.get_value():
            self.set_new_vertex_value(shortest)


class ToAll(ScatterFunction[Any, Any, Any, Any]):
    def send_messages(self, vertex: Any) -> None:
        self.send_message_to_all_neighbors(vertex.get_value())


class PlusOne(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.set_new_vertex_value(vertex.get_value() + 1)


class Counted(PlusOne):
    """Adds the number of the superstep to an aggregator for each vertex that it updates."""

    seen: list[Any]

    def pre_superstep(self) -> None:
        self.seen = [self.get_previous_iteration_aggregate("sum")]

    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.get_iteration_aggregator("sum").aggregate(self.get_superstep_number())
        self.set_new_vertex_value((self.get_superstep_number(), self.seen[0]))


def scatter_gather(
    scatter: Any, gather: Any, iterations: int = 10, **settings: Any
) -> ScatterGatherLoop:
    return ScatterGatherLoop(
        Settings(iterations, **settings), {"scatter": scatter, "gather": gather}
    )


@pytest.mark.parametrize("tasks", TASKS)
def test_shortest_paths(tasks: int) -> None:
    vertices = [(key, 0 if key == 1 else FAR) for key, _ in VERTICES]
    found = run(scatter_gather(Distances(), Shorter()), tasks, vertices)
    assert found == [(1, 0), (2, 12), (3, 13), (4, 47), (5, 48)]


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("ids", [str, lambda n: (n, "x"), lambda n: 2**70 + n, lambda n: n / 2])
def test_ids_are_of_any_type_that_does_not_change(tasks: int, ids: Any) -> None:
    vertices = [(ids(key), 0 if key == 1 else FAR) for key, _ in VERTICES]
    edges = [(ids(source), ids(target), value) for source, target, value in EDGES]
    found = run(scatter_gather(Distances(), Shorter()), tasks, vertices, edges)
    assert dict(found) == {ids(1): 0, ids(2): 12, ids(3): 13, ids(4): 47, ids(5): 48}


@pytest.mark.parametrize("tasks", TASKS)
def test_aggregates_of_both_halves_are_those_of_one_superstep(tasks: int) -> None:
    program = scatter_gather(ToAll(), Counted(), 3, aggregators={"sum": Aggregator.sum()})
    assert not program.fused
    # Five vertices are updated per superstep, so the sum of superstep 2 is 10.
    assert run(program, tasks) == [(key, (3, 10)) for key, _ in VERTICES]


class Hooked(ToAll):
    """Sends how often the hooks were called."""

    calls = 0

    def pre_superstep(self) -> None:
        self.calls += 1

    def send_messages(self, vertex: Any) -> None:
        self.send_message_to_all_neighbors((self.get_superstep_number(), self.calls))

    def post_superstep(self) -> None:
        self.calls += 100


class Keep(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.set_new_vertex_value(max(messages))


@pytest.mark.parametrize("tasks", TASKS)
def test_hooks_are_called_once_per_superstep_and_task(tasks: int) -> None:
    program = scatter_gather(Hooked(), Keep(), 3)
    assert run(program, tasks) == [(key, (3, 203)) for key, _ in VERTICES]


class Grow(GatherFunction[Any, Any, Any]):
    """Changes the message that it has received, and stores it."""

    def update_vertex(self, vertex: Any, messages: Any) -> None:
        first = next(messages)
        first.add(vertex.get_id())
        self.set_new_vertex_value(first)


@pytest.mark.parametrize("tasks", TASKS)
def test_a_message_that_is_changed_is_no_message_of_others(tasks: int) -> None:
    star = [(0, 1, None), (0, 2, None), (0, 3, None)]
    found = run(scatter_gather(ToAll(), Grow(), 1), tasks, [(n, {9}) for n in range(4)], star)
    assert found == [(0, {9}), (1, {1, 9}), (2, {2, 9}), (3, {3, 9})]


class Count(GatherFunction[Any, Any, Any]):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        degrees = self.get_in_degree(), self.get_out_degree()
        self.set_new_vertex_value((len(list(messages)), *degrees, self.get_number_of_vertices()))


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize(
    ("direction", "messages"),
    [(EdgeDirection.OUT, [1, 1, 2, 1, 2]), (EdgeDirection.IN, [2, 1, 2, 1, 1])],
)
def test_degrees_are_those_of_the_graph_in_any_direction(
    tasks: int, direction: EdgeDirection, messages: list[int]
) -> None:
    program = scatter_gather(
        ToAll(), Count(), 1, direction=direction, degrees=True, num_vertices=True
    )
    degrees = [(1, 2), (1, 1), (2, 2), (1, 1), (2, 1)]
    expected = [(n, *pair, 5) for n, pair in zip(messages, degrees, strict=True)]
    assert [value for _, value in run(program, tasks)] == expected


@pytest.mark.parametrize("tasks", TASKS)
def test_a_loop_edge_counts_twice_in_both_directions(tasks: int) -> None:
    program = scatter_gather(ToAll(), Count(), 1, direction=EdgeDirection.ALL, degrees=True)
    found = run(program, tasks, [(1, None), (2, None)], [(1, 1, None), (1, 2, None)])
    assert found == [(1, (3, 1, 2, -1)), (2, (1, 1, 0, -1))]


class Neighbours(GatherFunction[Any, Any, Any]):
    def gather(self, neighbor: Any) -> Any:
        return neighbor.get_neighbor_value()


class Union(SumFunction[Any, Any, Any]):
    def sum(self, new_value: Any, current_value: Any) -> Any:
        current_value |= new_value
        return current_value


class Reached(ApplyFunction[Any, Any, Any]):
    def apply(self, new_value: Any, current_value: Any) -> None:
        if new_value - current_value:
            self.set_result(new_value | current_value)


@pytest.mark.parametrize("tasks", TASKS)
def test_a_sum_may_change_its_arguments(tasks: int) -> None:
    """They are copies: the sets of the vertices themselves stay as they are."""
    functions = {"gather": Neighbours(), "sum": Union(), "apply": Reached()}
    program = GatherSumApplyLoop(Settings(4, EdgeDirection.IN), functions)
    found = run(program, tasks, [(key, {key}) for key, _ in VERTICES], EDGES[1:])
    rest = {1, 3, 4, 5}
    assert found == [(1, rest), (2, {1, 2, 3, 4, 5}), (3, rest), (4, rest), (5, rest)]


@pytest.mark.parametrize("tasks", TASKS)
def test_no_vertices_are_no_work(tasks: int) -> None:
    assert run(scatter_gather(Distances(), Shorter()), tasks, [], []) == []
    assert run(scatter_gather(Distances(), Shorter()), tasks, [(1, 0)], []) == [(1, 0)]


class Fails(Distances):
    def send_messages(self, vertex: Any) -> None:
        if vertex.get_id() == 4:
            raise ValueError("four")
        super().send_messages(vertex)


@pytest.mark.parametrize("tasks", TASKS)
def test_an_error_names_the_line_the_vertex_and_the_superstep(tasks: int) -> None:
    vertices = [(key, 0 if key == 1 else FAR) for key, _ in VERTICES]
    with pytest.raises(UserCodeError) as caught:
        run(scatter_gather(Fails(), Shorter()), tasks, vertices)
    assert caught.value.message == (
        "Fails.send_messages at vertex 4 in superstep 1 failed: ValueError: four"
    )
    assert 'raise ValueError("four")' in caught.value.user_traceback


class ToNobody(ToAll):
    def send_messages(self, vertex: Any) -> None:
        self.send_message_to(99, 1)


class Twice(ToAll):
    def send_messages(self, vertex: Any) -> None:
        self.get_edges()
        self.send_message_to_all_neighbors(1)


class SetsTwice(PlusOne):
    def update_vertex(self, vertex: Any, messages: Any) -> None:
        self.set_new_vertex_value(1)
        self.set_new_vertex_value(2)


@pytest.mark.parametrize("tasks", TASKS)
def test_wrong_graphs_are_refused(tasks: int) -> None:
    program = scatter_gather(ToAll(), PlusOne())
    for vertices, edges, code in (
        ([(1, 1), (1, 2)], [], "GRAPH_DUPLICATE_VERTEX"),
        ([(1, 1)], [(2, 1, 0)], "GRAPH_UNKNOWN_VERTEX"),
        ([(1, 1)], [(1, 2, 0)], "GRAPH_UNKNOWN_VERTEX"),
        ([([1], 1)], [], "GRAPH_BAD_ID"),
    ):
        with pytest.raises(PlanError) as caught:
            run(program, tasks, vertices, edges)
        assert caught.value.code == code
    with pytest.raises(PlanError, match="no vertex has the id 99: a message was sent to it"):
        run(scatter_gather(ToNobody(), PlusOne()), tasks)


def test_calls_that_may_come_once_come_once() -> None:
    with pytest.raises(UserCodeError, match="only once per vertex"):
        run(scatter_gather(Twice(), PlusOne()), 1)
    with pytest.raises(UserCodeError, match="may be called only once"):
        run(scatter_gather(ToAll(), SetsTwice()), 1)


@pytest.mark.parametrize("settings", [{}, {"aggregators": {"sum": Aggregator.sum()}}])
def test_a_snapshot_of_any_superstep_goes_on_to_the_same_end(settings: Any) -> None:
    gather: Any = Counted() if settings else Shorter()
    vertices = [(key, 0 if key == 1 else FAR) for key, _ in VERTICES]

    def program() -> ScatterGatherLoop:
        scatter: Any = ToAll() if settings else Distances()
        return scatter_gather(scatter, gather, 4, **settings)

    straight, resumed = Alone(program(), vertices), Alone(program(), vertices)
    for _ in range(program().supersteps()):
        straight.step()
        resumed.restart(program(), vertices)
        resumed.step()
    assert resumed.program.result() == straight.program.result()
    assert len(straight.program.values) == 5


class Alone:
    """A loop with one task, whose program can be replaced by one that goes on from its state."""

    def __init__(self, program: ScatterGatherLoop, vertices: Any) -> None:
        self.task = Task(0, 1)
        self.inbox: Any = []
        self._start(program, vertices)

    def _start(self, program: ScatterGatherLoop, vertices: Any) -> None:
        from millstream.graph.loops.running import cells

        self.program = program
        program.load(self.task, {"vertices": cells(vertices), "edges": cells(EDGES)})

    def restart(self, program: ScatterGatherLoop, vertices: Any) -> None:
        state = pickle.loads(pickle.dumps(self.program.state()))
        self._start(program, vertices)
        program.restore(self.task, state)

    def step(self) -> None:
        self.task.superstep += 1
        outbox: Outbox = self.program.superstep(self.task, self.inbox)
        self.inbox = pickle.loads(pickle.dumps(list(outbox.parts)))
        aggregators = self.program.aggregators()
        self.task.aggregates = {
            name: aggregators[name].merged([value]) for name, value in outbox.aggregates.items()
        }
