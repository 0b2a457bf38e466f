"""The watermark before each row, for any cut: that of its channel."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.timed.watermark_columns import WatermarkColumnsSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, plans
from tests.support.timed_tables import FIRST, TimedRun, at, limits

ROW = arrow_row(["v", "t"], [pa.int32(), pa.timestamp("ms")])
values = st.tuples(st.integers(0, 3), st.integers(-9, 30).map(at))


@given(
    given=st.lists(st.tuples(values, st.just(1)), max_size=12),
    delay=st.sampled_from([0, 5]),
    plan=plans,
)
@examples(40)
def test_each_row_has_the_watermark_that_its_channel_had_before_it(
    given: list[Weighted], delay: int, plan: Plan
) -> None:
    spec = WatermarkColumnsSpec(ROW, (1,), (pa.timestamp("ms"),))
    before = limits(given, 1, delay)
    expected = Counter(
        (*row, None if limit == FIRST else at(limit))
        for (row, _), limit in zip(given, before, strict=True)
    )
    assert TimedRun(spec, [given], times=[1], delay=delay).table(plan) == expected
