"""Windows over keys of several columns, with several aggregates: by column as by record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from operator import attrgetter, itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError, UserCodeError
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.datastream.functions import ProcessWindowFunction
from millstream.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.windows.columnar import ColumnarWindowOperator
from millstream.kernel.windows.kept import KeptWindowOperator
from millstream.plan.planner import plan
from millstream.testing import rebatch, run_local
from tests.support.strategies import examples, schedules

NAMES = ["user", "item", "day", "new", "price", "time"]
RECORD = Types.ROW_NAMED(
    NAMES,
    [
        Types.STRING(),
        Types.SHORT(),
        Types.SQL_DATE(),
        Types.BOOLEAN(),
        Types.INT(),
        Types.LONG(),
    ],
)
SELECTORS: dict[str, Any] = {
    "lambda": lambda r: (r.user, r.item),
    "itemgetter": itemgetter("item", "day"),
    "attrgetter": attrgetter("day", "user", "new"),
    "names": ("user", "day"),
    "positions": (3, 0),
    "one in a tuple": lambda r: (r["item"],),
    "twice": lambda r: (r.item, r.user, r.item),
    "alone": lambda r: r.new,
}
ASSIGNERS: list[Any] = [
    TumblingEventTimeWindows.of(10),
    SlidingEventTimeWindows.of(12, 4, 1),
    SlidingEventTimeWindows.of(9, 6),
    EventTimeSessionWindows.with_gap(3),
]


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(key, context.window().start, tuple(element["price"] for element in elements))]


AGGREGATES = [
    "count",
    *((k, f) for k in ("sum", "min", "max", "avg") for f in ("price", 5, "item")),
]
OPERATIONS = st.sampled_from(
    [
        lambda w: w.count(),
        lambda w: w.sum("price"),
        lambda w: w.max_by("time"),
        lambda w: w.process(Listed()),
    ]
) | st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=5).map(
    lambda asked: lambda w: w.summarize(*asked)
)


@st.composite
def records(draw: st.DrawFn, *, nullable: bool) -> list[list[Row]]:
    """One to three channels; parts of the key may be missing."""
    missing = st.none() if nullable else st.nothing()
    channels = []
    for _ in range(draw(st.integers(1, 3))):
        time, channel = draw(st.integers(-9, 9)), []
        for _ in range(draw(st.integers(1, 20))):
            time += draw(st.integers(-3, 5))
            channel.append(
                Row(
                    user=draw(missing | st.sampled_from(["", "a", "b"])),
                    item=draw(st.integers(-1, 1)),
                    day=draw(missing | st.sampled_from([date(2024, 2, 29), date(1, 1, 1)])),
                    new=draw(st.booleans()),
                    price=draw(st.integers(-5, 5) | st.sampled_from([2**31 - 1, -(2**31)])),
                    time=time,
                )
            )
        channels.append(channel)
    return channels


def program(
    channels: list[list[Row]], selector: Any, assigner: Any, operation: Any, *, typed: bool
) -> Callable[[StreamExecutionEnvironment], DataStream]:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(2).with_timestamp_assigner(
        lambda record, _: record["time"]
    )

    def build(env: StreamExecutionEnvironment) -> DataStream:
        streams = []
        for channel in channels:
            stream: Any = env.from_collection(channel, type_info=RECORD)
            if not typed:
                stream = stream.map(lambda record: record, output_type=Types.PICKLED_BYTE_ARRAY())
            streams.append(stream.assign_timestamps_and_watermarks(strategy))
        keyed = streams[0].union(*streams[1:]).key_by(selector)
        return operation(keyed.window(assigner))

    return build


def shown(results: Any) -> Any:
    late = sum(one.late for one in results.metrics.operators.values())
    return [(repr(r.value), r.timestamp) for r in results.records()], late


@pytest.mark.parametrize("selector", SELECTORS)
@examples(60)
@given(records(nullable=True), st.sampled_from(ASSIGNERS), OPERATIONS)
def test_columns_and_objects_give_the_same(
    selector: str, channels: Any, assigner: Any, operation: Any
) -> None:
    by_column, by_object = (
        program(channels, SELECTORS[selector], assigner, operation, typed=typed)
        for typed in (True, False)
    )
    try:
        expected = shown(run_local(by_object, batch=True))
    except MillstreamError:
        with pytest.raises(MillstreamError):
            run_local(by_column, batch=True)
        return
    try:
        found = shown(run_local(by_column, batch=True))
    except MillstreamError as error:
        # Of a sum of a field that is declared as INT, where objects know no limit.
        assert error.code in ("SUM_OVERFLOW", "TYPE_MISMATCH")
        return
    assert found == expected


@examples(60)
@given(
    records(nullable=True),
    st.sampled_from(sorted(SELECTORS)),
    st.sampled_from(ASSIGNERS[:3]),
    st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=4),
    st.sampled_from([(1,), (3,), ("random",)]),
    st.integers(0, 100),
)
def test_the_cut_does_not_show(
    channels: Any, selector: str, assigner: Any, asked: Any, cuts: Any, seed: int
) -> None:
    build = program(
        channels, SELECTORS[selector], assigner, lambda w: w.summarize(*asked), typed=True
    )
    rebatch(build, **schedules(cuts=cuts, seeds=(seed,), slots=(1, 3)))


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize(
    ("operation", "operator"),
    [
        (lambda w: w.summarize(("sum", "price"), "count"), ColumnarWindowOperator),
        (lambda w: w.count(), ColumnarWindowOperator),
        (lambda w: w.sum("price"), ColumnarWindowOperator),
        (lambda w: w.process(Listed()), KeptWindowOperator),
    ],
)
def test_the_typed_programs_are_computed_by_column(
    selector: str, operation: Any, operator: type
) -> None:
    """Else the tests above would compare the window operator with itself."""
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = [[Row(user="a", item=1, day=None, new=True, price=1, time=1)]]
    program(rows, SELECTORS[selector], ASSIGNERS[0], operation, typed=True)(env).print()
    (component,) = plan(env._job_graph()).components
    (choice,) = component.choices.values()
    assert choice.operator is operator


def test_an_average_is_rounded_once() -> None:
    """As Python divides whole numbers: not the rounded sum by the number."""
    big = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    values = [2**53 + 1, 2**53 + 3, 2**62, 2**62, 2**62]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[2]
    )

    def build(env: StreamExecutionEnvironment) -> DataStream:
        rows = [("a", value, 1) for value in values]
        timed = env.from_collection(rows, type_info=big).assign_timestamps_and_watermarks(strategy)
        return timed.key_by(0).window(ASSIGNERS[0]).summarize(("avg", 1), "count")

    for epochs in (1, 2, "all"):
        assert run_local(build, epochs=epochs).values() == [("a", sum(values) / 5, 5)]


def test_a_sum_among_others_that_is_too_large_is_an_error_if_its_type_is_declared() -> None:
    numbers = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    rows = [("a", 2**62, i) for i in range(4)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[2]
    )

    def build(env: StreamExecutionEnvironment, type_info: Any) -> DataStream:
        timed = env.from_collection(rows, type_info=type_info)
        keyed = timed.assign_timestamps_and_watermarks(strategy).key_by(0)
        return keyed.window(ASSIGNERS[0]).summarize(("max", 1), ("sum", 1))

    with pytest.raises(PlanError, match="a sum of field 1 does not fit"):
        run_local(lambda env: build(env, numbers))
    assert run_local(lambda env: build(env, None)).values() == [("a", 2**62, 2**64)]


def test_a_field_that_is_none_has_no_sum() -> None:
    rows = [[Row(user="a", item=None, day=None, new=True, price=1, time=1)]]
    for typed, error in ((True, PlanError), (False, UserCodeError)):
        build = program(
            rows, ("user",), ASSIGNERS[0], lambda w: w.summarize(("sum", "item")), typed=typed
        )
        with pytest.raises(error, match=r"item|field 1"):
            run_local(build)


def test_a_key_that_is_none_is_refused_and_a_part_of_it_is_not() -> None:
    rows = [[Row(user=None, item=1, day=None, new=True, price=4, time=1)]]
    operation = lambda w: w.summarize(("sum", "price"))  # noqa: E731
    with pytest.raises(MillstreamError, match="NULL_KEY"):
        run_local(program(rows, "user", ASSIGNERS[0], operation, typed=True))
    build = program(rows, ("user",), ASSIGNERS[0], operation, typed=True)
    assert run_local(build).values() == [((None,), 4)]


@pytest.mark.parametrize(
    "asked", [(), ("sum",), (("sum",),), (("median", "price"),), (1,), (("avg", 1, 2),)]
)
def test_what_is_no_aggregate_is_refused(asked: Any) -> None:
    with pytest.raises(PlanError, match="BAD_AGGREGATE"):
        run_local(program([[]], "user", ASSIGNERS[0], lambda w: w.summarize(*asked), typed=True))


def test_a_field_that_cannot_be_added_up_is_refused() -> None:
    for asked in (("sum", "user"), ("avg", "day")):
        with pytest.raises(PlanError, match="NOT_A_NUMBER"):
            run_local(
                program([[]], "item", ASSIGNERS[0], lambda w, a=asked: w.summarize(a), typed=True)
            )


@pytest.mark.parametrize("selector", [lambda r: (r.item, r.user), lambda r: (r.item,)])
@pytest.mark.parametrize("again", [lambda k: k.sum(1), lambda k: k.window(ASSIGNERS[1]).count()])
def test_the_tuple_that_was_the_key_of_counts_is_a_key_again(selector: Any, again: Any) -> None:
    rows = [Row(user="a", item=i % 2, day=None, new=True, price=1, time=i) for i in range(9)]
    by_column, by_object = (
        run_local(
            program(
                [rows],
                selector,
                ASSIGNERS[0],
                lambda w: again(w.count().key_by(lambda count: count[0])),
                typed=typed,
            )
        )
        for typed in (True, False)
    )
    assert by_column.values() == by_object.values() != []
