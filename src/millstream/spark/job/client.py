"""The client of a running job, and the savepoints that it asks for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any, Protocol, overload

from millstream.common.errors import (
    CheckpointError,
    ConfigurationError,
    user_location,
)
from millstream.common.job import JobExecutionResult, JobID, JobStatus
from millstream.common.paths import absolute_path
from millstream.metrics import JobMetrics
from millstream.spark.query.totals import EpochTotals
from millstream.spark.tasks.failures import readable

ABANDON_SECONDS = 10.0
"""How long a savepoint that nobody waits for any more may take to notice."""


class Execution(Protocol):
    """A job on Spark."""

    def start(self) -> None: ...
    def advance(self) -> bool: ...
    def stop(self) -> None: ...


class StreamExecution(Execution, Protocol):
    """A job of which savepoints can be taken."""

    def savepoint(self, path: str, on_progress: Callable[[int, int], None]) -> str: ...
    def suspend(self) -> None: ...
    def drain(self) -> None: ...


class SavepointRequest:
    """A savepoint that was asked for: what is wanted, the thread that writes it, and the answer."""

    def __init__(
        self,
        path: str,
        *,
        stop: bool = False,
        drain: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.path = path
        self.stop = stop
        self.drain = drain
        self.answer: Future[str] = Future()
        self.job_stands_still = False
        self._on_progress = on_progress
        self._thread: threading.Thread | None = None
        self._abandoned = threading.Event()
        self._made: str | None = None
        self.error: BaseException | None = None

    @property
    def begun(self) -> bool:
        return self._thread is not None

    @property
    def over(self) -> bool:
        return self._thread is not None and not self._thread.is_alive()

    def begin(self, execution: StreamExecution) -> None:
        """Write it in a thread of its own; a job that is to stop is suspended first."""
        self._thread = threading.Thread(target=self._write, args=(execution,), daemon=True)
        self._thread.start()

    def _write(self, execution: StreamExecution) -> None:
        try:
            if self.stop and not self.drain:
                execution.suspend()
            self.job_stands_still = self.stop
            self._made = execution.savepoint(self.path, self._progress)
        except BaseException as error:
            self.error = readable(error)

    def _progress(self, done: int, total: int) -> None:
        # Another thread may be told of the writer, and could not end it.
        if self._abandoned.is_set() and threading.current_thread() is self._thread:
            raise CheckpointError(
                "SAVEPOINT_ABANDONED", f"the job ended or failed before {self.path} was written"
            )
        if self._on_progress is not None:
            self._on_progress(done, total)

    def abandon(self) -> None:
        """Let the thread end as soon as it makes progress."""
        self._abandoned.set()

    def join(self) -> None:
        """Wait for the thread, so that nobody else works in the folder before it has ended."""
        if self._thread is not None:
            self._thread.join(ABANDON_SECONDS)

    def settle(self, otherwise: BaseException) -> None:
        """Give the answer: where it is, what went wrong, or else why it was not even tried."""
        if self._made is not None:
            self.answer.set_result(self._made)
        else:
            self.answer.set_exception(self.error or otherwise)


class JobClient:
    """A job that has been started: its state, its metrics, its result."""

    def __init__(
        self,
        job_id: str,
        totals: EpochTotals,
        savepoint_dir: str | None = None,
        batch: bool = False,
    ) -> None:
        self._job_id = job_id
        self._totals = totals
        self._savepoint_dir = savepoint_dir
        self._batch = batch
        self._status = JobStatus.CREATED
        self._cancelled = threading.Event()
        self._result: Future[JobExecutionResult] = Future()
        self._savepoints: queue.SimpleQueue[SavepointRequest] = queue.SimpleQueue()
        self._ended = False
        self._lock = threading.Lock()

    def get_job_id(self) -> JobID:
        """The job's id; it stays the same when a job resumes from its checkpoint."""
        return JobID(self._job_id)

    def get_job_status(self) -> Future[JobStatus]:
        """Where the job is in its life."""
        return _done(self._status)

    def cancel(self) -> Future[None]:
        """Stop the job; its checkpoint stays, so the same program can go on later."""
        self._cancelled.set()
        future: Future[None] = Future()
        self._result.add_done_callback(lambda _: future.set_result(None))
        return future

    def savepoint(self, path: str | None = None) -> str:
        """Write a savepoint while the job goes on; by default to the directory for savepoints."""
        return self._ask(path).result()

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> Future[str]:
        """Write a savepoint while the job goes on; the future says where it is."""
        return self._ask(savepoint_directory)

    @overload
    def stop_with_savepoint(self, path: str | None = None, /, *, drain: bool = False) -> str: ...
    @overload
    def stop_with_savepoint(self, path: str | None, drain: bool, /) -> str: ...
    @overload
    def stop_with_savepoint(self, *, path: str | None, drain: bool = False) -> str: ...
    @overload
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> Future[str]: ...

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: Any = None,
        savepoint_directory: Any = None,
        *,
        path: str | None = None,
        drain: bool = False,
    ) -> Any:
        """End the job after an epoch with a savepoint; see the protocol of the user's API."""
        first, second = advance_to_end_of_event_time, savepoint_directory
        if isinstance(first, bool):
            return self._ask(second or path, stop=True, drain=first)
        made = self._ask(path or first, stop=True, drain=drain or bool(second)).result()
        wait_for([self._result])
        return made

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        """The result, when there is one."""
        return self._result

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end; raises what the job failed with."""
        return self._result.result(timeout)

    def metrics(self) -> JobMetrics:
        """The metrics of the job so far, by operator uid."""
        return self._totals.metrics()

    def get_accumulators(self) -> Future[dict[str, Any]]:
        """Values of the accumulators so far."""
        return _done(self._totals.accumulators())

    def _ask(
        self,
        path: str | None,
        *,
        stop: bool = False,
        drain: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Future[str]:
        """Let the job's thread take a savepoint, after those that were asked for before."""
        if self._batch:
            raise CheckpointError(
                "NO_SAVEPOINT_OF_BATCH",
                "a batch job has no state that a savepoint could keep before it ends",
                location=user_location(),
                hint="run it in STREAMING mode",
            )
        target = path or self._savepoint_dir
        if target is None:
            raise ConfigurationError(
                "NO_SAVEPOINT_DIRECTORY",
                "nothing says where the savepoint goes",
                location=user_location(),
                hint="give a path, or call env.set_default_savepoint_directory before the job starts; "
                "in SQL SET 'execution.checkpointing.savepoint-dir' = '...' before its INSERT",
            )
        savepoint = SavepointRequest(
            absolute_path(target), stop=stop, drain=drain, on_progress=on_progress
        )
        with self._lock:
            if self._ended:
                raise job_ended()
            self._savepoints.put(savepoint)
        return savepoint.answer

    def _next_savepoint(self) -> SavepointRequest | None:
        try:
            return self._savepoints.get_nowait()
        except queue.Empty:
            return None

    def _end(self) -> None:
        """Take no more savepoints, and answer those that wait."""
        with self._lock:
            self._ended = True
        while (savepoint := self._next_savepoint()) is not None:
            savepoint.settle(job_ended())


def job_ended() -> CheckpointError:
    return CheckpointError("JOB_ENDED", "the job has ended, no savepoint of it can be taken")


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future
