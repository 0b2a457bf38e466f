"""Connected streams, broadcast streams and interval joins in the user API."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest

import millstream.datastream.data_stream
import millstream.datastream.functions
from millstream.common import Row, Time, Types, WatermarkStrategy
from millstream.common.errors import PlanError, UserCodeError
from millstream.common.state import StateTtlConfig
from millstream.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.kernel.steps.routing import Place
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, rebatch, run_local
from tests.support.datastream_support import check_error, last
from tests.support.strategies import schedules

Env = StreamExecutionEnvironment
SIDE = OutputTag("side", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(5).with_timestamp_assigner(
    lambda event, _: event[1]
)


def name_of(event: tuple[str, int]) -> str:
    return event[0]


class Signed(CoMapFunction):
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: int) -> int:
        return -value


class Words(CoFlatMapFunction):
    def flat_map1(self, value: str) -> Iterator[str]:
        yield from value.split()

    def flat_map2(self, value: str) -> Iterator[str]:
        yield value


class Apart(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield "one", value, ctx.timestamp()

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield SIDE, f"two {value}"
        yield "two", value, ctx.timestamp()


class Enrich(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        self.last.update(value[1])
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 10)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        yield ctx.get_current_key(), value[1], self.last.value()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        yield SIDE, f"{ctx.get_current_key()} at {timestamp}"


class Limit(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
        yield value, ctx.get_broadcast_state(RULES).get("limit")

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Any:
        ctx.get_broadcast_state(RULES).put("limit", value[1])
        yield "rule", value


class KeyedLimit(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 7)
        yield ctx.get_current_key(), self.count.value(), ctx.get_broadcast_state(RULES).get("limit")

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("limit", value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, ctx.get_broadcast_state(RULES).get("limit")


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left, right, ctx.get_timestamp()


@pytest.fixture
def numbers(env: Env) -> DataStream:
    return env.from_collection([1, 2])


@pytest.fixture
def others(env: Env) -> DataStream:
    return env.from_collection([10, 20])


def timed(env: Env, events: list[Any]) -> DataStream:
    return env.from_collection(events).assign_timestamps_and_watermarks(TIMES)


# -- without keys ----------------------------------------------------------------------------------


class TestWithoutKeys:
    def test_map(self, numbers: DataStream, others: DataStream) -> None:
        connected = numbers.connect(others)
        assert isinstance(connected, ConnectedStreams)
        assert connected.get_first_input() is numbers
        assert connected.get_second_input() is others
        stream = connected.map(Signed())
        assert stream.get_type() == Types.LONG() and stream.get_name() == "Co-Map"
        assert sorted(run_local(stream).values()) == [-20, -10, 1, 2]

    def test_flat_map(self, env: Env) -> None:
        one, two = env.from_collection(["to be", "or"]), env.from_collection(["not to", "be"])
        stream = one.connect(two).flat_map(Words())
        assert stream.get_type() == Types.STRING()
        assert sorted(run_local(stream).values()) == ["be", "be", "not to", "or", "to"]

    def test_process_with_a_side_output(self, env: Env) -> None:
        one, two = timed(env, [("a", 1)]), timed(env, [("b", 2)])
        stream = one.connect(two).process(Apart())
        side = stream.get_side_output(SIDE)
        assert side.get_type() == Types.STRING()
        assert run_local(stream).values() == [("one", ("a", 1), 1), ("two", ("b", 2), 2)]
        assert run_local(side).values() == ["two ('b', 2)"]

    def test_side_output_beside_rows(self, env: Env) -> None:
        class Rows(CoProcessFunction):
            def process_element1(self, value: Any, ctx: Any) -> Any:
                yield Row(value)
                yield SIDE, "one"

            def process_element2(self, value: Any, ctx: Any) -> Any:
                yield SIDE, "two"

        stream = env.from_collection([1])
        rows = stream.connect(stream).process(Rows(), output_type=Types.ROW([Types.LONG()]))
        assert run_local(rows.get_side_output(SIDE).map(str.upper)).values() == ["ONE", "TWO"]

    def test_no_exchange(self, numbers: DataStream, others: DataStream) -> None:
        text = str(numbers.connect(others).map(Signed()).explain())
        assert "keyed stage" not in text and "Co-Map 1" in text and "Co-Map 2" in text

    def test_same_stream_twice(self, numbers: DataStream) -> None:
        assert sorted(run_local(numbers.connect(numbers).map(Signed())).values()) == [-2, -1, 1, 2]

    def test_types_that_differ_are_unknown(self, numbers: DataStream, others: DataStream) -> None:
        class Mixed(CoMapFunction):
            def map1(self, value: int) -> int:
                return value

            def map2(self, value: int) -> str:
                return str(value)

        connected = numbers.connect(others)
        assert connected.map(Mixed())._node.output_type is None
        assert sorted(run_local(connected.map(Mixed())).values(), key=str) == [1, "10", 2, "20"]
        assert connected.map(Mixed(), output_type=Types.STRING()).get_type() == Types.STRING()

    def test_settings_are_of_all_parts(self, env: Env, numbers: DataStream) -> None:
        stream = numbers.connect(numbers).map(Signed()).name("signs").uid("s").set_parallelism(3)
        assert stream.get_name() == "signs"
        nodes = {node.name: node for node in env._graph}
        assert [nodes[n].uid for n in ("signs", "signs 1", "signs 2")] == ["s", "s-1", "s-2"]
        assert nodes["signs 1"].parallelism == nodes["signs 2"].parallelism == 3

    def test_error_names_the_part_and_the_record(self, numbers: DataStream) -> None:
        class Fails(CoMapFunction):
            def map1(self, value: int) -> int:
                return value

            def map2(self, value: int) -> int:
                raise ValueError("no")

        with pytest.raises(UserCodeError) as info:
            run_local(numbers.connect(numbers).map(Fails()))
        assert (info.value.operator, info.value.record) == ("Co-Map 2", "1")

    def test_inputs_share_nothing(self, env: Env) -> None:
        class Gathers(CoMapFunction):
            def __init__(self) -> None:
                self.seen: list[Any] = []

            def map1(self, value: Any) -> Any:
                self.seen.append(value)
                return len(self.seen)

            def map2(self, value: Any) -> Any:
                return len(self.seen)

        source = env.from_collection([1, 2, 3])
        odd, even = source.filter(lambda n: n % 2 == 1), source.filter(lambda n: n % 2 == 0)
        # Both parts run in one task, and might as well run in two.
        assert run_local(odd.connect(even).map(Gathers())).values() == [1, 0, 2]

    def test_function_is_opened_and_closed_for_each_input(self, numbers: DataStream) -> None:
        calls: list[str] = []

        class Counts(Signed):
            def open(self, runtime_context: Any) -> None:
                calls.append("open")

            def close(self) -> None:
                calls.append("close")

        run_local(numbers.connect(numbers).map(Counts()), parallelism=1, copy_functions=False)
        assert calls == ["open", "open", "close", "close"]

    def test_keyed_state_is_refused(self, numbers: DataStream) -> None:
        class Stateful(Signed):
            def open(self, runtime_context: Any) -> None:
                runtime_context.get_list_state(ListStateDescriptor("seen"))

        with pytest.raises(PlanError, match="asks for keyed state"):
            run_local(numbers.connect(numbers).map(Stateful()))

    def test_watermark_is_the_minimum_of_both(self, env: Env) -> None:
        class Clock(CoProcessFunction):
            def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
                yield value[0], ctx.timer_service().current_watermark()

            def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
                yield SIDE, value[0]

        one, two = timed(env, [("a", 50), ("b", 60)]), timed(env, [("c", 20), ("d", 70)])
        stream = one.connect(two).process(Clock())
        node = last(env)
        assert (node.kind, node.selector, node.second) == ("co_process", *[Place.BY_CHANNEL] * 2)
        assert "by channel, for it reads the watermark" in str(stream.explain())
        results = run_local(stream, channel_order="watermark")
        assert (
            results.values()[1] == ("b", 44) and results.metrics.operator("Co-Process").records_in
        )
        assert run_local(stream.get_side_output(SIDE)).values() == ["c", "d"]


class TestWarnings:
    def lines(self, function: Any, kind: str = "map") -> list[str]:
        """The source lines that are warned of."""
        env = Env.get_execution_environment()
        stream = env.from_collection([1])
        with warnings.catch_warnings(record=True, action="always") as caught:
            getattr(stream.connect(stream), kind)(function)
        with open(__file__) as file:
            source = file.read().splitlines()
        assert all(warning.filename == __file__ for warning in caught)
        assert all("keyed state, or broadcast state" in str(w.message) for w in caught)
        return [source[warning.lineno - 1].strip() for warning in caught]

    def test_attributes_that_are_set(self) -> None:
        class Keeps(CoMapFunction):
            count: int

            def map1(self, value: Any) -> Any:
                self.last = value
                self.count += 1
                return value

            def map2(self, value: Any) -> Any:
                this = value
                self.last, this.other = value, 1
                return lambda: self.last

        found = self.lines(Keeps())
        assert found == ["self.last = value", "self.count += 1", "self.last, this.other = value, 1"]

    def test_process_and_flat_map(self) -> None:
        class Flat(Words):
            def flat_map1(self, value: str) -> Iterator[str]:
                for word in value.split():
                    self.word = word
                    yield word

        class Processes(Apart):
            def process_element2(self, value: Any, ctx: Any) -> Any:
                self.time = ctx.timestamp()
                yield value

        assert self.lines(Flat(), "flat_map") == ["self.word = word"]
        assert self.lines(Processes(), "process") == ["self.time = ctx.timestamp()"]

    def test_what_is_right_is_not_warned_of(self) -> None:
        class Fine(CoMapFunction):
            def __init__(self) -> None:
                self.factor = 2

            def open(self, runtime_context: Any) -> None:
                self.opened = True

            def map1(self, value: Any) -> Any:
                value.count += self.factor
                value.other = self.opened
                box = SimpleNamespace()
                box.factor = self.factor
                return box

            def map2(self, value: Any) -> Any:
                return self.factor

        assert self.lines(Fine()) == []

    def test_with_keys_there_is_no_warning_before_the_first_run(self, env: Env) -> None:
        class Keeps(Signed):
            def map1(self, value: int) -> int:
                self.last = value
                return value

        stream = env.from_collection([1]).key_by(lambda n: n)
        stream.connect(stream).map(Keeps())  # A warning would be an error.


# -- with keys -------------------------------------------------------------------------------------


class TestWithKeys:
    def test_connected_keyed_streams_are_keyed(self, env: Env) -> None:
        one, two = timed(env, [("a", 1)]), timed(env, [("a", 2)])
        one.key_by(0).connect(two.key_by(name_of)).process(Enrich())
        node = last(env)
        assert (node.kind, node.name) == ("co_process", "Keyed Co-Process")
        assert node.selector(("a", 1)) == node.second(("a", 2)) == "a"
        assert node.key_type == Types.STRING()

    def test_key_by_on_connected_streams(self, env: Env) -> None:
        one, two = timed(env, [("a", 1)]), timed(env, [("x", 2)])
        keyed = one.connect(two).key_by(0, lambda event: "a", key_type=str)
        results = run_local(keyed.process(Enrich()), channel_order="watermark")
        assert results.values() == [("a", 2, 1)]

    def test_timers_state_and_side_outputs_under_every_schedule(self) -> None:
        def program(env: Env) -> Any:
            one = timed(env, [("a", 1), ("b", 3), ("a", 20), ("b", 30)])
            two = timed(env, [("b", 2), ("a", 9), ("b", 15), ("a", 40)])
            stream = one.key_by(0).connect(two.key_by(0)).process(Enrich())
            return {"main": stream, "side": stream.get_side_output(SIDE)}

        report = rebatch(
            program, **schedules(channel_order="watermark", cuts=(1, "random"), slots=(1, 3))
        )
        main = [("b", 2, None), ("a", 9, 1), ("b", 15, 3), ("a", 40, 20)]
        assert sorted(report.results.values("main")) == sorted(main)
        rings = ["a at 11", "b at 13", "a at 30", "b at 40"]
        assert report.results.values("side") == rings

    def test_map_and_flat_map_may_have_state(self, env: Env) -> None:
        class Count(CoMapFunction):
            def open(self, runtime_context: Any) -> None:
                self.count = runtime_context.get_state(ValueStateDescriptor("n"))

            def map1(self, value: Any) -> Any:
                self.count.update((self.count.value() or 0) + 1)
                return "one", self.count.value()

            def map2(self, value: Any) -> Any:
                self.count.update((self.count.value() or 0) + 1)
                return "two", self.count.value()

        class Both(CoFlatMapFunction):
            def open(self, runtime_context: Any) -> None:
                self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

            def flat_map1(self, value: Any) -> Any:
                self.seen.add(value)

            def flat_map2(self, value: Any) -> Any:
                return list(self.seen.get())

        stream = env.from_collection([("a", 1), ("a", 2)]).key_by(0)
        other = env.from_collection([("a", 3)]).key_by(0)
        counted = run_local(stream.connect(other).map(Count())).values()
        assert counted == [("one", 1), ("one", 2), ("two", 3)]
        gathered = run_local(stream.connect(other).flat_map(Both())).values()
        assert gathered == [("a", 1), ("a", 2)]

    def test_process_takes_a_function_without_key_too(self, env: Env) -> None:
        stream = env.from_collection([("a", 1)]).key_by(0)
        values = run_local(stream.connect(stream).process(Apart())).values()
        assert values == [("one", ("a", 1), None), ("two", ("a", 1), None)]

    def test_keys_that_never_meet_are_refused(self, env: Env) -> None:
        stream = env.from_collection([("a", 1)])
        with pytest.raises(PlanError) as info:
            stream.key_by(0).connect(stream.key_by(1)).process(Enrich())
        check_error(info.value, "KEY_TYPES", here=__file__, hint="the same type")
        stream.key_by(1).connect(stream.key_by(1, Types.DOUBLE())).process(Enrich())


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "function", "hint"),
    [
        ("map", Words(), "a CoFlatMapFunction goes into connect(...).flat_map"),
        ("map", lambda value: value, "give a CoMapFunction"),
        ("flat_map", Signed(), "a CoMapFunction goes into connect(...).map"),
        ("process", Signed(), "a CoMapFunction goes into connect(...).map"),
        ("process", Enrich(), "call key_by(...) on both streams first"),
        ("process", Limit(), "a BroadcastProcessFunction goes into connect(...).process"),
    ],
)
def test_wrong_function(numbers: DataStream, call: str, function: Any, hint: str) -> None:
    with pytest.raises(PlanError) as info:
        getattr(numbers.connect(numbers), call)(function)
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint=hint)


def test_wrong_functions_elsewhere(numbers: DataStream) -> None:
    class Keyed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

    class Upper(MapFunction):
        def map(self, value: Any) -> Any:
            return value

    keyed = numbers.key_by(lambda n: n)
    with pytest.raises(PlanError) as info:
        keyed.connect(keyed).process(Keyed())  # type: ignore[call-overload]
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="a KeyedCoProcessFunction")
    with pytest.raises(PlanError) as info:
        keyed.connect(keyed).map(Upper())  # type: ignore[call-overload]
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="goes into map(...)")
    with pytest.raises(PlanError) as info:
        numbers.map(Signed())  # type: ignore[call-overload]
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="connect(...).map")


def test_both_methods_are_checked(numbers: DataStream) -> None:
    class Short(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        def map2(self) -> Any:  # type: ignore[override]
            return None

    with pytest.raises(PlanError) as info:
        numbers.connect(numbers).map(Short())
    check_error(info.value, "WRONG_ARITY", here=__file__, hint="a CoMapFunction")


def test_connect_needs_a_stream_of_the_same_environment(numbers: DataStream) -> None:
    other = Env.get_execution_environment().from_collection([1])
    for wrong in (other, other.broadcast(RULES), [1]):
        with pytest.raises(PlanError) as info:
            numbers.connect(wrong)  # type: ignore[arg-type]
        check_error(info.value, "NOT_A_STREAM", here=__file__, hint="a.connect(b)")


# -- broadcast -------------------------------------------------------------------------------------


class TestBroadcast:
    def test_without_a_state_it_is_a_hint(self, numbers: DataStream) -> None:
        assert isinstance(numbers.broadcast(), DataStream)

    def test_node_without_keys(self, env: Env, numbers: DataStream, others: DataStream) -> None:
        rules = others.broadcast(RULES, MapStateDescriptor("more"))
        assert isinstance(rules, BroadcastStream)
        connected = numbers.connect(rules)
        assert isinstance(connected, BroadcastConnectedStream)
        assert connected.get_first_input() is numbers and connected.get_second_input() is rules
        stream = connected.process(Limit(), output_type=Types.LONG())
        node = last(env)
        assert (node.kind, node.inputs) == ("broadcast", (numbers._id, others._id))
        assert (node.selector, node.second) == (Place.BY_POSITION, Place.EVERY_SLOT)
        assert node.function.states == ("rules", "more")
        assert stream.get_type() == Types.LONG() and stream.get_name() == "Broadcast Process"
        text = str(stream.explain())
        assert "as input 1 in a keyed stage: spread over all slots" in text
        assert "as input 2 in a keyed stage: every slot gets a copy" in text

    def test_named_descriptor_as_in_pyflink(self, numbers: DataStream) -> None:
        rules = numbers.broadcast(broadcast_state_descriptor=RULES)
        assert rules.broadcast_state_descriptors == (RULES,)

    @pytest.mark.parametrize("keyed", [True, False])
    def test_under_every_schedule(self, keyed: bool) -> None:
        def program(env: Env) -> Any:
            events = timed(env, [("a", 1), ("b", 4), ("a", 9), ("c", 12), ("b", 21), ("a", 30)])
            rules = timed(env, [("rule", 2), ("rule", 11), ("rule", 25)]).broadcast(RULES)
            if keyed:
                return events.key_by(0).connect(rules).process(KeyedLimit())
            return events.connect(rules).process(Limit())

        # Alone, with several slots, and in another process each time: always the same.
        report = rebatch(
            program, **schedules(channel_order="watermark", cuts=(1, "random"), slots=(1, 3))
        )
        values = report.results.values()
        if keyed:
            assert values[-2:] == [("b", 28, 25), ("a", 37, 25)]
            assert ("c", 1, 11) in values and ("b", 1, 2) in values
        else:
            assert [value for value in values if value[0] == "rule"] == [
                ("rule", ("rule", ts)) for ts in (2, 11, 25)
            ]
            assert (("c", 12), 11) in values

    def test_function_must_fit_the_stream(self, numbers: DataStream, others: DataStream) -> None:
        rules = others.broadcast(RULES)
        with pytest.raises(PlanError) as info:
            numbers.connect(rules).process(KeyedLimit())
        check_error(
            info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="call key_by(...) before"
        )
        with pytest.raises(PlanError) as info:
            numbers.key_by(lambda n: n).connect(rules).process(Limit())
        hint = "derive from KeyedBroadcastProcessFunction"
        check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint=hint)

    def test_bad_descriptors(self, numbers: DataStream) -> None:
        expiring = MapStateDescriptor("expiring")
        expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        for wrong in (
            (ValueStateDescriptor("v"),),
            (RULES, MapStateDescriptor("rules")),
            (expiring,),
        ):
            with pytest.raises(PlanError) as info:
                numbers.broadcast(*wrong)  # type: ignore[call-overload]
            check_error(info.value, "BAD_BROADCAST_STATE", here=__file__, hint="MapStateDescriptor")

    def test_keyed_stream_cannot_be_broadcast(self, numbers: DataStream) -> None:
        with pytest.raises(PlanError, match="cannot be called on a keyed stream"):
            numbers.key_by(lambda n: n).broadcast(RULES)


# -- interval joins --------------------------------------------------------------------------------


class TestIntervalJoin:
    LEFT = [("a", 10), ("b", 20), ("a", 30), ("a", 12)]
    RIGHT = [("a", 5), ("a", 15), ("b", 21), ("c", 22), ("a", 2)]

    def join(self, env: Env, **options: Any) -> Any:
        left, right = timed(env, self.LEFT).key_by(0), timed(env, self.RIGHT).key_by(0)
        return left.interval_join(right, **options)

    @pytest.mark.parametrize(
        "bounds",
        [(-5, 5), ("-5 ms", "5 ms"), (Time.milliseconds(-5), timedelta(milliseconds=5))],
    )
    def test_pairs(self, env: Env, bounds: Any) -> None:
        stream = self.join(env).between(*bounds).process(Pair())
        assert sorted(run_local(stream).records()) == [
            ((("a", 10), ("a", 5), 10), 10),
            ((("a", 10), ("a", 15), 15), 15),
            ((("b", 20), ("b", 21), 21), 21),
        ]

    def test_exclusive_bounds(self, env: Env) -> None:
        joined = self.join(env).between(-5, 5)
        assert joined.lower_bound_exclusive() is joined
        assert joined.upper_bound_exclusive() is joined
        assert run_local(joined.process(Pair())).values() == [(("b", 20), ("b", 21), 21)]

    def test_node(self, env: Env) -> None:
        stream = self.join(env).between(-5, 5).process(Pair(), output_type=str)
        node = last(env)
        assert (node.kind, node.name) == ("interval_join", "Interval Join")
        assert (node.function.lower_ms, node.function.upper_ms) == (-5, 5)
        assert stream.get_type() == Types.STRING()
        text = str(stream.explain())
        assert "as input 1 in a keyed stage" in text and "as input 2 in a keyed stage" in text

    def test_late_records_go_aside_or_are_counted(self, env: Env) -> None:
        joined = self.join(env).between(-5, 5).side_output_left_late_data(SIDE)
        stream = joined.process(Pair())
        assert run_local(stream.get_side_output(OutputTag("side"))).values() == [("a", 12)]
        results = run_local(stream)
        assert results.metrics.operator("Interval Join").late == 1
        other = self.join(env).between(-5, 5).side_output_right_late_data(OutputTag("late"))
        late = other.process(Pair()).get_side_output(OutputTag("late"))
        assert run_local(late).values() == [("a", 2)]

    def test_under_every_schedule(self) -> None:
        def program(env: Env) -> Any:
            joined = self.join(env).between(-9, 7)
            late = OutputTag("late")
            joined.side_output_left_late_data(late).side_output_right_late_data(late)
            stream = joined.process(Pair())
            return {"pairs": stream, "late": stream.get_side_output(late)}

        report = rebatch(program, **schedules(compare="unordered", cuts=(1, 2, "random")))
        assert len(report.results.values("pairs")) == 3
        assert sorted(report.results.values("late")) == [("a", 2), ("a", 12)]
        rebatch(program, **schedules(channel_order="watermark", cuts=(1, "random")))

    def test_lateness_by_the_operator(self, env: Env) -> None:
        self.join(env, lateness="operator").between(0, 1).process(Pair())
        assert last(env).function.lateness == "operator"
        with pytest.raises(PlanError) as info:
            self.join(env, lateness="mine")
        check_error(info.value, "BAD_LATENESS", here=__file__, hint='"channel"')

    def test_refused(self, env: Env) -> None:
        left = timed(env, self.LEFT)
        with pytest.raises(PlanError) as info:
            left.key_by(0).interval_join(left)  # type: ignore[arg-type]
        check_error(info.value, "NEEDS_KEY", here=__file__, hint="b.key_by(...)")
        with pytest.raises(PlanError) as info:
            left.key_by(0).interval_join("right")  # type: ignore[arg-type]
        check_error(info.value, "NOT_A_STREAM", here=__file__, hint="interval_join")
        with pytest.raises(PlanError) as info:
            self.join(env).between(5, -5)
        check_error(info.value, "EMPTY_INTERVAL", here=__file__, hint="lower bound first")
        with pytest.raises(PlanError, match="without its ends"):
            self.join(env).between(5, 5).lower_bound_exclusive().process(Pair())
        with pytest.raises(PlanError, match="lower bound"):
            self.join(env).between("soon", 5)
        with pytest.raises(PlanError) as info:
            self.join(env).between(0, 5).side_output_left_late_data("late")
        check_error(info.value, "NOT_A_TAG", here=__file__, hint="OutputTag")
        with pytest.raises(PlanError) as info:
            self.join(env).between(0, 5).process(lambda left, right, ctx: [])
        check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="a ProcessJoinFunction")
        with pytest.raises(PlanError, match="the keys of both streams never meet"):
            left.key_by(0).interval_join(left.key_by(1)).between(0, 5)

    def test_streams_without_timestamps_are_refused(self, env: Env) -> None:
        untimed = env.from_collection(self.LEFT).key_by(0)
        stream = (
            timed(env, self.LEFT).key_by(0).interval_join(untimed).between(0, 5).process(Pair())
        )
        with pytest.raises(PlanError, match="not all of its inputs have timestamps"):
            run_local(stream)


# -- on the way to the workers -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["map", "co_process", "broadcast", "keyed_broadcast", "join"])
def test_programs_are_the_same_when_they_have_travelled(env: Env, name: str) -> None:
    one, two = timed(env, [("a", 1), ("b", 4)]), timed(env, [("a", 2), ("b", 5), ("a", 30)])
    keyed = one.key_by(0)
    built = {
        "map": lambda: one.connect(two).process(Apart()),
        "co_process": lambda: keyed.connect(two.key_by(0)).process(Enrich()),
        "broadcast": lambda: one.connect(two.broadcast(RULES)).process(Limit()),
        "keyed_broadcast": lambda: keyed.connect(two.broadcast(RULES)).process(KeyedLimit()),
        "join": lambda: keyed.interval_join(two.key_by(0)).between(-5, 5).process(Pair()),
    }[name]()
    expected = run_local(built, slots=2, parallelism=2).records()
    built.print()
    job = LocalJob(env._job_graph(), JobOptions(parallelism=2, slots=2))
    job.programs = cloudpickle.loads(cloudpickle.dumps(job.programs))
    job.epoch(end=True)
    assert len(expected) > 1 and job.outputs["Print"] == expected


# -- names -----------------------------------------------------------------------------------------


def test_names_are_where_pyflink_has_them() -> None:
    streams: Iterable[Any] = (ConnectedStreams, BroadcastStream, BroadcastConnectedStream)
    for found in streams:
        assert getattr(millstream.datastream.data_stream, found.__name__) is found
    for function in (Signed, Words, Apart, Enrich, Limit, KeyedLimit, Pair):
        base = function.__mro__[1]
        assert getattr(millstream.datastream.functions, base.__name__) is base
        assert getattr(millstream.datastream, base.__name__) is base
