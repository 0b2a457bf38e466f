"""Set operations on random differences, compared with counters."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.set_operations import SetKind, SetOperationSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, bag, plans

ROW = arrow_row(["a", "b"], [pa.string(), pa.int32()])
rows = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, None]))
differences = st.lists(st.tuples(rows, st.sampled_from([1, 1, -1, 2])), max_size=14)


def expected(kind: SetKind, left: Counter[Any], right: Counter[Any]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in left.keys() | right.keys():
        one, two = max(left[row], 0), max(right[row], 0)
        found[row] = {
            "distinct": min(one, 1),
            "union": min(one + two, 1),
            "intersect": min(one, two, 1),
            "intersect all": min(one, two),
            "except": int(one > 0 and two == 0),
            "except all": max(one - two, 0),
        }[kind]
    return Counter({row: number for row, number in found.items() if number})


@pytest.mark.parametrize(
    "kind", ["distinct", "union", "intersect", "intersect all", "except", "except all"]
)
@given(left=differences, right=differences, plan=plans)
@examples(25)
def test_the_table_is_that_of_all_rows(
    kind: SetKind, left: list[Weighted], right: list[Weighted], plan: Plan
) -> None:
    inputs = [left] if kind == "distinct" else [left, right]
    run = TableRun(SetOperationSpec(ROW, kind), inputs)
    assert run.table(plan) == expected(kind, bag(left), bag(right))


def test_an_epoch_without_effect_emits_nothing() -> None:
    run = TableRun(SetOperationSpec(ROW, "distinct"), [[(("x", 1), 1), (("x", 1), -1)]])
    assert run.changes(Plan(reads=2))[0] == []
