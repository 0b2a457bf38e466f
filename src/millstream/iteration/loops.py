"""Runs loops: where a program says, or where it fits best."""

from __future__ import annotations

from millstream.common.memory_mode import memory_tasks
from millstream.iteration.kernel.body import Merged
from millstream.iteration.kernel.memory import run_in_memory
from millstream.iteration.kernel.progress import ProgressLine
from millstream.iteration.program import LoopJob
from millstream.iteration.result import LoopResult, Superstep

__all__ = ["run_loop"]


def run_loop(job: LoopJob) -> LoopResult:
    """Run a loop to its end.

    Inside of `millstream.testing.in_memory`, or with the mode "memory", it runs in this process.

    Examples
    --------
    See `millstream.iteration.LoopProgram`.
    """
    around = memory_tasks()
    if around is None and job.options.mode != "memory":
        from millstream.iteration.spark.running import run_on_spark

        return run_on_spark(job)
    reason = "inside of in_memory()" if around is not None else "asked for by the options"
    supersteps: list[Superstep] = []
    line = ProgressLine(job.name, job.options.progress)

    def watch(merged: Merged, seconds: float) -> None:
        supersteps.append(Superstep(merged.step, merged.active, seconds, merged.aggregates))
        line.show(merged, seconds)

    try:
        tables, end = run_in_memory(job, job.tasks or around or 1, watch)
    finally:
        line.finish()
    return LoopResult(
        tables,
        job.output,
        "memory",
        reason,
        supersteps,
        converged=end.finished,
        aggregates=end.aggregates,
    )
