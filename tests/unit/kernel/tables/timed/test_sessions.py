"""Sessions over random rows, watermarks and cuts, compared with sessions of Python objects.

Flink's rules that the model follows: the session of a row touches those that begin or end in it, also
in one instant, and merges with them unless they are over. A row is late if its session, after
merging, is over.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.timed.sessions import SessionSpec
from millstream.kernel.tables.timed.window_aggregate import WindowAggregateSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, limits, ms_of

ROW = arrow_row(["k", "v", "t"], [pa.string(), pa.int32(), pa.timestamp("ms")])
GAP = 6
values = st.tuples(
    st.sampled_from(["x", "y", None]), st.sampled_from([1, 5, None]), st.integers(-20, 40).map(at)
)
rows = st.lists(st.tuples(values, st.just(1)), max_size=14)


@dataclass
class Session:
    start: int
    end: int
    rows: list[Any]


def sessions(given: list[Weighted], delay: int, *, by_key: bool = True) -> list[Session]:
    """All sessions, of rows that come one by one."""
    found: dict[Any, list[Session]] = {}
    for (row, _), limit in zip(given, limits(given, 2, delay), strict=True):
        time = ms_of(row[2])
        mine = found.setdefault(row[0] if by_key else None, [])
        new = Session(time, time + GAP, [row])
        for other in [each for each in mine if each.end - 1 > limit]:
            if other.start <= time + GAP and time <= other.end:
                mine.remove(other)
                new.start, new.end = min(new.start, other.start), max(new.end, other.end)
                new.rows += other.rows
        if new.end - 1 > limit:
            mine.append(new)
    return [session for each in found.values() for session in each]


def of_rows(given: list[Session]) -> Counter[Any]:
    return Counter(
        ((*row, at(each.start), at(each.end), at(each.end - 1)), 1)
        for each in given
        for row in each.rows
    )


@given(given=rows, delay=st.sampled_from([0, 3, 8, 60]), plan=plans)
@examples(60)
def test_rows_leave_with_their_session(given: list[Weighted], delay: int, plan: Plan) -> None:
    run = TimedRun(SessionSpec(ROW, (0,), 2, GAP), [given], times=[2], delay=delay)
    found = Counter(row for epoch in run.changes(plan) for row in epoch)
    assert found == of_rows(sessions(given, delay))


@given(given=rows, delay=st.sampled_from([0, 8]), plan=plans)
@examples(20)
def test_without_keys_all_rows_make_one_sequence(
    given: list[Weighted], delay: int, plan: Plan
) -> None:
    run = TimedRun(SessionSpec(ROW, (), 2, GAP), [given], times=[2], delay=delay)
    found = Counter(row for epoch in run.changes(plan) for row in epoch)
    assert found == of_rows(sessions(given, delay, by_key=False))


@given(given=rows, delay=st.sampled_from([0, 8]), plan=plans)
@examples(20)
def test_aggregates_of_sessions(given: list[Weighted], delay: int, plan: Plan) -> None:
    session = SessionSpec(ROW, (0,), 2, GAP)
    count = AggregateCall("COUNT", (), pa.int64())
    spec = WindowAggregateSpec(session.output, (0,), (count,), 3, 4)
    run = TimedRun(spec, [given], times=[2], delay=delay, before=[[session]], rows=[ROW])
    found = Counter(row for epoch in run.changes(plan) for row, _ in epoch)
    assert found == Counter(
        (each.rows[0][0], at(each.start), at(each.end), at(each.end - 1), len(each.rows))
        for each in sessions(given, delay)
    )


@pytest.mark.parametrize("taken_back", [0, 1, 2])
def test_a_row_that_is_taken_back_leaves_its_session_as_long_as_it_was(taken_back: int) -> None:
    given = [(("x", 1, at(time)), 1) for time in (0, 5, 10)]
    changes = [*given, (given[taken_back][0], -1)]
    run = TimedRun(SessionSpec(ROW, (0,), 2, GAP, changes=True), [changes], times=[2], delay=60)
    found = Counter(row for epoch in run.changes(Plan(reads=2)) for row in epoch)
    gone = given[taken_back][0]
    wanted = of_rows(sessions(given, 60))
    assert found == Counter({each: n for each, n in wanted.items() if each[0][:3] != gone})
