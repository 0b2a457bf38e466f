"""A sample of the recorded tables is what Flink gives now, and fresh random queries agree."""

from __future__ import annotations

import os
from pathlib import Path
from random import SystemRandom

import pytest

from tests.support.parity.flink_env import NoFlinkError, flink_python
from tests.support.parity.flink_sql import printed_by_flink
from tests.support.parity.random_queries import random_program
from tests.support.parity.random_relations import random_relation
from tests.support.parity.recorded_programs import all_programs, recorded
from tests.support.parity.sql_programs import for_flink, in_memory

pytestmark = pytest.mark.parity


@pytest.fixture(autouse=True)
def flink(request: pytest.FixtureRequest) -> None:
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("runs Flink, and may install it: ask for it with -m parity")
    try:
        flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))


def test_flink_still_gives_the_recorded_tables(tmp_path: Path) -> None:
    names = [name for name, result in recorded().items() if "error" not in result][::20]
    asked = {name: for_flink(all_programs()[name], tmp_path / name) for name in names}
    assert printed_by_flink(asked) == {name: recorded()[name] for name in names}


def test_random_queries_end_with_flinks_tables(tmp_path: Path) -> None:
    """Compare queries that have no recorded tables: the same in each run, or others on request.

    A run with ``MILLSTREAM_FRESH_QUERIES=200`` searches for differences; a change is not to fail because
    of one that it has not made.
    """
    fresh = int(os.environ.get("MILLSTREAM_FRESH_QUERIES", "0"))
    seeds = [SystemRandom().randrange(10**9) for _ in range(fresh)] or [
        942453913,
        *range(9000, 9023),
    ]
    programs = {f"r{seed}": random_program(seed) for seed in seeds}
    programs |= {f"n{seed}": random_relation(seed) for seed in seeds if fresh}
    asked = {name: for_flink(program, tmp_path / name) for name, program in programs.items()}
    for name, answer in printed_by_flink(asked).items():
        if "error" not in answer:
            run = in_memory(programs[name])
            assert (run.columns, run.printed) == (answer["columns"], answer["rows"]), name
