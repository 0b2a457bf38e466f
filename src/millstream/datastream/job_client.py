"""Control of a running job by its program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Any, Protocol, overload

from millstream.common.job import JobExecutionResult, JobID, JobStatus
from millstream.metrics import JobMetrics

__all__ = ["JobClient", "JobListener"]


class JobClient(Protocol):
    """A handle on a running job, as ``env.execute_async()`` returns it."""

    def get_job_id(self) -> JobID:
        """Return the id of the job."""

    def get_job_status(self) -> Future[JobStatus]:
        """Return the status of the job."""

    def cancel(self) -> Future[Any]:
        """Stop the job; the future is done when it has stopped."""

    def savepoint(self, path: str | None = None) -> str:
        """Write a savepoint while the job goes on, wait for it, and return where it is.

        Parameters
        ----------
        path
            Where to write it; by default where ``env.set_default_savepoint_directory`` says.
        """

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> Future[str]:
        """Write a savepoint while the job goes on; the future says where it is."""

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
        """End the job after an epoch with a savepoint, wait for it, and return where it is.

        Write ``stop_with_savepoint(path, drain=True)``. PyFlink's form is taken as well, which begins
        with True or False: ``(advance_to_end_of_event_time, savepoint_directory)``. As there, it gives
        a future.

        Parameters
        ----------
        path, savepoint_directory
            Where to write it; by default where ``env.set_default_savepoint_directory`` says.
        drain, advance_to_end_of_event_time
            Let event time end first, so that all windows and timers fire. A job cannot go on with
            more input from such a savepoint.
        """

    def get_accumulators(self) -> Future[dict[str, Any]]:
        """Return the values of the accumulators so far, by name."""

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        """Return the result of the job, or its error, when it has ended."""

    def wait(self, timeout: float | None = None) -> Any:
        """Wait for the end of the job, at most this many seconds."""

    def metrics(self) -> JobMetrics:
        """Return what the job has measured since its driver started, by operator uid."""


class JobListener(ABC):
    """Is called when jobs of an environment start and end, see ``env.register_job_listener``."""

    @abstractmethod
    def on_job_submitted(self, job_client: JobClient | None, error: BaseException | None) -> None:
        """Called when a job was started, or could not be."""

    @abstractmethod
    def on_job_executed(
        self, job_execution_result: JobExecutionResult | None, error: BaseException | None
    ) -> None:
        """Called when a job has ended, with its result or its error."""
