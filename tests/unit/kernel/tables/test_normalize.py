"""Upserts as a table, and subqueries of one row."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.normalize import NormalizeSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, plans

ROW = arrow_row(["k", "v"], [pa.string(), pa.int64()])
rows = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, None]))
upserts = st.lists(st.tuples(rows, st.sampled_from([1, 1, -1])), max_size=14)


@given(changes=upserts, plan=plans)
@examples(60)
def test_the_last_row_of_each_key(changes: list[Weighted], plan: Plan) -> None:
    last: dict[Any, Any] = {}
    for row, weight in changes:
        last[row[0]] = row if weight > 0 else None
    wanted = Counter(row for row in last.values() if row is not None)
    assert TableRun(NormalizeSpec(ROW, (0,)), [changes]).table(plan) == wanted


def test_an_equal_row_emits_nothing() -> None:
    run = TableRun(NormalizeSpec(ROW, (0,)), [[(("x", 1), 1), (("x", 1), 1)]])
    assert run.changes(Plan(reads=1))[1] == []


@given(changes=upserts, plan=plans)
@examples(60)
def test_each_change_as_a_row_with_its_kind(changes: list[Weighted], plan: Plan) -> None:
    last: dict[Any, Any] = {}
    wanted: Counter[Any] = Counter()
    for row, weight in changes:
        old = last.get(row[0])
        last[row[0]] = new = row if weight > 0 else None
        if old == new:
            continue
        kinds = ("UPDATE_BEFORE", "UPDATE_AFTER") if old and new else ("DELETE", "INSERT")
        wanted.update((*each, kind) for each, kind in zip((old, new), kinds, strict=True) if each)
    assert TableRun(NormalizeSpec(ROW, (0,), kinds=True), [changes]).table(plan) == wanted


def test_each_change_comes_in_an_epoch_of_all() -> None:
    changes = [(("x", 1), 1), (("x", 2), 1), (("x", 2), 1), (("x", 0), -1)]
    run = TableRun(NormalizeSpec(ROW, (0,), each=True), [changes])
    first, *_ = run.changes(Plan(reads=4))
    assert first == [(("x", 1), 1), (("x", 1), -1), (("x", 2), 1), (("x", 2), -1)]
