"""Top-N and joins of windows over random rows and cuts, compared with loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.timed.assign import WindowStep
from millstream.kernel.tables.timed.window_rows import (
    WindowJoinKind,
    WindowJoinSpec,
    WindowRankSpec,
)
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, limits, ms_of

ROW = arrow_row(["k", "v", "t"], [pa.string(), pa.int32(), pa.timestamp("ms")])
STEP = WindowStep(ROW, "TUMBLE", 2, 10)
values = st.tuples(
    st.sampled_from(["x", "y", None]), st.integers(0, 3), st.integers(-20, 40).map(at)
)
rows = st.lists(st.tuples(values, st.just(1)), max_size=12)


def with_windows(given: list[Weighted], delay: int) -> list[Any]:
    found = []
    for (row, _), limit in zip(given, limits(given, 2, delay), strict=True):
        start = ms_of(row[2]) // 10 * 10
        if start + 9 > limit:
            found.append((*row, at(start), at(start + 10), at(start + 9)))
    return found


@given(given=rows, delay=st.sampled_from([0, 5, 60]), last=st.integers(1, 2), plan=plans)
@examples(40)
def test_the_first_rows_of_windows(
    given: list[Weighted], delay: int, last: int, plan: Plan
) -> None:
    order = (SortColumn(1, descending=True),)
    spec = WindowRankSpec(STEP.output, (0,), order, 3, 4, last, rank_name="n")
    groups: dict[Any, list[Any]] = {}
    for row in with_windows(given, delay):
        groups.setdefault((row[0], row[3]), []).append(row)
    expected: Counter[Any] = Counter()
    for group in groups.values():
        for number, row in enumerate(sorted(group, key=lambda row: -row[1])[:last], start=1):
            expected[(*row, number)] += 1
    run = TimedRun(spec, [given], times=[2], delay=delay, before=[[STEP]], rows=[ROW])
    assert run.table(plan) == expected


def joined(kind: str, left: list[Any], right: list[Any]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    blank, seen = (None,) * 6, set()
    for row in left:
        pairs = [
            i
            for i, other in enumerate(right)
            if row[0] == other[0] is not None and row[3] == other[3]
        ]
        seen |= set(pairs)
        if kind in ("semi", "anti"):
            found[row] += bool(pairs) == (kind == "semi")
            continue
        for i in pairs:
            found[(*row, *right[i])] += 1
        if not pairs and kind in ("left", "full"):
            found[(*row, *blank)] += 1
    for i, other in enumerate(right):
        if i not in seen and kind in ("right", "full"):
            found[(*blank, *other)] += 1
    return Counter({row: number for row, number in found.items() if number})


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
@given(left=rows, right=rows, delay=st.sampled_from([0, 5, 60]), plan=plans)
@examples(30)
def test_joins_of_windows(
    kind: WindowJoinKind, left: list[Weighted], right: list[Weighted], delay: int, plan: Plan
) -> None:
    width = 6 if kind in ("semi", "anti") else 12
    names = tuple(f"c{i}" for i in range(width))
    spec = WindowJoinSpec(STEP.output, STEP.output, kind, (0,), (0,), (3, 4), (3, 4), names)
    run = TimedRun(
        spec,
        [left, right],
        times=[2, 2],
        delay=delay,
        before=[[STEP], [STEP]],
        rows=[ROW, ROW],
    )
    assert run.table(plan) == joined(kind, with_windows(left, delay), with_windows(right, delay))
