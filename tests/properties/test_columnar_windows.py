"""Windows computed by column give what the window operator gives, whatever the cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError, TypeMismatchError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.datastream import RuntimeContext, StreamExecutionEnvironment
from millstream.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from millstream.datastream.state import ValueStateDescriptor
from millstream.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.windows.columnar import ColumnarWindowOperator
from millstream.kernel.windows.kept import KeptWindowOperator
from millstream.kernel.windows.session_runs import runs_of
from millstream.plan.columnar import columnar_window
from millstream.plan.compile import Compiler
from millstream.plan.planner import plan
from millstream.testing import rebatch, run_local
from tests.support.properties.window_oracle import Spec, simulate
from tests.support.strategies import examples, schedules

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
AGGREGATES = ("sum", "min", "max", "min_by", "max_by")

# For `rebatch`: many inputs under few schedules each find more than few inputs under all of them.
SCHEDULES = st.fixed_dictionaries(
    {
        "cuts": st.sampled_from(((1,), (7,), ("random",), ("random",), ("all",))),
        "seeds": st.tuples(st.integers(0, 1_000)),
        "slots": st.sampled_from(((1, 2), (1, 4))),
    }
).map(lambda options: schedules(**options))

Lists = list[list[tuple[str, int, int]]]


@st.composite
def channels(draw: st.DrawFn) -> Lists:
    """One to three channels of records whose times mostly rise, with some far out of order."""
    lists = []
    for _ in range(draw(st.integers(1, 3))):
        steps = draw(st.lists(st.integers(-6, 8), min_size=1, max_size=20))
        records, time = [], draw(st.integers(-20, 20))
        for step in steps:
            time += step
            key, value = draw(st.sampled_from("abc")), draw(st.integers(-3, 3))
            records.append((key, value, time - (30 if step == 8 else 0)))
        lists.append(records)
    return lists


@st.composite
def assigners(draw: st.DrawFn) -> Any:
    size = draw(st.sampled_from((1, 4, 10)))
    if draw(st.booleans()):
        return TumblingEventTimeWindows.of(size, draw(st.integers(1 - size, size - 1)))
    slide = draw(st.sampled_from((1, 2, 4, 7, 15)))
    return SlidingEventTimeWindows.of(size, slide, draw(st.integers(1 - slide, slide - 1)))


def program(
    lists: Lists, assigner: Any, operation: str, *, typed: bool, argument: Any = 1, bound: int = 3
) -> Callable[..., Any]:
    """The same program over records of a declared type, or of an unknown one."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_assigner(
        lambda record, _: record[2]
    )

    def build(env: StreamExecutionEnvironment) -> Any:
        streams = []
        for records in lists:
            stream = env.from_collection(records, type_info=RECORD)
            if not typed:
                stream = stream.map(lambda record: record, output_type=Types.PICKLED_BYTE_ARRAY())
            streams.append(stream.assign_timestamps_and_watermarks(strategy))
        windows = streams[0].union(*streams[1:]).key_by(lambda record: record[0]).window(assigner)
        return windows.count() if operation == "count" else getattr(windows, operation)(argument)

    return build


def late_records(results: Any) -> int:
    return sum(one.late for one in results.metrics.operators.values())


@given(channels(), assigners(), st.sampled_from((*AGGREGATES, "count")))
@examples(40)
def test_columns_and_objects_give_the_same(lists: Lists, assigner: Any, aggregate: str) -> None:
    by_column = run_local(program(lists, assigner, aggregate, typed=True), batch=True)
    by_object = run_local(program(lists, assigner, aggregate, typed=False), batch=True)
    assert by_column.records() == by_object.records()
    assert late_records(by_column) == late_records(by_object)


@given(channels(), assigners(), st.sampled_from(AGGREGATES), SCHEDULES)
@examples(60)
def test_the_cut_does_not_show(
    lists: Lists, assigner: Any, aggregate: str, options: dict[str, Any]
) -> None:
    rebatch(program(lists, assigner, aggregate, typed=True), **options)


