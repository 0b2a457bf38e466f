"""Loops on Spark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream.common.errors import PlanError
from millstream.iteration.program import LoopJob
from millstream.iteration.result import LoopResult, Superstep
from millstream.iteration.spark.resident import NetworkBlocked, Ran, run_resident
from millstream.spark.session.session import get_session
from millstream.spark.tasks.failures import readable_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_on_spark"]


def run_on_spark(job: LoopJob) -> LoopResult:
    """Run a loop on Spark, where its inputs are."""
    spark = _session(job)
    tasks = job.tasks or max(spark.sparkContext.defaultParallelism, 1)
    with readable_errors():
        try:
            ran = run_resident(spark, job, tasks)
        except NetworkBlocked as error:
            raise PlanError("LOOP_NETWORK", str(error), location=job.location) from None
    return _result(job, ran, "resident", "all tasks run at once")


def _session(job: LoopJob) -> SparkSession:
    frames = [each.data for each in job.inputs.values() if hasattr(each.data, "sparkSession")]
    given = frames[0].sparkSession if frames else None
    return get_session(given, job.tasks or os.cpu_count() or 1, {})


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
