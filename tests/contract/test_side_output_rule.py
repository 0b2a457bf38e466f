"""A function sends a value to a side output by ``yield tag, value``: exactly these two.

Anything else that begins with a tag is an error of the program, in every operator, with the line of the
operator and the right form. With the policy "skip" it is a failed record, as an exception would be.
"""

from __future__ import annotations

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.state import MapStateDescriptor
from millstream.common.time import Time
from millstream.datastream import (
    BroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.testing import run_local

TAG = OutputTag("side")
WRONG = {
    "three": (TAG, "a", "b"),
    "alone in a tuple": (TAG,),
    "alone": TAG,
}
RECORDS = [("k", 1), ("k", 2)]


def timed(env):
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
    return env.from_collection(RECORDS).assign_timestamps_and_watermarks(times)


def stateless(env, results):
    class F(ProcessFunction):
        def process_element(self, value, ctx):
            yield from results

    return timed(env).process(F())


def keyed(env, results):
    class F(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield from results

    return timed(env).key_by(lambda v: v[0]).process(F())


def timer(env, results):
    class F(KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[1])

        def on_timer(self, timestamp, ctx):
            yield from results

    return timed(env).key_by(lambda v: v[0]).process(F())


def window(env, results):
    class F(ProcessWindowFunction):
        def process(self, key, context, elements):
            yield from results

    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    return timed(env).key_by(lambda v: v[0]).window(windows).process(F())


def interval_join(env, results):
    class F(ProcessJoinFunction):
        def process_element(self, left, right, ctx):
            yield from results

    left = timed(env).key_by(lambda v: v[0])
    right = timed(env).key_by(lambda v: v[0])
    return left.interval_join(right).between("-5 ms", "5 ms").process(F())


def connected(env, results):
    class F(KeyedCoProcessFunction):
        def process_element1(self, value, ctx):
            yield from results

        def process_element2(self, value, ctx):
            yield from results

    stream = timed(env)
    return stream.connect(timed(env)).key_by(lambda v: v[0], lambda v: v[0]).process(F())


def broadcast(env, results):
    class F(BroadcastProcessFunction):
        def process_element(self, value, ctx):
            return ()

        def process_broadcast_element(self, value, ctx):
            yield from results

    rules = timed(env).broadcast(MapStateDescriptor("rules", Types.STRING(), Types.INT()))
    return timed(env).connect(rules).process(F())


OPERATORS = [stateless, keyed, timer, window, interval_join, connected, broadcast]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_anything_but_tag_and_value_is_an_error(operator, wrong):
    with pytest.raises(UserCodeError) as caught:
        run_local(lambda env: operator(env, [wrong]))
    text = str(caught.value)
    assert "yield tag, value" in text
    assert "'side'" in text
    assert "test_side_output_rule.py" in text


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda f: f.__name__)
def test_tag_and_value_go_to_the_side_output(operator):
    results = run_local(lambda env: both(operator(env, ["main", (TAG, ("a", "b"))])))
    assert set(results.values()) == {"main", ("a", "b")}


def both(stream):
    return stream.union(stream.get_side_output(TAG))


@pytest.mark.parametrize("operator", OPERATORS[:2], ids=lambda f: f.__name__)
def test_the_policy_skip_skips_the_record(operator):
    def program(env):
        return operator(env, ["main", (TAG, "a", "b")]).on_error("skip")

    assert run_local(program).values() == []
