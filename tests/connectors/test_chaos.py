"""Jobs from Kafka on Spark, broken at random points: each kind, and each pipeline, under a minute each.

``make chaos-connectors SEEDS="1 2 3"`` runs as many as wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.connectors.run import KINDS, Scenario, run_seed
from tests.conftest import running
from tools.servers import Server

pytestmark = [pytest.mark.spark, pytest.mark.servers]

SEEDS = {
    "kafka: jvm at opened 1": 1,
    "postgres: worker at finishing 3": 18,
    "postgres: postgres at finishing 1": 19,
    "delta: driver at published 3": 56,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Server]:
    """A broker of its own: it is killed."""
    yield from running("kafka")


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    yield from running("postgres")


@pytest.mark.parametrize("name", SEEDS)
def test_each_window_is_written_once(
    broker: Server, name: str, request: pytest.FixtureRequest
) -> None:
    servers = {"kafka": broker}
    if name.startswith("postgres"):
        servers["postgres"] = request.getfixturevalue("database")
    run = run_seed(SEEDS[name], servers)
    assert run.broken, "the job had ended before it could be broken"


def test_all_kinds_are_broken() -> None:
    scenarios = {name: Scenario.of(seed) for name, seed in SEEDS.items()}
    assert {scenario.kind for scenario in scenarios.values()} == set(KINDS)
    for name, scenario in scenarios.items():
        assert name in str(scenario)
