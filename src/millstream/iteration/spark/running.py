"""Loops on Spark: the choice of the way, and what is done when it turns out to be closed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream.common.errors import CheckpointError, PlanError
from millstream.iteration.kernel.progress import Hearer, ProgressLine
from millstream.iteration.kernel.snapshots import Snapshot
from millstream.iteration.program import LoopJob, MeshProgram
from millstream.iteration.result import LoopChoice, LoopResult, Superstep
from millstream.iteration.spark.attempts import Attempts
from millstream.iteration.spark.driver import run_by_driver
from millstream.iteration.spark.obstacles import (
    CONNECT_TASKS,
    NetworkBlocked,
    StateTooLarge,
    is_connect,
    obstacle,
    slots_of,
)
from millstream.iteration.spark.ran import Ran
from millstream.iteration.spark.resident import run_resident
from millstream.spark.session.session import get_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["choose_on_spark", "run_on_spark"]

SETTINGS = {"spark.sql.execution.arrow.maxBytesPerBatch": str(256 << 20)}
"""Cells of inputs and states are large: 65,536 of them would not fit into a batch of Arrow."""

ASKED = "asked for by the options"
MORE_TASKS = 4
"""How many times as many tasks a loop gets whose inputs do not fit into the memory of all at once."""


def choose_on_spark(
    job: LoopJob, spark: SparkSession | None = None, snapshot: Snapshot | None = None
) -> LoopChoice:
    """How a loop would run on Spark, as far as the driver can tell.

    The tasks may still find that they cannot reach each other, or that their inputs are too large.
    """
    spark = spark or session_of(job)
    slots = CONNECT_TASKS if is_connect(spark) else slots_of(spark)
    tasks = _tasks(job, snapshot, slots)
    if job.options.mode == "driver":
        return LoopChoice("driver", ASKED, tasks)
    why = obstacle(spark, tasks, slots)
    if job.options.mode == "resident":
        if why is not None:
            raise _not_resident(job, why)
        return LoopChoice("resident", ASKED, tasks)
    if why is not None:
        return LoopChoice("driver", why, tasks)
    return LoopChoice("resident", f"{tasks} tasks run at once, in {slots} slots", tasks)


def run_on_spark(job: LoopJob) -> LoopResult:
    """Run a loop on Spark."""
    attempts = Attempts(job)
    spark = session_of(job)
    choice = choose_on_spark(job, spark, attempts.first)
    tasks = choice.tasks
    if choice.mode == "driver":
        return _by_driver(spark, attempts, tasks, choice.reason)
    try:
        ran = _run_resident(spark, attempts, tasks)
    except NetworkBlocked as error:
        why = f"tasks cannot reach each other: {error}"
    except StateTooLarge as error:
        why = str(error)
        tasks = tasks if job.tasks or attempts.first else tasks * MORE_TASKS
    else:
        return _result(attempts, ran, "resident", choice.reason)
    if job.options.mode == "resident":
        raise _not_resident(job, why)
    return _by_driver(spark, attempts, tasks, why)


def _not_resident(job: LoopJob, why: str) -> PlanError:
    return PlanError(
        "LOOP_NOT_RESIDENT",
        f"loop {job.name!r} cannot be resident: {why}",
        location=job.location,
        hint='remove the cause, or leave out mode="resident": the driver loop gives the same result',
    )


def _tasks(job: LoopJob, snapshot: Snapshot | None, slots: int) -> int:
    """How many tasks a loop has: those of its snapshot, whose parts are by task."""
    if snapshot is None:
        return job.tasks or slots
    if job.tasks is not None and job.tasks != snapshot.tasks:
        raise CheckpointError(
            "LOOP_SNAPSHOT_TASKS",
            f"loop {job.name!r} was to go on with {job.tasks} tasks from a snapshot of {snapshot.tasks}",
            location=job.location,
            hint="give it as many tasks as before, or delete the snapshot to start from the beginning",
        )
    return snapshot.tasks


def session_of(job: LoopJob) -> SparkSession:
    """The session of the inputs, else the active one or a new one."""
    frames = [each.data for each in job.inputs.values() if hasattr(each.data, "sparkSession")]
    given: SparkSession | None = frames[0].sparkSession if frames else None
    if given is not None and is_connect(given):
        return given
    return get_session(given, job.tasks or os.cpu_count() or 1, SETTINGS)


def _run_resident(spark: SparkSession, attempts: Attempts, tasks: int) -> Ran:
    job = attempts.job
    line = ProgressLine(job.name, job.options.progress)

    def start(snapshot: Snapshot | None) -> Ran:
        with Hearer(host, line) as hearer:
            return run_resident(spark, job, tasks, attempts.snapshots, snapshot, hearer.address)

    host = str(spark.sparkContext.getConf().get("spark.driver.host", "127.0.0.1"))
    try:
        ran = attempts.run(start)
        # The task has not told of each superstep.
        line.show(*ran.steps[-1])
        return ran
    finally:
        line.finish()


def _by_driver(spark: SparkSession, attempts: Attempts, tasks: int, reason: str) -> LoopResult:
    job = attempts.job
    if isinstance(job.program, MeshProgram):
        raise PlanError(
            "LOOP_MESH_PROGRAM",
            f"loop {job.name!r} needs tasks that exchange messages within a superstep, which a driver "
            f"loop has not; it was chosen because: {reason}",
            location=job.location,
            hint="run it where all tasks run at once and reach each other, or make it a LoopProgram",
        )
    line = ProgressLine(job.name, job.options.progress)
    try:
        ran = attempts.run(
            lambda start: run_by_driver(spark, job, tasks, attempts.snapshots, start, line.show)
        )
    finally:
        line.finish()
    return _result(attempts, ran, "driver", reason)


def _result(attempts: Attempts, ran: Ran, mode: str, reason: str) -> LoopResult:
    steps = [Superstep(m.step, m.active, seconds, m.aggregates) for m, seconds in ran.steps]
    return LoopResult(
        ran.frame,
        attempts.job.output,
        mode,
        reason,
        steps,
        converged=ran.end.finished,
        aggregates=ran.end.aggregates,
        restarts=attempts.restarts,
        resumed_from=attempts.resumed_from,
    )
