"""The kill matrix on real processes: as many kinds of break as fit the time of CI, a minute each.

``make chaos SEEDS="1 2 3"`` runs all kinds; docs/internals/chaos.md says what is broken when.
"""

from __future__ import annotations

import pytest

from tests.chaos.run import run_scenario, scenario_of

pytestmark = pytest.mark.spark

SEEDS = {
    "driver": "10",
    "worker": "12",
    "truncated": "15",
    "rescale": "18",
    "takeover": "59",
    "driver of sql": "sql-0",
}


@pytest.mark.parametrize("kind", SEEDS)
def test_a_job_that_is_broken_at_a_random_point_writes_each_record_once(kind: str) -> None:
    scenario = scenario_of(SEEDS[kind])
    assert scenario.kind == kind.partition(" ")[0]
    chaos = run_scenario(scenario)
    assert not chaos.left, "the job had ended before it could be broken"
    assert chaos.broken
