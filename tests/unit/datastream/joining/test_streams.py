"""Joins and co-groups of two streams, within windows and over whole inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError
from millstream.datastream import (
    CoGroupFunction,
    CrossFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.datastream.joining.streams import EqualTo, WithWindow
from millstream.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.plan.graph import KeyedNode
from millstream.testing import TestSource, rebatch, run_local
from tests.support.datastream_support import check_error, last
from tests.support.strategies import schedules

Env = StreamExecutionEnvironment
Event = tuple[str, int, int]
"""Key, number, event time."""
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])

LEFT: list[Event] = [("a", 1, 1), ("b", 2, 3), ("a", 3, 4), ("a", 4, 11), ("b", 5, 30), ("a", 6, 2)]
RIGHT: list[Event] = [("a", 10, 2), ("a", 11, 3), ("b", 12, 12), ("a", 13, 14), ("c", 14, 31)]
IN_FIVES = TumblingEventTimeWindows.of(5)
FEW = schedules(cuts=(1, "random"), slots=(1, 3), parallelism=(2,))
"""Schedules enough to show a dependence."""
KINDS = ("join", "left_outer_join", "right_outer_join", "full_outer_join", "co_group")


def timed(env: Env, events: list[Event], bound: int = 2) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[2])
    )


def numbers(first: Event | None, second: Event | None) -> tuple[int | None, int | None]:
    return (first and first[1]), (second and second[1])  # type: ignore[return-value]


def matched(env: Env, kind: str = "join", bound: int = 2) -> EqualTo:
    first, second = timed(env, LEFT, bound), timed(env, RIGHT, bound)
    joined: EqualTo = getattr(first, kind)(second).where(0).equal_to(0)
    return joined


def windowed(env: Env, kind: str = "join", bound: int = 2) -> WithWindow:
    return matched(env, kind, bound).window(IN_FIVES)


class ByName(KeySelector):
    def get_key(self, value: Event) -> str:
        return value[0]


# -- windows ---------------------------------------------------------------------------------------


def test_a_join_gives_the_pairs_of_a_window_by_the_first_then_the_second(env: Env) -> None:
    found = run_local(windowed(env).apply(numbers)).records()
    assert found == [((1, 10), 4), ((1, 11), 4), ((3, 10), 4), ((3, 11), 4), ((4, 13), 14)]


@pytest.mark.parametrize(
    ("kind", "alone"),
    [
        ("left_outer_join", [((2, None), 4), ((5, None), 34)]),
        ("right_outer_join", [((None, 12), 14), ((None, 14), 34)]),
        ("full_outer_join", [((2, None), 4), ((None, 12), 14), ((5, None), 34), ((None, 14), 34)]),
    ],
)
def test_an_outer_join_keeps_what_meets_nothing(env: Env, kind: str, alone: list[Any]) -> None:
    found = run_local(windowed(env, kind).apply(numbers)).records()
    assert sorted((pair for pair in found if None in pair[0]), key=str) == sorted(alone, key=str)
    assert [pair for pair in found if None not in pair[0]] == [
        ((1, 10), 4),
        ((1, 11), 4),
        ((3, 10), 4),
        ((3, 11), 4),
        ((4, 13), 14),
    ]


def test_a_co_group_gets_the_records_of_each_stream(env: Env) -> None:
    def group(first: list[Event], second: list[Event]) -> Iterator[tuple[list[int], list[int]]]:
        yield [event[1] for event in first], [event[1] for event in second]

    found = run_local(windowed(env, "co_group").apply(group)).values()
    assert found[:2] == [([1, 3], [10, 11]), ([2], [])]
    assert sorted(found[2:]) == [([], [12]), ([], [14]), ([4], [13]), ([5], [])]


def test_records_meet_in_each_window_they_share(env: Env) -> None:
    sliding = SlidingEventTimeWindows.of(10, 5)
    found = run_local(matched(env).window(sliding).apply(numbers)).records()
    assert [record.timestamp for record in found if record.value == (1, 10)] == [4, 9]


def test_a_session_reaches_over_both_streams(env: Env) -> None:
    first, second = timed(env, [("a", 1, 0), ("a", 2, 8)]), timed(env, [("a", 10, 4)])
    joined = first.join(second).where(0).equal_to(0).window(EventTimeSessionWindows.with_gap(5))
    assert run_local(joined.apply(numbers)).records() == [((1, 10), 12), ((2, 10), 12)]


def test_a_session_that_was_two_is_in_order() -> None:
    events = [("a", 1, 0), ("a", 2, 20), ("a", 3, 3), ("a", 4, 11)]

    def program(env: Env) -> DataStream:
        stream = timed(env, events, 100)
        joined = stream.co_group(timed(env, [], 100)).where(0).equal_to(0)
        sessions = joined.window(EventTimeSessionWindows.with_gap(10))
        return sessions.apply(lambda first, _: [[event[1] for event in first]])

    assert rebatch(program, **FEW).results.values() == [[1, 2, 3, 4]]


@pytest.mark.parametrize(
    "assigner",
    [IN_FIVES, SlidingEventTimeWindows.of(10, 5), EventTimeSessionWindows.with_gap(4)],
    ids=["tumbling", "sliding", "session"],
)
def test_results_do_not_depend_on_the_schedule(assigner: Any) -> None:
    late = OutputTag("late")

    def program(env: Env) -> dict[str, DataStream]:
        joined = {
            kind: matched(env, kind, 1)
            .window(assigner)
            .side_output_late_data(late)
            .apply(lambda first, second: [first, second])
            for kind in ("full_outer_join", "co_group")
        }
        return {**joined, "late": joined["co_group"].get_side_output(late)}

    results = rebatch(program, **FEW).results
    assert results.values("late") == [("a", 6, 2)]
    assert len(results.values("full_outer_join")) > 5


def test_channels_of_both_streams_join() -> None:
    def program(env: Env) -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        left = TestSource([(("a", 1), 1), (("a", 2), 9)], [(("a", 3), 0)], timestamped=True)
        right = TestSource([(("a", 10), 3)], [(("a", 11), 2), (("a", 12), 8)], timestamped=True)
        first = env.from_source(left, strategy, "left")
        second = env.from_source(right, strategy, "right")
        joined = first.join(second).where(0).equal_to(0).window(IN_FIVES)
        return joined.apply(lambda a, b: (a[1], b[1]))

    found = rebatch(program, **FEW).results.values()
    assert found == [(1, 10), (1, 11), (3, 10), (3, 11), (2, 12)]


def test_a_stream_joins_itself() -> None:
    def program(env: Env) -> DataStream:
        stream = timed(env, LEFT)
        return stream.join(stream).where(0).equal_to(0).window(IN_FIVES).apply(numbers)

    found = rebatch(program, **FEW).results.values()
    assert found == [(1, 1), (1, 3), (3, 1), (3, 3), (2, 2), (4, 4), (5, 5)]


def test_nothing_is_left_in_state_at_the_end(env: Env) -> None:
    from millstream.testing import LocalJob

    windowed(env).apply(numbers).print()
    job = LocalJob(env._job_graph())
    job.epoch(3)
    assert job.state_entries() > 0
    job.run_all()
    assert job.state_entries() == 0


# -- triggers, evictors, lateness ------------------------------------------------------------------


def test_a_trigger_counts_the_records_of_both_streams(env: Env) -> None:
    windows = windowed(env).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    found = run_local(windows.apply(numbers), epochs=1).values()
    # The first window of a gets 1, 10, 11, 3: it fires after each two, and begins anew.
    assert found == [(1, 10), (3, 11), (4, 13)]


def test_an_evictor_sees_pairs_of_stream_and_record(env: Env) -> None:
    seen: list[Any] = []

    class Watching(CountEvictor):
        def evict_before(self, elements: Any, size: int, window: Any, context: Any) -> None:
            seen.extend(element.get_value() for element in elements)
            super().evict_before(elements, size, window, context)

    joined = windowed(env).evictor(Watching(3, False)).apply(numbers)
    found = run_local(joined, copy_functions=False).values()
    assert (1, ("a", 10, 2)) in seen
    assert (0, ("a", 1, 1)) in seen
    # Of the four records of the first window the earliest is gone.
    assert found == [(3, 10), (3, 11), (4, 13)]


def test_a_late_record_fires_its_window_again(env: Env) -> None:
    windows = windowed(env).allowed_lateness(100)
    found = run_local(windows.apply(numbers), epochs=1).records()
    first = [((1, 10), 4), ((1, 11), 4), ((3, 10), 4), ((3, 11), 4)]
    assert [record for record in found if record.timestamp == 4] == [
        *first,
        *first,
        ((6, 10), 4),
        ((6, 11), 4),
    ]


def test_late_records_of_both_streams_go_to_one_side_output(env: Env) -> None:
    late = OutputTag("late")
    first, second = timed(env, [("a", 1, 50), ("a", 2, 1)]), timed(env, [("b", 3, 50), ("b", 4, 2)])
    windows = first.join(second).where(0).equal_to(0).window(IN_FIVES)
    joined = windows.side_output_late_data(late).apply(numbers)
    found = run_local(joined.get_side_output(late)).values()
    assert sorted(found) == [("a", 2, 1), ("b", 4, 2)]


def test_late_records_of_each_stream_have_a_side_output_of_their_own(env: Env) -> None:
    left, right = OutputTag("left", Types.LONG()), OutputTag("right", Types.STRING())
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    first = env.from_collection([1, 2], timestamps=[50, 1])
    second = env.from_collection(["1", "2"], timestamps=[50, 2])
    joined = (
        first.assign_timestamps_and_watermarks(strategy)
        .co_group(second.assign_timestamps_and_watermarks(strategy))
        .where(str)
        .equal_to(str)
        .window(IN_FIVES)
        .side_output_late_data(left, right)
        .apply(lambda first, second: [(first, second)])
    )
    assert run_local(joined.get_side_output(left)).values() == [2]
    assert run_local(joined.get_side_output(right)).values() == ["2"]


def test_without_a_side_output_late_records_are_counted(env: Env) -> None:
    first, second = timed(env, [("a", 1, 50), ("a", 2, 1)]), timed(env, [("b", 3, 50), ("b", 4, 2)])
    joined = first.join(second).where(0).equal_to(0).window(IN_FIVES).apply()
    assert [one.late for one in run_local(joined).metrics.operators.values() if one.late] == [2]


def test_a_second_tag_must_be_one(env: Env) -> None:
    with pytest.raises(PlanError) as caught:
        windowed(env).side_output_late_data(OutputTag("late"), "late")  # type: ignore[arg-type]
    check_error(caught.value, "NOT_A_TAG", here=__file__, hint="OutputTag(")


def test_windows_that_never_end_need_no_time(env: Env) -> None:
    first, second = env.from_collection([("a", 1)]), env.from_collection([("a", 2)])
    windows = first.join(second).where(0).equal_to(0).window(GlobalWindows.create())
    joined = windows.trigger(CountTrigger.of(2)).apply(lambda a, b: (a[1], b[1]))
    assert run_local(joined).values() == [(1, 2)]


def test_event_time_windows_need_timestamps_on_both_sides(env: Env) -> None:
    first, second = timed(env, LEFT), env.from_collection(RIGHT)
    joined = first.join(second).where(0).equal_to(0).window(IN_FIVES).apply()
    with pytest.raises(PlanError) as caught:
        run_local(joined)
    check_error(caught.value, "NO_TIMESTAMPS", here=__file__, hint="assign_timestamps")


# -- functions -------------------------------------------------------------------------------------


class Numbers(JoinFunction):
    opened: Any = None
    closed = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = runtime_context

    def join(self, first: Event, second: Event) -> int:
        assert self.opened is not None
        return first[1] * second[1]

    def close(self) -> None:
        self.closed = True


class Even(FlatJoinFunction):
    def join(self, first: Event, second: Event) -> Iterator[int]:
        if (first[1] + second[1]) % 2 == 0:
            yield first[1]


class Sizes(CoGroupFunction):
    def co_group(self, first: list[Event], second: list[Event]) -> Iterator[tuple[int, int]]:
        yield len(first), len(second)


def test_a_join_function_is_opened_and_closed(env: Env) -> None:
    function = Numbers()
    joined = windowed(env).apply(function)
    assert joined.get_type() == Types.LONG()
    assert run_local(joined, copy_functions=False).values() == [10, 11, 30, 33, 52]
    assert function.closed


def test_a_flat_join_function_gives_any_number(env: Env) -> None:
    joined = windowed(env).apply(Even())
    assert joined.get_type() == Types.LONG()
    assert run_local(joined).values() == [1, 3]


def test_a_plain_function_that_yields_gives_any_number(env: Env) -> None:
    def twice(first: Event, second: Event) -> Iterator[int]:
        yield first[1]
        yield second[1]

    assert run_local(windowed(env).apply(twice)).values()[:4] == [1, 10, 1, 11]


def test_a_flat_join_function_may_return_nothing(env: Env) -> None:
    class Nothing(FlatJoinFunction):
        def join(self, first: Event, second: Event) -> None:
            return None

    assert run_local(windowed(env).apply(Nothing())).values() == []


def test_without_a_function_results_are_typed_pairs(env: Env) -> None:
    first, second = env.from_collection([("a", 1)]), env.from_collection([("a", "x")])
    joined = first.full_outer_join(second).where(0).equal_to(0).apply()
    assert joined.get_type() == Types.TUPLE([PAIR, Types.TUPLE([Types.STRING(), Types.STRING()])])
    assert run_local(joined).values() == [(("a", 1), ("a", "x"))]


def test_pairs_of_unknown_records_are_untyped(env: Env) -> None:
    first = env.from_collection([("a", 1)]).map(lambda pair: pair)
    joined = first.join(first).where(0).equal_to(0).apply()
    assert joined.get_type() == Types.PICKLED_BYTE_ARRAY()
    assert run_local(joined).values() == [(("a", 1), ("a", 1))]


def test_a_co_group_function(env: Env) -> None:
    joined = windowed(env, "co_group").apply(Sizes())
    assert joined.get_type() == Types.TUPLE([Types.LONG(), Types.LONG()])
    assert run_local(joined).values()[0] == (2, 2)


def test_a_declared_type_wins(env: Env) -> None:
    assert windowed(env).apply(numbers, output_type=tuple[int, int]).get_type() == Types.TUPLE(
        [Types.LONG(), Types.LONG()]
    )


@pytest.mark.parametrize(
    ("kind", "function", "code"),
    [
        ("join", lambda first: first, "WRONG_ARITY"),
        ("join", Numbers, "FUNCTION_CLASS"),
        ("join", Sizes(), "WRONG_FUNCTION_KIND"),
        ("co_group", Numbers(), "WRONG_FUNCTION_KIND"),
        ("co_group", None, "WRONG_FUNCTION_KIND"),
        ("co_group", lambda first: first, "WRONG_ARITY"),
    ],
)
def test_a_wrong_function_is_refused(env: Env, kind: str, function: Any, code: str) -> None:
    for joined in (windowed(env, kind), matched(env, kind)):
        with pytest.raises(PlanError) as caught:
            joined.apply(function)
        check_error(caught.value, code, here=__file__, hint="")


def test_an_error_in_the_function_names_the_operator(env: Env) -> None:
    def fail(first: Event, second: Event) -> int:
        raise RuntimeError("no such pair")

    joined = windowed(env).apply(fail).name("totals")
    with pytest.raises(MillstreamError, match="no such pair") as caught:
        run_local(joined)
    assert "totals" in str(caught.value)


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selector", [0, "f0", ByName(), lambda event: event[0]], ids=["position", "name", "class", "f"]
)
def test_keys_are_selected_as_in_key_by(env: Env, selector: Any) -> None:
    first, second = timed(env, LEFT), timed(env, RIGHT)
    joined = first.join(second).where(selector).equal_to(selector).window(IN_FIVES)
    assert len(run_local(joined.apply(numbers)).values()) == 5


def test_rows_are_joined_by_fields_of_different_names(env: Env) -> None:
    first = env.from_collection([Row(user="ada", n=1)])
    second = env.from_collection([Row(city="London", name="ada")])
    joined = first.join(second).where("user").equal_to("name")
    assert run_local(joined.apply(lambda a, b: (a.n, b.city))).values() == [(1, "London")]


def test_keys_of_types_that_never_are_equal_are_refused(env: Env) -> None:
    first, second = env.from_collection([("a", 1)]), env.from_collection([("a", 1)])
    with pytest.raises(PlanError) as caught:
        first.join(second).where(0).equal_to(1)
    check_error(caught.value, "KEY_TYPES", here=__file__, hint="convert")
    with pytest.raises(PlanError, match="KEY_TYPES"):
        first.co_group(second).where(lambda v: v, tuple[str, int]).equal_to(
            lambda v: v, tuple[str, str]
        )
    with pytest.raises(PlanError, match="KEY_TYPES"):
        first.join(second).where(lambda v: v, tuple[str, int]).equal_to(lambda v: v, tuple[str])


def test_numbers_of_all_kinds_are_comparable_keys(env: Env) -> None:
    first = env.from_collection([1, 2])
    second = env.from_collection([2.0, 3.0])
    joined = first.join(second).where(0).equal_to(0).apply()
    assert run_local(joined).values() == [(2, 2.0)]
    first.join(second).where(lambda v: ("a", v), tuple[str, int]).equal_to(
        lambda v: ("a", v), tuple[str, float]
    )


def test_a_keyed_stream_joins_by_the_key_of_where(env: Env) -> None:
    first = env.from_collection([("a", 1)]).key_by(1)
    joined = first.join(env.from_collection([("a", 2)])).where(0).equal_to(0).apply()
    assert run_local(joined).values() == [(("a", 1), ("a", 2))]


@pytest.mark.parametrize("call", [*KINDS, "cross"])
def test_only_streams_of_one_environment_join(env: Env, call: str) -> None:
    stream = env.from_collection([1])
    with pytest.raises(PlanError) as caught:
        getattr(stream, call)([1, 2])
    check_error(caught.value, "NOT_A_STREAM", here=__file__, hint=f"a.{call}(b)")
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(PlanError, match="another environment"):
        getattr(stream, call)(other)


# -- whole inputs ----------------------------------------------------------------------------------

AGES = [("ada", 36), ("bob", 41), ("ada", 37)]
CITIES = [("ada", "London"), ("cyd", "Rome"), ("ada", "Paris")]
MET = [(36, "London"), (36, "Paris"), (37, "London"), (37, "Paris")]


def ages_and_cities(kind: str) -> Callable[[Env], DataStream]:
    def joined(first: Any, second: Any) -> tuple[Any, Any]:
        return (first and first[1]), (second and second[1])

    def program(env: Env) -> DataStream:
        first, second = env.from_collection(AGES), env.from_collection(CITIES)
        both: EqualTo = getattr(first, kind)(second).where(0).equal_to(0)
        return both.apply(joined)

    return program


@pytest.mark.parametrize(
    ("kind", "alone"),
    [
        ("join", []),
        ("left_outer_join", [(41, None)]),
        ("right_outer_join", [(None, "Rome")]),
        ("full_outer_join", [(41, None), (None, "Rome")]),
    ],
)
def test_bounded_streams_join_as_a_whole(kind: str, alone: list[Any]) -> None:
    found = rebatch(ages_and_cities(kind), **FEW).results.values()
    assert [pair for pair in found if None not in pair] == MET
    assert [pair for pair in found if None in pair] == alone


def test_bounded_streams_co_group_as_a_whole() -> None:
    def program(env: Env) -> DataStream:
        first, second = env.from_collection(AGES), env.from_collection(CITIES)
        return first.co_group(second).where(0).equal_to(0).apply(Sizes())

    assert sorted(rebatch(program, **FEW).results.values()) == [(0, 1), (1, 0), (2, 2)]


def test_streams_with_and_without_time_join_as_a_whole() -> None:
    def program(env: Env) -> DataStream:
        first, second = timed(env, LEFT), env.from_collection(RIGHT)
        return first.join(second).where(0).equal_to(0).apply(numbers)

    pairs = [(a[1], b[1]) for a in LEFT for b in RIGHT if a[0] == b[0]]
    assert sorted(rebatch(program, **FEW).results.values()) == sorted(pairs)


def test_one_whole_input_follows_another() -> None:
    def program(env: Env) -> DataStream:
        joined = ages_and_cities("full_outer_join")(env)
        return joined.cross(env.from_collection([1, 2])).apply(lambda pair, n: (*pair, n))

    found = rebatch(program, **FEW).results.values()
    assert sorted(found, key=str) == sorted(
        [(*pair, n) for pair in [*MET, (41, None), (None, "Rome")] for n in (1, 2)], key=str
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unbounded", [0, 1])
def test_a_stream_without_end_needs_a_window(env: Env, kind: str, unbounded: int) -> None:
    streams = [env.from_collection(["a"]), env.socket_text_stream("localhost", 9999).map(str)]
    first, second = streams if unbounded else streams[::-1]
    both = getattr(first, kind)(second).where(str).equal_to(str)
    with pytest.raises(PlanError, match="'Socket'") as caught:
        both.apply(lambda first, second: [])
    check_error(caught.value, "UNBOUNDED_INPUT", here=__file__, hint=".window(...)")
    both.window(IN_FIVES).apply(lambda first, second: [])
    assert isinstance(last(env), KeyedNode)


# -- cross -----------------------------------------------------------------------------------------


def test_cross_lets_all_records_meet() -> None:
    class Differ(CrossFunction):
        def cross(self, first: int, second: int) -> int:
            return first - second

    def program(env: Env) -> list[DataStream]:
        first, second = env.from_collection([1, 2, 3]), env.from_collection([10, 20])
        return [first.cross(second).apply(Differ()), first.cross(second).apply()]

    results = rebatch(program, **FEW).results
    assert results.values("result 1") == [-9, -19, -8, -18, -7, -17]
    assert results.values("result 2") == [(a, b) for a in (1, 2, 3) for b in (10, 20)]


def test_cross_of_unbounded_streams_is_refused(env: Env) -> None:
    lines = env.socket_text_stream("localhost", 9999)
    with pytest.raises(PlanError) as caught:
        lines.cross(env.from_collection([1])).apply()
    check_error(caught.value, "UNBOUNDED_INPUT", here=__file__, hint="by key and window")


def test_operators_are_named_and_get_uids(env: Env) -> None:
    joined = windowed(env, "left_outer_join").apply(numbers)
    assert joined.get_name() == "Left Outer Join"
    joined.uid("ours").name("pairs")
    assert (last(env).name, last(env).uid) == ("pairs", "ours")
    assert last(env).location.file == __file__


def test_a_map_function_may_follow(env: Env) -> None:
    class Add(MapFunction):
        def map(self, value: tuple[int, int]) -> int:
            return sum(value)

    assert run_local(windowed(env).apply(numbers).map(Add())).values() == [11, 12, 13, 14, 17]
