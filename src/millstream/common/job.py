"""Id, status and result of a job."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = ["JobExecutionResult", "JobID", "JobStatus"]


class JobStatus(Enum):
    """Where a job is in its life.

    Examples
    --------
    >>> JobStatus.RUNNING.is_terminal_state(), JobStatus.FINISHED.is_terminal_state()
    (False, True)
    """

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether the job has ended and cannot be taken up again.

        Examples
        --------
        >>> JobStatus.SUSPENDED.is_globally_terminal_state()
        False
        """
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job has ended here, perhaps to be taken up elsewhere.

        Examples
        --------
        >>> JobStatus.SUSPENDED.is_terminal_state()
        True
        """
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED


@dataclass(frozen=True)
class JobID:
    """The name of a job among all jobs: 32 hexadecimal digits.

    Parameters
    ----------
    value : str, optional
        The digits; without them, a new one.

    Examples
    --------
    >>> str(JobID("0" * 32)) == "0" * 32
    True
    >>> JobID() == JobID()
    False
    """

    value: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        if len(self.value) != 32 or set(self.value) - set("0123456789abcdef"):
            raise ValueError(f"a job id is 32 hexadecimal digits in lower case: {self.value!r}")

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class JobExecutionResult:
    """The result of a job: its id, run time and accumulators.

    Parameters
    ----------
    job_id : JobID
        Which job.
    net_runtime_ms : int
        How long it ran.
    accumulator_results : mapping
        What its accumulators came to, by name.

    Examples
    --------
    >>> result = JobExecutionResult(JobID(), 1200, {"lines": 3})
    >>> result.get_net_runtime(), result.get_accumulator_result("lines")
    (1200, 3)
    """

    job_id: JobID
    net_runtime_ms: int
    accumulator_results: Mapping[str, Any] = field(default_factory=dict)

    def get_job_id(self) -> JobID:
        """Which job."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """How long it ran, in milliseconds."""
        return self.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the result of an accumulator; None if there is no such accumulator."""
        return self.accumulator_results.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the results of all accumulators, by name."""
        return dict(self.accumulator_results)

    def is_job_execution_result(self) -> bool:
        """True: the job has run, it was not only submitted."""
        return True

    def get_job_execution_result(self) -> JobExecutionResult:
        """This result."""
        return self
