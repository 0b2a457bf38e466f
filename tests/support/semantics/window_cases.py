"""All transcripts of windows."""

from __future__ import annotations

from tests.support.semantics import (
    cases_aligned,
    cases_evictors,
    cases_folds,
    cases_functions,
    cases_matrix,
    cases_other_windows,
    cases_processing,
    cases_sessions,
    cases_triggers,
)
from tests.support.semantics.transcripts import Case

__all__ = ["BY_HAND", "CASES", "JOBS", "MADE_AT_RANDOM"]

BY_HAND = [
    *cases_aligned.CASES,
    *cases_sessions.CASES,
    *cases_other_windows.CASES,
    *cases_triggers.CASES,
    *cases_evictors.CASES,
    *cases_folds.CASES,
    *cases_functions.CASES,
    *cases_processing.CASES,
]
MADE_AT_RANDOM = cases_matrix.CASES
CASES = [*BY_HAND, *MADE_AT_RANDOM]


def _in_jobs(cases: list[Case], size: int) -> list[list[Case]]:
    return [cases[start : start + size] for start in range(0, len(cases), size)]


JOBS = _in_jobs([case for case in CASES if not case.is_timed_by_hand], 48)
"""The cases in which nobody moves processing time, so many in one job: those that Spark can run."""
