"""Programs whose own calls start jobs, run in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NoReturn

from millstream.common.errors import CheckpointError, PlanError, user_location
from millstream.common.job import JobExecutionResult, JobID, JobStatus
from millstream.common.memory_mode import running_in_memory
from millstream.common.types import Row
from millstream.connectors.memory_tables import MemoryTables, using_tables
from millstream.datastream.environment.submitting import submitting
from millstream.datastream.job_client import JobClient
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.metrics import JobMetrics
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions
from millstream.plan.work_place import local_place
from millstream.testing.programs import scheduled
from millstream.testing.results import Checkpoint, Results
from millstream.testing.runner import Settings, execute_job
from millstream.testing.schedules import Schedule

__all__ = ["in_memory"]


@contextmanager
def in_memory(
    *,
    tables: Mapping[str, Iterable[Row | Sequence[Any]]] | None = None,
    stop: bool = False,
    checkpoint: Checkpoint | None = None,
    **options: Any,
) -> Iterator[MemoryTables]:
    """Run the jobs that start inside the block in memory, without a JVM.

    ``env.execute()``, ``execute_and_collect()``, ``t_env.execute_sql(...)`` and all other calls that
    start a job run it to its end before they return; sinks write. Code that is called needs no change,
    so it is the way to test programs with tables.

    Parameters
    ----------
    tables
        Rows that tables have in place of what their connector reads, by name: tuples, or a `Row` with a
        kind. Into a table that is named here nothing is written, its changes are kept.
    stop
        Stop jobs with a savepoint when all rows are read: the input has not ended, so windows that are
        open stay open. The next block with the same checkpoint goes on, with its own ``tables``.
    checkpoint
        Where jobs keep what was committed, and go on from if something is there.
    options
        ``epochs``, ``seed``, ``slots``, ``parallelism``, ``splits``, ``batch``, ``restarts``,
        ``channel_order``, ``sources``, ``ms_per_epoch`` and ``copy_functions`` of `run_local`.

    Yields
    ------
    MemoryTables
        ``tables.changes(name)`` are the changes that were written into a table that is in memory, and
        ``tables.rows(name)`` the rows that it has.

    Examples
    --------
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> with in_memory(epochs=1):
    ...     print(env.from_collection([1, 2, 3]).execute_and_collect(limit=2))
    [1, 2]
    """
    known = {each.name for each in fields(Schedule)}
    schedule = Schedule(**{key: value for key, value in options.items() if key in known})
    rest = {key: value for key, value in options.items() if key not in known}
    settings = Settings(write=True, stop=stop, **rest)
    kept = checkpoint or Checkpoint()
    found = kept.begin_tables()
    found.give(tables or {})

    def submit(env: StreamExecutionEnvironment, graph: JobGraph, chosen: JobOptions) -> JobClient:
        job = scheduled(env, graph, chosen, schedule)
        client = _EndedJob()
        try:
            with local_place(chosen.dependencies).entered():
                client.end(execute_job(job, schedule, settings, checkpoint))
        except PlanError:
            raise
        except Exception as error:
            client.fail(error)
        return client

    with submitting(submit), using_tables(found), running_in_memory(schedule.parallelism or 1):
        yield found


class _EndedJob:
    """The handle on a job that has run in memory."""

    def __init__(self) -> None:
        self._id = JobID()
        self._status = JobStatus.CREATED
        self._result: Future[JobExecutionResult] = Future()
        self._metrics: JobMetrics | None = None

    def end(self, results: Results) -> None:
        """Keep the results."""
        self._status = JobStatus.FINISHED
        self._metrics = results.metrics
        self._result.set_result(JobExecutionResult(self._id, 0, results.accumulators))

    def fail(self, error: Exception) -> None:
        """Keep the error, for who asks for the result."""
        self._status = JobStatus.FAILED
        self._result.set_exception(error)

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> Future[JobStatus]:
        return _done(self._status)

    def cancel(self) -> Future[Any]:
        return _done(None)

    def savepoint(self, path: str | None = None) -> NoReturn:
        raise _no_savepoint()

    trigger_savepoint = savepoint

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: Any = None,
        savepoint_directory: Any = None,
        *,
        path: Any = None,
        drain: Any = False,
    ) -> NoReturn:
        raise _no_savepoint()

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        return self._result

    def get_accumulators(self) -> Future[dict[str, Any]]:
        failed = self._result.exception() is not None
        return _done({} if failed else self._result.result().get_all_accumulator_results())

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        return self._result.result(timeout)

    def metrics(self) -> JobMetrics:
        if self._metrics is None:
            self._result.result()
        assert self._metrics is not None
        return self._metrics


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _no_savepoint() -> CheckpointError:
    return CheckpointError(
        "JOB_ENDED",
        "a job in memory has ended when its client is there, no savepoint of it can be taken",
        location=user_location(),
        hint="give in_memory(checkpoint=...) a Checkpoint(), and start the program again",
    )
