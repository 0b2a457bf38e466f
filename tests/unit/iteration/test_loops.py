"""Loops in memory: the order of messages, aggregates, and how a loop ends."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError, UserCodeError
from millstream.iteration import Aggregator, LoopInput, LoopJob, LoopOptions, Outbox, Task, run_loop
from millstream.testing import in_memory
from tests.support.loops import (
    COUNTS,
    IN_MEMORY,
    TOTALS,
    Counting,
    Disagreeing,
    Failing,
    SeveralExchanges,
    Unequal,
    components_job,
    components_of,
    counting_job,
    totals_job,
)
from tests.support.strategies import examples

GRAPHS = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.just(list(range(n))),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40),
    )
)


@examples(60)
@given(GRAPHS, st.sampled_from([1, 2, 3, 4]))
def test_components_are_those_of_networkx(
    graph: tuple[list[int], list[tuple[int, int]]], tasks: int
) -> None:
    ids, edges = graph
    oracle = nx.Graph()
    oracle.add_nodes_from(ids)
    oracle.add_edges_from(edges)
    expected = {v: min(part) for part in nx.connected_components(oracle) for v in part}
    assert components_of(run_loop(components_job(ids, edges, tasks)).to_arrow()) == expected


def test_an_empty_graph_has_no_components() -> None:
    result = run_loop(components_job([], [], 3))
    assert result.to_arrow().num_rows == 0
    assert result.to_arrow().schema.names == ["id", "label"]
    assert result.converged


def test_the_inbox_has_one_entry_per_task_in_their_order() -> None:
    result = run_loop(counting_job(Counting(until=3), tasks=3)).to_arrow().to_pylist()
    for row in result:
        own = row["task"]
        assert row["seen"] == repr(
            [[], *([(sender, step, own) for sender in range(3)] for step in (1, 2))]
        )


def test_supersteps_are_reported() -> None:
    result = run_loop(counting_job(Counting(until=3), tasks=3))
    assert [(s.step, s.active, s.aggregates) for s in result.supersteps] == [
        (1, 3, {"steps": 3}),
        (2, 3, {"steps": 3}),
        (3, 0, {"steps": 3}),
    ]
    assert all(step.seconds >= 0 for step in result.supersteps)
    assert (result.mode, result.reason) == ("memory", "asked for by the options")
    assert result.aggregates == {"steps": 3}
    assert result.converged


def test_a_loop_that_does_not_converge_ends_all_the_same() -> None:
    result = run_loop(counting_job(Counting(until=1_000), max_supersteps=7))
    assert len(result.supersteps) == 7
    assert not result.converged


def test_inside_of_in_memory_its_number_of_tasks_counts() -> None:
    job = LoopJob("counting", Counting(2), {}, COUNTS, 20)
    with in_memory(parallelism=3):
        result = run_loop(job)
    assert result.to_arrow()["task"].to_pylist() == [0, 1, 2]
    assert (result.mode, result.reason) == ("memory", "inside of in_memory()")


def test_the_program_that_was_given_is_not_changed() -> None:
    program = Counting(2)
    run_loop(counting_job(program))
    assert vars(program) == {"until": 2}


class _Aggregating(Counting):
    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        self.seen.append(dict(task.aggregates))
        values: dict[str, Any] = {
            "sum": np.array([task.index, 1]),
            "min": task.index,
            "max": task.index,
            "any": task.index == 1,
            "all": task.index != 1,
            "own": str(task.index),
        }
        return Outbox([], values if task.superstep == 1 else {}, task.superstep < 3)

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {
            "sum": Aggregator.sum(),
            "min": Aggregator.min(),
            "max": Aggregator.max(),
            "any": Aggregator.any(),
            "all": Aggregator.all(),
            "own": Aggregator("|", lambda left, right: left + right),
        }

    def result(self) -> pa.Table:
        for each in self.seen:
            each["sum"] = np.array(each["sum"]).tolist()
        return super().result()


def test_aggregates_are_read_in_the_next_superstep_and_made_again_in_each() -> None:
    none = {"sum": 0, "min": None, "max": None, "any": False, "all": True, "own": "|"}
    first = {"sum": [3, 3], "min": 0, "max": 2, "any": True, "all": False, "own": "|012"}
    rows = run_loop(counting_job(_Aggregating(), tasks=3)).to_arrow().to_pylist()
    assert {row["seen"] for row in rows} == {repr([none, first, none])}


class _Reusing(Counting):
    """Sends one buffer again and again, and changes it after it has sent it."""

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        super().load(task, inputs)
        self.buffer = np.zeros(2, np.int64)

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        self.seen.append([part["n"].tolist() for part in inbox])
        for part in inbox:
            part["n"][:] = -1
        self.buffer += 1
        return Outbox([{"n": self.buffer}] * task.count, active=task.superstep < 4)

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {}


def test_tasks_share_no_arrays() -> None:
    rows = run_loop(counting_job(_Reusing(), tasks=2)).to_arrow().to_pylist()
    expected = [[], *([[n, n]] * 2 for n in (1, 2, 3))]
    assert {row["seen"] for row in rows} == {repr(expected)}


class _Inputs(Counting):
    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        super().load(task, inputs)
        own = inputs["keyed"]["name"]
        assert (task.owner_of(own) == task.index).all()
        self.seen = [sorted(own.to_pylist()), task.broadcast("all")["n"].to_pylist()]
        self.spread = inputs["spread"]["n"].to_pylist()

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        return Outbox()

    def result(self) -> pa.Table:
        return pa.table({"task": self.spread, "seen": [repr(self.seen)] * len(self.spread)})


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_inputs_go_to_the_owners_of_their_keys(tasks: int) -> None:
    names = [f"name {n}" for n in range(50)]
    inputs = {
        "keyed": LoopInput(pa.table({"name": names}), key="name"),
        "all": LoopInput(pa.table({"n": [1, 2]}), broadcast=True),
        "spread": LoopInput(pa.table({"n": list(range(8))})),
    }
    job = LoopJob("inputs", _Inputs(), inputs, COUNTS, 3, tasks, IN_MEMORY)
    rows = run_loop(job).to_arrow().to_pylist()
    assert sorted(row["task"] for row in rows) == list(range(8))
    found = [eval(seen) for seen in dict.fromkeys(row["seen"] for row in rows)]
    assert sorted(name for keyed, _ in found for name in keyed) == sorted(names)
    assert all(everyone == [1, 2] for _, everyone in found)


def test_an_error_names_the_task_the_superstep_and_the_line() -> None:
    with pytest.raises(UserCodeError) as caught:
        run_loop(counting_job(Failing(), tasks=3))
    error = caught.value
    assert error.message == (
        "superstep of loop 'counting' in task 1 in superstep 3 failed: ValueError: a bad day"
    )
    assert error.location is not None
    assert error.location.code == 'raise ValueError("a bad day")'


class _FailingToLoad(Counting):
    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        raise ValueError("no")


def test_an_error_of_load_names_the_task() -> None:
    with pytest.raises(UserCodeError, match="load of loop 'counting' in task 0 failed: ValueError"):
        run_loop(counting_job(_FailingToLoad()))


class _Returning(Counting):
    def __init__(self, what: Any) -> None:
        super().__init__()
        self.what = what

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        return self.what  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        (None, "it is None"),
        (Outbox([1]), "it has 1 parts for 2 tasks"),
        (Outbox([], {"unknown": 1}), r"aggregators\(\) does not have unknown"),
    ],
)
def test_a_wrong_outbox_is_refused(what: Any, problem: str) -> None:
    with pytest.raises(PlanError, match=f"LOOP_OUTBOX.*superstep 1 of task 0.*{problem}"):
        run_loop(counting_job(_Returning(what)))


def test_tasks_that_disagree_about_the_end_are_an_error() -> None:
    with pytest.raises(PlanError, match=r"LOOP_DISAGREES.*after superstep 1"):
        run_loop(counting_job(Disagreeing()))


class _WithoutColumn(Counting):
    def result(self) -> pa.Table:
        return pa.table({"task": [1]})


class _WithOtherType(Counting):
    def result(self) -> pa.Table:
        return pa.table({"task": ["x"], "seen": ["y"]})


class _NoTable(Counting):
    def result(self) -> pa.Table:
        return None


@pytest.mark.parametrize("program", [_WithoutColumn(), _WithOtherType(), _NoTable()])
def test_a_result_must_have_the_columns_that_were_promised(program: Counting) -> None:
    with pytest.raises(PlanError, match=r"LOOP_RESULT.*\(task int64, seen string\)"):
        run_loop(counting_job(program))


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_a_superstep_may_have_several_exchanges(tasks: int) -> None:
    totals = run_loop(totals_job(SeveralExchanges(), tasks)).to_arrow()["total"].to_pylist()
    first = sum(range(1, tasks + 1))
    assert totals == [first * tasks * tasks] * tasks


def test_exchanges_that_do_not_match_are_an_error_and_no_deadlock() -> None:
    with pytest.raises(PlanError, match="LOOP_EXCHANGES"):
        run_loop(totals_job(Unequal(), 3))


class _FailingInExchange(SeveralExchanges):
    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        task.exchange([])
        if task.index == 1:
            raise ValueError("alone")
        try:
            task.exchange([])
        except Exception:
            raise ValueError("must not be seen") from None
        return Outbox()


def test_a_failure_ends_tasks_that_wait_in_an_exchange() -> None:
    before = threading.active_count()
    with pytest.raises(UserCodeError, match="in task 1 in superstep 1 failed: ValueError: alone"):
        run_loop(totals_job(_FailingInExchange(), 3))
    assert threading.active_count() == before


class _ExchangingByMistake(Counting):
    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        task.exchange([])
        return Outbox()


def test_other_programs_have_no_exchange() -> None:
    with pytest.raises(PlanError, match="LOOP_NO_EXCHANGE"):
        run_loop(counting_job(_ExchangingByMistake()))


@pytest.mark.parametrize(("steps", "tasks"), [(0, 1), (1, 0), (-1, None)])
def test_a_loop_has_at_least_one_superstep_and_one_task(steps: int, tasks: int | None) -> None:
    with pytest.raises(PlanError, match=r"LOOP_SIZE.*at least 1") as caught:
        LoopJob("small", Counting(), {}, TOTALS, steps, tasks)
    assert caught.value.location is not None


def test_an_input_in_memory_is_a_table() -> None:
    job = LoopJob("x", Counting(), {"a": LoopInput([1], key="id")}, COUNTS, 1, 2, IN_MEMORY)
    with pytest.raises(PlanError, match=r"LOOP_INPUT.*input 'a' of loop 'x' is a list"):
        run_loop(job)


def test_a_result_in_memory_is_no_dataframe() -> None:
    with pytest.raises(PlanError, match="LOOP_NO_SPARK"):
        run_loop(counting_job(Counting(), options=LoopOptions(mode="memory"))).to_dataframe()
