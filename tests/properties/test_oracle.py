"""The oracle against examples worked out by hand from design.md 4."""

from __future__ import annotations

from typing import Any

from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.common.time import MIN_TIMESTAMP as MIN
from tests.support.properties.oracle import (
    MAIN,
    SOURCE,
    Call,
    Emitted,
    Event,
    Operator,
    Stage,
    simulate,
)


def show_clock(value: Any, call: Call) -> list[Emitted]:
    return [(MAIN, (value, call.clock))]


def ring(time: int, call: Call) -> list[Emitted]:
    return [(MAIN, (f"{call.key} rings", call.clock))]


def timer_after(delay: int) -> Any:
    def process(value: Any, call: Call) -> list[Emitted]:
        call.timers.add(call.ts + delay)
        return show_clock(value, call)

    return process


def run(channels: list[list[Event]], process: Any, **options: Any) -> list[Event]:
    stage = Stage("op", lambda value: value[0], process, ring)
    return simulate(
        channels,
        options.pop("out_of_orderness", 0),
        [Operator("op", (SOURCE,), stage)],
        {"out": "op"},
        **options,
    )["out"]


def test_the_clock_before_a_record_is_its_channels_watermark() -> None:
    channel = [("a1", 10), ("a2", 30), ("a3", 20), ("a4", 31)]
    assert run([channel], show_clock, out_of_orderness=5) == [
        (("a1", MIN), 10),
        (("a2", 4), 30),
        (("a3", 24), 20),
        (("a4", 24), 31),
    ]


def test_timers_fire_in_time_order_and_at_the_end() -> None:
    assert run([[("a1", 10), ("b1", 20), ("a2", 40)]], timer_after(5)) == [
        (("a1", MIN), 10),
        (("b1", 9), 20),
        (("a rings", 15), 15),
        (("a2", 19), 40),
        (("b rings", 25), 25),
        (("a rings", MAX), 45),
    ]


def test_a_timer_in_the_past_keeps_the_place_of_the_callback() -> None:
    assert run([[("a1", 10), ("a2", 30), ("b1", 30)]], timer_after(-25)) == [
        (("a1", MIN), 10),
        (("a rings", -15), -15),
        (("a2", 9), 30),
        (("a rings", 9), 5),
        (("b1", 29), 30),
        (("b rings", 29), 5),
    ]


def test_channels_merge_by_stamp_then_channel() -> None:
    fast, slow = [("a1", 50), ("a2", 60)], [("b1", 10), ("b2", 55), ("b3", 56)]
    assert run([fast, slow], show_clock) == [
        (("a1", MIN), 50),
        (("b1", MIN), 10),
        (("b2", 9), 55),
        (("a2", 49), 60),
        (("b3", 54), 56),
    ]


def test_in_arrival_order_the_goal_of_the_epoch_bounds_the_clock() -> None:
    fast, slow = [("a1", 50), ("a2", 60), ("a3", 70)], [("b1", 10), ("b2", 55)]
    assert run([fast, slow], show_clock, epochs=[(2, 1), (1, 1)]) == [
        (("a1", MIN), 50),
        (("b1", MIN), 10),
        (("a2", 9), 60),
        (("b2", 9), 55),
        (("a3", 59), 70),
    ]
