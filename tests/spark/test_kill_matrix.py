"""The kill matrix on real processes: a sample of each kind of break, as many as fit the time of CI.

``make chaos SEEDS="1 2 3"`` runs more; docs/internals/chaos.md says what is broken when.
"""

from __future__ import annotations

import pytest
from tests.chaos.disk import can_mount
from tests.chaos.run import run_seed
from tests.chaos.scenarios import KINDS, Scenario

pytestmark = pytest.mark.spark

SEEDS = {
    "driver": 9,
    "jvm": 10,
    "worker": 20,
    "exception": 21,
    "disk": 22,
    "truncated": 14,
    "savepoint": 24,
    "restore": 16,
    "rescale": 17,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_is_broken_at_a_random_point_writes_each_record_once(kind: str) -> None:
    if kind == "disk" and not can_mount():
        pytest.skip("a small disk is mounted for this, which needs root or sudo")
    scenario = Scenario.of(SEEDS[kind])
    assert scenario.kind == kind
    chaos = run_seed(SEEDS[kind])
    assert not chaos.left, "the job had ended before it could be broken"
    assert chaos.broken or scenario.fail_at is not None
