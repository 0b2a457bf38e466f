"""Poison records by the user API: which operators skip what, and what dead letters say."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.common import DeadLetter, Types, WatermarkStrategy
from millstream.common.errors import ConfigurationError, MillstreamError, PlanError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from millstream.testing import LocalJob, Results, run_local

BAD = OutputTag("bad")
SIDE = OutputTag("side")
Env = StreamExecutionEnvironment
Build = Callable[[Env], DataStream]


@pytest.fixture
def env() -> Env:
    return StreamExecutionEnvironment.get_execution_environment()


def skipped(build: Build, **options: Any) -> Results:
    """Run a program whose last operator skips into ``BAD``: its sinks are "main" and "bad"."""

    def program(env: Env) -> dict[str, DataStream]:
        stream = build(env).on_error("skip", BAD)
        return {"main": stream, "bad": stream.get_side_output(BAD)}

    return run_local(program, **options)


def outcome(build: Build, **options: Any) -> tuple[list[Any], list[DeadLetter]]:
    """Values and dead letters, which do not depend on how epochs are cut."""
    found = [skipped(build, epochs=epochs, **options) for epochs in (1, 3, "all")]
    for results in found:
        assert results.sinks == found[0].sinks
    skips = [[one.skipped for one in results.metrics.operators.values()] for results in found]
    assert all(one == skips[0] for one in skips)
    return found[0].values("main"), found[0].values("bad")


def values(letters: list[DeadLetter]) -> list[Any]:
    return [letter.value for letter in letters]


def timed(env: Env, events: list[Any]) -> DataStream:
    """Events with their time at place 1, in order."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[1])
    )


# -- without keys ----------------------------------------------------------------------------------


def test_a_map_that_fails_on_a_record() -> None:
    def build(env: Env) -> DataStream:
        return env.from_collection(["1", "x", "3"]).map(int).name("op").uid("parse")

    main, letters = outcome(build)
    assert main == [1, 3]
    (letter,) = letters
    assert (letter.value, letter.timestamp, letter.operator, letter.uid) == (
        "x",
        None,
        "op",
        "parse",
    )
    assert letter.error == "ValueError: invalid literal for int() with base 10: 'x'"
    assert letter.traceback.startswith(letter.error)
    assert pickle.loads(pickle.dumps(letter)) == letter
    assert skipped(build).metrics.operator("op").skipped == 1


def test_the_traceback_shows_the_users_frames_and_is_cut() -> None:
    def fail(value: str) -> None:
        raise ValueError(value * 5_000)

    _, (letter,) = outcome(lambda env: env.from_collection(["x"]).map(fail).name("op"))
    assert len(letter.traceback) < 2_100
    _, (letter,) = outcome(lambda env: env.from_collection([""]).map(fail).name("op"))
    assert "in fail: raise ValueError(value * 5_000)" in letter.traceback
    assert "millstream/kernel" not in letter.traceback


def test_the_dead_letter_has_the_record_as_it_came() -> None:
    def spoil(record: list[Any]) -> None:
        record.append("spoiled")
        raise ValueError

    _, letters = outcome(lambda env: env.from_collection([["a"]]).map(spoil))
    assert values(letters) == [["a"]]


