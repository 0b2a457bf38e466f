"""The token that a sink compares, so that a driver which was replaced writes nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.common.errors import CheckpointError

__all__ = ["FencingToken"]


def always_current() -> None:
    """The check of a job that has no checkpoint directory: nobody can take it over."""


@dataclass(frozen=True)
class FencingToken:
    """Token of the attempt that writes an epoch: of two attempts, the higher number is valid.

    `is_current` tells whether another driver has taken the job over. It may do so right after the
    question, so a database also compares `attempt` inside the transaction that writes the records.

    Attributes
    ----------
    job_id : str
        The job, which is the same after each restart; a job restored from a savepoint is another one.
    epoch : int
        The number of the epoch.
    attempt : int
        Counts the starts of the job, by whatever driver: 1, 2, ...; 0 without a checkpoint directory.
    sink : str
        The uid of the sink: each sink of a job writes an epoch of its own.

    Examples
    --------
    >>> token = FencingToken("a1b2", epoch=7, attempt=2)
    >>> token.attempt, token.is_current()
    (2, True)
    """

    job_id: str
    epoch: int
    attempt: int
    sink: str = ""
    check: Callable[[], None] = field(default=always_current, repr=False, compare=False)
    """Raises `CheckpointError` with the code ``LEASE_LOST`` if the token is not current."""

    def is_current(self) -> bool:
        """Whether no other driver has taken over, as far as can be seen now."""
        try:
            self.check()
        except CheckpointError:
            return False
        return True
