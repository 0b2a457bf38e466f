"""When a job is started again, and when not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.cli.console import Console
from millstream.cli.supervise import Supervisor


def supervise(
    codes: list[int], max_restarts: int = 3, seconds: float = 1
) -> tuple[int, list[float], list[int]]:
    """The exit code, the pauses, and the attempts, of a job that ends with these codes."""
    ends: Iterator[int] = iter(codes)
    pauses: list[float] = []
    attempts: list[int] = []
    clock = 0.0

    def start(attempt: int) -> int:
        nonlocal clock
        attempts.append(attempt)
        clock += seconds
        return next(ends)

    supervisor = Supervisor(
        start, max_restarts, Console(quiet=True), pause=pauses.append, clock=lambda: clock
    )
    return supervisor.run(), pauses, attempts


@pytest.mark.parametrize("code", [0, 2, 130])
def test_what_has_ended_stays_so(code: int) -> None:
    assert supervise([code]) == (code, [], [0])


@pytest.mark.parametrize("code", [-9, -15, 75])
def test_what_was_killed_is_started_again_without_a_limit(code: int) -> None:
    end, pauses, attempts = supervise([code] * 9 + [0], max_restarts=0)
    assert end == 0
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert attempts == list(range(10))


def test_what_fails_by_itself_is_started_again_up_to_the_limit() -> None:
    assert supervise([1] * 9, max_restarts=2) == (1, [1, 2], [0, 1, 2])
    assert supervise([1] * 9, max_restarts=0) == (1, [], [0])
    # A kill in between counts neither way.
    assert supervise([1, -9, 1, 1], max_restarts=2)[2] == [0, 1, 2, 3]


def test_a_job_that_ran_for_long_has_all_its_restarts_again() -> None:
    end, pauses, _ = supervise([1, 1, 1, 0], max_restarts=1, seconds=600)
    assert end == 0
    assert pauses == [1, 1, 1]
