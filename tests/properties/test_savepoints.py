"""A job goes on from a savepoint as if nothing had happened, with other slots and another program."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from millstream.plan.options import ChannelOrder
from tests.support.properties.savepoint_cases import CASES
from tests.support.properties.savepoint_runs import (
    ORDERS,
    Setting,
    before,
    check,
    draw_input,
    drawn_for,
    expected,
    going_on,
    rest,
)
from tests.support.strategies import sampled, scaled, thinned

CHANGES = ("none", "before", "after", "moved", "removed")
BY_NAME = {case.name: case for case in CASES}

SETTINGS = [
    Setting(order=order, batch=batch, change=change)
    for change in CHANGES
    for order in ORDERS
    for batch in (False, True)
]
ROUNDS = scaled(8, fewest=1)
SLOTS = [(2, 2), (2, 5), (3, 1), (1, 4), (4, 3)]


@pytest.mark.parametrize(
    "number", thinned(range(len(CASES)), "goes on"), ids=lambda number: CASES[number].name
)
def test_a_job_goes_on_as_if_nothing_had_happened(number: int) -> None:
    """The next settings in turn for each case: all cases together see all of them, several times."""
    case = CASES[number]
    rng = random.Random(case.name)
    for turn in range(ROUNDS):
        setting = SETTINGS[(7 * number + 3 * turn) % len(SETTINGS)]
        slots, later = SLOTS[(number + turn) % len(SLOTS)]
        setting = replace(setting, slots=slots, later_slots=later)
        check(case, drawn_for(case, setting, rng), setting)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "name", ["sums by column", "tumbling", "sliding sum", "minimum of tumbling", "aggregate"]
)
def test_channels_may_be_put_in_another_order(name: str, order: ChannelOrder) -> None:
    """Windows without lateness have the same records in any order of channels; none is lost."""
    case, rng = BY_NAME[name], random.Random(name)
    for slots, later in sampled(SLOTS[1:4], f"{name} {order}"):
        setting = Setting(slots, later, order)
        data = drawn_for(case, setting, rng)
        savepoint = before(case, data, setting).job.savepoint()
        (other,) = set(ORDERS) - {order}
        run = going_on(case, data, replace(setting, order=other), savepoint)
        rest(run, data, setting)
        wanted = expected(case, data, setting)
        assert flat(run.results["out"]) == flat(wanted["out"])


def flat(results: list[list[Any]]) -> list[str]:
    return sorted(repr(record) for epoch in results for record in epoch)


@pytest.mark.parametrize("name", ["state of every kind", "sliding", "own watermarks", "broadcast"])
def test_two_jobs_from_one_savepoint_do_not_disturb_each_other(name: str) -> None:
    case, rng = BY_NAME[name], random.Random(name)
    data = draw_input(rng, one_channel=False)
    setting = Setting()
    taken = before(case, data, setting)
    savepoint = taken.job.savepoint()
    wanted = expected(case, data, setting)
    first = going_on(case, data, replace(setting, later_slots=3), savepoint)
    rest(first, data, setting)
    second = going_on(case, data, replace(setting, later_slots=1), savepoint)
    rest(second, data, setting)
    taken.results = {}
    rest(taken, data, setting)
    assert first.results == second.results == taken.results == wanted


def test_a_savepoint_of_a_job_that_goes_on_from_one() -> None:
    case, rng = BY_NAME["state of every kind"], random.Random(1)
    data = draw_input(rng, one_channel=False)
    data = replace(data, taken=1)
    setting = Setting(change="moved")
    run = before(case, data, setting)
    wanted = expected(case, data, setting)
    run.results = {}
    for number, reads in enumerate(data.epochs[1:], start=1):
        setting = replace(setting, later_slots=1 + number % 3, change=CHANGES[number % 2 * 3])
        results, run = run.results, going_on(case, data, setting, run.job.savepoint())
        run.results = results
        run.epoch(reads, number)
    run.epoch(dict.fromkeys(data.epochs[0], 0), len(data.epochs), end=True)
    assert run.results == wanted
