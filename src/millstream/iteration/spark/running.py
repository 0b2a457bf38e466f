"""Loops on Spark: the choice of the way, and what is done when it turns out to be closed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream.common.errors import PlanError
from millstream.iteration.program import LoopJob, MeshProgram
from millstream.iteration.result import LoopResult, Superstep
from millstream.iteration.spark.driver import run_by_driver
from millstream.iteration.spark.obstacles import NetworkBlocked, StateTooLarge, obstacle, slots_of
from millstream.iteration.spark.ran import Ran
from millstream.iteration.spark.resident import run_resident
from millstream.spark.session.session import get_session
from millstream.spark.tasks.failures import readable_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_on_spark"]

ASKED = "asked for by the options"
MORE_TASKS = 4
"""How many times as many tasks a loop gets whose inputs do not fit into the memory of all at once."""


def run_on_spark(job: LoopJob) -> LoopResult:
    """Run a loop on Spark."""
    spark = session_of(job)
    slots = slots_of(spark)
    tasks = job.tasks or slots
    if job.options.mode == "driver":
        return _by_driver(spark, job, tasks, ASKED)
    why = obstacle(spark, tasks, slots)
    if why is None:
        try:
            with readable_errors():
                ran = run_resident(spark, job, tasks)
        except NetworkBlocked as error:
            why = f"tasks cannot reach each other: {error}"
        except StateTooLarge as error:
            why = str(error)
            tasks = job.tasks or slots * MORE_TASKS
        else:
            forced = job.options.mode == "resident"
            reason = ASKED if forced else f"{tasks} tasks run at once, in {slots} slots"
            return _result(job, ran, "resident", reason)
    if job.options.mode == "resident":
        raise PlanError(
            "LOOP_NOT_RESIDENT",
            f"loop {job.name!r} cannot be resident: {why}",
            location=job.location,
            hint='remove the cause, or leave out mode="resident": the driver loop gives the same result',
        )
    return _by_driver(spark, job, tasks, why)


def session_of(job: LoopJob) -> SparkSession:
    """The session of the inputs, else the active one or a new one."""
    frames = [each.data for each in job.inputs.values() if hasattr(each.data, "sparkSession")]
    given = frames[0].sparkSession if frames else None
    return get_session(given, job.tasks or os.cpu_count() or 1, {})


def _by_driver(spark: SparkSession, job: LoopJob, tasks: int, reason: str) -> LoopResult:
    if isinstance(job.program, MeshProgram):
        raise PlanError(
            "LOOP_MESH_PROGRAM",
            f"loop {job.name!r} needs tasks that exchange messages within a superstep, which a driver "
            f"loop has not; it was chosen because: {reason}",
            location=job.location,
            hint="run it where all tasks run at once and reach each other, or make it a LoopProgram",
        )
    with readable_errors():
        ran = run_by_driver(spark, job, tasks)
    return _result(job, ran, "driver", reason)


def _result(job: LoopJob, ran: Ran, mode: str, reason: str) -> LoopResult:
    steps = [Superstep(m.step, m.active, seconds, m.aggregates) for m, seconds in ran.steps]
    return LoopResult(
        ran.frame,
        job.output,
        mode,
        reason,
        steps,
        converged=ran.end.finished,
        aggregates=ran.end.aggregates,
    )
