"""Changes as upserts by a key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.upsert import UpsertSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, plans

ROW = arrow_row(["k", "v"], [pa.string(), pa.int64()])


def stored(changes: list[list[Weighted]]) -> dict[Any, Any]:
    """What a sink by key has after some epochs."""
    found: dict[Any, Any] = {}
    for epoch in changes:
        for row, weight in epoch:
            if weight > 0:
                found[row[0]] = row
            else:
                del found[row[0]]
    return found


rows = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, 3]))


@given(added=st.lists(rows, max_size=10, unique=True), data=st.data(), plan=plans)
@examples(60)
def test_the_last_row_that_is_left_counts(
    added: list[Any], data: st.DataObject, plan: Plan
) -> None:
    gone = data.draw(st.lists(st.sampled_from(added), unique=True)) if added else []
    changes = [(row, 1) for row in added] + [(row, -1) for row in gone]
    wanted = {row[0]: row for row in added if row not in gone}
    run = TableRun(UpsertSpec(ROW, (0,)), [changes])
    assert stored(run.changes(plan)) == wanted


def test_a_new_row_that_comes_before_the_old_one_goes() -> None:
    changes = [(("x", 1), 1), (("x", 2), 1), (("x", 1), -1)]
    for unique in (False, True):
        run = TableRun(UpsertSpec(ROW, (0,), unique), [changes])
        assert stored(run.changes(Plan())) == {"x": ("x", 2)}
    # In epochs of their own, only kept rows tell that the old one does not count any more.
    run = TableRun(UpsertSpec(ROW, (0,)), [changes])
    assert run.changes(Plan(reads=1)) == [[(("x", 1), 1)], [(("x", 2), 1)], [], []]


def test_the_row_before_comes_back() -> None:
    changes = [(("x", 1), 1), (("x", 2), 1), (("x", 2), -1), (("x", 1), -1)]
    run = TableRun(UpsertSpec(ROW, (0,)), [changes])
    assert [each for epoch in run.changes(Plan(reads=1)) for each in epoch] == [
        (("x", 1), 1),
        (("x", 2), 1),
        (("x", 1), 1),
        (("x", 1), -1),
    ]
