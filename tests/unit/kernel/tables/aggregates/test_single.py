"""The value of a group that may have one record only."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from millstream.common.errors import MillstreamError
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.group_aggregate import GroupAggregateSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, bag, plans

ROW = arrow_row(["k", "v"], [pa.string(), pa.int64()])
CALL = AggregateCall("SINGLE_VALUE", (1,), pa.int64(), compute="(SELECT v FROM t)")
SPEC = GroupAggregateSpec(ROW, (0,), (CALL,), ("k", "value"))
REPLACED: list[Weighted] = [
    (("x", 1), 1),
    (("y", 5), 1),
    (("x", 1), -1),
    (("x", 2), 1),
    (("y", 5), -1),
    (("x", 2), -1),
    (("x", None), 1),
]


@given(plan=plans)
@examples(20)
def test_one_record_takes_the_place_of_another(plan: Plan) -> None:
    assert TableRun(SPEC, [REPLACED]).table(plan) == bag([(("x", None), 1)])


@given(plan=plans)
@examples(20)
def test_a_second_record_is_refused_even_if_it_is_taken_back(plan: Plan) -> None:
    run = TableRun(SPEC, [[(("x", 1), 1), (("x", 2), 1), (("x", 1), -1), (("y", 1), 1)]])
    with pytest.raises(MillstreamError, match=r"SUBQUERY_ROWS.*\(SELECT v FROM t\)"):
        run.table(plan)


def test_a_second_record_without_a_value_is_refused() -> None:
    with pytest.raises(MillstreamError, match="SUBQUERY_ROWS"):
        TableRun(SPEC, [[(("x", None), 1), (("x", None), 1)]]).table()