class Delayed(KeyedProcessFunction):
    """Emits each record, and once more some time later: others have been emitted in between."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", RECORD))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.last.update(value)
        ctx.timer_service().register_event_time_timer(value[2] + 2)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        last: Any = self.last.value()
        yield last[0], -last[1], timestamp


def behind_keys(lists: Lists, assigner: Any, aggregate: str, *, typed: bool) -> Callable[..., Any]:
    """A window whose records come from an operator that has them by other keys."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(3).with_timestamp_assigner(
        lambda record, _: record[2]
    )

    def build(env: StreamExecutionEnvironment) -> Any:
        records = env.from_collection(lists[0], type_info=RECORD)
        times = records.assign_timestamps_and_watermarks(strategy)
        output = RECORD if typed else Types.PICKLED_BYTE_ARRAY()
        delayed = times.key_by(lambda record: record[1]).process(Delayed(), output_type=output)
        return getattr(delayed.key_by(lambda record: record[0]).window(assigner), aggregate)(1)

    return build


@given(channels(), assigners(), st.sampled_from(AGGREGATES), SCHEDULES)
@examples(30)
def test_the_fields_of_a_window_are_those_of_the_first_record_in_the_order(
    lists: Lists, assigner: Any, aggregate: str, schedules: dict[str, Any]
) -> None:
    """Not of the first one that left the operator before it, which may go from key to key."""
    by_column = behind_keys(lists, assigner, aggregate, typed=True)
    by_object = behind_keys(lists, assigner, aggregate, typed=False)
    assert run_local(by_column).records() == run_local(by_object).records()
    rebatch(by_column, **schedules)


@pytest.mark.parametrize("epochs", [1, "all"])
def test_the_first_of_the_records_that_timers_of_two_keys_emit(epochs: Any) -> None:
    records = [("b", -2, 9), ("a", -2, 14), ("a", -3, 18), ("a", -2, 19)]
    window = TumblingEventTimeWindows.of(10)
    results = run_local(behind_keys([records], window, "max", typed=True), epochs=epochs)
    assert results.values() == [("b", -2, 9), ("a", 2, 14), ("a", 3, 20)]


@st.composite
def session_lists(draw: st.DrawFn) -> Lists:
    """Channels whose keys pause now and then, with records out of order and some that are late."""
    lists = []
    for _ in range(draw(st.integers(1, 3))):
        steps = draw(st.lists(st.sampled_from((0, 1, 1, 2, 5, 9, -3)), min_size=1, max_size=30))
        records, time = [], 0
        for step in steps:
            time += step
            late = draw(st.sampled_from((0, 0, 0, 0, 6)))
            records.append((draw(st.sampled_from("abc")), draw(st.integers(-3, 3)), time - late))
        lists.append(records)
    return lists


