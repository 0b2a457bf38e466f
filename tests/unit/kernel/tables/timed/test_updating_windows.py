"""Windows that give results before their end and after it: the last ones are those of all rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernel.tables.timed.assign import WindowStep
from millstream.kernel.tables.timed.updating_windows import UpdatingWindowSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, ms_of
from tests.unit.kernel.tables.timed.test_window_aggregate import (
    CALLS,
    ROW,
    changes,
    expected,
    rows,
)

WINDOWS = [("TUMBLE", 10, None, 3), ("HOP", 7, 3, -1)]


def run_of(
    window: Any, given: list[Weighted], delay: int, *, early: bool, lateness: int, changes: bool
) -> TimedRun:
    kind, size, step, offset = window
    windows = WindowStep(ROW, kind, 2, size, step, offset)
    spec = UpdatingWindowSpec(
        windows.output, (0,), CALLS, 3, 4, changes=changes, early=early, lateness=lateness
    )
    return TimedRun(spec, [given], times=[2], delay=delay, before=[[windows]], rows=[ROW])


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(
    given=rows,
    delay=st.sampled_from([0, 5]),
    early=st.booleans(),
    lateness=st.sampled_from([0, 4, 50]),
    plan=plans,
)
@examples(80)
def test_windows_end_with_the_rows_that_were_not_too_late(
    window: Any, given: list[Weighted], delay: int, early: bool, lateness: int, plan: Plan
) -> None:
    run = run_of(window, given, delay, early=early, lateness=lateness, changes=False)
    assert run.table(plan) == expected(window, given, delay, lateness)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(given=changes(), early=st.booleans(), lateness=st.sampled_from([0, 200]), plan=plans)
@examples(60)
def test_rows_that_are_taken_back(
    window: Any, given: list[Weighted], early: bool, lateness: int, plan: Plan
) -> None:
    run = run_of(window, given, 100 - lateness // 2, early=early, lateness=lateness, changes=True)
    assert run.table(plan) == expected(window, given, 100 - lateness // 2, lateness)


def counts(run: TimedRun) -> list[list[tuple[int, int, int]]]:
    """The beginnings, counts and weights of the windows that each epoch of one record gives."""
    return [
        [(ms_of(row[1]), row[4], weight) for row, weight in epoch]
        for epoch in run.changes(Plan(reads=1))
    ]


GIVEN = [(("x", 1, at(time)), 1) for time in (1, 2, 12, 3, 40, 4)]


def test_an_early_result_is_replaced_by_the_next_one() -> None:
    run = run_of(("TUMBLE", 10, None, 0), GIVEN[:3], 0, early=True, lateness=0, changes=False)
    found = [each for each in counts(run) if each]
    assert found == [[(0, 1, 1)], [(0, 1, -1), (0, 2, 1)], [(10, 1, 1)]]


def test_a_late_row_updates_the_result_until_it_is_too_late() -> None:
    run = run_of(("TUMBLE", 10, None, 0), GIVEN, 0, early=False, lateness=20, changes=False)
    found = [each for epoch in counts(run) for each in epoch]
    assert found == [(0, 2, 1), (0, 2, -1), (0, 3, 1), (10, 1, 1), (40, 1, 1)]
