"""Changes as rows: their kinds by key, by cause, and without a key."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.changelog import ChangelogSpec
from millstream.kernel.tables.group_aggregate import GroupAggregateSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, plans

ROW = arrow_row(["k", "v"], [pa.string(), pa.int64()])
COUNTS = arrow_row(["k", "n"], [pa.string(), pa.int64()])
keys = st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.booleans()), max_size=14)


def log(run: TableRun, plan: Plan) -> list[tuple[Any, ...]]:
    return [row for epoch in run.changes(plan) for row, _ in epoch]


def test_the_next_row_of_a_key_makes_an_update() -> None:
    changes = [(("x", 1), 1), (("y", 1), 1), (("x", 1), -1), (("y", 1), -1), (("x", 2), 1)]
    found = log(TableRun(ChangelogSpec(ROW, (0,), "key"), [changes]), Plan(reads=5))
    assert found == [
        ("x", 1, "INSERT"),
        ("y", 1, "INSERT"),
        ("x", 1, "UPDATE_BEFORE"),
        ("y", 1, "DELETE"),
        ("x", 2, "UPDATE_AFTER"),
    ]


def test_without_a_key_there_are_insertions_and_deletions() -> None:
    changes = [(("x", 1), 2), (("x", 1), -1), (("x", 2), 1)]
    found = log(TableRun(ChangelogSpec(ROW, (0, 1), "none"), [changes]), Plan(reads=4))
    assert [row[2] for row in found] == ["INSERT", "INSERT", "DELETE", "INSERT"]


def counted(changes: list[Weighted]) -> Counter[Any]:
    """What a count of rows by key emits for each of them, as Flink does."""
    found: Counter[Any] = Counter()
    numbers: Counter[Any] = Counter()
    for (key, _), weight in changes:
        old = numbers[key]
        numbers[key] += weight
        new = numbers[key]
        kinds = ("UPDATE_BEFORE", "UPDATE_AFTER") if old and new else ("DELETE", "INSERT")
        if old:
            found[key, old, kinds[0]] += 1
        if new:
            found[key, new, kinds[1]] += 1
    return found


@given(steps=keys, plan=plans)
@examples(60)
def test_each_update_of_an_aggregate_for_every_cut(
    steps: list[tuple[str | None, bool]], plan: Plan
) -> None:
    plan.batch = False
    there: Counter[Any] = Counter()
    changes: list[Weighted] = []
    for key, comes in steps:
        weight = 1 if comes or not there[key] else -1
        there[key] += weight
        changes.append(((key, 1), weight))
    spec = GroupAggregateSpec(
        ROW,
        (0,),
        (AggregateCall("COUNT", (), pa.int64()),),
        ("k", "n"),
        changes=True,
        every_update=True,
    )
    run = TableRun(spec, [changes], behind=[ChangelogSpec(COUNTS, (0,), "cause")])
    assert Counter(log(run, plan)) == counted(changes)
