"""design.md 1 for windows: results do not depend on the schedule; a simulator says which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import AggregateFunction, OutputTag, StreamExecutionEnvironment
from millstream.datastream.functions import ProcessWindowFunction
from millstream.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, Results, Schedule, TestSource, rebatch, run_local
from tests.support.properties.window_oracle import Event, Firing, Outcome, Spec, in_order, simulate
from tests.support.strategies import BOUNDS, TIMES, examples, schedules

LATE = OutputTag("late")
Channels = list[list[Event]]


# -- random input ----------------------------------------------------------------------------------

KEYS = st.sampled_from("abc")
TUMBLING = st.builds(
    lambda size, offset: Spec(size=size, slide=size, offset=offset % size),
    st.integers(1, 15),
    st.integers(0, 14),
)
SLIDING = st.builds(
    lambda size, slide, offset: Spec(size=size, slide=slide, offset=offset % slide),
    st.integers(1, 15),
    st.integers(1, 9),
    st.integers(0, 8),
)
SESSIONS = st.builds(Spec, gap=st.integers(1, 12))
LATENESS = st.one_of(st.just(0), st.integers(1, 25))


@st.composite
def specs(draw: st.DrawFn, *kinds: st.SearchStrategy[Spec]) -> Spec:
    """Windows of some kinds, with any lateness."""
    return replace(draw(st.one_of(kinds)), lateness=draw(LATENESS))


@st.composite
def channels_of(draw: st.DrawFn, least: int, most: int) -> Channels:
    """Channels in any disorder, each with a span of time of its own; no two values are the same."""
    channels: Channels = []
    serial = 0
    for _ in range(draw(st.integers(least, most))):
        shift = draw(st.sampled_from((-40, 0, 0, 25)))
        channel: list[Event] = []
        for key, ts in draw(st.lists(st.tuples(KEYS, TIMES), min_size=1, max_size=12)):
            serial += 1
            channel.append(((key, serial), ts + shift))
        channels.append(channel)
    return channels


ONE_CHANNEL = channels_of(1, 1)
SEVERAL = channels_of(2, 4)

SCHEDULES = st.builds(
    Schedule,
    epochs=st.sampled_from((1, 3, "random", "random", "all")),
    seed=st.integers(0, 1_000),
    slots=st.sampled_from((1, 2, 3)),
    parallelism=st.sampled_from((1, 2)),
    splits=st.sampled_from((1, 1, 3)),
    restarts=st.sampled_from((0, "every")),
)
BATCH = Schedule(batch=True, slots=2, parallelism=2, splits=2)


def decided(spec: Spec, channels: Channels, bound: int) -> bool:
    """Whether all records have a window, or are on time.

    What becomes of late records between windows is one transcript's business.
    """
    return all(
        spec.spans(ts) or ts + spec.lateness > order[0]
        for order, (_, ts) in in_order(channels, bound)
    )


def on_time(channels: Channels, bound: int) -> Channels:
    """The channels with late records moved to just after their channel's watermark."""
    moved: Channels = []
    for channel in channels:
        latest: int | None = None
        moved.append([])
        for value, ts in channel:
            time = ts if latest is None else max(ts, latest - bound)
            latest = time if latest is None else max(latest, time)
            moved[-1].append((value, time))
    return moved


# -- programs --------------------------------------------------------------------------------------


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> list[Any]:
        window = context.window()
        return [Firing(key, (window.start, window.end), tuple(value for _, value in elements))]


class Listing(AggregateFunction):
    """What `Listed` lists, in an accumulator."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> Any:
        return "", tuple(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class Unpacked(ProcessWindowFunction):
    """A firing of the one result of a `Listing`; its order is not the records'."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> list[Any]:
        window = context.window()
        ((_, values),) = elements
        return [Firing(key, (window.start, window.end), tuple(sorted(values)))]


def assigner(spec: Spec) -> Any:
    if spec.merges:
        return EventTimeSessionWindows.with_gap(spec.gap)
    if spec.size == spec.slide:
        return TumblingEventTimeWindows.of(spec.size, spec.offset)
    return SlidingEventTimeWindows.of(spec.size, spec.slide, spec.offset)


def timed(env: StreamExecutionEnvironment, channels: Channels, bound: int) -> Any:
    """The records of all channels by key."""
    source = TestSource(*channels, timestamped=True)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    return env.from_source(source, strategy, "events").key_by(lambda v: v[0], Types.STRING())


