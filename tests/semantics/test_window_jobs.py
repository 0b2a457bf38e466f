"""The same transcripts, many in one job: in memory under several schedules, and on Spark.

A job runs once. Each case then looks for its own lines, so that it fails by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import collect, run_local
from tests.support.semantics.transcripts import Case, Outputs, by_case, lines_of
from tests.support.semantics.window_cases import JOBS
from tests.support.strategies import crossed

MakeEnv = Callable[..., StreamExecutionEnvironment]
Lines = list[tuple[str, str, str, str]]

PER_EPOCH = 80
SCHEDULES: dict[str, dict[str, Any]] = {
    "uneven epochs, restarts": {"epochs": [13, 120, 1], "slots": 1, "restarts": "every"},
    "batch": {"batch": True, "slots": 2, "splits": 3},
}

_known: dict[tuple[str, int], dict[str, Outputs] | Exception] = {}


def check(kind: str, run: Callable[[Sequence[Case]], Lines], job: int, case: Case) -> None:
    """Look for the lines of a case among those of its job, which runs at the first look."""
    if (kind, job) not in _known:
        try:
            _known[kind, job] = by_case(run(JOBS[job]))
        except Exception as error:
            _known[kind, job] = error
    found = _known[kind, job]
    if isinstance(found, Exception):
        raise found
    assert found.get(case.name, {}) == case.outputs_of(case.steps)


@pytest.mark.parametrize(
    ("schedule", "job", "case"),
    [
        pytest.param(schedule, job, case, id=f"{case}-{schedule}")
        for job, schedule in crossed(range(len(JOBS)), SCHEDULES)
        for case in JOBS[job]
    ],
)
def test_in_memory(schedule: str, job: int, case: Case) -> None:
    def run(cases: Sequence[Case]) -> Lines:
        return run_local(lambda env: lines_of(env, cases), **SCHEDULES[schedule]).values()

    check(schedule, run, job, case)


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize(
    ("job", "case"),
    [pytest.param(job, case, id=str(case)) for job, cases in enumerate(JOBS) for case in cases],
)
def test_on_spark(make_env: MakeEnv, mode: str, job: int, case: Case) -> None:
    def run(cases: Sequence[Case]) -> Lines:
        env = make_env(mode)
        lines = collect(lines_of(env, cases, PER_EPOCH))
        env.execute(f"transcripts {job}, {mode}")
        return lines.values()

    check(f"spark {mode}", run, job, case)