def test_a_filter_and_the_event_time_of_its_dead_letters() -> None:
    events = [("a", 1, 4), ("b", 2, 0), ("c", 3, 1)]

    def build(env: Env) -> DataStream:
        return timed(env, events).filter(lambda e: 4 // e[2] > 3).name("op")

    main, letters = outcome(build)
    assert main == [("c", 3, 1)]
    assert [(letter.value, letter.timestamp) for letter in letters] == [(("b", 2, 0), 2)]
    assert skipped(build).records("bad")[0].timestamp == 2


def test_what_a_flat_map_has_emitted_before_it_fails_is_dropped() -> None:
    def shares(n: int) -> Iterator[float]:
        for divisor in range(2, -1, -1):
            yield n / (divisor if n == 8 else divisor + 1)

    main, letters = outcome(lambda env: env.from_collection([6, 8, 12]).flat_map(shares))
    assert main == [2.0, 3.0, 6.0, 4.0, 6.0, 12.0]
    assert values(letters) == [8]


class SplitSigns(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield SIDE, value
        yield 12 // value


def test_side_outputs_of_a_process_function_are_dropped_too() -> None:
    def program(env: Env) -> dict[str, DataStream]:
        stream = env.from_collection([3, 0, 4]).process(SplitSigns()).on_error("skip", BAD)
        sides = {tag.tag_id: stream.get_side_output(tag) for tag in (SIDE, BAD)}
        return {"main": stream, **sides}

    results = run_local(program)
    assert results.values("main") == [4, 3]
    assert results.values("side") == [3, 4]
    assert values(results.values("bad")) == [0]


class ReadsWatermark(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.timer_service().current_watermark()
        yield 12 // value[2]


def test_a_process_function_that_reads_the_watermark() -> None:
    events = [("a", 1, 4), ("b", 2, 0), ("c", 3, 1)]
    main, letters = outcome(lambda env: timed(env, events).process(ReadsWatermark()))
    assert main[1:] == [3, 1, 12]
    assert values(letters) == [("b", 2, 0)]


class Signed(CoMapFunction):
    def map1(self, value: str) -> int:
        return int(value)

    def map2(self, value: str) -> int:
        return -int(value)


def test_connected_streams_without_keys() -> None:
    def build(env: Env) -> DataStream:
        first, second = env.from_collection(["1", "x"]), env.from_collection(["y", "2"])
        return first.connect(second).map(Signed())

    results = skipped(build)
    assert sorted(results.values("main")) == [-2, 1]
    assert sorted(values(results.values("bad"))) == ["x", "y"]


# -- timestamps ------------------------------------------------------------------------------------


class Latest(WatermarkGenerator):
    def __init__(self) -> None:
        self.latest = -1

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        self.latest = max(self.latest, timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        output.emit_watermark(Watermark(self.latest - 1))


STRATEGIES = pytest.mark.parametrize(
    "strategy",
    [WatermarkStrategy.for_monotonous_timestamps(), WatermarkStrategy.for_generator(Latest)],
    ids=["bounded", "custom"],
)


@STRATEGIES
@pytest.mark.parametrize("again", [False, True], ids=["at the source", "behind a keyed stage"])
def test_a_timestamp_assigner_that_fails(strategy: WatermarkStrategy, again: bool) -> None:
    strategy = strategy.with_timestamp_assigner(lambda event, _: int(event[1]))
    events = [("a", "1"), ("a", "x"), ("a", "y"), ("a", "7"), ("a", "z"), ("a", "12")]

    def program(env: Env) -> dict[str, DataStream]:
        stream: DataStream = env.from_collection(events)
        if again:
            stream = stream.key_by(lambda e: e[0]).reduce(lambda _, e: e)
        stream = stream.assign_timestamps_and_watermarks(strategy).on_error("skip", BAD)
        counts = stream.key_by(lambda e: e[0]).window(TumblingEventTimeWindows.of(5))
        bad = stream.get_side_output(BAD)
        return {
            "main": counts.process(Contents()),
            "bad": bad,
            "keyed": bad.key_by(lambda letter: 1).process(Clock()),
        }

    found = [run_local(program, epochs=epochs) for epochs in (1, 2, "all")]
    for results in found:
        assert results.sinks == found[0].sinks
    assert found[0].values("main") == [
        ("a", [("a", "1")]),
        ("a", [("a", "7")]),
        ("a", [("a", "12")]),
    ]
    assert [letter.value[1] for letter in found[0].values("bad")] == ["x", "y", "z"]
    assert found[0].values("keyed") == [("x", 0), ("y", 0), ("z", 6)]


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, list(elements)

    def clear(self, context: Any) -> None:
        pass


class Clock(KeyedProcessFunction):
    def process_element(self, value: DeadLetter, ctx: Any) -> Iterator[Any]:
        yield value.value[1], ctx.timer_service().current_watermark()


# -- with keys -------------------------------------------------------------------------------------


class Busy(KeyedProcessFunction):
    """Does all it can, and then fails on a zero."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))
        self.by_number = runtime_context.get_map_state(MapStateDescriptor("numbers"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, time, number = value
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.add([number])
        for earlier in self.seen:
            earlier.append(number)
        self.by_number.put(number, count)
        ctx.timer_service().register_event_time_timer(time + 5)
        ctx.timer_service().delete_event_time_timer(time + 4)
        yield count
        yield SIDE, number
        yield 12 // number, list(self.seen), list(self.by_number.items())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", timestamp, self.count.value()


EVENTS = [("a", 1, 3), ("a", 2, 0), ("b", 2, 0), ("a", 3, 4), ("a", 3, 0), ("b", 9, 1)]
GOOD = [event for event in EVENTS if event[2]]


def busy(events: list[Any]) -> Build:
    return lambda env: timed(env, events).key_by(lambda e: e[0]).process(Busy()).name("op")


def test_nothing_is_left_of_a_record_that_a_keyed_function_fails_on() -> None:
    main, letters = outcome(busy(EVENTS))
    assert main == run_local(lambda env: busy(GOOD)(env)).values()
    assert values(letters) == [event for event in EVENTS if not event[2]]
    assert [letter.timestamp for letter in letters] == [2, 2, 3]
    assert len(letters) == skipped(busy(EVENTS)).metrics.operator("op").skipped


def test_without_the_policy_the_job_fails() -> None:
    with pytest.raises(UserCodeError):
        run_local(busy(EVENTS))
    with pytest.raises(UserCodeError):
        run_local(lambda env: busy(EVENTS)(env).on_error("skip").on_error("fail"))


def test_a_key_selector_that_fails_is_a_matter_of_the_operator_behind_it() -> None:
    def build(env: Env) -> DataStream:
        keyed = env.from_collection(["a1", "", "b2", "a3"]).key_by(lambda text: text[0])
        return keyed.reduce(lambda one, other: one + other).name("op")

    for slots in (1, 4):
        main, letters = outcome(build, slots=slots)
        assert main == ["a1", "b2", "a1a3"]
        assert values(letters) == [""]
        assert letters[0].error == "IndexError: string index out of range"


def test_a_reduce_that_changes_what_it_has_before_it_fails() -> None:
    def extend(one: list[int], other: list[int]) -> list[int]:
        one.extend(other)
        if 0 in other:
            raise ValueError(0)
        return one

    def build(env: Env) -> DataStream:
        lists = env.from_collection([[1], [2, 0], [3]])
        return lists.key_by(lambda _: 1).reduce(extend).name("op")

    main, letters = outcome(build)
    assert main == [[1], [1, 3]]
    assert values(letters) == [[2, 0]]
    batch = skipped(build, batch=True)
    assert batch.values("main") == [[1, 3]]
    assert batch.values("bad") == letters


class KeyedDouble(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def map(self, value: str) -> int:
        self.sum.update((self.sum.value() or 0) + 1)
        self.sum.update(self.sum.value() + int(value))
        return int(self.sum.value())


def test_a_map_function_with_state() -> None:
    def build(env: Env) -> DataStream:
        return env.from_collection(["1", "x", "3"]).key_by(lambda _: 1).map(KeyedDouble())

    assert outcome(build)[0] == [2, 6]


class Alarms(KeyedProcessFunction):
    """Timers that fail at even times, after they have done something."""

    def open(self, runtime_context: Any) -> None:
        self.rung = runtime_context.get_list_state(ListStateDescriptor("rung"))

    def process_element(self, value: Any, ctx: Any) -> None:
        for time in value[2]:
            ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        self.rung.add(timestamp)
        ctx.timer_service().register_event_time_timer(timestamp + 100)
        yield timestamp, list(self.rung)
        if timestamp > 100:
            ctx.timer_service().delete_event_time_timer(timestamp + 100)
        if timestamp % 2 == 0:
            raise ValueError(timestamp)


def test_a_timer_that_fails() -> None:
    # The last one is overdue when it is registered.
    events = [("a", 1, (3, 4, 5)), ("a", 10, (6,)), ("a", 11, ())]

    def build(env: Env) -> DataStream:
        return timed(env, events).key_by(lambda e: e[0]).process(Alarms())

    main, letters = outcome(build)
    assert main == [
        (3, [3]),
        (5, [3, 5]),
        (103, [3, 5, 103]),
        (105, [3, 5, 103, 105]),
    ]
    assert values(letters) == [("timer", 4, "a"), ("timer", 6, "a")]
    assert [letter.timestamp for letter in letters] == [4, 6]


class Ticking(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp
        raise ValueError(timestamp)


def test_a_timer_in_processing_time_has_no_event_time() -> None:
    def build(env: Env) -> DataStream:
        return env.from_collection([500, 0, 0]).key_by(lambda _: 1).process(Ticking())

    letters = skipped(build, epochs=1).values("bad")
    assert values(letters) == [("timer", t, 1) for t in (500, 1_000, 2_000)]
    assert [letter.timestamp for letter in letters] == [None] * 3


# -- two inputs ------------------------------------------------------------------------------------


class CoBusy(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value[2])
        yield 12 // value[2]

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield list(self.seen), 12 // value[2]


def test_a_function_of_two_keyed_streams() -> None:
    def build(env: Env) -> DataStream:
        first = timed(env, [("a", 1, 3), ("a", 3, 0), (None, 4, 4), ("a", 5, 2)])
        second = timed(env, [("a", 2, 0), ("", 3, 0), ("a", 6, 1)])
        return (
            first.key_by(lambda e: e[0] + "")
            .connect(second.key_by(lambda e: e[0][0]))
            .process(CoBusy())
        )

    results = skipped(build, channel_order="watermark", epochs=2)
    assert results.values("main") == [4, ([3], 12), 6]
    assert values(results.values("bad")) == [("a", 2, 0), ("a", 3, 0), ("", 3, 0), (None, 4, 4)]


RULES = MapStateDescriptor("rules")


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value
        yield 12 // value, ctx.get_broadcast_state(RULES).get("rule")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("rule", 12 // value)


class KeyedRuled(Ruled, KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value)
        ctx.timer_service().register_processing_time_timer(0)
        yield 12 // int(value), list(self.seen)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "tick"
        raise ValueError(timestamp)


def ruled(numbers: list[Any], rules: list[int], keyed: bool) -> Build:
    def build(env: Env) -> DataStream:
        stream: DataStream = env.from_collection(numbers)
        if keyed:
            stream = stream.key_by(lambda n: n[0])
        broadcast = env.from_collection(rules).broadcast(RULES)
        return stream.connect(broadcast).process(KeyedRuled() if keyed else Ruled())

    return build


def test_the_input_that_is_not_broadcast() -> None:
    results = skipped(ruled([3, 0, 4], [], keyed=False))
    assert results.values("main") == [3, (4, None), 4, (3, None)]
    assert values(results.values("bad")) == [0]
    results = skipped(ruled(["3", "", "0", "3"], [], keyed=True), slots=1)
    assert results.values("main") == [(4, ["3"]), (4, ["3", "3"])]
    tick = ("timer", 0, "3")
    assert values(results.values("bad")) == [tick, "", "0", tick]


def test_a_broadcast_record_fails_the_job() -> None:
    with pytest.raises(UserCodeError):
        skipped(ruled([3], [0], keyed=False))


class Quotient(ProcessJoinFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield SIDE, left
        yield self.count.value()
        yield left[2] // right[2]


def test_an_interval_join_skips_pairs() -> None:
    def build(env: Env) -> DataStream:
        left = timed(env, [("a", 1, 8), ("a", 2, 6), (None, 3, 1)])
        right = timed(env, [("a", 1, 2), ("a", 2, 0), ("a", 3, 1)])
        joined = left.key_by(lambda e: e[0][0]).interval_join(right.key_by(lambda e: e[0]))
        return joined.between(-1, 1).process(Quotient())

    results = skipped(build, channel_order="watermark", epochs=1)
    assert results.values("main") == [1, 4, 2, 3, 3, 6]
    assert values(results.values("bad")) == [
        (("a", 1, 8), ("a", 2, 0)),
        (("a", 2, 6), ("a", 2, 0)),
        (None, 3, 1),
    ]


# -- windows ---------------------------------------------------------------------------------------


class Ratio(ProcessWindowFunction):
    """Fails if there is a zero, after it has emitted and counted."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        count = context.global_state().get_state(ValueStateDescriptor("count"))
        count.update((count.value() or 0) + 1)
        yield count.value()
        yield [12 // element[2] for element in elements]

    def clear(self, context: Any) -> None:
        pass


WINDOW_EVENTS = [("a", 1, 3), ("a", 2, 4), ("a", 6, 0), ("a", 12, 6)]


@pytest.mark.parametrize("typed", [False, True], ids=["untyped", "by column"])
@pytest.mark.parametrize("lateness", [0, 3])
def test_a_window_function_that_fails(typed: bool, lateness: int) -> None:
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()]) if typed else None

    def build(env: Env) -> DataStream:
        events = timed(env, WINDOW_EVENTS).map(lambda e: e, output_type=kind)
        windows = events.key_by(lambda e: e[0]).window(TumblingEventTimeWindows.of(5))
        return windows.allowed_lateness(lateness).process(Ratio()).name("op")

    main, letters = outcome(build)
    assert main == [1, [4, 3], 2, [2]]
    assert values(letters) == [("a", TimeWindow(5, 10))]
    assert letters[0].timestamp == 9
    assert letters[0].error.startswith("ZeroDivisionError: ")


class Shares(AggregateFunction):
    """Adds to its accumulator before it fails."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[2])
        accumulator.append(12 // value[2])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, one: list[int], other: list[int]) -> list[int]:
        one.extend(other)
        if 13 in one:
            raise ValueError(13)
        return one


def test_a_fold_that_fails_leaves_no_trace_in_any_window() -> None:
    events = [("a", 1, 1), ("a", 2, 0), ("a", 4, 3), ("a", 6, 2)]

    def windows(events: list[Any]) -> Build:
        def build(env: Env) -> DataStream:
            keyed = timed(env, events).key_by(lambda e: e[0])
            sliding = keyed.window(SlidingEventTimeWindows.of(6, 3))
            return sliding.aggregate(Shares()).name("op")

        return build

    main, letters = outcome(windows(events))
    assert main == run_local(windows([e for e in events if e[2]])).values()
    assert main[0] == [1, 12]
    assert values(letters) == [("a", 2, 0)]


def test_a_record_that_would_have_merged_sessions_which_cannot_merge() -> None:
    events = [("a", 1, 3), ("a", 9, 13), ("a", 5, 1), ("a", 30, 2)]

    def build(env: Env) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(20)
        stream = env.from_collection(events).assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda event, _: event[1])
        )
        windows = stream.key_by(lambda e: e[0]).window(EventTimeSessionWindows.with_gap(5))
        return windows.aggregate(Shares()).name("op")

    main, letters = outcome(build)
    assert main == [[3, 4], [13, 0], [2, 6]]
    assert values(letters) == [("a", 5, 1)]


@pytest.mark.parametrize("records", [[1, 4, 0, 12, 15], [1, 9, 0, 5, 30]])
def test_sessions_that_a_poison_record_would_have_merged(records: list[int]) -> None:
    def add(one: Any, other: Any) -> Any:
        if 0 in (one[2], other[2]):
            raise ValueError(0)
        return one[0], one[1], one[2] + other[2]

    events = [("a", time or 7, time) for time in records]

    def sessions(events: list[Any]) -> Build:
        def build(env: Env) -> DataStream:
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(20)
            stream = env.from_collection(events).assign_timestamps_and_watermarks(
                strategy.with_timestamp_assigner(lambda event, _: event[1])
            )
            gap = EventTimeSessionWindows.with_gap(5)
            return stream.key_by(lambda e: e[0]).window(gap).reduce(add).name("op")

        return build

    main, letters = outcome(sessions(events))
    assert main == run_local(sessions([e for e in events if e[2]])).values()
    assert values(letters) == [e for e in events if not e[2]]


class Picky(Trigger):
    """Counts, fires at every second record, and fails on zeros: on records or on time."""

    COUNT = ValueStateDescriptor("count")

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        count = ctx.get_partitioned_state(self.COUNT)
        count.update((count.value() or 0) + 1)
        ctx.register_event_time_timer(window.max_timestamp())
        if element[2] == 0:
            raise ValueError("zero")
        return TriggerResult.FIRE if count.value() % 2 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        if ctx.get_partitioned_state(self.COUNT).value() == 3:
            raise ValueError("three")
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.COUNT).clear()


def test_a_trigger_that_fails_on_a_record_and_in_time() -> None:
    events = [("a", 1, 1), ("a", 2, 0), ("a", 3, 2), ("a", 4, 3), ("a", 5, 4), ("a", 20, 5)]

    def build(env: Env) -> DataStream:
        windows = timed(env, events).key_by(lambda e: e[0]).window(TumblingEventTimeWindows.of(5))
        return windows.trigger(Picky()).process(Contents()).name("op")

    main, letters = outcome(build)
    first, last = ("a", 1, 1), ("a", 3, 2)
    assert main == [
        ("a", [first, last]),
        ("a", [("a", 5, 4)]),
        ("a", [("a", 20, 5)]),
    ]
    assert values(letters) == [("a", 2, 0), ("a", TimeWindow(0, 5))]


class Remembers(ProcessWindowFunction):
    """Counts its firings in the state of the window, and fails at the second of three."""

    COUNT = ValueStateDescriptor("count")

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        count = context.window_state().get_state(self.COUNT)
        count.update((count.value() or 0) + 1)
        yield count.value(), len(list(elements))
        if len(list(elements)) == 2:
            raise ValueError(2)

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.COUNT).clear()


def test_the_state_of_a_window_is_undone_too() -> None:
    events = [("a", time, 1) for time in (1, 2, 3)]

    def build(env: Env) -> DataStream:
        windows = timed(env, events).key_by(lambda e: e[0]).window(TumblingEventTimeWindows.of(5))
        return windows.trigger(CountTrigger.of(1)).process(Remembers()).name("op")

    main, letters = outcome(build)
    assert main == [(1, 1), (2, 3)]
    assert values(letters) == [("a", TimeWindow(0, 5))]


class FiresOnce(CountTrigger):
    """Lets the first window that a record is added to fire, and fails in the others."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        if window.start <= 0 and element[2] == 0:
            raise ValueError(window)
        return TriggerResult.FIRE


def test_what_fails_within_a_record_that_fails_is_not_counted() -> None:
    # The function fails in the window from 3 on, and then the trigger in that from 0 on.
    events = [("a", 1, 1), ("a", 4, 0), ("a", 5, 2)]

    def build(env: Env) -> DataStream:
        windows = timed(env, events).key_by(lambda e: e[0]).window(SlidingEventTimeWindows.of(6, 3))
        return windows.trigger(FiresOnce.of(1)).process(Ratio()).name("op")

    main, letters = outcome(build)
    assert values(letters) == [("a", 4, 0)]
    assert main == [1, [12], 2, [12], 3, [6], 4, [12, 6]]
    assert skipped(build).metrics.operator("op").skipped == 1


@pytest.mark.parametrize("failing", ["on_event_time", "clear"])
def test_a_window_whose_end_fails_is_cleared_all_the_same(failing: str) -> None:
    class Broken(Picky):
        def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            if failing == "on_event_time":
                raise ValueError("end")
            return TriggerResult.FIRE

        def clear(self, window: Any, ctx: Any) -> None:
            raise ValueError("clear")

    env = StreamExecutionEnvironment.get_execution_environment()
    windows = timed(env, [("a", 1, 1), ("a", 9, 1)]).key_by(lambda e: e[0])
    windowed = windows.window(TumblingEventTimeWindows.of(5)).trigger(Broken())
    windowed.process(Contents()).name("op").on_error("skip").print()
    job = LocalJob(env._job_graph())
    job.run_all()
    assert job.metrics.operator("op").skipped == 2
    assert job.outputs == {"Print": []}
    assert job.state_entries() == 0


def test_a_window_that_a_record_lets_fire_keeps_the_record() -> None:
    events = [("a", 1, 1), ("a", 2, 0), ("a", 3, 2), ("a", 4, 3)]

    def build(env: Env) -> DataStream:
        windows = timed(env, events).key_by(lambda e: e[0]).window(GlobalWindows.create())
        return windows.trigger(CountTrigger.of(2)).process(Ratio()).name("op")

    main, letters = outcome(build)
    # Nothing purges, so the zero stays and the second firing fails as well.
    assert main == []
    assert [key for key, _ in values(letters)] == ["a", "a"]


def test_windows_by_column_run_no_function_that_could_fail() -> None:
    kind = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])

    def program(env: Env) -> DataStream:
        events = timed(env, WINDOW_EVENTS).map(lambda e: e, output_type=kind)
        windows = events.key_by(lambda e: e[0]).window(TumblingEventTimeWindows.of(5))
        return windows.sum(2).on_error("skip")

    env = StreamExecutionEnvironment.get_execution_environment()
    assert "by column: partial sums" in str(program(env).explain())
    assert run_local(program).values() == [("a", 1, 7), ("a", 6, 0), ("a", 12, 6)]


# -- what is not skipped ---------------------------------------------------------------------------


class Unprepared(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)


def test_a_mistake_of_the_program_is_not_skipped() -> None:
    def wrong(env: Env) -> DataStream:
        return env.from_collection([1]).key_by(lambda _: 1).process(Unprepared())

    with pytest.raises(PlanError, match="NO_TIMESTAMPS"):
        skipped(wrong)
    with pytest.raises(MillstreamError, match="NULL_KEY"):
        skipped(lambda env: env.from_collection([1]).key_by(lambda _: None).reduce(max))
    with pytest.raises(MillstreamError, match="TYPE_MISMATCH"):
        skipped(lambda env: env.from_collection([1]).map(lambda _: "a", output_type=int))


# -- the policy of the job -------------------------------------------------------------------------


def with_default(env: Env, policy: str) -> Env:
    env.get_config().set_global_job_parameters({"millstream.on-error": policy})
    return env


def test_the_policy_of_the_job_is_for_operators_without_one(env: Env) -> None:
    with_default(env, "skip")
    numbers = env.from_collection(["1", "x", "0"]).map(int)
    shares = numbers.map(lambda n: 12 // n).name("share")
    assert run_local(shares).values() == [12]
    assert run_local(shares).metrics.operator("share").skipped == 1
    with pytest.raises(UserCodeError):
        run_local(shares.on_error("fail"))


def test_the_policy_of_the_job_must_be_one(env: Env) -> None:
    with pytest.raises(ConfigurationError, match=r"millstream\.on-error cannot be 'retry'"):
        run_local(with_default(env, "retry").from_collection([1]).map(str))


def test_without_a_tag_the_first_record_is_logged(
    env: Env, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "millstream"):
        run_local(env.from_collection(["x", "y"]).map(int).name("parse").on_error("skip"))
    (text,) = [r.getMessage() for r in caplog.records if "skips" in r.getMessage()]
    assert "'parse'" in text and "'x'" in text and "ValueError" in text


# -- mistakes in the call --------------------------------------------------------------------------


class Slow(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


def test_what_has_no_function_of_its_own_has_no_policy(env: Env) -> None:
    source = env.from_collection([1])
    requests = AsyncDataStream.unordered_wait(source, Slow(), "1 s")
    for made in (source, requests, source.union(requests), source.map(str).print()):
        with pytest.raises(PlanError, match="NO_ERROR_POLICY") as caught:
            made.on_error("skip")
        assert caught.value.hint
    with pytest.raises(PlanError, match="NOT_AN_OPERATOR"):
        source.key_by(lambda n: n).on_error("skip")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("retry",), "BAD_ERROR_POLICY"),
        (("fail", BAD), "BAD_ERROR_POLICY"),
        (("skip", "bad"), "NOT_A_TAG"),
        (("skip", OutputTag("bad", Types.STRING())), "NOT_A_TAG"),
    ],
)
def test_arguments(env: Env, arguments: tuple[Any, ...], code: str) -> None:
    with pytest.raises(PlanError, match=code):
        env.from_collection([1]).map(str).on_error(*arguments)


def test_only_the_tag_of_the_policy_is_a_side_output_of_a_map(env: Env) -> None:
    mapped = env.from_collection([1]).map(str)
    with pytest.raises(PlanError, match="NO_SIDE_OUTPUT"):
        mapped.get_side_output(BAD)
    mapped.on_error("skip", BAD).get_side_output(BAD)
    with pytest.raises(PlanError, match="NO_SIDE_OUTPUT"):
        mapped.get_side_output(SIDE)