def program(
    channels: Channels,
    bound: int,
    spec: Spec,
    build: Callable[[Any], Any] = lambda windows: windows.process(Listed()),
    **options: Any,
) -> Callable[[StreamExecutionEnvironment], dict[str, Any]]:
    def built(env: StreamExecutionEnvironment) -> dict[str, Any]:
        windows = timed(env, channels, bound).window(assigner(spec), **options)
        windows = windows.allowed_lateness(spec.lateness).side_output_late_data(LATE)
        results = build(windows)
        return {"main": results, "late": results.get_side_output(LATE)}

    return built


def run(built: Any, schedule: Schedule, **options: Any) -> Results:
    return run_local(built, **{**schedule.__dict__, **options})


def outcome(results: Results) -> Outcome:
    """What a run brought, by key; event times are checked on the way."""
    found = Outcome({}, {})
    for value, ts in results.records("main"):
        firing = Firing(*value)
        assert ts == firing.timestamp
        found.firings.setdefault(firing.key, []).append(firing)
    for (key, value), _ in results.records("late"):
        found.late.setdefault(key, []).append(value)
    return found


def sorted_late(found: Outcome) -> dict[Any, list[Any]]:
    return {key: sorted(values) for key, values in found.late.items()}


# -- the simulator itself --------------------------------------------------------------------------


def test_the_simulator_by_hand() -> None:
    """Watermarks are max - 2 - 1."""
    channel = [(("a", 1), 3), (("a", 2), 11), (("a", 3), 5), (("a", 4), 13), (("a", 5), 6)]
    tumbling = simulate([channel], 2, Spec(size=10, slide=10))
    assert tumbling.firings["a"] == [
        Firing("a", (0, 10), (1, 3)),
        Firing("a", (10, 20), (2, 4)),
    ]
    assert tumbling.late == {"a": [5]}
    late = simulate([channel], 2, Spec(size=10, slide=10, lateness=5))
    assert [f.values for f in late.firings["a"]] == [(1, 3), (1, 3, 5), (2, 4)]
    session = simulate([channel], 2, Spec(gap=3))
    assert [(f.span, f.values) for f in session.firings["a"]] == [
        ((3, 6), (1,)),
        ((11, 16), (2, 4)),
    ]
    assert session.late == {"a": [3, 5]}


# -- the operator ----------------------------------------------------------------------------------


