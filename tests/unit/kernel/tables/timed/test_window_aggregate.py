"""Window aggregates over random rows, watermarks and cuts, compared with sums of Python objects.

Flink's rules that the model follows: a row is late for a window whose last instant (window_end - 1)
the watermark has reached; HOP and CUMULATE still count it in those of its windows that are open. An
empty window has no row. Rows without a time are dropped by the windowing function.
"""

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
from millstream.kernel.tables.timed.window_aggregate import WindowAggregateSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, limits, ms_of, single

ROW = arrow_row(["k", "v", "t"], [pa.string(), pa.int32(), pa.timestamp("ms")])
CALLS = (
    AggregateCall("COUNT", (), pa.int64()),
    AggregateCall("SUM", (1,), pa.int32()),
    AggregateCall("MAX", (1,), pa.int32()),
)
WINDOWS = [
    ("TUMBLE", 10, None, 0),
    ("TUMBLE", 10, None, 3),
    ("HOP", 10, 5, 0),
    ("HOP", 7, 3, -1),
    ("CUMULATE", 12, 4, 2),
]
values = st.tuples(
    st.sampled_from(["x", "y", None]), st.sampled_from([1, 5, None]), st.integers(-20, 40).map(at)
)
rows = st.lists(st.tuples(values, st.just(1)), max_size=14)


@st.composite
def changes(draw: Any) -> list[Weighted]:
    """Rows, some of which are taken back later."""
    found: list[Weighted] = []
    for row, weight in draw(rows):
        found.append((row, weight))
        if draw(st.booleans()):
            found.append((draw(st.sampled_from(found))[0], -1))
    return found


def windows_of(window: Any, time: int) -> list[Any]:
    """By trial: all windows that a time is in."""
    kind, size, step, offset = window
    found = []
    for start in range(time - size, time + 1):
        if kind == "CUMULATE":
            ends = (
                range(start + step, start + size + 1, step) if (start - offset) % size == 0 else []
            )
            found += [(start, end) for end in ends if end > time]
        elif (start - offset) % (step or size) == 0 and start + size > time:
            found.append((start, start + size))
    return found


def expected(window: Any, given: list[Weighted], delay: int, lateness: int = 0) -> Counter[Any]:
    groups: dict[Any, Counter[Any]] = {}
    units = single(given)
    for ((key, value, time), weight), limit in zip(units, limits(units, 2, delay), strict=True):
        for start, end in windows_of(window, ms_of(time)):
            if end - 1 + lateness > limit:
                groups.setdefault((key, start, end), Counter())[value] += weight
    found: Counter[Any] = Counter()
    for (key, start, end), counts in groups.items():
        number = sum(counts.values())
        known = {v: n for v, n in counts.items() if v is not None}
        there = [v for v, n in known.items() if n > 0]
        total = sum(v * n for v, n in known.items()) if sum(known.values()) else None
        if number > 0:
            row = (key, at(start), at(end), at(end - 1), number, total, max(there, default=None))
            found[row] += 1
    return found


def run_of(window: Any, given: list[Weighted], delay: int, *, changes: bool) -> TimedRun:
    kind, size, step, offset = window
    windows = WindowStep(ROW, kind, 2, size, step, offset)
    spec = WindowAggregateSpec(windows.output, (0,), CALLS, 3, 4, changes=changes)
    return TimedRun(spec, [given], times=[2], delay=delay, before=[[windows]], rows=[ROW])


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(given=rows, delay=st.sampled_from([0, 5, 30]), plan=plans)
@examples(40)
def test_windows_of_rows_that_only_come(
    window: Any, given: list[Weighted], delay: int, plan: Plan
) -> None:
    run = run_of(window, given, delay, changes=False)
    assert run.table(plan) == expected(window, given, delay)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(given=changes(), plan=plans)
@examples(30)
def test_windows_of_rows_that_are_taken_back(
    window: Any, given: list[Weighted], plan: Plan
) -> None:
    run = run_of(window, given, 100, changes=True)
    assert run.table(plan) == expected(window, given, 100)


def test_a_window_of_a_window_is_over_when_its_rows_have_come() -> None:
    """Window times of results are in the next window, and are not late there."""
    given = [(("x", v, at(t)), 1) for v, t in [(1, 0), (2, 3), (3, 9), (4, 15), (5, 25)]]
    first = WindowStep(ROW, "TUMBLE", 2, 5)
    spec = WindowAggregateSpec(first.output, (0,), CALLS, 3, 4)
    second = WindowStep(spec.output, "TUMBLE", 3, 10)
    above = WindowAggregateSpec(second.output, (), (AggregateCall("SUM", (5,), pa.int32()),), 7, 8)
    run = TimedRun(spec, [given], behind=[second, above], times=[2], before=[[first]], rows=[ROW])
    for reads in (1, 2, 9):
        found = run.table(Plan(reads=reads))
        assert {(ms_of(row[0]), row[-1]) for row in found} == {(0, 6), (10, 4), (20, 5)}
