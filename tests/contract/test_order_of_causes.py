"""design.md 4.2: no effect comes before its cause, through any number of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.output_tag import OutputTag
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DiscardingSink
from millstream.datastream.state import ValueStateDescriptor
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, run_local

TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1])
ASIDE = OutputTag("aside")
SCHEDULES: list[dict[str, Any]] = [
    {"epochs": 1},
    {"epochs": 2, "slots": 3},
    {"epochs": "all", "slots": 2},
    {"batch": True},
]
Program = Callable[[StreamExecutionEnvironment], DataStream]


def by_key(stream: DataStream) -> Any:
    return stream.key_by(lambda record: record[0])


def results(program: Program, **schedule: Any) -> list[Any]:
    return list(run_local(program, **({"batch": False} | schedule)).values())


class Same(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Last(KeyedProcessFunction):
    """Tells the last record of a key when the input ends."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.last.update(value)
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield self.last.value()


class Door(KeyedProcessFunction):
    """Opens with a record, and closes with a timer at the same instant."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())
        yield value[0], "opened"
        yield ASIDE, (value[0], "opened")

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), "closed"
        yield ASIDE, (ctx.get_current_key(), "closed")


KEYS = "abcdefgh"


def doors(env: StreamExecutionEnvironment) -> DataStream:
    records = [(key, time) for time in (13, 25) for key in KEYS]
    stream = env.from_collection(records).assign_timestamps_and_watermarks(TIMES)
    windows = by_key(stream).window(TumblingEventTimeWindows.of(10)).reduce(lambda a, b: a)
    return by_key(windows).process(Door())


@pytest.mark.parametrize("schedule", SCHEDULES)
class TestTimersOfOneInstant:
    """A timer's results come behind what its operator emitted before, whatever keys and uids are."""

    def test_of_one_operator(self, schedule: dict[str, Any]) -> None:
        got = results(doors, **schedule)
        for key in KEYS:
            assert [what for k, what in got if k == key] == ["opened", "closed"] * 2

    @pytest.mark.parametrize("uid", ["a", "z"])
    def test_the_next_operator_keeps_the_last(self, schedule: dict[str, Any], uid: str) -> None:
        got = results(lambda env: by_key(doors(env).uid(uid)).process(Last()), **schedule)
        assert sorted(got) == [(key, "closed") for key in KEYS]

    def test_on_a_side_output(self, schedule: dict[str, Any]) -> None:
        def program(env: StreamExecutionEnvironment) -> DataStream:
            return by_key(doors(env).get_side_output(ASIDE)).process(Last())

        assert sorted(results(program, **schedule)) == [(key, "closed") for key in KEYS]


class Ringing(KeyedProcessFunction):
    """Numbers what it does for a key; a timer in processing time rings once."""

    def __init__(self, name: str, out: Callable[[Any], Any] = lambda key: key) -> None:
        self.name, self.out = name, out

    def open(self, runtime_context: Any) -> None:
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def _step(self, key: Any, what: str) -> tuple[Any, int, str]:
        self.number.update((self.number.value() or 0) + 1)
        return key, self.number.value(), what

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[2] == "start":
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 500)
        yield (value[0], value[1], value[2]) if self.name == "first" else self._step(*value[::2])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        key = ctx.get_current_key()
        yield self._step(self.out(key), f"timer of {self.name}")


