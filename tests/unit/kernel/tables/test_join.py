"""Joins of random differences, compared with nested loops over all rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.join import JoinKind, JoinSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, bag, plans

LEFT = arrow_row(["k", "j", "v"], [pa.string(), pa.int32(), pa.int64()])
RIGHT = arrow_row(["j2", "k2", "w"], [pa.int32(), pa.string(), pa.int64()])
KINDS: list[JoinKind] = ["inner", "left", "right", "full", "semi", "anti"]
texts, numbers = st.sampled_from(["x", "y", None]), st.sampled_from([1, None])
values = st.sampled_from([1, 2, 3])


@st.composite
def changelogs(draw: st.DrawFn, rows: Any, retract: bool = True) -> list[Weighted]:
    found: list[Weighted] = []
    there: list[Any] = []
    for row in draw(st.lists(rows, max_size=8)):
        found.append((row, 1))
        there.append(row)
        if retract and draw(st.booleans()):
            gone = draw(st.sampled_from(there))
            there.remove(gone)
            found.append((gone, -1))
    return found


lefts, rights = st.tuples(texts, numbers, values), st.tuples(numbers, texts, values)


def smaller(batch: pa.RecordBatch) -> pa.Array:
    return pc.less_equal(batch.column(2), batch.column(5))


def spec(kind: JoinKind, **options: Any) -> JoinSpec:
    names = ["k", "j", "v"] if kind in ("semi", "anti") else ["k", "j", "v", "j2", "k2", "w"]
    fields: dict[str, Any] = {"left_key": (0, 1), "right_key": (1, 0), **options}
    return JoinSpec(LEFT, RIGHT, kind, names=tuple(names), **fields)


def expected(made: JoinSpec, left: Counter[Any], right: Counter[Any]) -> Counter[Any]:
    def meet(one: Any, other: Any) -> bool:
        safe = made.null_safe or (False,) * len(made.left_key)
        for a, b, same in zip(made.left_key, made.right_key, safe, strict=True):
            if one[a] != other[b] or (one[a] is None and not same):
                return False
        return made.condition is None or bool(one[2] <= other[2])

    found: Counter[Any] = Counter()
    for one, n in left.items():
        partners = [other for other in right if meet(one, other)]
        if made.kind == "semi" or made.kind == "anti":
            found[one] += n if bool(partners) == (made.kind == "semi") else 0
            continue
        for other in partners:
            found[(*one, *other)] += n * right[other]
        if not partners and made.kind in ("left", "full"):
            found[(*one, None, None, None)] += n
    if made.kind in ("right", "full"):
        for other, n in right.items():
            if not any(meet(one, other) for one in left):
                found[(None, None, None, *other)] += n
    return Counter({row: n for row, n in found.items() if n})


@pytest.mark.parametrize("kind", KINDS)
@given(
    left=changelogs(lefts),
    right=changelogs(rights),
    plan=plans,
    condition=st.sampled_from([None, smaller]),
    safe=st.sampled_from([(), (True, False), (True, True)]),
    keyed=st.booleans(),
)
@examples(60)
def test_the_table_is_that_of_all_rows(
    kind: JoinKind,
    left: list[Weighted],
    right: list[Weighted],
    plan: Plan,
    condition: Any,
    safe: Any,
    keyed: bool,
) -> None:
    options = {"condition": condition, "null_safe": safe}
    if not keyed:
        options |= {"left_key": (), "right_key": (), "null_safe": ()}
    made = spec(kind, **options)
    assert TableRun(made, [left, right]).table(plan) == expected(made, bag(left), bag(right))


@pytest.mark.parametrize("kind", KINDS)
@given(left=changelogs(lefts, retract=False), right=changelogs(rights, retract=False), plan=plans)
@examples(20)
def test_rows_that_only_come(
    kind: JoinKind, left: list[Weighted], right: list[Weighted], plan: Plan
) -> None:
    made = spec(kind, changes=(False, False))
    assert TableRun(made, [left, right]).table(plan) == expected(made, bag(left), bag(right))


def test_an_epoch_gives_no_pair_and_its_opposite() -> None:
    left = [(("x", 1, 1), 1), (("x", 1, 1), -1), (("x", 1, 2), 1)]
    right = [((1, "x", 1), 1), ((1, "x", 1), -1), ((1, "x", 2), 1)]
    epochs = TableRun(spec("inner"), [left, right]).changes(Plan(reads=1))
    assert epochs[0] == [(("x", 1, 1, 1, "x", 1), 1)]
    assert epochs[1] == [(("x", 1, 1, 1, "x", 1), -1)]
    assert epochs[2] == [(("x", 1, 2, 1, "x", 2), 1)]
    together = TableRun(spec("inner"), [left, right]).changes(Plan(reads=3))
    assert together[0] == [(("x", 1, 2, 1, "x", 2), 1)]


def test_a_table_is_joined_with_itself() -> None:
    row = arrow_row(["k", "v"], [pa.string(), pa.int64()])
    made = JoinSpec(row, row, "inner", (0,), (0,), ("k", "v", "k2", "v2"))
    changes: list[Weighted] = [(("x", 1), 1), (("x", 2), 1), (("x", 1), -1)]
    for reads in (1, 3):
        run = SelfJoin(made, [changes])
        assert run.table(Plan(reads=reads, slots=2)) == bag([(("x", 2, "x", 2), 1)])


class SelfJoin(TableRun):
    """Both inputs of the spec read the one source."""

    def inputs_of(self, nodes: list[int]) -> list[int]:
        return nodes * 2
