"""Changelogs: what is taken back is as if it had never been there, whatever the cut."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, RowKind, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors.file_system import FileSink
from millstream.datastream.functions import ProcessJoinFunction
from millstream.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from millstream.testing import rebatch, run_local
from tests.support.properties.savepoint_cases import Case
from tests.support.properties.savepoint_cases import changes as taken_back
from tests.support.properties.savepoint_runs import ORDERS, Setting, check, drawn_for
from tests.support.strategies import examples, schedules

NAMES = ["user", "price", "time"]
ORDER = Types.ROW_NAMED(NAMES, [Types.STRING(), Types.LONG(), Types.LONG()])
ADDS = (RowKind.INSERT, RowKind.UPDATE_AFTER)
TAKES_BACK = (RowKind.DELETE, RowKind.UPDATE_BEFORE)
WINDOWS = (TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(12, 4))


@st.composite
def changes(draw: st.DrawFn) -> list[Row]:
    """Rows in the order of time, many of which are taken back later, at their own time."""
    found: list[Row] = []
    for time in range(draw(st.integers(1, 12))):
        row = {"user": draw(st.sampled_from("ab")), "price": draw(st.integers(-3, 3)), "time": time}
        found.append(Row.of_kind(draw(st.sampled_from(ADDS)), **row))
        if draw(st.booleans()):
            found.append(Row.of_kind(draw(st.sampled_from(TAKES_BACK)), **row))
    return found


def changelog(env: StreamExecutionEnvironment, rows: list[Row]) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(3).with_timestamp_assigner(
        lambda order, _: order["time"]
    )
    stream = env.from_collection(rows, type_info=Types.PICKLED_BYTE_ARRAY())
    return stream.changelog(ORDER).assign_timestamps_and_watermarks(strategy)


def plain(rows: list[Row]) -> Counter[Any]:
    """What is left of the rows of a changelog."""
    found: Counter[Any] = Counter()
    for row in rows:
        found[tuple(row)] += 1 if row.get_row_kind() in ADDS else -1
    return +found


OPERATIONS = st.sampled_from(
    [
        lambda w: w.count(),
        lambda w: w.summarize("count", ("sum", "price"), ("avg", "price")),
        lambda w: w.summarize(("sum", "price")),
    ]
)


@examples(60)
@given(changes(), st.sampled_from(WINDOWS), OPERATIONS, st.booleans())
def test_windows_are_those_of_the_rows_that_are_left(
    rows: list[Row], assigner: Any, operation: Any, grows: bool
) -> None:
    def windows(stream: DataStream) -> DataStream:
        kept = stream.filter(lambda order: order.price != 2)
        if grows:
            kept = kept.flat_map(lambda order: [order, order], output_type=ORDER)
        return operation(kept.key_by("user").window(assigner))

    left = [Row(**dict(zip(NAMES, row, strict=True))) for row in plain(rows).elements()]
    expected = run_local(lambda env: windows(changelog(env, left))).records() if left else []
    for epochs in (1, 3, "all"):
        found = run_local(lambda env: windows(changelog(env, rows)), epochs=epochs, slots=2)
        assert [(r.value, r.timestamp) for r in found.records()] == [
            (r.value, r.timestamp) for r in expected
        ]


@examples(30)
@given(changes(), st.integers(0, 100))
def test_the_cut_does_not_show(rows: list[Row], seed: int) -> None:
    rebatch(
        lambda env: changelog(env, rows).key_by("user").window(WINDOWS[1]).count(),
        **schedules(cuts=(1, "random"), seeds=(seed,), slots=(1, 3)),
    )


@examples(40)
@given(
    changes(), changes(), st.sampled_from(["arrival", "watermark"]), st.sampled_from([1, 4, "all"])
)
def test_a_sink_gets_rows_of_both_kinds(
    rows: list[Row], others: list[Row], order: Any, epochs: Any
) -> None:
    """Also of rows that wait for another channel on their way, from epoch to epoch."""

    def build(env: StreamExecutionEnvironment) -> Any:
        env.set_channel_order(order)
        both = changelog(env, rows).union(changelog(env, others))
        counts = both.key_by("user").window(WINDOWS[0]).count()
        shown = both.map(lambda o: Row(*o), output_type=Types.ROW(list(ORDER.field_types)))
        return {"rows": shown, "all": shown.union(counts.map(lambda c: c))}

    results = run_local(build, epochs=epochs, slots=2, restarts="every")
    sent = [*rows, *others]
    as_sent = Counter((tuple(r), r.get_row_kind() in ADDS) for r in sent)
    for sink in ("rows", "all"):
        got = [value for value in results.values(sink) if isinstance(value, Row)]
        assert Counter((tuple(r), r.get_row_kind() is RowKind.INSERT) for r in got) == as_sent
        assert {r.get_row_kind() for r in got} <= {RowKind.INSERT, RowKind.DELETE}


def changes_and_counts(stream: DataStream) -> DataStream:
    """The changes, for a sink that gets results too: they wait for other channels as these do."""
    found = taken_back(stream)
    counts = found.key_by(lambda row: row[0]).window(WINDOWS[0]).count()
    return found.map(lambda row: row).union(counts.map(lambda pair: pair)).map(lambda value: value)


@pytest.mark.parametrize("order", ORDERS)
def test_changes_wait_in_savepoints(order: Any) -> None:
    case, rng = Case("changes", lambda stream, _: changes_and_counts(stream)), random.Random(order)
    for slots, later in ((2, 2), (2, 5), (3, 1)):
        setting = Setting(slots, later, order)
        check(case, drawn_for(case, setting, rng), setting)


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Joins(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, context: Any) -> Any:
        yield left


class Asks(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


REFUSING: dict[str, Any] = {
    "a process function": lambda s: s.process(Plain()),
    "a keyed process function": lambda s: s.key_by("user").process(Keyed()),
    "a rolling sum": lambda s: s.key_by("user").sum("price"),
    "the record of a sum": lambda s: s.key_by("user").window(WINDOWS[0]).sum("price"),
    "a maximum": lambda s: s.key_by("user").window(WINDOWS[0]).summarize(("max", "price")),
    "a key that is no column": lambda s: s.key_by(str).window(WINDOWS[0]).count(),
    "a window over all": lambda s: s.window_all(WINDOWS[0]).count(),
    "asynchronous requests": lambda s: AsyncDataStream.unordered_wait(s, Asks(), "1 s"),
    "a policy of skipping": lambda s: s.map(lambda o: o).on_error("skip"),
    "another changelog": lambda s: s.changelog(),
    "an interval join": lambda s: (
        s.key_by("user").interval_join(s.key_by("user")).between("-1 s", "1 s").process(Joins())
    ),
}


@pytest.mark.parametrize("name", REFUSING)
def test_what_cannot_take_rows_back_is_refused_before_the_first_row(name: str) -> None:
    rows: list[Row] = []
    with pytest.raises(PlanError, match="cannot take a record back") as caught:
        run_local(lambda env: REFUSING[name](changelog(env, rows)))
    assert caught.value.code == "CHANGES_REFUSED" and caught.value.location and caught.value.hint


def test_a_sink_that_only_adds_records_is_refused_when_the_job_is_planned() -> None:
    """Unless a keyed operator is in between: what a window emits is not taken back."""

    def build(env: StreamExecutionEnvironment, windows: bool) -> Any:
        stream = changelog(env, [Row(user="a", price=1, time=1)]).filter(lambda o: o.price)
        if windows:
            stream = stream.key_by("user").window(WINDOWS[0]).count()
        stream.union(stream).sink_to(FileSink.json("out"))

    with pytest.raises(PlanError, match="CHANGELOG_NOT_TAKEN"):
        run_local(lambda env: build(env, windows=False))
    run_local(lambda env: build(env, windows=True))


def test_what_is_no_row_is_no_change() -> None:
    with pytest.raises(PlanError, match="NO_ROW_KIND"):
        run_local(lambda env: env.from_collection([1, 2]).changelog())


def test_a_changelog_has_no_function_that_could_fail() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(PlanError, match="NO_ERROR_POLICY"):
        changelog(env, []).changelog().on_error("skip")
