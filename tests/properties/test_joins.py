"""Joins equal nested loops over windows and inputs, whatever the schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millstream.common import WatermarkStrategy
from millstream.common.time import MIN_TIMESTAMP
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.testing import TestSource, run_local
from tests.support.strategies import BOUNDS, Event, examples, uneven_channels

Env = StreamExecutionEnvironment
Channels = list[list[Event]]
Span = tuple[int, int]
Sides = tuple[list[Any], list[Any]]

KINDS = st.sampled_from(("join", "left_outer_join", "right_outer_join", "full_outer_join"))
NEVER_LATE = 1_000
SCHEDULES = st.fixed_dictionaries(
    {
        "epochs": st.sampled_from((1, 2, "random", "all")),
        "seed": st.integers(0, 9),
        "slots": st.sampled_from((1, 3)),
        "parallelism": st.sampled_from((1, 2)),
        "splits": st.integers(1, 2),
        "restarts": st.sampled_from(("marks", "every")),
        "batch": st.booleans(),
    }
)


# -- the simulator ---------------------------------------------------------------------------------


def in_order(channels: Channels, bound: int | None) -> list[tuple[int, Any, int]]:
    """(stamp, value, time) of all records in the order of the job; without a bound, without time."""
    found = []
    for number, channel in enumerate(channels):
        stamp = MIN_TIMESTAMP
        for position, (value, ts) in enumerate(channel):
            found.append((stamp, number, position, value, ts))
            if bound is not None:
                stamp = max(stamp, ts - bound - 1)
    return [(stamp, value, ts) for stamp, _, _, value, ts in sorted(found, key=lambda r: r[:3])]


def aligned(size: int, slide: int) -> Callable[[int], Iterable[Span]]:
    def spans(ts: int) -> Iterable[Span]:
        return [
            (start, start + size)
            for start in range(ts - size - slide, ts + 1)
            if start % slide == 0 and start <= ts < start + size
        ]

    return spans


def by_window(
    sides: Sequence[Channels], bound: int, spans: Callable[[int], Iterable[Span]]
) -> dict[tuple[Any, Span], Sides]:
    """What each key and window holds of both sides, without what is late."""
    found: dict[tuple[Any, Span], Sides] = defaultdict(lambda: ([], []))
    for number, channels in enumerate(sides):
        for stamp, value, ts in in_order(channels, bound):
            for span in spans(ts):
                if span[1] - 1 > stamp:
                    found[value[0], span][number].append(value)
    return found


def by_session(sides: Sequence[Channels], bound: int, gap: int) -> dict[tuple[Any, Span], Sides]:
    """What each key and session holds, if nothing is late."""
    times: dict[Any, list[int]] = defaultdict(list)
    for channels in sides:
        for channel in channels:
            for value, ts in channel:
                times[value[0]].append(ts)
    sessions: dict[Any, list[Span]] = defaultdict(list)
    for key, found in times.items():
        for ts in sorted(found):
            known = sessions[key]
            if known and ts <= known[-1][1]:
                known[-1] = (known[-1][0], ts + gap)
            else:
                known.append((ts, ts + gap))
    result: dict[tuple[Any, Span], Sides] = defaultdict(lambda: ([], []))
    for number, channels in enumerate(sides):
        for _, value, ts in in_order(channels, bound):
            (span,) = [s for s in sessions[value[0]] if s[0] <= ts < s[1]]
            result[value[0], span][number].append(value)
    return result


def joined(kind: str, sides: Sides) -> list[tuple[Any, Any]]:
    """The pairs of a join, by nested loops."""
    firsts, seconds = sides
    pairs = [(first, second) for first in firsts for second in seconds]
    if not seconds and kind in ("left_outer_join", "full_outer_join"):
        pairs = [(first, None) for first in firsts]
    if not firsts and kind in ("right_outer_join", "full_outer_join"):
        pairs = [(None, second) for second in seconds]
    return pairs


def expected(kind: str, windows: dict[tuple[Any, Span], Sides]) -> dict[Any, list[Any]]:
    found = {(key, span[1] - 1): joined(kind, sides) for (key, span), sides in windows.items()}
    return {place: pairs for place, pairs in found.items() if pairs}


def observed(records: Iterable[Any]) -> dict[Any, list[Any]]:
    """The pairs of each key and event time, in the order in which they came."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for (first, second), ts in records:
        found[(first or second)[0], ts].append((first, second))
    return dict(found)


# -- programs --------------------------------------------------------------------------------------


