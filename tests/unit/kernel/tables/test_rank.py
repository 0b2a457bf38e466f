"""Top-N, deduplication and LIMIT of random differences, compared with sorting all rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.rank import (
    RankKind,
    RankSpec,
    SortColumn,
    dedup_spec,
    limit_spec,
)
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, bag, plans

ROW = arrow_row(["k", "t", "v"], [pa.string(), pa.int64(), pa.string()])
rows = st.tuples(
    st.sampled_from(["x", None]), st.sampled_from([1, 2, 3, None]), st.sampled_from(["a", "b"])
)


@st.composite
def changelogs(draw: st.DrawFn, retract: bool = True) -> list[Weighted]:
    found: list[Weighted] = []
    there: list[Any] = []
    for row in draw(st.lists(rows, max_size=12)):
        found.append((row, 1))
        there.append(row)
        if retract and draw(st.booleans()):
            gone = draw(st.sampled_from(there))
            there.remove(gone)
            found.append((gone, -1))
    return found


def sort_value(value: Any, column: SortColumn) -> Any:
    if value is None:
        return (0 if column.nulls_first else 2, 0)
    return (1, -value if column.descending else value)


def expected(spec: RankSpec, changes: list[Weighted]) -> Counter[Any]:
    there: list[Any] = []
    for row, weight in changes:
        if weight > 0:
            there.append(row)
        else:
            there.remove(row)
    groups: dict[Any, list[Any]] = {}
    for row in there:
        groups.setdefault(tuple(row[place] for place in spec.key), []).append(row)
    found: Counter[Any] = Counter()
    for group in groups.values():
        if spec.last_wins and not spec.changes:
            group.reverse()
        if spec.changes:
            group.sort(key=lambda row: [(value is not None, value) for value in row])
        group.sort(key=lambda row: [sort_value(row[c.place], c) for c in spec.order])
        keys = [[row[c.place] for c in spec.order] for row in group]
        distinct = list(map(list, dict.fromkeys(map(tuple, keys))))
        for i, row in enumerate(group):
            number = {
                "row_number": i + 1,
                "rank": keys.index(keys[i]) + 1,
                "dense_rank": distinct.index(keys[i]) + 1,
            }[spec.kind]
            if spec.start <= number <= spec.end:
                found[row if spec.rank_name is None else (*row, number)] += 1
    return found


@pytest.mark.parametrize("changes", [True, False])
@pytest.mark.parametrize("kind", ["row_number", "rank", "dense_rank"])
@given(
    data=st.data(),
    plan=plans,
    end=st.integers(1, 3),
    start=st.integers(1, 2),
    name=st.sampled_from([None, "rank"]),
    column=st.builds(SortColumn, st.just(1), st.booleans(), st.booleans()),
    key=st.sampled_from([(0,), ()]),
)
@examples(50)
def test_the_table_is_that_of_all_rows(
    changes: bool,
    kind: RankKind,
    data: st.DataObject,
    plan: Plan,
    end: int,
    start: int,
    name: str | None,
    column: SortColumn,
    key: tuple[int, ...],
) -> None:
    differences = data.draw(changelogs(retract=changes))
    spec = RankSpec(ROW, key, (column,), end, start, kind, name, changes)
    assert TableRun(spec, [differences]).table(plan) == expected(spec, differences)


NESTED: dict[str, tuple[pa.DataType, dict[str, Any]]] = {
    "ARRAY": (pa.list_(pa.int64()), {"a": [1], "b": [2]}),
    "ROW": (pa.struct([("f", pa.float64())]), {"a": {"f": 1.5}, "b": {"f": None}}),
    "MAP": (pa.map_(pa.string(), pa.int64()), {"a": [("x", 1)], "b": [("x", 2)]}),
}


@pytest.mark.parametrize("name", NESTED)
@given(changes=changelogs(), plan=plans, end=st.integers(1, 3))
@examples(30)
def test_ties_of_nested_values_do_not_depend_on_what_else_is_there(
    name: str, changes: list[Weighted], plan: Plan, end: int
) -> None:
    kind, values = NESTED[name]
    row = arrow_row(["v", "k", "t"], [kind, pa.string(), pa.int64()])
    nested = [((values[v], k, t), weight) for (k, t, v), weight in changes]
    spec = RankSpec(row, (1,), (SortColumn(1),), end, changes=True)
    run = TableRun(spec, [nested])
    assert shown(run.table(plan)) == shown(run.table(Plan(reads=len(nested) + 1)))


def shown(table: Counter[Any]) -> list[str]:
    return sorted(map(repr, table.items()))


@given(changes=changelogs(retract=False), plan=plans, keep=st.sampled_from(["first", "last"]))
@examples(30)
def test_deduplication(changes: list[Weighted], plan: Plan, keep: Any) -> None:
    for rowtime in (None, 1):
        spec = dedup_spec(ROW, (0,), keep=keep, rowtime=rowtime)
        assert TableRun(spec, [changes]).table(plan) == expected(spec, changes)


@given(changes=changelogs(), plan=plans)
@examples(20)
def test_limit(changes: list[Weighted], plan: Plan) -> None:
    spec = limit_spec(ROW, (SortColumn(1, descending=True),), 2, offset=1)
    assert TableRun(spec, [changes]).table(plan) == expected(spec, changes)


def test_rows_that_only_come_keep_no_more_than_the_range() -> None:
    changes = [(("x", i, "a"), 1) for i in range(50)]
    spec = RankSpec(ROW, (0,), (SortColumn(1),), 2, changes=False)
    run = TableRun(spec, [changes])
    assert run.table(Plan(reads=5)) == bag([(("x", 0, "a"), 1), (("x", 1, "a"), 1)])
    assert "at most 2 rows" in spec.describe()
