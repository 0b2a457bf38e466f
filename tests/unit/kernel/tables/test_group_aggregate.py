"""Group aggregates of random differences, compared with the reference over all rows."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.group_aggregate import GroupAggregateSpec
from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.tree import InputRef
from millstream.table.functions import bind
from millstream.table.functions.aggregation import aggregate, consolidate
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import DecimalType
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, bag, canonical, plans

DECIMAL = DecimalType(10, 2)
TYPES = [kinds.STRING, kinds.INT, kinds.BIGINT, DECIMAL, kinds.DOUBLE, kinds.BOOLEAN]
NAMES = ["k", "i", "l", "d", "f", "b"]
ROW = arrow_row(NAMES, [arrow_type(kind) for kind in TYPES])
rows = st.tuples(
    st.sampled_from(["x", "y", None]),
    st.sampled_from([1, 2, -3, 2**31 - 1, None]),
    st.sampled_from([5, -7, 2**40, None]),
    st.sampled_from([Decimal("1.25"), Decimal("-0.50"), Decimal("99999999.99"), None]),
    st.sampled_from([0.5, -2.0, 8.25, None]),
    st.sampled_from([True, False, None]),
)
PLACES = {"i": 1, "l": 2, "d": 3, "f": 4, "k": 0}


@st.composite
def changelogs(draw: st.DrawFn, retract: bool = True) -> list[Weighted]:
    """Rows that come, and later may be taken back."""
    found: list[Weighted] = []
    there: list[Any] = []
    for row in draw(st.lists(rows, max_size=14)):
        found.append((row, 1))
        there.append(row)
        if retract and draw(st.booleans()):
            gone = draw(st.sampled_from(there))
            there.remove(gone)
            found.append((gone, -1))
    return found


def call(name: str, field: str | None, **options: Any) -> tuple[AggregateCall, Any]:
    arguments = [] if field is None else [InputRef(TYPES[PLACES[field]], PLACES[field], field)]
    bound = bind(name, arguments)
    places = () if field is None else (PLACES[field],)
    return AggregateCall(name, places, arrow_type(bound.type), **options), bound


def value_of(one: tuple[AggregateCall, Any], found: list[Weighted]) -> Any:
    made, bound = one
    arguments = []
    for row, weight in found:
        if made.filter is None or row[made.filter]:
            arguments.append((tuple(row[place] for place in made.arguments), weight))
    if made.distinct:
        arguments = [(row, 1) for row in dict.fromkeys(consolidate(arguments))]
    if not made.arguments:
        return sum(weight for _, weight in arguments)
    if made.function == "STDDEV_SAMP":
        return deviation(arguments)
    return aggregate(bound, arguments, Context())


def deviation(rows: list[Weighted]) -> int | None:
    """The deviation of a sample. Operators are exact; the reference adds fractions, as Flink does."""
    known = [(Fraction(number), weight) for (number,), weight in rows if number is not None]
    count = sum(weight for _, weight in known)
    if count < 2:
        return None
    mean = sum(number * weight for number, weight in known) / count
    squares = sum((number - mean) ** 2 * weight for number, weight in known)
    return int(math.sqrt(squares / (count - 1)))


def expected(
    calls: list[Any], changes: list[Weighted], key: bool, batch: bool = False
) -> Counter[Any]:
    """The table of all rows. Without GROUP BY, only a batch query gives the one row of no rows."""
    groups: dict[Any, list[Weighted]] = {} if key else {(): []}
    for row, weight in changes:
        groups.setdefault((row[0],) if key else (), []).append((row, weight))
    made: Counter[Any] = Counter()
    for name, group in groups.items():
        if sum(weight for _, weight in group) or (batch and not key):
            made[canonical((*name, *(value_of(one, group) for one in calls)))] += 1
    return made


NUMBERS = [
    call("COUNT", None),
    call("COUNT", "i"),
    *(call(name, field) for name in ("SUM", "AVG", "MIN", "MAX") for field in ("i", "l", "d", "f")),
    call("SUM0", "i"),
    call("MIN", "k"),
    call("VAR_POP", "l"),
    call("STDDEV_SAMP", "i"),
]
OTHERS = [
    call("COUNT", "i", distinct=True),
    call("SUM", "d", distinct=True),
    call("AVG", "l", distinct=True),
    call("MAX", "i", distinct=True),
    call("COUNT", None, filter=5),
    call("COUNT", "l", filter=5, distinct=True),
    call("SUM", "i", filter=5),
    call("MIN", "f", filter=5),
]
ORDERED = [
    call("FIRST_VALUE", "i"),
    call("LAST_VALUE", "d"),
    call("LISTAGG", "k"),
    call("ARRAY_AGG", "i"),
]


def spec(calls: list[Any], key: tuple[int, ...] = (0,), **options: Any) -> GroupAggregateSpec:
    names = (*(NAMES[place] for place in key), *(f"a{i}" for i in range(len(calls))))
    return GroupAggregateSpec(ROW, key, tuple(made for made, _ in calls), names, **options)


def same(one: Counter[Any], other: Counter[Any]) -> bool:
    """Whether tables are equal, but for rounding of fractions."""

    def rounded(table: Counter[Any]) -> Counter[Any]:
        return Counter(
            {
                tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row): n
                for row, n in table.items()
            }
        )

    return rounded(one) == rounded(other)


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize("calls", [NUMBERS, OTHERS, ORDERED], ids=["numbers", "others", "ordered"])
@given(changes=changelogs(), plan=plans)
@examples(40)
def test_the_table_is_that_of_all_rows(
    calls: list[Any], key: bool, changes: list[Weighted], plan: Plan
) -> None:
    found = TableRun(spec(calls, (0,) if key else ()), [changes]).table(plan)
    assert same(found, expected(calls, changes, key, plan.batch))


@pytest.mark.parametrize("calls", [NUMBERS, OTHERS, ORDERED], ids=["numbers", "others", "ordered"])
@given(changes=changelogs(retract=False), plan=plans)
@examples(15)
def test_rows_that_only_come_need_less_state(
    calls: list[Any], changes: list[Weighted], plan: Plan
) -> None:
    found = TableRun(spec(calls, changes=False), [changes]).table(plan)
    assert same(found, expected(calls, changes, True))


@given(changes=changelogs(), plan=plans)
@examples(15)
def test_every_update_makes_the_same_table(changes: list[Weighted], plan: Plan) -> None:
    run = TableRun(spec([*NUMBERS[:4], *ORDERED], every_update=True), [changes])
    assert same(run.table(plan), expected([*NUMBERS[:4], *ORDERED], changes, True))


def test_every_update_is_emitted() -> None:
    changes = [(("x", 1, None, None, None, None), 1), (("x", 2, None, None, None, None), 1)]
    run = TableRun(spec([call("SUM", "i")], every_update=True), [changes])
    assert run.changes(Plan(reads=5))[0] == [(("x", 1), 1), (("x", 1), -1), (("x", 3), 1)]


def test_an_unchanged_result_emits_nothing() -> None:
    row = ("x", 1, None, None, None, None)
    run = TableRun(spec([call("MAX", "i")]), [[(row, 1), (row, 1), (row, -1)]])
    assert run.changes(Plan(reads=1)) == [[(("x", 1), 1)], [], [], []]


def test_one_group_of_all_rows_goes_with_its_last_row() -> None:
    row = ("x", 1, None, None, None, None)
    run = TableRun(spec([call("COUNT", None), call("SUM", "i")], ()), [[(row, 1), (row, -1)]])
    # The table of no rows is the same, whether there were some before or not.
    assert run.changes(Plan(reads=1))[:2] == [[((1, 1), 1)], [((1, 1), -1)]]
    assert run.table(Plan(reads=2)) == bag([])


class Longest:
    """PyFlink's methods, of texts."""

    def create_accumulator(self) -> list[str]:
        return []

    def accumulate(self, accumulator: list[str], text: str) -> None:
        accumulator.append(text)

    def retract(self, accumulator: list[str], text: str) -> None:
        accumulator.remove(text)

    def merge(self, accumulator: list[str], others: list[list[str]]) -> None:
        for other in others:
            accumulator.extend(other)

    def get_value(self, accumulator: list[str]) -> str | None:
        return max(accumulator, key=len, default=None)


def joined(found: list[tuple[Any, ...]]) -> str:
    return "+".join(str(row[0]) for row in found)


@given(plan=plans)
@examples(6)
def test_functions_of_users_and_of_rows(plan: Plan) -> None:
    row = arrow_row(["k", "t"], [pa.int32(), pa.string()])
    calls = (
        AggregateCall("USER", (1,), pa.string(), compute=Longest()),
        AggregateCall("ROWS", (1,), pa.string(), compute=joined),
        AggregateCall("COLLECT", (1,), pa.map_(pa.string(), pa.int32())),
    )
    texts = [((1, "a"), 1), ((1, "bb"), 1), ((2, "c"), 1), ((1, "bb"), -1), ((1, "a"), 1)]
    made = GroupAggregateSpec(row, (0,), calls, ("k", "u", "r", "c"))
    assert TableRun(made, [texts]).table(plan) == bag(
        [((1, "a", "a+a", [("a", 2)]), 1), ((2, "c", "c", [("c", 1)]), 1)]
    )
