"""The runner of the jobs of environments: Spark, unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from millstream.datastream.job_client import JobClient
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions

if TYPE_CHECKING:
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["Submit", "submit_job", "submitting"]

Submit = Callable[["StreamExecutionEnvironment", JobGraph, JobOptions], JobClient]
"""Starts a job of an environment, and returns a handle on it."""

_chosen: ContextVar[Submit | None] = ContextVar("submit", default=None)


@contextmanager
def submitting(submit: Submit) -> Iterator[None]:
    """Let another function than Spark's run the jobs that start in this block."""
    token = _chosen.set(submit)
    try:
        yield
    finally:
        _chosen.reset(token)


def submit_job(env: StreamExecutionEnvironment, job: JobGraph, options: JobOptions) -> JobClient:
    """Start a job."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen(env, job, options)
    from millstream.spark.job.submit import submit

    return submit(job, options, env._spark)
