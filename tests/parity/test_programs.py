"""PyFlink programs give on Millstream what they give on Flink, under every schedule.

What Flink gives is recorded in ``flink_results.json``, so that these tests need no JVM;
``test_recording.py`` runs Flink again and compares.

Compared are the records of all streams of a program: the bounds of their windows, the types of
their fields, the order of the records in a window. The order of the results themselves is not, as
Flink promises none between keys.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.parity.catalogue import DIFFERING, program_names, recorded
from tests.support.parity.counterparts import JAVA, SQL
from tests.support.parity.known_differences import DIFFERING_NAMES
from tests.support.parity.millstream_side import run
from tests.support.strategies import sampled

PROGRAMS = [name for name, module in program_names().items() if module != DIFFERING]
STREAMING: list[dict[str, Any]] = [
    {"batch": False, "epochs": "all", "slots": 1, "parallelism": 1},
    {"batch": False, "epochs": 1, "slots": 4, "restarts": "every"},
    {"batch": False, "epochs": "random", "seed": 1, "slots": 3, "splits": 2},
]
BATCH: dict[str, Any] = {"batch": True, "slots": 3}


KEEPS_RECORDS_IN_THE_INSTANCE = {"broadcast_kept_in_the_instance"}
"""A restart loses what a function has in its attributes, on Flink too: no schedule restarts these."""


def check(name: str) -> None:
    expected = recorded()[name]
    # In a batch rolling aggregations give the last value only, on Flink too.
    schedules = STREAMING if name.startswith("rolling") else [*STREAMING, BATCH]
    for schedule in sampled(schedules, name):
        if name in KEEPS_RECORDS_IN_THE_INSTANCE:
            schedule = {**schedule, "restarts": 0}
        assert run(name, **schedule) == expected, schedule


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_flink(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", [name for name in SQL if name not in DIFFERING_NAMES])
def test_same_as_flink_sql(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", [name for name in JAVA if name not in DIFFERING_NAMES])
def test_same_as_flink_java(name: str) -> None:
    check(name)


def test_everything_that_can_be_run_is_recorded() -> None:
    assert sorted(recorded()) == sorted([*program_names(), *SQL, *JAVA])
