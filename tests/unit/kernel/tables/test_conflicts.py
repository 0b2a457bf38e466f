"""ON CONFLICT: the first row of a key stays, or a second one is an error."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import MillstreamError
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.conflicts import ConflictSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, plans
from tests.unit.kernel.tables.test_upsert import stored

ROW = arrow_row(["k", "v"], [pa.string(), pa.int64()])
rows = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, 3]))


def run(*changes: Weighted, fails: bool = False) -> TableRun:
    return TableRun(ConflictSpec(ROW, (0,), fails), [changes])


@given(added=st.lists(rows, max_size=10), plan=plans)
@examples(60)
def test_the_first_row_of_a_key_stays(added: list[Any], plan: Plan) -> None:
    wanted: dict[Any, Any] = {}
    for row in added:
        wanted.setdefault(row[0], row)
    assert stored(run(*((row, 1) for row in added)).changes(plan)) == wanted


def test_a_row_that_was_forgotten_does_not_come_back() -> None:
    first, second = ("x", 1), ("x", 2)
    found = run((first, 1), (second, 1), (second, -1), (second, 1), (first, -1), (second, -1))
    assert found.changes(Plan(reads=1)) == [[(first, 1)], [], [], [], [(first, -1)], [], []]


@given(plan=plans)
@examples(10)
def test_an_update_of_the_row_is_no_conflict(plan: Plan) -> None:
    changes = [(("x", 1), 1), (("x", 1), -1), (("x", 2), 1)]
    assert stored(run(*changes, fails=True).changes(plan)) == {"x": ("x", 2)}


def test_changes_of_an_epoch_are_added_up_first() -> None:
    changes = [(("x", 1), 1), (("x", 2), 1), (("x", 1), -1)]
    assert stored(run(*changes, fails=True).changes(Plan(reads=3))) == {"x": ("x", 2)}
    with pytest.raises(MillstreamError, match="SEVERAL_ROWS_OF_KEY"):
        run(*changes, fails=True).changes(Plan(reads=2))


def test_a_second_row_is_an_error() -> None:
    with pytest.raises(MillstreamError, match=r"(?s)k = 'x'.*DO NOTHING"):
        run((("y", 1), 1), (("x", 1), 1), (("x", 2), 1), fails=True).changes(Plan(reads=1))
    with pytest.raises(MillstreamError, match="SEVERAL_ROWS_OF_KEY"):
        run((("x", 1), 1), (("x", 1), 1), fails=True).changes(Plan())
