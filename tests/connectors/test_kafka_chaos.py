"""Kafka to Kafka on Spark, broken at random points: one seed of each kind, under a minute each.

``make chaos-connectors SEEDS="1 2 3"`` runs as many as wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.connectors.run import KINDS, Scenario, run_seed
from tools.servers import Kafka

pytestmark = [pytest.mark.spark, pytest.mark.servers]

SEEDS = {"driver": 4, "jvm": 5, "worker": 6, "server": 7}


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    """A broker of its own: it is killed."""
    with Kafka() as started:
        yield started


@pytest.mark.parametrize("kind", KINDS)
def test_each_window_is_written_once(broker: Kafka, kind: str) -> None:
    assert Scenario.of(SEEDS[kind]).kind == kind
    run = run_seed(SEEDS[kind], {"kafka": broker})
    assert run.broken, "the job had ended before it could be broken"