def streams(env: Env, sides: Sequence[Channels], bound: int | None) -> list[DataStream]:
    strategy = WatermarkStrategy.no_watermarks()
    if bound is not None:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    sources = [TestSource(*channels, timestamped=True) for channels in sides]
    return [env.from_source(s, strategy, f"side {n}") for n, s in enumerate(sources)]


def name(value: Any) -> str:
    return str(value[0])


def pairs_of(
    sides: Sequence[Channels], kind: str, bound: int, assigner: Any, schedule: dict[str, Any]
) -> dict[Any, list[Any]]:
    def program(env: Env) -> DataStream:
        first, second = streams(env, sides, bound)
        return getattr(first, kind)(second).where(name).equal_to(name).window(assigner).apply()  # type: ignore[no-any-return]

    return observed(run_local(program, **schedule).records())


@given(uneven_channels(), uneven_channels(), KINDS, BOUNDS, st.data(), SCHEDULES)
@examples(40)
def test_a_window_join_is_a_nested_loop_over_windows(
    left: Channels,
    right: Channels,
    kind: str,
    bound: int,
    data: st.DataObject,
    schedule: dict[str, Any],
) -> None:
    size = data.draw(st.integers(1, 20))
    slide = data.draw(st.integers(1, size))
    assigner = (
        TumblingEventTimeWindows.of(size)
        if slide == size
        else SlidingEventTimeWindows.of(size, slide)
    )
    found = pairs_of((left, right), kind, bound, assigner, schedule)
    windows = by_window((left, right), bound, aligned(size, slide))
    assert found == expected(kind, windows)


@given(uneven_channels(), uneven_channels(), KINDS, st.integers(1, 15), SCHEDULES)
@examples(25)
def test_a_session_join_is_a_nested_loop_over_sessions(
    left: Channels, right: Channels, kind: str, gap: int, schedule: dict[str, Any]
) -> None:
    assigner = EventTimeSessionWindows.with_gap(gap)
    found = pairs_of((left, right), kind, NEVER_LATE, assigner, schedule)
    assert found == expected(kind, by_session((left, right), NEVER_LATE, gap))


@given(uneven_channels(), uneven_channels(), KINDS, st.booleans(), SCHEDULES)
@examples(25)
def test_a_bounded_join_is_a_nested_loop_over_the_inputs(
    left: Channels, right: Channels, kind: str, has_time: bool, schedule: dict[str, Any]
) -> None:
    bound = 5 if has_time else None

    def program(env: Env) -> DataStream:
        first, second = streams(env, (left, right), bound)
        return getattr(first, kind)(second).where(name).equal_to(name).apply()  # type: ignore[no-any-return]

    groups: dict[Any, Sides] = defaultdict(lambda: ([], []))
    for number, channels in enumerate((left, right)):
        for _, value, _ in in_order(channels, bound):
            groups[value[0]][number].append(value)
    wanted = {key: joined(kind, sides) for key, sides in groups.items()}
    found = observed(run_local(program, **schedule).records())
    assert {key: pairs for (key, _), pairs in found.items()} == {
        key: pairs for key, pairs in wanted.items() if pairs
    }


@given(uneven_channels(), st.integers(1, 5), st.booleans(), SCHEDULES)
@examples(25)
def test_first_and_distinct_follow_the_order_of_the_job(
    channels: Channels, n: int, has_time: bool, schedule: dict[str, Any]
) -> None:
    bound = 5 if has_time else None

    def program(env: Env) -> dict[str, DataStream]:
        (stream,) = streams(env, [channels], bound)
        by_name = stream.key_by(name)
        return {
            "first": stream.first(n),
            "of each": by_name.first(n),
            "distinct": stream.distinct(name),
            "partitions": stream.map_partition(lambda values: [values]),
        }

    ordered = [value for _, value, _ in in_order(channels, bound)]
    groups: dict[str, list[Any]] = defaultdict(list)
    for value in ordered:
        groups[value[0]].append(value)
    results = run_local(program, **schedule)
    assert results.values("first") == ordered[:n]
    found: dict[str, list[Any]] = defaultdict(list)
    for value in results.values("of each"):
        found[value[0]].append(value)
    assert found == {key: values[:n] for key, values in groups.items()}
    assert sorted(results.values("distinct")) == sorted(values[0] for values in groups.values())
    kept = [[value for value, _ in channel] for channel in channels if channel]
    assert sorted(results.values("partitions")) == sorted(kept)