@examples(15)
@given(ONE_CHANNEL, BOUNDS, specs(TUMBLING, SLIDING, SESSIONS), SCHEDULES)
def test_one_channel_any_windows_any_cut(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    if decided(spec, channels, bound):
        expected = simulate(channels, bound, spec)
        built = program(channels, bound, spec)
        assert outcome(run(built, schedule)) == expected
        assert outcome(run(built, BATCH)) == expected


@examples(12)
@given(SEVERAL, BOUNDS, specs(TUMBLING, SLIDING, SESSIONS), SCHEDULES)
def test_several_channels_in_watermark_order_any_windows_any_cut(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    if decided(spec, channels, bound):
        expected = simulate(channels, bound, spec)
        built = program(channels, bound, spec)
        assert outcome(run(built, schedule, channel_order="watermark")) == expected
        assert outcome(run(built, BATCH)) == expected


@examples(12)
@given(SEVERAL, BOUNDS, st.one_of(TUMBLING, SLIDING), SCHEDULES)
def test_several_channels_as_they_come_without_lateness_any_cut(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    if decided(spec, channels, bound):
        expected = simulate(channels, bound, spec)
        found = outcome(run(program(channels, bound, spec), schedule))
        assert found.firings == expected.firings
        assert sorted_late(found) == sorted_late(expected)


@examples(12)
@given(SEVERAL, BOUNDS, SESSIONS, SCHEDULES)
def test_sessions_of_several_channels_on_time_any_cut(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    """Touching ones included. Whether a late record finds its session may depend on the cut."""
    channels = on_time(channels, bound)
    expected = simulate(channels, bound, spec)
    assert not expected.late
    assert outcome(run(program(channels, bound, spec), schedule)) == expected


@examples(8)
@given(SEVERAL, BOUNDS, specs(TUMBLING, SLIDING, SESSIONS), SCHEDULES)
def test_an_accumulator_has_what_a_list_has(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    if decided(spec, channels, bound):
        built = program(
            channels, bound, spec, lambda windows: windows.aggregate(Listing(), Unpacked())
        )
        found = outcome(run(built, schedule, channel_order="watermark"))
        expected = simulate(channels, bound, spec)
        assert found.late == expected.late
        assert found.firings == {
            key: [Firing(key, f.span, tuple(sorted(f.values))) for f in firings]
            for key, firings in expected.firings.items()
        }


@examples(8)
@given(ONE_CHANNEL, BOUNDS, specs(TUMBLING, SLIDING, SESSIONS), SCHEDULES)
def test_judged_by_the_operator_one_channel_is_the_same(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    if decided(spec, channels, bound):
        built = program(channels, bound, spec, lateness="operator")
        assert outcome(run(built, schedule)) == simulate(channels, bound, spec)


@examples(8)
@given(ONE_CHANNEL, BOUNDS, specs(TUMBLING, SLIDING, SESSIONS), SCHEDULES)
def test_the_default_trigger_said_aloud_is_the_same(
    channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    """A windowed stream that names a trigger need not be computed as one that does not."""
    if decided(spec, channels, bound):
        built = program(
            channels,
            bound,
            spec,
            lambda windows: windows.trigger(EventTimeTrigger.create()).process(Listed()),
        )
        assert outcome(run(built, schedule)) == simulate(channels, bound, spec)


# -- fields ----------------------------------------------------------------------------------------

Fold = Callable[[Sequence[int]], tuple[int, int]]
FIELDS: dict[str, Fold] = {
    "sum": lambda values: (sum(v % 4 for v in values), values[0]),
    "min": lambda values: (min(v % 4 for v in values), values[0]),
    "max": lambda values: (max(v % 4 for v in values), values[0]),
    "min_by": lambda values: (min(v % 4 for v in values), min(values, key=lambda v: v % 4)),
    "max_by": lambda values: (max(v % 4 for v in values), max(values, key=lambda v: v % 4)),
}
"""What becomes of (value modulo 4, value), in order; of equal ones the first is kept."""
TRIPLE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


@pytest.mark.parametrize("method", [*FIELDS, "count"])
@examples(5)
@given(SEVERAL, BOUNDS, st.one_of(TUMBLING, SLIDING, SESSIONS), SCHEDULES)
def test_aggregations_of_fields_any_cut(
    method: str, channels: Channels, bound: int, spec: Spec, schedule: Schedule
) -> None:
    channels = on_time(channels, bound) if spec.merges else channels
    if not decided(spec, channels, bound):
        return

    def built(env: StreamExecutionEnvironment) -> Any:
        triples = timed(env, channels, bound).map(lambda v: (v[0], v[1] % 4, v[1]), TRIPLE)
        windows = triples.key_by(lambda v: v[0], Types.STRING()).window(assigner(spec))
        return windows.count() if method == "count" else getattr(windows, method)(1)

    expected = simulate(channels, bound, spec)
    for plan in (schedule, BATCH):
        results = run(built, plan)
        found: dict[Any, list[Any]] = {}
        for (key, *fields), ts in results.records():
            found.setdefault(key, []).append((tuple(fields), ts))
        assert found == {
            key: [
                ((len(f.values),) if method == "count" else FIELDS[method](f.values), f.timestamp)
                for f in firings
            ]
            for key, firings in expected.firings.items()
        }
        dropped = sum(one.late for one in results.metrics.operators.values())
        assert dropped == sum(map(len, expected.late.values()))


# -- state and schedules ---------------------------------------------------------------------------


@examples(12)
@given(SEVERAL, BOUNDS, specs(TUMBLING, SLIDING, SESSIONS), st.integers(1, 5))
def test_state_is_empty_at_the_end(channels: Channels, bound: int, spec: Spec, reads: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for name, stream in program(channels, bound, spec)(env).items():
        stream.print().name(name)
    job = LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=2))
    job.epoch(1)
    taken = any(spec.spans(channel[0][1]) for channel in channels)
    assert job.state_entries() > 0 or job.outputs["main"] or not taken
    job.run_all(reads)
    assert job.state_entries() == 0


DISORDER: Channels = [
    [(("a", 1), 3), (("b", 2), 9), (("a", 3), 21), (("a", 4), 14), (("b", 5), 2), (("c", 6), 40)],
    [(("c", 7), 30), (("a", 8), 12), (("b", 9), 33), (("a", 10), 55)],
    [(("a", 11), -4), (("c", 12), 17)],
]


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        (Spec(size=10, slide=10), None),
        (Spec(size=12, slide=5, offset=1), None),
        (Spec(size=10, slide=10, lateness=8), "watermark"),
        (Spec(gap=9, lateness=8), "watermark"),
    ],
    ids=str,
)
def test_rebatched_everything_is_the_same_in_the_same_order(spec: Spec, order: Any) -> None:
    report = rebatch(
        program(DISORDER, 4, spec),
        **schedules(cuts=(1, "random"), slots=(1, 3), parallelism=(2,), seeds=(0, 1, 2)),
        channel_order=order,
        compare="exact" if order else "per_key",
        key=lambda value: value[0],
    )
    expected = simulate(DISORDER, 4, spec)
    assert outcome(report.results) == expected
