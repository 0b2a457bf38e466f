"""A function sends a value to a side output by ``yield tag, value``: exactly these two.

Anything else that begins with a tag is an error of the program, in every operator, with the line of the
operator and the right form; in a function without side outputs, everything that begins with a tag. With
the policy "skip" it is a failed record, as an exception would be. See `kernel/records/side_outputs.py`.
"""

from __future__ import annotations

from functools import partial

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import PlanError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.state import MapStateDescriptor
from millstream.common.time import Time
from millstream.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millstream.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from millstream.testing import run_local

TAG = OutputTag("side")
WRONG = {
    "three": (TAG, "a", "b"),
    "alone in a tuple": (TAG,),
    "alone": TAG,
}
RIGHT = (TAG, ("a", "b"))
RECORDS = [("k", 1), ("k", 2)]
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(10))


def first(record):
    return record[0]


def timed(env):
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
    return env.from_collection(RECORDS).assign_timestamps_and_watermarks(times)


def keyed(env):
    return timed(env).key_by(first)


def both(env):
    return timed(env).connect(timed(env))


# -- functions with side outputs -------------------------------------------------------------------


def process(env, results):
    class F(ProcessFunction):
        def process_element(self, value, ctx):
            yield from results

    return timed(env).process(F())


def process_by_channel(env, results):
    class F(ProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().current_watermark()
            yield from results

    return timed(env).process(F())


def keyed_process(env, results):
    class F(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield from results

    return keyed(env).process(F())


def timer(env, results):
    class F(KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[1])

        def on_timer(self, timestamp, ctx):
            yield from results

    return keyed(env).process(F())


class CoFunction(CoProcessFunction):
    def __init__(self, results):
        self.results = results

    def process_element1(self, value, ctx):
        yield from self.results

    def process_element2(self, value, ctx):
        yield from self.results


def co_process(env, results):
    return both(env).process(CoFunction(results))


def co_process_by_channel(env, results):
    class F(CoFunction):
        def process_element1(self, value, ctx):
            ctx.timer_service().current_watermark()
            yield from self.results

    return both(env).process(F(results))


def keyed_co_process(env, results):
    class F(KeyedCoProcessFunction):
        def process_element1(self, value, ctx):
            yield from results

        def process_element2(self, value, ctx):
            yield from results

    return both(env).key_by(first, first).process(F())


def broadcast(env, results):
    class F(BroadcastProcessFunction):
        def process_element(self, value, ctx):
            yield from results

        def process_broadcast_element(self, value, ctx):
            return ()

    return timed(env).connect(timed(env).broadcast(RULES)).process(F())


def broadcast_rule(env, results):
    class F(BroadcastProcessFunction):
        def process_element(self, value, ctx):
            return ()

        def process_broadcast_element(self, value, ctx):
            yield from results

    return timed(env).connect(timed(env).broadcast(RULES)).process(F())


def keyed_broadcast(env, results):
    class F(KeyedBroadcastProcessFunction):
        def process_element(self, value, ctx):
            yield from results

        def process_broadcast_element(self, value, ctx):
            return ()

    return keyed(env).connect(timed(env).broadcast(RULES)).process(F())


def window_process(env, results):
    class F(ProcessWindowFunction):
        def process(self, key, context, elements):
            yield from results

    return keyed(env).window(WINDOWS).process(F())


def session_process(env, results):
    class F(ProcessWindowFunction):
        def process(self, key, context, elements):
            yield from results

    return keyed(env).window(EventTimeSessionWindows.with_gap(5)).process(F())


def aggregate_and_process(env, results):
    class F(ProcessWindowFunction):
        def process(self, key, context, elements):
            yield from results

    return keyed(env).window(WINDOWS).aggregate(Constant(0), F())


def window_apply(env, results):
    class F(WindowFunction):
        def apply(self, key, window, inputs):
            yield from results

    return keyed(env).window(WINDOWS).apply(F())


def window_all(env, results):
    class F(ProcessAllWindowFunction):
        def process(self, context, elements):
            yield from results

    return timed(env).window_all(WINDOWS).process(F())


def interval_join(env, results):
    class F(ProcessJoinFunction):
        def process_element(self, left, right, ctx):
            yield from results

    return keyed(env).interval_join(keyed(env)).between("-5 ms", "5 ms").process(F())


def co_group(env, results):
    streams = timed(env).co_group(timed(env)).where(first).equal_to(first).window(WINDOWS)
    return streams.apply(lambda left, right: list(results))


WITH_SIDES = [
    process,
    process_by_channel,
    keyed_process,
    timer,
    co_process,
    co_process_by_channel,
    keyed_co_process,
    broadcast,
    broadcast_rule,
    keyed_broadcast,
    window_process,
    session_process,
    aggregate_and_process,
    window_apply,
    window_all,
    interval_join,
    co_group,
]


# -- functions without -----------------------------------------------------------------------------


class Constant(AggregateFunction):
    def __init__(self, result):
        self.result = result

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return 0

    def get_result(self, accumulator):
        return self.result

    def merge(self, acc_a, acc_b):
        return 0


class Mapped(MapFunction):
    def __init__(self, result):
        self.result = result

    def map(self, value):
        return self.result


class FlatMapped(FlatMapFunction):
    def __init__(self, result):
        self.result = result

    def flat_map(self, value):
        yield self.result


class CoMapped(CoMapFunction):
    def __init__(self, result):
        self.result = result

    def map1(self, value):
        return self.result

    def map2(self, value):
        return self.result


class CoFlatMapped(CoFlatMapFunction):
    def __init__(self, result):
        self.result = result

    def flat_map1(self, value):
        return [self.result]

    def flat_map2(self, value):
        yield self.result


class Asked(AsyncFunction):
    def __init__(self, result):
        self.result = result

    async def async_invoke(self, value):
        return [self.result]


WITHOUT_SIDES = {
    "map": lambda env, result: timed(env).map(Mapped(result)),
    "map by a lambda": lambda env, result: timed(env).map(lambda _: result),
    "keyed map": lambda env, result: keyed(env).map(Mapped(result)),
    "flat_map": lambda env, result: timed(env).flat_map(FlatMapped(result)),
    "flat_map by a lambda": lambda env, result: timed(env).flat_map(lambda _: [result]),
    "keyed flat_map": lambda env, result: keyed(env).flat_map(FlatMapped(result)),
    "co-map": lambda env, result: both(env).map(CoMapped(result)),
    "keyed co-map": lambda env, result: both(env).key_by(first, first).map(CoMapped(result)),
    "co-flat-map": lambda env, result: both(env).flat_map(CoFlatMapped(result)),
    "keyed co-flat-map": lambda env, result: (
        both(env).key_by(first, first).flat_map(CoFlatMapped(result))
    ),
    "async": lambda env, result: AsyncDataStream.unordered_wait(
        timed(env), Asked(result), Time.seconds(5)
    ),
    "reduce": lambda env, result: keyed(env).reduce(lambda a, b: result),
    "window reduce": lambda env, result: keyed(env).window(WINDOWS).reduce(lambda a, b: result),
    "window aggregate": lambda env, result: keyed(env).window(WINDOWS).aggregate(Constant(result)),
    "window join": lambda env, result: (
        timed(env)
        .join(timed(env))
        .where(first)
        .equal_to(first)
        .window(WINDOWS)
        .apply(lambda a, b: result)
    ),
}
CAN_SKIP = [name for name in WITHOUT_SIDES if name != "async"]


def refused(program):
    with pytest.raises(UserCodeError) as caught:
        run_local(program)
    text = str(caught.value)
    assert "yield tag, value" in text
    assert "yield tag, value" in (caught.value.hint or ""), "it is no matter of the record"
    assert "'side'" in text
    assert "test_side_output_rule.py" in text


@pytest.mark.parametrize("operator", WITH_SIDES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_anything_but_tag_and_value_is_an_error(operator, wrong):
    refused(lambda env: operator(env, [wrong]))


@pytest.mark.parametrize("operator", WITH_SIDES, ids=lambda f: f.__name__)
def test_tag_and_value_go_to_the_side_output(operator):
    def program(env):
        stream = operator(env, ["main", RIGHT])
        return stream.union(stream.get_side_output(TAG))

    assert set(run_local(program).values()) == {"main", ("a", "b")}


@pytest.mark.parametrize("operator", WITH_SIDES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_the_policy_skip_skips_the_record(operator, wrong):
    def program(env):
        stream = operator(env, ["main", RIGHT, wrong]).on_error("skip")
        return {"main": stream, "side": stream.get_side_output(TAG)}

    if operator is broadcast_rule:
        refused(program)  # every slot has its broadcast records, so none can skip one
        return
    results = run_local(program)
    assert results.values("main") == []
    assert results.values("side") == []


@pytest.mark.parametrize("operator", WITH_SIDES, ids=lambda f: f.__name__)
def test_the_policy_skip_keeps_what_is_right(operator):
    def program(env):
        stream = operator(env, ["main", RIGHT]).on_error("skip")
        return stream.union(stream.get_side_output(TAG))

    assert set(run_local(program).values()) == {"main", ("a", "b")}


@pytest.mark.parametrize("name", WITHOUT_SIDES)
@pytest.mark.parametrize("wrong", [*WRONG.values(), RIGHT], ids=[*WRONG.keys(), "tag and value"])
def test_a_function_without_side_outputs_takes_no_tag(name, wrong):
    refused(lambda env: WITHOUT_SIDES[name](env, wrong))


@pytest.mark.parametrize("name", CAN_SKIP)
@pytest.mark.parametrize("wrong", [*WRONG.values(), RIGHT], ids=[*WRONG.keys(), "tag and value"])
def test_a_record_with_a_tag_where_there_is_no_side_output_is_skipped(name, wrong):
    dead = OutputTag("dead")

    def program(env):
        stream = WITHOUT_SIDES[name](env, wrong).on_error("skip", dead)
        return {"main": stream, "dead": stream.get_side_output(dead)}

    results = run_local(program)
    assert results.values("main") == ([("k", 1)] if name == "reduce" else [])
    assert results.values("dead")


@pytest.mark.parametrize("name", WITHOUT_SIDES)
def test_what_only_looks_like_it_is_data(name):
    """A tag that is not in the first place, an empty tuple, a list that begins with a tag."""
    for result in (("a", TAG), (), [TAG, "a"]):
        program = partial(WITHOUT_SIDES[name], result=result)
        assert result in run_local(program).values()


@pytest.mark.parametrize("name", ["map", "keyed map", "flat_map", "keyed flat_map", "keyed co-map"])
def test_there_is_no_side_output_to_ask_for(name):
    with pytest.raises(PlanError, match="NO_SIDE_OUTPUT"):
        run_local(lambda env: WITHOUT_SIDES[name](env, 1).get_side_output(TAG))
