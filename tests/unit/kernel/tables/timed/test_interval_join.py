"""Joins of near times over random rows and cuts, compared with loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.timed.assign import WindowStep
from millstream.kernel.tables.timed.interval_join import IntervalJoinKind, TableIntervalJoinSpec
from millstream.kernel.tables.timed.window_aggregate import WindowAggregateSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, ms_of

ROW = arrow_row(["k", "v", "t"], [pa.string(), pa.int32(), pa.timestamp("ms")])
NAMES = ("k", "v", "t", "k2", "v2", "t2")
values = st.tuples(
    st.sampled_from(["x", "y", None]), st.integers(0, 3), st.integers(-20, 40).map(at)
)
rows = st.lists(st.tuples(values, st.just(1)), max_size=12)
bounds = st.sampled_from([(-5, 5), (0, 0), (-10, 0), (3, 8), (-8, -3), (0, 20)])
KINDS: list[IntervalJoinKind] = ["inner", "left", "right", "full"]


def in_order(given: list[Weighted], delay: int) -> list[Weighted]:
    """The rows that are not late."""
    found, highest = [], None
    for row, weight in given:
        time = ms_of(row[2])
        if highest is None or time > highest - delay - 1:
            found.append((row, weight))
        highest = time if highest is None else max(highest, time)
    return found


def plain(rows: list[Weighted]) -> list[Any]:
    return [row for row, _ in rows]


def joined(kind: str, left: list[Any], right: list[Any], low: int, high: int) -> Counter[Any]:
    found: Counter[Any] = Counter()
    met = set()
    for row in left:
        near = [
            i
            for i, other in enumerate(right)
            if row[0] == other[0] is not None and low <= ms_of(row[2]) - ms_of(other[2]) <= high
        ]
        met |= set(near)
        for i in near:
            found[(*row, *right[i])] += 1
        if not near and kind in ("left", "full"):
            found[(*row, None, None, None)] += 1
    for i, other in enumerate(right):
        if i not in met and kind in ("right", "full"):
            found[(None, None, None, *other)] += 1
    return found


@pytest.mark.parametrize("kind", KINDS)
@given(left=rows, right=rows, interval=bounds, delay=st.sampled_from([0, 5, 60]), plan=plans)
@examples(40)
def test_rows_of_near_times(
    kind: IntervalJoinKind,
    left: list[Weighted],
    right: list[Weighted],
    interval: tuple[int, int],
    delay: int,
    plan: Plan,
) -> None:
    left, right = in_order(left, delay), in_order(right, delay)
    spec = TableIntervalJoinSpec(ROW, ROW, kind, (0,), (0,), 2, 2, *interval, NAMES)
    run = TimedRun(spec, [left, right], times=[2, 2], delay=delay)
    assert run.table(plan) == joined(kind, plain(left), plain(right), *interval)


@pytest.mark.parametrize("kind", KINDS)
@given(left=rows, interval=bounds, right=rows, plan=plans, side=st.sampled_from([2, 5]))
@examples(30)
def test_results_are_not_late_for_windows_behind(
    kind: IntervalJoinKind,
    left: list[Weighted],
    right: list[Weighted],
    interval: tuple[int, int],
    plan: Plan,
    side: int,
) -> None:
    left, right = in_order(left, 5), in_order(right, 5)
    spec = TableIntervalJoinSpec(ROW, ROW, kind, (0,), (0,), 2, 2, *interval, NAMES)
    step = WindowStep(spec.output, "TUMBLE", side, 10)
    count = AggregateCall("COUNT", (), pa.int64())
    windows = WindowAggregateSpec(step.output, (), (count,), 6, 7, pa.timestamp("ms"))
    run = TimedRun(spec, [left, right], times=[2, 2], delay=5, behind=[step, windows])
    expected: Counter[Any] = Counter()
    for row, number in joined(kind, plain(left), plain(right), *interval).items():
        if row[side] is not None:
            expected[ms_of(row[side]) // 10 * 10] += number
    found = {ms_of(row[0]): row[3] for row, _ in run.table(plan).items()}
    assert found == dict(expected)


def test_a_late_row_meets_what_is_still_there():
    left = [(("x", 1, at(10)), 1), (("x", 2, at(40)), 1), (("x", 3, at(12)), 1)]
    right = [(("x", 7, at(11)), 1), (("x", 8, at(40)), 1)]
    spec = TableIntervalJoinSpec(ROW, ROW, "left", (0,), (0,), 2, 2, -5, 5, NAMES)
    found = TimedRun(spec, [left, right], times=[2, 2]).table(Plan(reads=1))
    # The row of 11 is gone when that of 12 comes, behind 40.
    assert {(row[1], row[4]) for row in found} == {(1, 7), (2, 8), (3, None)}


@given(left=rows, right=rows, delay=st.sampled_from([0, 5]), plan=plans)
@examples(40)
def test_late_left_rows_come_with_partners_or_once_without(
    left: list[Weighted], right: list[Weighted], delay: int, plan: Plan
) -> None:
    spec = TableIntervalJoinSpec(ROW, ROW, "left", (0,), (0,), 2, 2, -5, 5, NAMES)
    run = TimedRun(spec, [left, right], times=[2, 2], delay=delay)
    found = run.table(plan)
    met = {row[:3] for row, number in found.items() if row[3] is not None}
    alone = {row[:3] for row, number in found.items() if row[3] is None}
    # Each left row comes with partners, or once without.
    assert met | alone == {row for row, _ in left}
    twice = Counter(row for row, _ in left)
    assert all(twice[row] > 1 for row in met & alone)
