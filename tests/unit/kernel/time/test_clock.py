"""The rules of time: by the definitions of design.md 4, one by one and by column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream.kernel
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import Types
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.kernel.records.order import AT_END
from millstream.kernel.time.clock import (
    Clock,
    cleanup_time,
    cleanup_times,
    is_late,
    limits_by_stamp,
)
from millstream.kernel.windows.panes import Panes
from millstream.kernel.windows.spec import Alignment
from millstream.testing import run_local
from tests.support.strategies import examples

SMALL = st.integers(-50, 50)
TIMES = SMALL | st.sampled_from([MIN_TIMESTAMP, MAX_TIMESTAMP - 1, MAX_TIMESTAMP])
STAMPS = st.lists(SMALL | st.just(MIN_TIMESTAMP), min_size=1, max_size=8).map(sorted)


@st.composite
def clocks(draw: st.DrawFn) -> Clock:
    before = draw(SMALL | st.just(MIN_TIMESTAMP))
    after = max(before, draw(SMALL))
    return Clock(before, after, 0, draw(st.booleans()), draw(st.integers(0, 2)))


def array(numbers: Any) -> Any:
    return np.array(numbers, np.int64)


def stamp_by(clock: Clock, stamp: int) -> int:
    """A stamp as the clock counts: behind by its lag; what was born at the end comes last."""
    if stamp == AT_END:
        return clock.after
    return stamp if stamp == MIN_TIMESTAMP else stamp - clock.lag


def clock_before(clock: Clock, stamp: int) -> int:
    return max(clock.before, min(stamp_by(clock, stamp), clock.after))


@examples(200)
@given(clocks(), STAMPS, st.booleans(), st.integers(0, 3), st.lists(TIMES, min_size=1))
def test_a_window_is_late_by_the_channel_or_the_clock_that_cleared_it(
    clock: Clock, stamps: list[int], ended: bool, lateness: int, lasts: list[int]
) -> None:
    stamps = [*stamps, AT_END] if ended else stamps
    limits = clock.limits(array(stamps))
    waiting = clock.limits(array(stamps), wait=1)
    by_clock = clock.limits(array(stamps), "operator", wait=1)
    for row, stamp in enumerate(stamps):
        own, now = stamp_by(clock, stamp), clock_before(clock, stamp)
        for last in lasts:
            over = cleanup_time(last, lateness)
            assert is_late(over, limits[row]) == (over <= max(own, now))
            # Windows that merge are cleared when the clock has passed their end.
            assert is_late(over, waiting[row]) == (over <= own or over < now)
            assert is_late(over, by_clock[row]) == (over <= now)


@examples(100)
@given(st.lists(TIMES, min_size=1), st.integers(0, 2**62), TIMES)
def test_many_windows_are_over_as_one_is(lasts: list[int], lateness: int, limit: int) -> None:
    one_by_one = [cleanup_time(last, lateness) for last in lasts]
    together = cleanup_times(array(lasts), lateness)
    assert together.tolist() == one_by_one
    assert is_late(together, limit).tolist() == [is_late(time, limit) for time in one_by_one]


@examples(300)
@given(
    st.integers(2, 12), st.integers(2, 12), st.integers(-3, 3), st.lists(SMALL, min_size=1), TIMES
)
def test_panes_are_late_as_windows_are(
    size: int, slide: int, offset: int, times: list[int], limit: int
) -> None:
    alignment = Alignment(size, slide, offset)
    panes = Panes.of(alignment)
    own = panes.at(array(times))
    firsts = panes.first_windows(own, np.full(len(times), limit, np.int64)).tolist()
    lasts = panes.last_windows(own).tolist()
    for ts, first, last in zip(times, firsts, lasts, strict=True):
        found = {panes.bounds(window)[0] for window in range(first, last + 1)}
        starts = [offset + number * slide for number in range(-80, 80)]
        expected = {
            start
            for start in starts
            if start <= ts < start + size and not is_late(cleanup_time(start + size - 1, 0), limit)
        }
        assert found == expected


@examples(100)
@given(clocks(), STAMPS)
def test_what_the_stamp_alone_says_is_never_more_than_what_the_clock_says(
    clock: Clock, stamps: list[int]
) -> None:
    ordered = array([*stamps, AT_END])
    known, whole = limits_by_stamp(ordered, clock.lag), clock.limits(ordered)
    assert (known <= whole).all() and known[-1] == MIN_TIMESTAMP
    alone = Clock(MIN_TIMESTAMP, clock.after, 0, lag=clock.lag)
    assert (known[:-1] == alone.limits(array(stamps))).all()


@examples(100)
@given(clocks(), SMALL)
def test_a_clock_goes_to_infinity_at_the_end_and_timers_that_are_due_fire_before(
    clock: Clock, time: int
) -> None:
    assert clock.goals == ((clock.after, MAX_TIMESTAMP) if clock.ends else (clock.after,))
    assert clock.last == (MAX_TIMESTAMP if clock.ends else clock.after)
    goal = next(goal for goal in (*clock.goals, MAX_TIMESTAMP) if time <= goal)
    assert clock.fires_at_end(time) == (goal == MAX_TIMESTAMP)
    assert clock.fires_at_end(array([time])).tolist() == [goal == MAX_TIMESTAMP]
    assert clock.at_firing(time) == (MAX_TIMESTAMP if time > clock.after else time)


def test_no_one_else_knows_the_stamp_of_the_end() -> None:
    """Who knows it makes an order key, or judges who is late, and both have one place."""
    root = Path(millstream.kernel.__file__).parents[1]
    users = {str(p.relative_to(root)) for p in root.rglob("*.py") if "AT_END" in p.read_text()}
    assert users == {"kernel/records/order.py", "kernel/time/clock.py"}


class ToTheEnd(WatermarkGenerator):
    """Says after its last record that there is nothing more to wait for."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        is_last = event[0] == "last"
        output.emit_watermark(Watermark(MAX_TIMESTAMP if is_last else event_timestamp - 1))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class Reading(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, context.window().start, context.current_watermark()


class Timers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        for after in (9, 18):
            ctx.timer_service().register_event_time_timer(value[1] + after)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_watermark()


ROWS = Types.TUPLE([Types.STRING(), Types.LONG()])
OBJECTS = Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize("epochs", [1, 2, None])
class TestAWatermarkWithoutALimit:
    """The last watermark of a generator does not end the input: the clock passes every instant."""

    def stream(self, env: StreamExecutionEnvironment, kind: Any) -> Any:
        strategy = WatermarkStrategy.for_generator(ToTheEnd)
        events = env.from_collection([("a", 1), ("b", 12), ("last", 25)], kind)
        strategy = strategy.with_timestamp_assigner(lambda event, _: event[1])
        return events.assign_timestamps_and_watermarks(strategy).key_by(lambda event: event[0])

    @pytest.mark.parametrize("kind", [ROWS, OBJECTS])
    def test_windows(self, kind: Any, epochs: int | None) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            windows = self.stream(env, kind).window(TumblingEventTimeWindows.of(10))
            return windows.process(Reading())

        found = run_local(program, epochs=epochs).values()
        assert found == [("a", 0, 9), ("b", 10, 19), ("last", 20, 29)]

    def test_timers(self, epochs: int | None) -> None:
        found = run_local(lambda env: self.stream(env, OBJECTS).process(Timers()), epochs=epochs)
        assert found.values() == [(time, time) for time in (10, 19, 21, 30, 34, 43)]
