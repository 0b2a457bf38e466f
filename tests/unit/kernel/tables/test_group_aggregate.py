"""Group aggregates of weighted rows, compared with a dictionary of all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, RowKind, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.buffers import ArrowCodec, Records
from millstream.kernel.records.columns import as_list
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.records.sorted_input import Arrivals
from millstream.kernel.state.pages import Directory, MemoryStore, PageStore
from millstream.kernel.tables import arrangement
from millstream.kernel.tables.accumulators import Aggregate, GroupAggregates
from millstream.kernel.tables.group_aggregate import GroupAggregateOperator
from millstream.kernel.time.clock import Clock
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, TestSource
from tests.support.strategies import examples

RECORD = Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE(), Types.STRING()])
ONE = KeyColumns((0,), (Types.STRING(),), True)
TWO = KeyColumns((0, 3), (Types.STRING(), Types.STRING()), False)
WHOLE = (Aggregate("count"), Aggregate("count", 1), Aggregate("sum", 1), Aggregate("avg", 1))
LINEAR = (*WHOLE, Aggregate("sum", 2), Aggregate("avg", 2))
BEST = (Aggregate("min", 1), Aggregate("max", 1), Aggregate("min", 2), Aggregate("max", 2))
Record = tuple[Any, ...]
Weighted = tuple[Record, int]


class Table:
    """The operator over epochs, and the table that its differences make."""

    def __init__(self, key: KeyColumns, aggregates: tuple[Aggregate, ...]) -> None:
        self.key = key
        groups = GroupAggregates(RECORD, key, aggregates)
        self.operator = GroupAggregateOperator(OperatorInfo("groups", "uid"), groups, lambda r: r)
        self.operator.opened = object()  # type: ignore[assignment]
        self.store = MemoryStore()
        self.pages = PageStore(self.store, "uid", Directory(), [])
        self.rows: Counter[Record] = Counter()
        self.seen = 0

    def epoch(self, records: list[Weighted]) -> Records | None:
        found: list[Records] = []
        n = len(records)
        columns = ArrowCodec(RECORD).arrays([record for record, _ in records])
        times = np.arange(self.seen, self.seen + n)
        self.seen += n
        arrivals = Arrivals(
            RECORD,
            columns,
            np.arange(n),
            times,
            OrderKeys.of_fragment(times, 0, 0, int(times[0])),
            self.key.hashes(columns),
            weights=np.array([weight for _, weight in records], np.int64),
        )
        clock = Clock(0, 0, 0)
        self.operator.run(arrivals, self.pages, clock, lambda _, emitted: found.append(emitted))
        for part in found:
            assert part.weights is not None
            for value, weight in zip(as_list(part.values), part.weights.tolist(), strict=True):
                self.rows[value] += weight
        self.rows = Counter({row: number for row, number in self.rows.items() if number})
        return found[0] if found else None


def key_of(record: Record, key: KeyColumns) -> Record:
    return tuple(record[place] for place in key.places)


def cut(number: float, count: int) -> int:
    quotient = abs(int(number)) // abs(count)
    return quotient if (number >= 0) == (count > 0) else -quotient


def naive(
    records: list[Weighted], key: KeyColumns, aggregates: tuple[Aggregate, ...]
) -> Counter[Record]:
    """The table by a loop over all records."""
    groups: dict[Record, list[Weighted]] = {}
    for record, weight in records:
        groups.setdefault(key_of(record, key), []).append((record, weight))
    found: Counter[Record] = Counter()
    for own, members in groups.items():
        if sum(weight for _, weight in members) > 0:
            found[(*own, *(_result(members, aggregate) for aggregate in aggregates))] += 1
    return found


def _result(members: list[Weighted], aggregate: Aggregate) -> Any:
    if aggregate.field is None:
        return sum(weight for _, weight in members)
    values = [(r[aggregate.field], w) for r, w in members if r[aggregate.field] is not None]
    number, total = sum(w for _, w in values), sum(v * w for v, w in values)
    by_kind: dict[str, Callable[[], Any]] = {
        "count": lambda: number,
        "min": lambda: min((v for v, _ in values), default=None),
        "max": lambda: max((v for v, _ in values), default=None),
        "sum": lambda: total if number else None,
        "avg": lambda: _average(aggregate.field, total, number),
    }
    return by_kind[aggregate.kind]()


def _average(field: int | None, total: Any, number: int) -> Any:
    if not number:
        return None
    return total / number if field == 2 else cut(total, number)


RECORDS = st.tuples(
    st.sampled_from("abc"),
    st.integers(-9, 9) | st.none(),
    st.sampled_from((0.25, -1.5, 8.0, None)),
    st.sampled_from(("x", None)),
)


@st.composite
def epochs(
    draw: st.DrawFn, *, takes_back: bool, in_any_order: bool = False
) -> list[list[Weighted]]:
    """Records that come, some more than once; some are taken back later, or even before they come."""
    came = draw(st.lists(st.tuples(RECORDS, st.integers(1, 3)), min_size=1, max_size=20))
    if takes_back:
        gone = draw(st.lists(st.sampled_from(came), max_size=8, unique_by=id))
        back = [(record, -draw(st.integers(1, weight))) for record, weight in gone]
        came = [*came, *back]
        if in_any_order:
            came = draw(st.permutations(came))
    found: list[list[Weighted]] = []
    while came:
        size = draw(st.integers(1, len(came)))
        found.append(came[:size])
        came = came[size:]
    return found


def check(key: KeyColumns, aggregates: tuple[Aggregate, ...], cuts: list[list[Weighted]]) -> None:
    table, records = Table(key, aggregates), list[Weighted]()
    for part in cuts:
        records += part
        table.epoch(part)
        assert table.rows == naive(records, key, aggregates)


@given(st.sampled_from((ONE, TWO)), epochs(takes_back=True))
@examples(60)
def test_the_table_is_right_after_each_epoch(key: KeyColumns, cuts: list[list[Weighted]]) -> None:
    check(key, LINEAR, cuts)


@given(st.sampled_from((ONE, TWO)), epochs(takes_back=True, in_any_order=True))
@examples(60)
def test_whole_numbers_may_be_taken_back_before_they_come(
    key: KeyColumns, cuts: list[list[Weighted]]
) -> None:
    check(key, WHOLE, cuts)


@given(epochs(takes_back=False))
@examples(40)
def test_smallest_and_largest_of_records_that_only_come(cuts: list[list[Weighted]]) -> None:
    check(ONE, (*LINEAR, *BEST), cuts)


def test_a_difference_has_the_place_of_the_last_record_of_its_group() -> None:
    table = Table(ONE, (Aggregate("count"), Aggregate("sum", 1)))
    table.epoch([(("a", 1, None, "x"), 1), (("b", 5, None, "x"), 1)])
    found = table.epoch(
        [(("a", 2, None, "x"), 1), (("b", 5, None, "x"), -1), (("a", 3, None, "x"), 1)]
    )
    assert found is not None
    assert found.weights is not None
    # All of b is taken back; the sum of a changes with its last record.
    assert as_list(found.values) == [("b", 1, 5), ("a", 1, 1), ("a", 3, 6)]
    assert found.weights.tolist() == [-1, -1, 1]
    assert found.ts.tolist() == [3, 4, 4]
    assert found.keys.argsort() is None


def test_what_changes_nothing_emits_nothing() -> None:
    table = Table(ONE, (Aggregate("count"), Aggregate("sum", 1)))
    record: Record = ("a", 1, None, "x")
    table.epoch([(record, 1)])
    assert table.epoch([(record, 1), (record, -1)]) is None


def test_nothing_is_kept_of_groups_that_are_gone() -> None:
    table = Table(ONE, LINEAR)
    record: Record = ("a", 1, 0.25, "x")
    table.epoch([(record, 2)])
    assert dict(table.store)
    table.epoch([(record, -2)])
    assert dict(table.store) == {}
    assert table.rows == Counter()


def test_a_record_may_be_taken_back_before_it_comes() -> None:
    table = Table(ONE, (Aggregate("sum", 1),))
    table.epoch([(("a", 4, None, "x"), -1), (("a", 7, None, "x"), 1)])
    assert table.rows == Counter()
    table.epoch([(("a", 4, None, "x"), 1)])
    assert table.rows == Counter({("a", 7): 1})


def test_many_pages_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrangement, "VISITED_RECORDS", 100)
    monkeypatch.setattr(arrangement, "PAGE_BYTES", 2_000)
    table = Table(ONE, (Aggregate("sum", 1),))
    records: list[Weighted] = [((f"key {i % 500}", i, None, "x"), 1) for i in range(2_000)]
    for start in (0, 700, 1_400):
        table.epoch(records[start : start + 700])
    assert table.rows == naive(records, ONE, (Aggregate("sum", 1),))


@pytest.mark.parametrize("weights", [(1, 1), (2**40, 2**40)])
def test_a_sum_beyond_64_bits_is_refused(weights: tuple[int, int]) -> None:
    kind = Types.TUPLE([Types.STRING(), Types.LONG()])
    operator = GroupAggregateOperator(
        OperatorInfo("groups", "uid"),
        GroupAggregates(kind, ONE, (Aggregate("sum", 1),)),
        lambda record: record,
    )
    columns = ArrowCodec(kind).arrays([("a", 2**62), ("a", 2**62)])
    times = np.arange(2)
    arrivals = Arrivals(
        kind,
        columns,
        np.arange(2),
        times,
        OrderKeys.of_fragment(times, 0, 0, 0),
        ONE.hashes(columns),
        weights=np.array(weights, np.int64),
    )
    pages = PageStore(MemoryStore(), "uid", Directory(), [])
    with pytest.raises(PlanError, match=r"SUM_OVERFLOW.*a sum does not fit 64 bits"):
        operator.run(arrivals, pages, Clock(0, 0, 0), lambda *_: None)


def test_a_smallest_value_cannot_be_taken_back() -> None:
    table = Table(ONE, (Aggregate("min", 1),))
    with pytest.raises(PlanError, match="CHANGES_REFUSED"):
        table.epoch([(("a", 4, None, "x"), 1), (("a", 7, None, "x"), -1)])


# -- in a stage ------------------------------------------------------------------------------------

CHANGE = Types.ROW_NAMED(["k", "v", "t"], [Types.STRING(), Types.LONG(), Types.LONG()])


def changes(*rows: tuple[RowKind, str, int]) -> list[Row]:
    found = []
    for time, (kind, key, value) in enumerate(rows):
        row = Row.of_kind(kind, key, value, time)
        row.set_field_names(["k", "v", "t"])
        found.append(row)
    return found


def test_sinks_get_the_weights_that_an_operator_emits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program plans the operator yet: it takes the place of another one here.

    That other one cannot take records back, so the compiler would refuse it.
    """
    monkeypatch.setattr("millstream.plan.compile.refuse_changes", lambda *_: None)
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = changes(
        (RowKind.INSERT, "a", 1),
        (RowKind.INSERT, "b", 5),
        (RowKind.UPDATE_BEFORE, "a", 1),
        (RowKind.UPDATE_AFTER, "a", 3),
        (RowKind.DELETE, "b", 5),
    )
    strategy = WatermarkStrategy.no_watermarks()
    changelog = env.from_source(TestSource(rows), strategy, "in").changelog()
    typed = changelog.map(lambda row: row, output_type=CHANGE)
    typed.key_by(0).sum(1).sink_to(DiscardingSink()).name("out")
    job = LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=1))
    (hosted,) = job.programs.stages[0].operators
    groups = GroupAggregates(CHANGE, ONE, (Aggregate("count"), Aggregate("sum", 1)))
    hosted.operator = GroupAggregateOperator(hosted.operator.info, groups, lambda row: row[0])
    results = job.run_all(2)["out"]
    shown = [(str(value.get_row_kind()), tuple(value)) for value, _ in results]
    assert shown == [
        ("+I", ("a", 1, 1)),
        ("+I", ("b", 1, 5)),
        ("-D", ("a", 1, 1)),
        ("+I", ("a", 1, 3)),
        ("-D", ("b", 1, 5)),
    ]
