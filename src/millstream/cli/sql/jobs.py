"""The jobs that the statements of a session have started."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from millstream.cli.errors import CommandError, ExitCode
from millstream.common.job import JobStatus
from millstream.datastream.job_client import JobClient

__all__ = ["SessionJob", "SessionJobs"]

_ENDED = (JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED)


@dataclass
class SessionJob:
    """A job and when it was started. ``told``: the user knows that it has ended."""

    client: JobClient
    name: str
    began: float = field(default_factory=time.time)
    told: bool = False

    @property
    def id(self) -> str:
        """The id of the job."""
        return str(self.client.get_job_id())

    @property
    def status(self) -> JobStatus:
        """The state of the job now."""
        return self.client.get_job_status().result()

    @property
    def runs(self) -> bool:
        """Whether the job has not ended."""
        return self.status not in _ENDED

    @property
    def error(self) -> BaseException | None:
        """Why the job has failed; None if it has not."""
        if self.runs:
            return None
        return self.client.get_job_execution_result().exception()

    def row(self) -> tuple[str, str, str, str]:
        """Id, name, status and start, as SHOW JOBS has them."""
        began = datetime.fromtimestamp(self.began, UTC).isoformat(timespec="milliseconds")
        return self.id, self.name, self.status.name, began.replace("+00:00", "Z")


class SessionJobs:
    """All jobs of a session, oldest first."""

    def __init__(self) -> None:
        self._jobs: list[SessionJob] = []

    def __iter__(self) -> Iterator[SessionJob]:
        return iter(self._jobs)

    def add(self, client: JobClient, name: str) -> SessionJob:
        """Take in a job that was started."""
        self._jobs.append(SessionJob(client, name))
        return self._jobs[-1]

    @property
    def running(self) -> list[SessionJob]:
        """The jobs that have not ended."""
        return [job for job in self._jobs if job.runs]

    def find(self, given: str) -> SessionJob:
        """The job of an id, or of the beginning of one."""
        found = [job for job in self._jobs if job.id.startswith(given)] if given else []
        if len(found) == 1:
            return found[0]
        what = "no job" if not found else f"{len(found)} jobs"
        raise CommandError(
            "NO_SUCH_JOB",
            f"this session has {what} {given!r}",
            hint="SHOW JOBS lists them; `millstream list` those of other programs",
            exit_code=ExitCode.NOT_FOUND,
        )

    def tell_ended(self, tell: Callable[[SessionJob], None]) -> None:
        """Tell of each job that has ended, once."""
        for job in self._jobs:
            if not job.told and not job.runs:
                job.told = True
                tell(job)

    def wait(self) -> None:
        """Wait for all jobs; the error of the first that fails is raised, and the others are stopped."""
        try:
            for job in self._jobs:
                job.client.wait()
                job.told = True
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Stop all jobs that run."""
        for job in self.running:
            job.client.cancel().result()