@contextmanager
def always_by_column() -> Iterator[list[int]]:
    """Sessions go by column however few records there are; gives the numbers of those that did."""
    seen: list[int] = []

    def counted(arrivals: Any, *arguments: Any) -> Any:
        seen.append(len(arrivals))
        return runs_of(arrivals, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("millstream.kernel.records.sorted_input.FEW", 0)
        patch.setattr("millstream.kernel.windows.sessions.runs_of", counted)
        yield seen
    assert seen


@given(session_lists(), st.sampled_from((1, 3, 4)), st.sampled_from(AGGREGATES))
@examples(60)
def test_sessions_by_column_and_by_record_are_the_same(
    lists: Lists, gap: int, aggregate: str
) -> None:
    assigner = EventTimeSessionWindows.with_gap(gap)
    with always_by_column():
        by_column = run_local(program(lists, assigner, aggregate, typed=True), batch=True)
    by_object = run_local(program(lists, assigner, aggregate, typed=False), batch=True)
    assert by_column.records() == by_object.records()
    assert late_records(by_column) == late_records(by_object)


@given(session_lists(), st.sampled_from((1, 3, 4)), st.sampled_from(AGGREGATES), SCHEDULES)
@examples(60)
def test_the_cut_of_sessions_does_not_show(
    lists: Lists, gap: int, aggregate: str, options: dict[str, Any]
) -> None:
    """Of one channel: with several, whether a late record finds its session may depend on it."""
    build = program(lists[:1], EventTimeSessionWindows.with_gap(gap), aggregate, typed=True)
    with always_by_column():
        rebatch(build, **options)


def test_a_session_sum_too_large_for_a_column_is_added_up_record_by_record() -> None:
    records = [("a", 2**62, 1), ("a", 2**62, 2), ("a", -(2**62), 3)]
    build = program([records], EventTimeSessionWindows.with_gap(5), "sum", typed=True)
    with always_by_column():
        assert [value[1] for value in run_local(build).values()] == [2**62]


HUGE = st.sampled_from([2**61, 2**62, 2**63 - 1, -(2**61), -(2**62), -(2**63), 1, -1])


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(50),
        SlidingEventTimeWindows.of(60, 50, 30),
        EventTimeSessionWindows.with_gap(5),
    ],
    ids=lambda assigner: type(assigner).__name__,
)
@examples(40)
@given(numbers=st.lists(HUGE, min_size=1, max_size=9), cut=st.sampled_from([1, 2, "all"]))
def test_a_sum_works_exactly_if_it_fits_64_bits(
    assigner: Any, numbers: list[int], cut: Any
) -> None:
    """However its records are cut into partial sums, some of which may be too large."""
    records = [("a", number, time) for time, number in enumerate(numbers)]
    build = program([records], assigner, "sum", typed=True)
    total = sum(numbers)
    sessions = isinstance(assigner, EventTimeSessionWindows)
    with always_by_column() if sessions else nullcontext():
        if -(2**63) <= total < 2**63:
            found = run_local(build, epochs=cut, slots=2, restarts="every").values()
            assert found == [("a", total, 0)]
        else:
            with pytest.raises(MillstreamError, match=r"SUM_OVERFLOW|TYPE_MISMATCH"):
                run_local(build, epochs=cut)


def test_sums_of_floats_do_not_go_by_column() -> None:
    """Added up in another order they are another number, and the cut of epochs would show."""
    float_record = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
    records = [("a", value, i) for i, value in enumerate([0.1, 1e16, -1e16, 0.1, 0.1, 0.1])]

    def build(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda record, _: record[2]
        )
        stream = env.from_collection(records, type_info=float_record)
        timed = stream.assign_timestamps_and_watermarks(strategy)
        return timed.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(50)).sum(1)

    rebatch(build, **schedules())


