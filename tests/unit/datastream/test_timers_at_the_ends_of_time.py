"""Timers at the first and last time there is, and beyond."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.common.windows import TriggerResult
from millstream.datastream import KeyedProcessFunction, ProcessWindowFunction
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.datastream.windowing.triggers import Trigger
from millstream.testing import rebatch, run_local
from tests.support.strategies import schedules

TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
CALLS = [
    "register_event_time_timer",
    "register_processing_time_timer",
    "delete_event_time_timer",
    "delete_processing_time_timer",
]


class AtTime(KeyedProcessFunction):
    def __init__(self, call: str, time: int) -> None:
        self.call, self.time = call, time

    def process_element(self, value: Any, ctx: Any) -> Any:
        getattr(ctx.timer_service(), self.call)(self.time)
        yield "record", value[1]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", timestamp


class TriggerAtTime(Trigger[Any, Any]):
    def __init__(self, call: str, time: int) -> None:
        self.call, self.time = call, time

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        getattr(ctx, self.call)(self.time)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        pass


class Sized(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, len(list(elements))


def keyed(env: Any) -> Any:
    data = [("a", 1), ("b", 2), ("a", 3)]
    stream = env.from_collection(data).assign_timestamps_and_watermarks(TIMES)
    return stream.key_by(lambda record: record[0])


@pytest.mark.parametrize("time", [MAX_TIMESTAMP + 1, MIN_TIMESTAMP - 1, 10**30])
@pytest.mark.parametrize("call", CALLS)
def test_a_timer_beyond_all_times_is_refused_where_it_is_set(call: str, time: int) -> None:
    with pytest.raises(PlanError) as caught:
        run_local(lambda env: keyed(env).process(AtTime(call, time)))
    assert caught.value.code == "BAD_TIMER"
    assert str(time) in caught.value.message
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert caught.value.hint


@pytest.mark.parametrize("time", [MAX_TIMESTAMP + 1, MIN_TIMESTAMP - 1])
@pytest.mark.parametrize("call", CALLS)
def test_so_is_a_timer_of_a_trigger(call: str, time: int) -> None:
    def program(env: Any) -> Any:
        windows = keyed(env).window(TumblingEventTimeWindows.of(5))
        return windows.trigger(TriggerAtTime(call, time)).process(Sized())

    with pytest.raises(PlanError, match="BAD_TIMER"):
        run_local(program)


def test_a_timer_at_the_last_time_fires_at_the_end() -> None:
    """As in Flink, where the last watermark is the last time."""
    function = AtTime("register_event_time_timer", MAX_TIMESTAMP)
    found = rebatch(lambda env: keyed(env).process(function), **schedules()).results.values()
    assert found[:3] == [("record", 1), ("record", 2), ("record", 3)]
    assert found[3:] == [("timer", MAX_TIMESTAMP)] * 2


def test_a_timer_at_the_first_time_fires_at_once() -> None:
    function = AtTime("register_event_time_timer", MIN_TIMESTAMP)
    found = rebatch(lambda env: keyed(env).process(function), **schedules()).results.values()
    assert [kind for kind, _ in found] == ["record", "timer"] * 3


def test_a_watermark_beyond_the_last_time_is_the_last() -> None:
    class Far(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            output.emit_watermark(Watermark(2**70 if event[1] == 3 else -(2**70)))

        def on_periodic_emit(self, output: Any) -> None:
            pass

    def program(env: Any) -> Any:
        own = WatermarkStrategy.for_generator(Far).with_timestamp_assigner(
            lambda record, _: record[1]
        )
        stream = env.from_collection([("a", 1), ("a", 3)]).assign_timestamps_and_watermarks(own)
        function = AtTime("register_event_time_timer", 5)
        return stream.key_by(lambda record: record[0]).process(function)

    assert run_local(program).values() == [("record", 1), ("record", 3), ("timer", 5)]
