"""A million timers, and one key with nearly all records: no step costs more the more there are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.kernel.operators.timers import add_timer, remove_timer
from millstream.testing import collect, run_local
from tests.support.strategies import sampled

SHARE = min(1.0, float(os.environ.get("MILLSTREAM_EXAMPLES", "1")))
"""`make check` tries a twentieth."""


class Compared(tuple[int, None]):
    """A timer that counts how often it is compared."""

    count = 0  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return tuple.__eq__(self, other)

    __hash__ = tuple.__hash__


@pytest.mark.parametrize("order", ["ascending", "descending", "mixed"])
def test_a_timer_of_a_key_with_many_is_found_without_looking_at_all_of_them(order: str) -> None:
    number = 2_000
    times = list(range(number))
    if order == "descending":
        times.reverse()
    elif order == "mixed":
        times.sort(key=lambda n: n * 7919 % number)
    timers: dict[Any, Any] = {}
    Compared.count = 0
    for _ in range(2):
        for time in times:
            add_timer(timers, "k", Compared((time, None)))
    assert [time for time, _ in timers["k"]] == list(range(number))
    for time in times:
        remove_timer(timers, "k", Compared((time, None)))
        remove_timer(timers, "k", Compared((time, None)))
    assert timers == {}
    assert Compared.count <= 10 * number


class Alarms(KeyedProcessFunction):
    """Registers so many timers, and tells every thousandth."""

    def process_element(self, value: tuple[int, int], ctx: Any) -> None:
        for number in range(value[1]):
            ctx.timer_service().register_event_time_timer(1_000 + number)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        if timestamp % 1_000 == 0:
            yield ctx.get_current_key(), timestamp


@pytest.mark.slow
@pytest.mark.parametrize("keys", sampled([1, 1_000], "timers"))
def test_a_million_timers_all_fire_in_order(keys: int) -> None:
    # All of them on one key is what no program does; a hundred thousand are enough there.
    each = int((1_000_000 if keys > 1 else 100_000) * SHARE) // keys
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([(key, each) for key in range(keys)])
    timed = pairs.assign_timestamps_and_watermarks(at(lambda pair: 0))
    told = collect(timed.key_by(lambda pair: pair[0]).process(Alarms()))
    run_local(env)
    moments = range(1_000, 1_000 + each, 1_000)
    assert sorted(told.values()) == [(key, moment) for key in range(keys) for moment in moments]
    found = [moment for _, moment in told.values()]
    assert found == sorted(found)


def at(when: Any) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(lambda value, _: when(value))


class Running(KeyedProcessFunction):
    """How many records of the key there were."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def process_element(self, value: tuple[int, int], ctx: Any) -> Iterator[tuple[int, int]]:
        self.counts[value[0]] += 1
        yield value[0], self.counts[value[0]]


def test_one_key_with_95_percent_of_the_records() -> None:
    number = int(200_000 * SHARE)
    records = [(0 if n % 20 else n, n) for n in range(number)]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(4)
    timed = env.from_collection(records).assign_timestamps_and_watermarks(at(lambda pair: pair[1]))
    keyed = timed.key_by(lambda pair: pair[0])
    counts = collect(keyed.process(Running()))
    window = keyed.window(TumblingEventTimeWindows.of("1 h"))
    sums = collect(window.reduce(lambda a, b: (a[0], a[1] + b[1])))
    run_local(env)
    expected: Counter[int] = Counter()
    running = []
    for key, _ in records:
        expected[key] += 1
        running.append((key, expected[key]))
    assert sorted(counts.values()) == sorted(running)
    hot = sum(n for key, n in records if key == 0)
    assert sorted(sums.values()) == sorted([(0, hot), *((k, k) for k in expected if k)])