class Seen(ProcessWindowFunction):
    """The records of a window as they come, and how many of the key's windows came before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.fired = ValueStateDescriptor("fired", Types.LONG())

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        state = context.global_state().get_state(self.fired)
        number = state.value() or 0
        state.update(number + 1)
        window = context.window()
        yield key, window.start, window.end, number, context.current_watermark(), list(elements)


def kept_program(lists: Lists, assigner: Any, **options: Any) -> Callable[..., Any]:
    return program(lists, assigner, "process", argument=Seen(), **options)


@given(channels(), assigners())
@examples(40)
def test_records_kept_as_columns_and_as_objects_are_the_same(lists: Lists, assigner: Any) -> None:
    by_column = run_local(kept_program(lists, assigner, typed=True), batch=True)
    by_object = run_local(kept_program(lists, assigner, typed=False), batch=True)
    assert by_column.records() == by_object.records()
    assert late_records(by_column) == late_records(by_object)


@given(channels(), assigners(), SCHEDULES)
@examples(60)
def test_the_cut_does_not_show_in_records_kept_as_columns(
    lists: Lists, assigner: Any, options: dict[str, Any]
) -> None:
    rebatch(kept_program(lists, assigner, typed=True), **options)


def test_times_at_both_ends() -> None:
    records = [("a", 1, MIN_TIMESTAMP + 1), ("a", 2, 0), ("a", 4, MAX_TIMESTAMP)]
    for size in (3, 10):
        assigner = TumblingEventTimeWindows.of(size)
        by_column = run_local(program([records], assigner, "sum", typed=True))
        by_object = run_local(program([records], assigner, "sum", typed=False))
        assert by_column.records() == by_object.records()
        assert [value[1] for value in by_column.values()] == [1, 2, 4]


@st.composite
def records_at_the_ends(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """One channel of records near one end of time, or at both."""
    ends = (MIN_TIMESTAMP + 1, -(2**62), 2**62, MAX_TIMESTAMP - 25, MAX_TIMESTAMP - 8)
    base, number = draw(st.sampled_from(ends)), draw(st.integers(2, 8))
    records = []
    for value in range(number):
        time = base + draw(st.integers(0, 25)) if draw(st.integers(0, 2)) else draw(EXTREMES)
        records.append((draw(st.sampled_from("ab")), value, min(time, MAX_TIMESTAMP)))
    return records


EXTREMES = st.sampled_from((MIN_TIMESTAMP + 1, 0, MAX_TIMESTAMP - 1, MAX_TIMESTAMP))
# Panes of one millisecond with an offset, and slides of one, are not exact at the very ends.
SPANS = st.sampled_from(
    [
        (1, 1, 0),
        (3, 3, 0),
        (4, 4, 3),
        (10, 10, -7),
        (12, 4, 1),
        (15, 10, -6),
        (7, 3, 0),
        (50, 20, 9),
    ]
)


@given(records_at_the_ends(), SPANS, st.sampled_from((0, 3)), st.sampled_from((1, 2, "all")))
@examples(60)
def test_the_ends_of_time_are_no_different(
    records: list[tuple[str, int, int]], spans: tuple[int, int, int], bound: int, cut: Any
) -> None:
    """Neither by column nor by object: a simulator that knows no columns says what comes out."""
    size, slide, offset = spans
    events = [((key, value), ts) for key, value, ts in records]
    outcome = simulate([events], bound, Spec(size=size, slide=slide, offset=offset))
    firings = [firing for found in outcome.firings.values() for firing in found]
    assigner: Any = SlidingEventTimeWindows.of(size, slide, offset)
    if size == slide:
        assigner = TumblingEventTimeWindows.of(size, offset)
    for typed in (True, False):
        how: dict[str, Any] = {"typed": typed, "bound": bound}
        sums = run_local(program([records], assigner, "sum", **how), epochs=cut)
        expected = [(f.timestamp, f.key, sum(f.values)) for f in firings]
        found = [(result.timestamp, *result.value[:2]) for result in sums.records()]
        assert sorted(found) == sorted(expected)
        kept = run_local(kept_program([records], assigner, **how), epochs=cut)
        seen = [(*value[:3], [v for _, v, _ in value[5]]) for value in kept.values()]
        assert sorted(seen) == sorted((f.key, *f.span, list(f.values)) for f in firings)
        late = sum(map(len, outcome.late.values()))
        assert (late_records(sums), late_records(kept)) == (late, late)


def test_sessions_at_both_ends_of_time_are_two() -> None:
    """The distance of their records does not fit 64 bits."""
    records = [("a", 1, -(2**62) - 5), ("a", 2, 2**62 + 5), ("a", 4, 2**62 + 6)]
    build = program([records], EventTimeSessionWindows.with_gap(5), "sum", typed=True)
    with always_by_column():
        assert [value[1] for value in run_local(build).values()] == [1, 6]


def test_many_large_numbers_are_no_large_sum() -> None:
    """What counts is the sum of a key and window, not that of all of them."""
    records = [(f"k{i}", 2**60, i) for i in range(40)]
    build = program([records], SlidingEventTimeWindows.of(20, 10), "sum", typed=True)
    results = run_local(build).values()
    assert len(results) == 80
    assert {value[1] for value in results} == {2**60}


def test_a_sum_that_is_too_large_is_an_error() -> None:
    records = [("a", 2**61, i) for i in range(4)]
    build = program([records], TumblingEventTimeWindows.of(10), "sum", typed=True)
    with pytest.raises(PlanError, match="SUM_OVERFLOW"):
        run_local(build, epochs=1)


LARGE_SUMS = [("a", 2**63 - 1, 1), ("a", 2**63 - 1, 2), ("b", -1, 2), ("a", 5, 10)]


@pytest.mark.parametrize("named", [False, True], ids=["tuples", "rows"])
@pytest.mark.parametrize("epochs", [1, "all"])
def test_the_sum_of_a_type_that_nobody_declares_has_no_limit(named: bool, epochs: Any) -> None:
    """A rolling sum has none either."""
    records = [Row(k=k, v=v, t=t) if named else (k, v, t) for k, v, t in LARGE_SUMS]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[2]
    )

    def build(env: StreamExecutionEnvironment) -> Any:
        source = env.from_collection(records)
        keyed = source.assign_timestamps_and_watermarks(strategy).key_by(0)
        window = keyed.window(TumblingEventTimeWindows.of(10)).sum(1)
        assert is_by_column(window, source)
        return {"window": window, "rolling": keyed.sum(1)}

    results = run_local(build, epochs=epochs, restarts="every")
    sums = results.values("window")
    assert sorted(tuple(value)[:2] for value in sums) == [("a", 5), ("a", 2**64 - 2), ("b", -1)]
    assert {type(value) for value in sums} == {type(records[0])}
    assert ("a", 2**64 - 2) in [tuple(value)[:2] for value in results.values("rolling")]


def test_a_sum_wider_than_its_declared_type_is_an_error() -> None:
    """The error names the type and says what to declare instead."""
    narrow = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    records = [("a", 2**31 - 1, 1), ("a", 2**31 - 1, 2)]

    def build(env: StreamExecutionEnvironment, kind: Any) -> Any:
        stream = env.from_collection(records, type_info=kind)
        timed = stream.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[2])
        )
        return timed.key_by(0).window(TumblingEventTimeWindows.of(10)).sum(1)

    with pytest.raises(PlanError, match="does not fit its declared type, INT") as found:
        run_local(lambda env: build(env, narrow))
    assert found.value.code == "SUM_OVERFLOW"
    assert found.value.location is not None
    assert "Types.BIG_INT()" in str(found.value)
    wide = Types.TUPLE([Types.STRING(), Types.BIG_INT(), Types.LONG()])
    assert run_local(lambda env: build(env, wide)).values() == [("a", 2**32 - 2, 1)]


def too_large(record: Any) -> tuple[str, int, int]:
    return record[0], record[1] * 4, record[2]


@pytest.mark.parametrize(("operation", "argument"), [("sum", 1), ("process", None)])
def test_a_value_that_does_not_fit_its_hint_has_no_place_in_a_column(
    operation: str, argument: Any
) -> None:
    """The error says that the type was not declared, what to declare, and the line of the window."""
    records = [("a", 2**62, 1)]

    def build(env: StreamExecutionEnvironment) -> Any:
        timed = (
            env.from_collection(records)
            .map(too_large)
            .assign_timestamps_and_watermarks(
                WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
                    lambda r, _: r[2]
                )
            )
        )
        windows = timed.key_by(0).window(TumblingEventTimeWindows.of(10))
        return getattr(windows, operation)(argument or Seen())

    with pytest.raises(TypeMismatchError, match="operator 'Window") as found:
        run_local(build)
    assert found.value.location is not None
    assert "nobody declares this type" in str(found.value)


def is_by_column(stream: Any, source: Any) -> bool:
    return columnar_window(stream._node, source._node.output_type) is not None


@pytest.mark.slow
def test_many_keys_fill_several_buffers_of_state() -> None:
    records = [(f"k{i % 20_000}", 1, i) for i in range(40_000)]
    build = program([records], TumblingEventTimeWindows.of(50_000), "sum", typed=True)
    results = run_local(build, epochs=20_000, slots=1)
    assert len(results.values()) == 20_000
    assert {value[1] for value in results.values()} == {2}


@pytest.mark.parametrize(
    ("operation", "argument", "operator"),
    [
        ("sum", 1, ColumnarWindowOperator),
        ("count", None, ColumnarWindowOperator),
        ("process", Seen(), KeptWindowOperator),
    ],
)
def test_the_typed_programs_are_computed_by_column(
    operation: str, argument: Any, operator: type
) -> None:
    """Else the tests above would compare the window operator with itself."""
    env = StreamExecutionEnvironment.get_execution_environment()
    records, assigner = [[("a", 1, 1)]], TumblingEventTimeWindows.of(5)
    program(records, assigner, operation, typed=True, argument=argument)(env).print()
    (component,) = plan(env._job_graph()).components
    compiler = Compiler(
        component, env._settings.options(None), batch=False, wall_clock_ms=lambda: 0
    )
    (stage,) = compiler.compile().stages
    assert isinstance(stage.operators[0].operator, operator)
