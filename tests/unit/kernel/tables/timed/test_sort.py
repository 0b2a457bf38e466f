"""ORDER BY a time, compared with sorting all rows that come before a later one has left."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.timed.sort import TemporalSortSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import TimedRun, at, limits, ms_of

ROW = arrow_row(["v", "t"], [pa.int32(), pa.timestamp("ms")])
values = st.tuples(st.integers(0, 3), st.integers(-9, 30).map(at))


@given(
    given=st.lists(st.tuples(values, st.just(1)), max_size=12),
    delay=st.sampled_from([0, 5, 60]),
    plan=plans,
)
@examples(40)
def test_rows_leave_in_their_order(given: list[Weighted], delay: int, plan: Plan) -> None:
    spec = TemporalSortSpec(ROW, (SortColumn(1), SortColumn(0, descending=True)))
    found = [
        row
        for epoch in TimedRun(spec, [given], times=[1], delay=delay).changes(plan)
        for row, _ in epoch
    ]
    expected: list[tuple[Any, ...]] = []
    for (row, _), limit in zip(given, limits(given, 1, delay), strict=True):
        # The rows that have left when this one comes.
        gone = [ms_of(each[1]) for each in expected if ms_of(each[1]) <= limit]
        if ms_of(row[1]) > limit or all(ms_of(row[1]) > time for time in gone):
            expected.append(row)
    assert found == sorted(expected, key=lambda row: (row[1], -row[0]))
