"""What a program can do with a job that runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Any, Protocol

from millstream.common.job import JobExecutionResult, JobID, JobStatus

__all__ = ["JobClient", "JobListener"]


class JobClient(Protocol):
    """A handle on a running job, as ``env.execute_async()`` returns it."""

    def get_job_id(self) -> JobID:
        """Return the id of the job."""

    def get_job_status(self) -> Future[JobStatus]:
        """Return where the job stands now."""

    def cancel(self) -> Future[Any]:
        """Stop the job; the future is done when it has stopped."""

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        """Return the result of the job, or its error, when it has ended."""

    def wait(self, timeout: float | None = None) -> Any:
        """Wait for the end of the job, at most so many seconds."""

    def metrics(self) -> Any:
        """Return what the job has measured so far."""


class JobListener(ABC):
    """Hears of the jobs of an environment, see ``env.register_job_listener``."""

    @abstractmethod
    def on_job_submitted(self, job_client: JobClient | None, error: BaseException | None) -> None:
        """Hear that a job was started, or that it could not be."""

    @abstractmethod
    def on_job_executed(
        self, job_execution_result: JobExecutionResult | None, error: BaseException | None
    ) -> None:
        """Hear that a job has ended well, or with an error."""
