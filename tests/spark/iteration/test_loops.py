"""Loops on Spark give what they give in memory."""

from __future__ import annotations

import networkx as nx
import pytest
from pyspark.sql import SparkSession

from millstream.common.errors import PlanError, UserCodeError
from millstream.iteration import LoopInput, LoopJob, LoopOptions, run_loop
from tests.support.loops import (
    LABELS,
    Counting,
    Disagreeing,
    Failing,
    SeveralExchanges,
    SmallestLabel,
    Unequal,
    components_job,
    components_of,
    counting_job,
    totals_job,
)

pytestmark = pytest.mark.spark

RESIDENT = LoopOptions(mode="resident")


@pytest.mark.parametrize("tasks", [1, 2])
def test_components_of_a_random_graph(spark: SparkSession, tasks: int) -> None:
    graph = nx.gnp_random_graph(150, 0.012, seed=7)
    in_memory = components_job(list(graph.nodes), list(graph.edges), tasks)
    frames = {
        name: LoopInput(spark.createDataFrame(given.data), given.key)
        for name, given in in_memory.inputs.items()
    }
    job = LoopJob("components", SmallestLabel(), frames, LABELS, 1_000, tasks, RESIDENT)
    result, expected = run_loop(job), run_loop(in_memory)
    assert components_of(result.to_arrow()) == components_of(expected.to_arrow())
    assert [(s.step, s.active, s.aggregates) for s in result.supersteps] == [
        (s.step, s.active, s.aggregates) for s in expected.supersteps
    ]
    assert result.mode == "resident"
    assert result.to_dataframe().where("id = label").limit(1).count() == 1


def test_the_inbox_is_as_in_memory(spark: SparkSession) -> None:
    jobs = [counting_job(Counting(3), options=o) for o in (RESIDENT, LoopOptions(mode="memory"))]
    on_spark, in_memory = (run_loop(job).to_arrow().to_pylist() for job in jobs)
    assert on_spark == in_memory


def test_a_superstep_may_have_several_exchanges(spark: SparkSession) -> None:
    totals = run_loop(totals_job(SeveralExchanges(), 2, RESIDENT)).to_arrow()["total"].to_pylist()
    assert totals == [12, 12]


def test_an_error_names_the_task_the_superstep_and_the_line(spark: SparkSession) -> None:
    with pytest.raises(UserCodeError) as caught:
        run_loop(counting_job(Failing(), options=RESIDENT))
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
