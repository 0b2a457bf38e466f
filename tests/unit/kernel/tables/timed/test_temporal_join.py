"""Joins with versions over random rows and cuts, compared with loops."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.timed.temporal_join import TemporalJoinSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, ms_of

ROW = arrow_row(["k", "v", "t"], [pa.string(), pa.int32(), pa.timestamp("ms")])
NAMES = ("k", "v", "t", "k2", "v2", "t2")
keys = st.sampled_from(["x", "y", None])
values = st.tuples(keys, st.integers(0, 3), st.integers(-20, 40).map(at))
MIN = -(10**9)
rows = st.lists(st.tuples(values, st.just(1)), max_size=12)
Kind = Literal["inner", "left"]


def on_time(given: list[Weighted], delay: int) -> list[Weighted]:
    found, highest = [], None
    for row, weight in given:
        time = ms_of(row[2])
        if highest is None or time > highest - delay - 1:
            found.append((row, weight))
        highest = time if highest is None else max(highest, time)
    return found


def joined(kind: str, left: list[Weighted], right: list[Weighted]) -> Counter[Any]:
    """Each left row with the last version at its time; a version of weight -1 is the end of one.

    As in Flink, NULL is a key as any other one.
    """
    found: Counter[Any] = Counter()
    for row, _ in left:
        best: Any = None
        for other, weight in right:
            if row[0] == other[0] and other[2] <= row[2]:
                if best is None or other[2] >= best[0][2]:
                    best = other, weight
        if best is not None and best[1] > 0:
            found[(*row, *best[0])] += 1
        elif kind == "left":
            found[(*row, None, None, None)] += 1
    return found


def spec_of(kind: Kind, *, changes: bool = False) -> TemporalJoinSpec:
    return TemporalJoinSpec(ROW, ROW, kind, (0,), (0,), 2, 2, NAMES, changes=(False, changes))


@pytest.mark.parametrize("kind", ["inner", "left"])
@given(left=rows, right=rows, delay=st.sampled_from([0, 5, 60]), plan=plans)
@examples(60)
def test_rows_meet_the_version_of_their_time(
    kind: Kind, left: list[Weighted], right: list[Weighted], delay: int, plan: Plan
) -> None:
    left, right = on_time(left, delay), on_time(right, delay)
    run = TimedRun(spec_of(kind), [left, right], times=[2, 2], delay=delay)
    assert run.table(plan) == joined(kind, left, right)


endings = st.lists(
    st.tuples(st.tuples(keys, st.integers(0, 3), st.integers(-20, 40)), st.booleans()),
    max_size=12,
)


@given(left=rows, right=endings, plan=plans)
@examples(60)
def test_a_row_that_is_taken_back_at_a_time_of_its_own_ends_the_version(
    left: list[Weighted], right: list[Any], plan: Plan
) -> None:
    # Times grow, and differ from each other: -1 never takes a row back as it was.
    versions = [((k, v, at(2 * n)), -1 if gone else 1) for n, ((k, v, _), gone) in enumerate(right)]
    left = on_time(left, 60)
    run = TimedRun(spec_of("left", changes=True), [left, versions], times=[2, 2], delay=60)
    assert run.table(plan) == joined("left", left, versions)


@given(left=rows, right=rows, delay=st.sampled_from([0, 60]), plan=plans)
@examples(60)
def test_updates_that_take_the_old_row_back_end_it_when_the_new_one_begins(
    left: list[Weighted], right: list[Weighted], delay: int, plan: Plan
) -> None:
    versions = sorted(right, key=lambda each: each[0][2])
    versions = [v for n, v in enumerate(versions) if not n or v[0][2] > versions[n - 1][0][2]]
    changes: list[Weighted] = []
    known: dict[Any, Any] = {}
    for row, _ in versions:
        if row[0] in known:
            changes.append((known[row[0]], -1))
        changes.append((row, 1))
        known[row[0]] = row
    left = on_time(left, delay)
    run = TimedRun(spec_of("left", changes=True), [left, changes], times=[2, 2], delay=delay)
    assert run.table(plan) == joined("left", left, versions)


@given(left=rows, right=endings, plan=plans)
@examples(60)
def test_what_upserts_take_back_is_over_from_its_time_on(
    left: list[Weighted], right: list[Any], plan: Plan
) -> None:
    # Several changes have one time, and some take a row back as it was: the last one counts.
    versions = [
        ((k, v, at(n // 3)), -1 if gone else 1) for n, ((k, v, _), gone) in enumerate(right)
    ]
    left = on_time(left, 60)
    spec = replace(spec_of("left", changes=True), upserts=True)
    run = TimedRun(spec, [left, versions], times=[2, 2], delay=60)
    assert run.table(plan) == joined("left", left, versions)


def test_a_late_version_is_valid_from_the_next_instant_on():
    left = [(("x", n, at(n)), 1) for n in (10, 20, 30, 40)]
    right = [(("x", 1, at(5)), 1), (("y", 0, at(25)), 1), (("x", 2, at(15)), 1)]
    found = TimedRun(spec_of("inner"), [left, right], times=[2, 2]).table(Plan(reads=1))
    # The clock is at 24 when the version of 15 comes.
    assert {(row[1], row[4]) for row in found} == {(10, 1), (20, 1), (30, 2), (40, 2)}


@given(left=rows, right=endings, plan=plans)
@examples(100)
def test_what_comes_late_for_a_time_that_has_a_version_changes_nothing_before_it(
    left: list[Weighted], right: list[Any], plan: Plan
) -> None:
    # The times of changes go back and forth; rows before their first instants see what was there.
    left = on_time(left, 0)
    changes = [((k, v, at(t // 8)), -1 if gone else 1) for (k, v, t), gone in right]
    known, begins = MIN, []
    for place, (row, weight) in enumerate(changes):
        since = max(ms_of(row[2]), known)
        begins.append((row, weight, since, place))
        known = max(known, ms_of(row[2]))
    expected: Counter[Any] = Counter()
    for row, _ in left:
        seen = [
            each
            for each in begins
            if each[0][0] == row[0] and max(each[2], ms_of(each[0][2])) <= ms_of(row[2])
        ]
        best = max(seen, key=lambda each: (each[0][2], each[2], each[3]), default=None)
        there = best is not None and best[1] > 0
        expected[(*row, *(best[0] if best is not None and there else (None, None, None)))] += 1
    spec = replace(spec_of("left", changes=True), upserts=True)
    run = TimedRun(spec, [left, changes], times=[2, 2])
    assert run.table(plan) == expected
