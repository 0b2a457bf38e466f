"""The harness of connected streams runs one function in its real operator."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.errors import CheckpointError, PlanError, UserCodeError
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark
from millstream.datastream import CoFlatMapFunction, CoMapFunction, KeyedCoProcessFunction
from millstream.datastream.state import ValueStateDescriptor
from millstream.testing import KeyedTwoInputHarness, StreamRecord


class Match(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self.last.update(value[1])
        ctx.timer_service().register_event_time_timer(value[1])

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        yield value, self.last.value(), ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
        yield "timer", ctx.get_current_key(), timestamp
        self.last.clear()


def harness() -> KeyedTwoInputHarness:
    return KeyedTwoInputHarness(Match(), 0, lambda value: value[1])


def test_both_inputs_share_state_by_their_own_keys() -> None:
    tested = harness()
    tested.process_element1(("a", 7), 1)
    tested.process_element2((1, "a"), 2)
    tested.process_element2((2, "b"), 3)
    assert tested.get_output() == [
        StreamRecord(((1, "a"), 7, MIN_TIMESTAMP), 2),
        StreamRecord(((2, "b"), None, MIN_TIMESTAMP), 3),
    ]


def test_clock_is_the_lower_watermark() -> None:
    tested = harness()
    tested.process_element1(("a", 7), 1)
    tested.process_watermark2(50)
    tested.process_watermark2(40)
    assert (tested.current_watermark(), tested.num_event_time_timers()) == (MIN_TIMESTAMP, 1)
    tested.process_watermark1(6)
    assert (tested.current_watermark(), tested.num_event_time_timers()) == (6, 1)
    tested.process_watermark1(Watermark(60))
    assert tested.get_output() == [
        Watermark(6),
        StreamRecord(("timer", "a", 7), 7),
        Watermark(50),
    ]
    assert tested.num_keyed_state_entries() == 0
    tested.process_watermark(70)
    assert tested.current_watermark() == 70


def test_snapshot_has_both_watermarks() -> None:
    tested = harness()
    tested.process_element1(("a", 7), 1)
    tested.process_watermark1(5)
    saved = tested.snapshot()
    restored = harness()
    restored.restore(saved)
    restored.process_watermark2(9)
    assert restored.current_watermark() == 5
    restored.process_element2((1, "a"), 8)
    assert restored.extract_output() == [((1, "a"), 7, 5)]
    with pytest.raises(CheckpointError, match="no snapshot"):
        restored.restore(b"something else")


def test_map_and_flat_map_functions() -> None:
    class Sign(CoMapFunction):
        def map1(self, value: int) -> int:
            return value

        def map2(self, value: int) -> int:
            return -value

    class Repeat(CoFlatMapFunction):
        def flat_map1(self, value: int) -> Any:
            return [value] * value

        def flat_map2(self, value: int) -> None:
            return None

    for function, expected in ((Sign(), [2, -3]), (Repeat(), [2, 2])):
        with KeyedTwoInputHarness(function, abs, abs) as tested:
            tested.process_element1(2)
            tested.process_element2(3)
        assert tested.extract_output() == expected


def test_error_shows_the_record() -> None:
    class Fails(Match):
        def process_element2(self, value: Any, ctx: Any) -> Any:
            raise ValueError("no")

    with pytest.raises(UserCodeError) as info:
        KeyedTwoInputHarness(Fails(), 0, 0).process_element2(("a", 1))
    assert info.value.record == "('a', 1)"


def test_refused() -> None:
    with pytest.raises(PlanError, match="of which input"):
        harness().process_element(("a", 1))
    with pytest.raises(PlanError, match="KeyedCoProcessFunction"):
        KeyedTwoInputHarness(lambda value: value, 0, 0)
