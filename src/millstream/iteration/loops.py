"""Runs loops: where a program says, or where it fits best."""

from __future__ import annotations

from millstream.common.memory_mode import memory_tasks
from millstream.iteration.kernel.body import Merged
from millstream.iteration.kernel.memory import run_in_memory
from millstream.iteration.kernel.progress import ProgressLine
from millstream.iteration.program import LoopJob
from millstream.iteration.result import LoopChoice, LoopResult, Superstep

__all__ = ["choose", "run_loop"]


def choose(job: LoopJob) -> LoopChoice:
    """How a loop is going to run, and why, without running it.

    On Spark a resident loop may still turn out to be impossible when its tasks start: they look at the
    network, and at the size of their inputs. `LoopResult.mode` says how it ran in the end.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from millstream.iteration import LoopOptions
    >>> options = LoopOptions(mode="memory")
    >>> job = LoopJob("none", None, {}, pa.schema({}), 1, options=options)
    >>> choose(job)
    LoopChoice(mode='memory', reason='asked for by the options', tasks=1)
    """
    choice = _in_memory(job)
    if choice is None:
        from millstream.iteration.spark.running import choose_on_spark

        choice = choose_on_spark(job)
    return choice


def _in_memory(job: LoopJob) -> LoopChoice | None:
    around = memory_tasks()
    if around is None and job.options.mode != "memory":
        return None
    reason = "inside of in_memory()" if around is not None else "asked for by the options"
    return LoopChoice("memory", reason, job.tasks or around or 1)


def run_loop(job: LoopJob) -> LoopResult:
    """Run a loop to its end.

    Inside of `millstream.testing.in_memory`, or with the mode "memory", it runs in this process.

    Examples
    --------
    See `millstream.iteration.LoopProgram`.
    """
    choice = _in_memory(job)
    if choice is None:
        from millstream.iteration.spark.running import run_on_spark

        return run_on_spark(job)
    supersteps: list[Superstep] = []
    line = ProgressLine(job.name, job.options.progress)

    def watch(merged: Merged, seconds: float) -> None:
        supersteps.append(Superstep(merged.step, merged.active, seconds, merged.aggregates))
        line.show(merged, seconds)

    try:
        tables, end = run_in_memory(job, choice.tasks, watch)
    finally:
        line.finish()
    return LoopResult(
        tables,
        job.output,
        choice.mode,
        choice.reason,
        supersteps,
        converged=end.finished,
        aggregates=end.aggregates,
    )