@pytest.mark.parametrize("key", ["xa", "xb", "xc", "xd", "ye", "yf"])
@pytest.mark.parametrize("depth", [2, 3])
def test_ticks_of_a_chain_come_in_the_order_of_work(key: str, depth: int) -> None:
    """An operator fires its own ticks before it hears of those of operators before it."""

    def program(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection([(key[1:], key, "start"), (key[1:], key, "noise")])
        stream = stream.key_by(lambda r: r[1]).process(Ringing("first", lambda k: k[1:]))
        for _ in range(depth - 1):
            stream = by_key(stream).process(Ringing("next"))
        return by_key(stream).process(Same())

    got = results(program, epochs=1, ms_per_epoch=1000)
    numbers = [number for _, number, _ in got]
    assert numbers == sorted(numbers)
    whats = [what for _, _, what in got]
    assert whats.index("timer of next") < whats.index("timer of first")


class Effect(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield (*value[:2], f"effect of {value[2]}")


class Thrice(KeyedProcessFunction):
    """Three values of each record: work on a record is done before its effects come."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        for number in range(3):
            yield (*value, number)


@pytest.mark.parametrize("schedule", SCHEDULES)
class TestDiamonds:
    @pytest.mark.parametrize("others", [0, 3])
    def test_through_a_union(self, schedule: dict[str, Any], others: int) -> None:
        """The number of an edge is compared with no number of an emission."""

        def program(env: StreamExecutionEnvironment) -> DataStream:
            records = [("a", 1, "one"), ("a", 2, "two")]
            stream = env.from_collection(records).assign_timestamps_and_watermarks(TIMES)
            apart = [stream.filter(lambda r: False) for _ in range(others)]
            effects = by_key(stream).process(Effect())
            return by_key(effects.union(*apart, stream)).process(Thrice())

        got = [value[2:] for value in results(program, **schedule)]
        texts = ["one", "effect of one", "two", "effect of two"]
        assert got == [(text, number) for text in texts for number in range(3)]

    def test_of_some_of_several_records(self, schedule: dict[str, Any]) -> None:
        """A filter on the way to the effect does not renumber what a flat map gives."""

        def program(env: StreamExecutionEnvironment) -> DataStream:
            stream = env.from_collection([("a", 1, "x")]).assign_timestamps_and_watermarks(TIMES)
            parts = stream.flat_map(lambda r: [(*r[:2], text) for text in ("one", "two", "three")])
            effects = by_key(parts.filter(lambda r: r[2] == "two")).process(Effect())
            return by_key(effects.union(parts)).process(Same())

        got = [value[2] for value in results(program, **schedule)]
        assert got == ["one", "two", "effect of two", "three"]

    def test_operators_side_by_side_go_as_the_program_makes_them(
        self, schedule: dict[str, Any]
    ) -> None:
        def program(env: StreamExecutionEnvironment) -> DataStream:
            stream = env.from_collection([("a", 1, "x")]).assign_timestamps_and_watermarks(TIMES)
            one, other = by_key(stream).process(Thrice()), by_key(stream).process(Effect())
            return by_key(other.union(one)).process(Same())

        assert [value[2:] for value in results(program, **schedule)] == [
            ("x", 0), ("x", 1), ("x", 2), ("effect of x",)
        ]  # fmt: skip


class OneBehind(WatermarkGenerator):
    """What `TIMES` says, by hand: it runs in a stage of its own."""

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        output.emit_watermark(Watermark(timestamp - 1))

    def on_periodic_emit(self, output: Any) -> None:
        pass


BY_HAND = WatermarkStrategy.for_generator(OneBehind).with_timestamp_assigner(lambda r, _: r[1])


@pytest.mark.parametrize("schedule", [*SCHEDULES, {"epochs": 3, "splits": 2}])
class TestSinksOfCausesAndEffects:
    """A sink that gets records of a source, and what operators make of them, has all in one order."""

    @pytest.mark.parametrize("strategy", [TIMES, BY_HAND], ids=["bounded", "custom"])
    @pytest.mark.parametrize("depth", [1, 2])
    def test_through_operators(
        self, schedule: dict[str, Any], strategy: WatermarkStrategy, depth: int
    ) -> None:
        def program(env: StreamExecutionEnvironment) -> DataStream:
            records = [("a", 0, "x"), ("b", 10, "y"), ("a", 20, "z")]
            stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
            effects = stream
            for _ in range(depth):
                effects = by_key(effects).process(Effect())
            return effects.union(stream).map(lambda r: r[2])

        effect = "effect of " * depth
        expected = [text for name in "xyz" for text in (name, effect + name)]
        assert results(program, **schedule) == expected

    def test_among_timers(self, schedule: dict[str, Any]) -> None:
        def program(env: StreamExecutionEnvironment) -> DataStream:
            stream = env.from_collection([("a", 13), ("a", 25), ("a", 26)])
            stream = stream.assign_timestamps_and_watermarks(TIMES)
            return stream.union(by_key(stream).process(Door()))

        opened, closed = ("a", "opened"), ("a", "closed")
        # A record is a stamp behind: the timer at 13 fires before the record with the stamp 24.
        expected = [("a", 13), opened, ("a", 25), opened, closed, ("a", 26), opened, closed, closed]
        assert results(program, **schedule) == expected

    def test_of_several_channels(self, schedule: dict[str, Any]) -> None:
        """Records that go straight to the sink wait for nobody, their effects may come much later."""

        def program(env: StreamExecutionEnvironment) -> DataStream:
            streams = [
                env.from_collection([(key, time, f"{key}{time}") for time in times])
                for key, times in (("a", [10, 20, 30]), ("b", [100, 110, 120]))
            ]
            stream = streams[0].union(streams[1]).assign_timestamps_and_watermarks(TIMES)
            return stream.union(by_key(stream).process(Effect())).map(lambda r: r[2])

        for order in ("arrival", "watermark"):
            got = results(program, **schedule, channel_order=order)
            causes = [text for text in got if not text.startswith("effect")]
            assert sorted(got) == sorted([*causes, *(f"effect of {text}" for text in causes)])
            assert len(causes) == 6
            assert all(got.index(text) < got.index(f"effect of {text}") for text in causes)


@pytest.mark.parametrize("schedule", [*SCHEDULES, {"epochs": 1, "restarts": "every"}])
class TestStreamsWithOtherWatermarks:
    """In channel order "watermark", records wait where timelines meet: what is behind comes first."""

    @pytest.mark.parametrize(
        ("bounds", "expected"),
        [
            # The stamps of "two" and "three" are 9 and 19, those of their copies -6 and 4, or 4 and 14.
            ((0, 15), ["one", "ONE", "TWO", "THREE", "two", "three"]),
            ((0, 5), ["one", "ONE", "TWO", "two", "THREE", "three"]),
            ((15, 0), ["one", "ONE", "two", "three", "TWO", "THREE"]),
        ],
    )
    @pytest.mark.parametrize("connected", [False, True])
    def test_a_stream_meets_its_own_copy(
        self,
        schedule: dict[str, Any],
        bounds: tuple[int, int],
        expected: list[str],
        connected: bool,
    ) -> None:
        def program(env: StreamExecutionEnvironment) -> DataStream:
            first, second = (
                WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_assigner(
                    lambda r, _: r[1]
                )
                for bound in bounds
            )
            records = [("a", 10, "one"), ("a", 20, "two"), ("a", 30, "three")]
            stream = env.from_collection(records).assign_timestamps_and_watermarks(first)
            copy = by_key(stream).process(Upper()).assign_timestamps_and_watermarks(second)
            if connected:
                return by_key(stream).connect(by_key(copy)).process(Both())
            return by_key(stream.union(copy)).process(Same())

        got = results(program, **schedule, channel_order="watermark")
        assert [value[2] for value in got] == expected


@pytest.mark.parametrize("bounds", [(0, 100), (0, 35), (60, 0)])
def test_records_that_wait_for_other_watermarks_are_in_savepoints(bounds: tuple[int, int]) -> None:
    """A job that goes on from a savepoint, with other slots, after every third record."""

    def job(slots: int, **options: Any) -> LocalJob:
        env = StreamExecutionEnvironment.get_execution_environment()
        first, second = (
            WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_assigner(
                lambda r, _: r[1]
            )
            for bound in bounds
        )
        records = [("abc"[n % 3], n * 10, f"no {n}") for n in range(20)]
        stream = env.from_collection(records).assign_timestamps_and_watermarks(first)
        copy = by_key(stream).process(Upper()).assign_timestamps_and_watermarks(second)
        both = by_key(stream).connect(by_key(copy)).process(Both())
        both.sink_to(DiscardingSink()).name("out")
        settings = JobOptions(parallelism=1, slots=slots, channel_order="watermark")
        return LocalJob(env._job_graph(), settings, **options)

    expected = job(2).run_all(1)["out"]
    got: list[Any] = []
    running, waited = job(2), 0
    for slots in (3, 1, 4, 2, 5):
        got += running.epoch(3).get("out", [])
        waited += any(
            key.startswith("held/") for s in running.committed.stores.values() for key in s
        )
        running = job(slots, savepoint=running.savepoint())
    got += running.run_all(2)["out"]
    assert got == expected
    assert waited == 5


class Upper(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield (*value[:2], value[2].upper())


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    process_element2 = process_element1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_at_the_end_operators_fire_in_turn(schedule: dict[str, Any]) -> None:
    """What is born at the end goes by depth: the second operator hears all before it fires."""

    class Late(KeyedProcessFunction):
        def __init__(self, name: str, *times: int) -> None:
            self.name, self.times = name, times

        def open(self, runtime_context: Any) -> None:
            self.heard = runtime_context.get_state(ValueStateDescriptor("heard", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            self.heard.update((self.heard.value() or 0) + 1)
            for time in self.times:
                ctx.timer_service().register_event_time_timer(time)
            yield value[0], f"{self.name} hears {self.heard.value()}"

        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            yield (
                ctx.get_current_key(),
                f"{self.name} rings {timestamp}, heard {self.heard.value()}",
            )

    def program(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection([("a", 1)]).assign_timestamps_and_watermarks(TIMES)
        first = by_key(stream).process(Late("first", 100, 500))
        return by_key(by_key(first).process(Late("second", 300, 50))).process(Same())

    assert [what for _, what in results(program, **schedule)] == [
        "second hears 1",
        "second hears 2",
        "second hears 3",
        "second rings 50, heard 3",
        "second rings 300, heard 3",
    ]


def test_an_idle_channel_that_rejoins_with_older_stamps() -> None:
    """Its records come late, but what they cause still comes behind them, through three operators."""
    env = StreamExecutionEnvironment.get_execution_environment()
    times = TIMES.with_idleness("100 ms")
    fast, slow = (
        env.from_collection(records).assign_timestamps_and_watermarks(times)
        for records in ([("a", 50), ("a", 60), ("a", 70)], [("b", 10), ("b", 20), ("b", 65)])
    )
    doors = by_key(fast.union(slow)).process(Door())
    by_key(by_key(doors).process(Same())).process(Same()).sink_to(DiscardingSink()).name("out")
    job = LocalJob(env._job_graph())
    # The slow channel is idle from the second epoch on, and comes back in the third.
    for now_ms, reads in enumerate([{(0, 0): 1, (1, 0): 1}, {(0, 0): 1}, {(1, 0): 2}, {(0, 0): 1}]):
        job.epoch(reads, now_ms=now_ms * 100)
    job.epoch(0, end=True)
    got = {key: [v[1] for v, _ in job.outputs["out"] if v[0] == key] for key in "ab"}
    opened, closed = "opened", "closed"
    # The timer at 50 fires when the clock passes 50: behind the record at 60, whose clock is 49.
    assert got["a"] == [opened, opened, closed, closed, opened, closed]
    assert got["b"] == [opened, closed] * 3
