"""Loops on Spark give what they give in memory."""

from __future__ import annotations

import os
import sys
from subprocess import run

import networkx as nx
import pytest
from pyspark.sql import SparkSession

from millstream.common.errors import PlanError, UserCodeError
from millstream.iteration import (
    LoopChoice,
    LoopInput,
    LoopJob,
    LoopMode,
    LoopOptions,
    choose,
    run_loop,
)
from millstream.iteration.spark.obstacles import NetworkBlocked
from tests.support.loops import (
    IN_MEMORY,
    LABELS,
    Counting,
    Disagreeing,
    Failing,
    SeveralExchanges,
    SmallestLabel,
    Unequal,
    Wandering,
    components_job,
    components_of,
    counting_job,
    totals_job,
    wandering_job,
)

pytestmark = pytest.mark.spark

RESIDENT = LoopOptions(mode="resident")
DRIVER = LoopOptions(mode="driver")
MEMORY: LoopMode = "memory"
# The session of the tests runs two tasks at once.
WAYS: list[tuple[LoopMode, int]] = [("resident", 1), ("resident", 2), ("driver", 1), ("driver", 4)]


@pytest.mark.parametrize(("mode", "tasks"), WAYS)
def test_components_of_a_random_graph(spark: SparkSession, mode: LoopMode, tasks: int) -> None:
    graph = nx.gnp_random_graph(60, 0.05, seed=7)
    in_memory = components_job(list(graph.nodes), list(graph.edges), tasks)
    frames = {
        name: LoopInput(spark.createDataFrame(given.data), given.key)
        for name, given in in_memory.inputs.items()
    }
    options = LoopOptions(mode=mode)
    job = LoopJob("components", SmallestLabel(), frames, LABELS, 1_000, tasks, options)
    result, expected = run_loop(job), run_loop(in_memory)
    assert components_of(result.to_arrow()) == components_of(expected.to_arrow())
    assert [(s.step, s.active, s.aggregates) for s in result.supersteps] == [
        (s.step, s.active, s.aggregates) for s in expected.supersteps
    ]
    assert (result.mode, result.reason) == (mode, "asked for by the options")
    assert result.to_dataframe().where("id = label").limit(1).count() == 1


@pytest.mark.parametrize("options", [RESIDENT, DRIVER], ids=lambda o: o.mode)
def test_the_inbox_is_as_in_memory(spark: SparkSession, options: LoopOptions) -> None:
    jobs = [counting_job(Counting(3), options=o) for o in (options, IN_MEMORY)]
    on_spark, in_memory = (run_loop(job) for job in jobs)
    assert on_spark.to_arrow().to_pylist() == in_memory.to_arrow().to_pylist()
    assert on_spark.aggregates == in_memory.aggregates
    assert on_spark.converged


@pytest.mark.parametrize(("mode", "tasks", "seed"), [("resident", 2, 1), ("driver", 2, 2)])
def test_random_programs_give_what_they_give_in_memory(
    spark: SparkSession, mode: LoopMode, tasks: int, seed: int
) -> None:
    jobs = [
        wandering_job(Wandering(seed), tasks, 5, LoopOptions(mode=each)) for each in (mode, MEMORY)
    ]
    on_spark, in_memory = (run_loop(job).to_arrow() for job in jobs)
    assert on_spark == in_memory


FOUR = """
from millstream.iteration import LoopOptions, run_loop
from tests.support.loops import *

options = LoopOptions(mode="resident", progress=True)
in_memory = LoopOptions(mode="memory")
for seed in range(3):
    found = run_loop(wandering_job(Wandering(seed), 4, 12, options))
    assert found.mode == "resident"
    assert found.to_arrow() == run_loop(wandering_job(Wandering(seed), 4, 12, in_memory)).to_arrow()
print(run_loop(totals_job(SeveralExchanges(), 4, options)).to_arrow()["total"].to_pylist())
"""


def test_four_tasks_at_once() -> None:
    """In a process of its own: the session of the tests runs two."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = run(
        [sys.executable, "-c", FOUR], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout == "[160, 160, 160, 160]\n", ended.stderr
    assert "wandering: superstep 12, " in ended.stderr


def test_a_superstep_may_have_several_exchanges(spark: SparkSession) -> None:
    totals = run_loop(totals_job(SeveralExchanges(), 2, RESIDENT)).to_arrow()["total"].to_pylist()
    assert totals == [12, 12]


@pytest.mark.parametrize("options", [RESIDENT, DRIVER], ids=lambda o: o.mode)
def test_an_error_names_the_task_the_superstep_and_the_line(
    spark: SparkSession, options: LoopOptions
) -> None:
    with pytest.raises(UserCodeError) as caught:
        run_loop(counting_job(Failing(), options=options))
    error = caught.value
    assert error.message == (
        "superstep of loop 'counting' in task 1 in superstep 3 failed: ValueError: a bad day"
    )
    assert error.location is not None
    assert error.location.code == 'raise ValueError("a bad day")'


def test_exchanges_that_do_not_match_are_an_error_and_no_deadlock(spark: SparkSession) -> None:
    with pytest.raises(PlanError, match="LOOP_EXCHANGES"):
        run_loop(totals_job(Unequal(), 2, RESIDENT))


def test_tasks_that_disagree_about_the_end_are_an_error(spark: SparkSession) -> None:
    with pytest.raises(PlanError, match=r"LOOP_DISAGREES.*after superstep 1"):
        run_loop(counting_job(Disagreeing(), options=RESIDENT))


def test_more_tasks_than_slots_run_by_the_driver(spark: SparkSession) -> None:
    job = components_job(list(range(6)), [(0, 1), (4, 5)], 3, LoopOptions())
    reason = "3 tasks would have to run at once, and Spark has 2 slots"
    assert choose(job) == LoopChoice("driver", reason, 3)
    result = run_loop(job)
    assert (result.mode, result.reason) == ("driver", reason)
    two = components_job([1], [], 2, LoopOptions())
    assert choose(two) == LoopChoice("resident", "2 tasks run at once, in 2 slots", 2)
    assert components_of(result.to_arrow()) == {0: 0, 1: 0, 2: 2, 3: 3, 4: 4, 5: 4}
    with pytest.raises(PlanError, match=r"LOOP_NOT_RESIDENT.*Spark has 2 slots"):
        run_loop(components_job([1], [], 3, RESIDENT))
    with pytest.raises(PlanError, match=r"LOOP_MESH_PROGRAM.*Spark has 2 slots"):
        run_loop(totals_job(SeveralExchanges(), 3, LoopOptions()))


def test_inputs_that_do_not_fit_run_by_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.iteration.spark.resident.limit_of", lambda session: 2_000)
    result = run_loop(components_job(list(range(100)), [(0, 1)], 2, LoopOptions()))
    assert result.mode == "driver"
    assert "has 0 MB of inputs, and may take 0 MB of memory" in result.reason
    assert components_of(result.to_arrow()) == {0: 0, 1: 0} | {n: n for n in range(2, 100)}


def test_a_blocked_network_is_no_obstacle(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocked(*_: object) -> None:
        raise NetworkBlocked("task 1 cannot reach task 0 at 192.0.2.1:5000: timed out")

    monkeypatch.setattr("millstream.iteration.spark.running.run_resident", blocked)
    result = run_loop(counting_job(Counting(2), options=LoopOptions()))
    assert (result.mode, len(result.supersteps)) == ("driver", 2)
    assert result.reason == (
        "tasks cannot reach each other: task 1 cannot reach task 0 at 192.0.2.1:5000: timed out"
    )
