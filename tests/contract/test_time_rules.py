"""Every rule of design.md 4, under its own name. Values say who comes when: "a2" has key "a"."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from millstream.common.errors import MillstreamError
from millstream.common.output_tag import OutputTag
from millstream.common.state import ValueStateDescriptor
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator, WatermarkStrategy
from millstream.connectors import ChannelName
from millstream.connectors.collection import CollectionSource
from millstream.connectors.generator import GeneratorSource
from millstream.kernel.records.buffers import DATA, PickleCodec, decode
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.stages.programs import Block
from millstream.kernel.time.watermarks import Control, EpochTime, Fragment, TimeTable
from millstream.plan.graph import (
    JobGraph,
    SideOutputNode,
    SourceNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
)
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob
from tests.support.time_support import (
    MAX,
    MIN,
    Probe,
    bounded,
    clock,
    clock_of,
    job,
    keyed,
    sink,
    source,
)

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
T = 1
"""A timeline, where tests speak to a `TimeTable` themselves."""


RINGS, LATE = ("a rings", 22), ("a rings", 24)
"""A timer at 22 that fires in time, and one that was registered when the clock was at 24."""


def two_channels(*reads: tuple[int, int], **options: Any) -> LocalJob:
    """A fast channel of a's and a slow one of b's, after some epochs."""
    fast = [("a1", 50), ("a2", 60), ("a3", 70)]
    slow = [("b1", 10), ("b2", 20), ("b3", 30)]
    started = job([fast, slow], **options)
    for a, b in reads:
        started.epoch({(0, 0): a, (0, 1): b})
    return started


class TestStamps:
    def test_stamp_is_the_channels_watermark_just_before_the_record(self) -> None:
        channel = [("a1", 10), ("a2", 30), ("a3", 40)]
        assert job([channel], strategy=bounded(5)).run_all()["out"] == [
            (("a1", MIN), 10),
            (("a2", 4), 30),
            (("a3", 24), 40),
        ]

    def test_monotonous_watermark_is_the_largest_time_less_one(self) -> None:
        channel = [("a1", -10), ("a2", 0), ("a3", 0)]
        assert job([channel]).run_all()["out"] == [
            (("a1", MIN), -10),
            (("a2", -11), 0),
            (("a3", -1), 0),
        ]

    def test_watermark_never_goes_back(self) -> None:
        channel = [("a1", 100), ("a2", 20), ("a3", 30)]
        assert job([channel]).run_all()["out"] == [
            (("a1", MIN), 100),
            (("a2", 99), 20),
            (("a3", 99), 30),
        ]

    @pytest.mark.parametrize("size", [1, 2, None])
    def test_watermark_moves_after_every_record_whatever_the_epoch(self, size: int | None) -> None:
        channel = [("a1", 10), ("a2", 20), ("a3", 30)]
        clocks = [value[1] for value, _ in job([channel]).run_all(size)["out"]]
        assert clocks == [MIN, 9, 19]

    def test_watermark_of_a_time_near_the_lowest_does_not_wrap(self) -> None:
        channel = [("a1", MIN + 3), ("a2", 0)]
        assert job([channel], strategy=bounded(10)).run_all()["out"] == [
            (("a1", MIN), MIN + 3),
            (("a2", MIN), 0),
        ]


class TestFloors:
    CHANNEL = [("a1", 40), ("a2", 10), ("a3", 50), ("a4", 20), ("a5", 60), ("a6", 30)]
    EXPECTED = [
        (("a1", MIN), 40),
        (("a2", 39), 10),
        (("a3", 39), 50),
        (("a4", 49), 20),
        (("a5", 49), 60),
        (("a6", 59), 30),
    ]

    @pytest.mark.parametrize("tasks", [1, 2, 4])
    @pytest.mark.parametrize("splits", [1, 2, 3, 6])
    def test_earlier_fragments_of_the_epoch_are_floors(self, splits: int, tasks: int) -> None:
        started = job([self.CHANNEL], parallelism=tasks)
        assert started.run_all(splits=splits)["out"] == self.EXPECTED

    @pytest.mark.parametrize("order", list(permutations(range(3))))
    def test_floors_do_not_depend_on_the_order_of_the_tasks(self, order: tuple[int, ...]) -> None:
        parts = [Fragment(T, 0, 0, 39), Fragment(T, 0, 2, 19), Fragment(T, 0, 4, 59)]
        time = TimeTable().advance(Control(fragments=tuple(parts[i] for i in order)), 0, {})
        keys = order_keys(stamps=[MIN, 39, MIN, 9, MIN, 29], frags=[0, 0, 2, 2, 4, 4])
        time.raise_stamps(T, keys)
        assert keys.stamp.tolist() == [MIN, 39, 39, 39, 39, 39]

    def test_floor_is_carried_over_epochs(self) -> None:
        started = job([self.CHANNEL])
        assert started.epoch(2)["out"] == self.EXPECTED[:2]
        assert started.epoch(2)["out"] == self.EXPECTED[2:4]
        started.start()
        assert started.epoch(2)["out"] == self.EXPECTED[4:]

    def test_floors_of_channels_are_apart(self) -> None:
        time = TimeTable().advance(
            Control(fragments=(Fragment(T, 7, 0, 39), Fragment(T, 7, 1, 39), Fragment(T, 8, 0, 9))),
            0,
            {},
        )
        keys = order_keys(stamps=[MIN, MIN, MIN], frags=[0, 1, 0], channels=[7, 7, 8])
        time.raise_stamps(T, keys)
        assert keys.stamp.tolist() == [MIN, 39, MIN]


def order_keys(stamps: list[int], frags: list[int], channels: list[int] | None = None) -> OrderKeys:
    columns = [stamps, [0] * len(stamps), channels or [0] * len(stamps), frags, frags]
    return OrderKeys(*(np.array(column, np.int64) for column in columns))  # type: ignore[arg-type]


class TestPeriodicEmission:
    CHANNEL = [("a1", 10), ("a2", 20), ("a3", 30), ("a4", 40)]

    @pytest.mark.parametrize("splits", [1, 2])
    def test_stamps_move_at_epoch_ends_only(self, splits: int) -> None:
        started = job([self.CHANNEL], auto_watermark_interval_ms=200)
        assert started.epoch(2, splits=splits)["out"] == [(("a1", MIN), 10), (("a2", MIN), 20)]
        assert started.epoch(2, splits=splits)["out"] == [(("a3", 19), 30), (("a4", 19), 40)]

    def test_stamps_do_not_move_between_the_blocks_of_a_fragment(self) -> None:
        started = job([self.CHANNEL], auto_watermark_interval_ms=200)
        (program,) = started.programs.sources.values()
        blocks = [
            Block(["a1"], np.array([10]), channel=0, frag=0, first_pos=0),
            Block(["a2"], np.array([20]), channel=0, frag=0, first_pos=1),
        ]
        data = [row for row in program.run(blocks, 0) if row.kind == DATA]
        stamps = [decode(row.header, row.payload, PickleCodec()).keys.stamp for row in data]
        assert np.concatenate(stamps).tolist() == [MIN, MIN]


class Marks(WatermarkGenerator):
    """Watermarks from marked records at once, from the others when asked; notes its calls."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.pending: int | None = None

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        self.calls.append(f"event {event}")
        if event.endswith("!"):
            output.emit_watermark(Watermark(timestamp))
        elif event.endswith("?"):
            output.mark_idle()
        else:
            self.pending = timestamp - 5

    def on_periodic_emit(self, output: Any) -> None:
        self.calls.append("periodic")
        if self.pending is not None:
            output.emit_watermark(Watermark(self.pending))
            self.pending = None


CALLS: list[str] = []
"""Generators live in state and pass through bytes: they can only tell through a global."""


class NotedMarks(Marks):
    def __init__(self) -> None:
        super().__init__([])

    def __getattribute__(self, name: str) -> Any:
        return CALLS if name == "calls" else super().__getattribute__(name)


class TestCustomGenerators:
    def custom(self, *channels: list[tuple[Any, int]], **options: Any) -> LocalJob:
        CALLS.clear()
        strategy = options.pop("strategy", WatermarkStrategy.for_generator(NotedMarks))
        graph = JobGraph()
        stream = source(graph, channels)
        stream = graph.add(TimestampsNode, name="times", inputs=(stream,), strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe()))
        return LocalJob(graph, JobOptions(**{"parallelism": 1} | options))

    @pytest.mark.parametrize("size", [1, 2, None])
    def test_watermark_is_what_the_generator_says_after_each_record(self, size: int | None) -> None:
        channel = [("a1", 10), ("a2!", 20), ("a3", 12), ("a4", 40)]
        assert self.custom(channel).run_all(size)["out"] == [
            (("a1", MIN), 10),
            (("a2!", 5), 20),
            (("a3", 20), 12),
            (("a4", 20), 40),
        ]

    def test_on_event_then_on_periodic_emit_after_each_record_and_at_ticks(self) -> None:
        started = self.custom([("a1", 10), ("a2", 20)])
        started.epoch(1)
        assert CALLS[:2] == ["event a1", "periodic"]
        CALLS.clear()
        started.epoch(0)
        assert CALLS == ["periodic"]

    def test_generator_is_state_and_each_channel_has_its_own(self) -> None:
        started = self.custom([("a1!", 10), ("a2", 40)], [("b1!", 30), ("b2", 40)])
        started.epoch(1)
        started.start()
        assert started.epoch(1)["out"] == [(("a2", 10), 40), (("b2", 30), 40)]

    def test_channel_that_its_generator_calls_idle_leaves_the_minimum(self) -> None:
        started = self.custom([("a1!", 10), ("a2?", 11), ("a3", 12)], [("b1!", 30), ("b2!", 40)])
        assert started.epoch(1)["out"] == [(("a1!", MIN), 10), (("b1!", MIN), 30)]
        started.epoch({(0, 0): 1})
        assert started.epoch({(0, 1): 1})["out"] == [(("b2!", 30), 40)]

    def test_finished_channel_whose_records_were_all_filtered_leaves_the_minimum(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1!", 50), ("a2!", 60)], [("b1!", 10)]])
        only_a = {"kind": "filter", "function": lambda value: value.startswith("a")}
        stream = graph.add(StatelessNode, name="only a", inputs=(stream,), **only_a).id
        strategy = WatermarkStrategy.for_generator(NotedMarks)
        stream = graph.add(TimestampsNode, name="times", inputs=(stream,), strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe()))
        assert LocalJob(graph).run_all(1)["out"] == [(("a1!", MIN), 50), (("a2!", 50), 60)]

    def test_with_idleness_a_silent_channel_of_a_generator_leaves_the_minimum(self) -> None:
        strategy = WatermarkStrategy.for_generator(NotedMarks).with_idleness(100)
        channels = [("a1!", 10), ("a2!", 11)], [("b1!", 30), ("b2!", 40), ("b3!", 50)]
        started = self.custom(*map(list, channels), strategy=strategy)
        started.epoch(1, now_ms=0)
        started.epoch({(0, 1): 1}, now_ms=200)
        assert started.epoch({(0, 1): 1}, now_ms=201)["out"] == [(("b3!", 40), 50)]

    def test_function_without_a_key_that_asks_for_the_watermark_gets_its_own_channels(self) -> None:
        class Reader:
            def process_element(self, value: Any, ctx: Any) -> Any:
                return [(value, ctx.timer_service().current_watermark())]

        graph = JobGraph()
        stream = source(graph, [[("a1", 10), ("b1", 20), ("a2", 30)]], MONOTONOUS)
        stream = graph.add(
            StatelessNode, name="read", inputs=(stream,), kind="process", function=Reader()
        ).id
        sink(graph, stream)
        assert LocalJob(graph).run_all(1)["out"] == [
            (("a1", MIN), 10),
            (("b1", 9), 20),
            (("a2", 19), 30),
        ]

    def test_timestamps_assigned_again_before_a_keyed_stage_replace_the_first(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 10), ("a2", 20), ("a3", 30)]], bounded(3))
        strategy = MONOTONOUS.with_timestamp_assigner(lambda value, earlier: earlier * 10)
        stream = graph.add(TimestampsNode, name="again", inputs=(stream,), strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe()))
        assert LocalJob(graph).run_all(1)["out"] == [
            (("a1", MIN), 100),
            (("a2", 99), 200),
            (("a3", 199), 300),
        ]

    @pytest.mark.parametrize("slots", [1, 3])
    @pytest.mark.parametrize("size", [1, 2, None])
    def test_timestamps_assigned_after_a_keyed_stage_follow_the_order_key_sequence(
        self, size: int | None, slots: int
    ) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 10), ("b1", 20), ("c1", 15), ("d1", 40)]], bounded(20))
        stream = keyed(graph, stream, Probe(lambda value, ctx: [value]), "first")
        strategy = MONOTONOUS.with_timestamp_assigner(lambda value, earlier: earlier * 10)
        stream = graph.add(TimestampsNode, name="again", inputs=(stream,), strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe(), "second"))
        assert LocalJob(graph, JobOptions(parallelism=1, slots=slots)).run_all(size)["out"] == [
            (("a1", MIN), 100),
            (("b1", 99), 200),
            (("c1", 199), 150),
            (("d1", 199), 400),
        ]

    @pytest.mark.parametrize("order", ["arrival", "watermark"])
    @pytest.mark.parametrize("size", [1, 2, None])
    @pytest.mark.parametrize(
        ("bounds", "expected"),
        [
            ((30, 25), [("a1", MIN), RINGS, ("a2", 24), LATE, ("a3", 24), LATE]),
            ((25, 30), [("a1", MIN), ("a2", 19), ("a3", 19), ("a rings", MAX)]),
        ],
    )
    def test_the_clock_behind_timestamps_assigned_again_follows_them_alone(
        self, size: int | None, order: Any, bounds: tuple[int, int], expected: list[Any]
    ) -> None:
        """Records wait for channels of sources; behind a new timeline nothing waits."""
        graph = JobGraph()
        stream = source(graph, [[("a1", 50), ("a2", 0), ("a3", 20)]], bounded(bounds[0]))
        stream = keyed(graph, stream, Probe(lambda value, ctx: [value]), "first")
        strategy = bounded(bounds[1])
        stream = graph.add(TimestampsNode, name="again", inputs=(stream,), strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe(timer_at(22)), "second"))
        got = LocalJob(graph, JobOptions(parallelism=1, channel_order=order)).run_all(size)["out"]
        assert [value for value, _ in got] == expected

    def test_timestamps_assigned_to_a_stream_and_its_own_keyed_result_move_the_clock(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 10), ("a2", 20)]], MONOTONOUS)
        result = keyed(graph, stream, Probe(lambda value, ctx: [value.upper()]), "first")
        union = graph.add(UnionNode, name="union", inputs=(stream, result)).id
        again = graph.add(TimestampsNode, name="again", inputs=(union,), strategy=MONOTONOUS).id
        sink(graph, keyed(graph, again, Probe(), "second"))
        assert LocalJob(graph).run_all(1)["out"] == [
            (("a1", MIN), 10),
            (("A1", 9), 10),
            (("a2", 9), 20),
            (("A2", 19), 20),
        ]


def timer_at(*times: int) -> Any:
    def process(value: Any, ctx: Any) -> list[Any]:
        for time in times:
            ctx.timer_service().register_event_time_timer(time)
        return clock_of(value, ctx)

    return process


class TestOrderKeys:
    def test_all_that_a_record_causes_keeps_its_place_through_stages(self) -> None:
        """The first stage's keys send records to all slots; the second has one key for all."""
        graph = JobGraph()
        stream = source(graph, [[("a1", 30), ("b1", 10), ("c1", 20)]], MONOTONOUS)
        stream = keyed(graph, stream, Probe(lambda value, ctx: [value + "x", value + "y"]), "one")
        sink(graph, keyed(graph, stream, Probe(lambda v, ctx: [v]), "two", key=lambda value: 0))
        for slots in (1, 2, 4):
            got = LocalJob(graph, JobOptions(parallelism=2, slots=slots)).run_all()["out"]
            assert got == [
                ("a1x", 30),
                ("a1y", 30),
                ("b1x", 10),
                ("b1y", 10),
                ("c1x", 20),
                ("c1y", 20),
            ]

    def test_emission_index_keeps_the_order_of_many_emissions(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 0)]], MONOTONOUS)
        stream = keyed(graph, stream, Probe(lambda value, ctx: range(700)), "one", lambda v: 0)
        sink(graph, keyed(graph, stream, Probe(lambda v, ctx: [v]), "two", key=lambda v: v % 7))
        got = LocalJob(graph, JobOptions(parallelism=1, slots=3)).run_all()["out"]
        assert got == [(number, 0) for number in range(700)]

    def test_order_is_stamp_then_channel_then_position(self) -> None:
        channels = [[("a1", 5), ("a2", 5)], [("b1", 0), ("b2", 9)], [("c1", 0), ("c2", 4)]]
        got = job(channels, Probe(lambda value, ctx: [value])).run_all()["out"]
        assert [value for value, _ in got] == ["a1", "b1", "c1", "b2", "c2", "a2"]

    def test_what_a_timer_emits_stands_between_stamps_below_its_time_and_the_rest(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 10), ("b1", 11), ("b2", 12), ("b3", 13)]], MONOTONOUS)
        stream = keyed(graph, stream, Probe(timer_at_10_for_a, rings), "one")
        sink(graph, keyed(graph, stream, Probe(lambda v, ctx: [v]), "two", key=lambda v: 0))
        # Stamps are MIN, 9, 10, 11: the timer at 10 has (9, 1), after stamp 9 and before stamp 10.
        assert LocalJob(graph).run_all()["out"] == [
            ("a1", 10),
            ("b1", 11),
            ("a rings", 10),
            ("b2", 12),
            ("b3", 13),
        ]

    def test_timers_of_one_instant_go_by_key_hash(self) -> None:
        # stable_hash: d 253009291, e 2014555421, a 2138990852, c 2440038440, b 3866572990
        channel = [(key, 0) for key in "abcde"]
        for slots in (1, 2, 4):
            started = job([channel], Probe(only_timer_at_7), slots=slots)
            got = started.run_all()["out"]
            assert got == [((f"{key} rings", MAX), 7) for key in "deacb"]

    def test_timers_of_one_instant_and_key_go_by_operator(self) -> None:
        assert self.two_operators("op-1", "op-2") == ["op-1 x", "op-1 y", "op-2 x", "op-2 y"]
        assert self.two_operators("op-2", "op-1") == ["op-1 x", "op-1 y", "op-2 x", "op-2 y"]

    def test_timers_of_operators_whose_long_uids_begin_alike_do_not_mix(self) -> None:
        one, two = "an operator with a very long uid: 1", "an operator with a very long uid: 2"
        assert self.two_operators(two, one) == [f"{one} x", f"{one} y", f"{two} x", f"{two} y"]

    def two_operators(self, *uids: str) -> list[Any]:
        graph = JobGraph()
        stream = source(graph, [[("a1", 0)]], MONOTONOUS)
        streams = []
        for uid in uids:
            ringing = Probe(only_timer_at_7, lambda t, ctx, uid=uid: [f"{uid} x", f"{uid} y"])  # type: ignore[misc]
            streams.append(keyed(graph, stream, ringing, uid))
        union = graph.add(UnionNode, name="union", inputs=tuple(streams)).id
        sink(graph, keyed(graph, union, Probe(lambda v, ctx: [v]), "last", key=lambda v: 0))
        return [value for value, _ in LocalJob(graph).run_all()["out"]]

    def test_emission_index_counts_over_main_and_side_outputs(self) -> None:
        tag = OutputTag("side")
        graph = JobGraph()
        stream = source(graph, [[("a1", 0)]], MONOTONOUS)
        process = Probe(lambda value, ctx: [(tag, "s0"), "m1", "m2", (tag, "s3")])
        stream = keyed(graph, stream, process, "one")
        side = graph.add(SideOutputNode, name="side", inputs=(stream,), tag="side").id
        union = graph.add(UnionNode, name="union", inputs=(stream, side)).id
        sink(graph, keyed(graph, union, Probe(lambda v, ctx: [v]), "two", key=lambda v: 0))
        got = LocalJob(graph).run_all()["out"]
        assert [value for value, _ in got] == ["s0", "m1", "m2", "s3"]

    def test_records_straight_to_a_sink_are_in_order_over_fragments(self) -> None:
        graph = JobGraph()
        channel = [("a1", 10), ("a2", 20), ("a3", 30), ("a4", 40)]
        sink(graph, source(graph, [channel], MONOTONOUS))
        assert LocalJob(graph).run_all(splits=2)["out"] == channel


def timer_at_10_for_a(value: Any, ctx: Any) -> list[Any]:
    if value == "a1":
        ctx.timer_service().register_event_time_timer(10)
    return [value]


def rings(timestamp: int, ctx: Any) -> list[Any]:
    return [f"{ctx.get_current_key()} rings"]


def only_timer_at_7(value: Any, ctx: Any) -> None:
    ctx.timer_service().register_event_time_timer(7)


class WatchedFiles(CollectionSource):
    """Files of a folder that is watched: each ends, and nobody knows which are to come."""

    bounded = False
    arrived = 1

    def __init__(self, *files: list[tuple[str, int]]) -> None:
        lists = tuple(tuple(value for value, _ in file) for file in files)
        super().__init__(lists, tuple(tuple(ts for _, ts in file) for file in files))

    def latest(self) -> dict[ChannelName, int]:
        return {channel: len(self.lists[channel]) for channel in range(self.arrived)}

    def is_final(self, channel: ChannelName) -> bool:
        return True

    def announces(self, channel: ChannelName) -> bool:
        return False


class TestClock:
    def test_clock_is_the_minimum_over_the_channels(self) -> None:
        started = two_channels((1, 1), (1, 1))
        assert started.outputs["out"] == [
            (("a1", MIN), 50),
            (("b1", MIN), 10),
            (("b2", 9), 20),
            # Stamp 49, but at the end of the epoch the slow channel stands at 19.
            (("a2", 19), 60),
        ]

    def test_clock_after_the_last_record_is_the_goal(self) -> None:
        started = job([[("a1", 10), ("a2", 30)]], Probe(timer_at(9, 10)))
        # The goal of this epoch is 9: the timer at 9 is due, the one at 10 is not.
        assert started.epoch(1)["out"] == [(("a1", MIN), 10), (("a rings", 9), 9)]

    def test_clock_never_goes_back(self) -> None:
        """A file nobody knew of comes into a directory that is watched, with old records."""
        files = WatchedFiles([("a1", 50), ("a2", 60), ("a3", 70)], [("b1", 10), ("b2", 65)])
        graph = JobGraph()
        stream = graph.add(SourceNode, name="files", source=files, strategy=MONOTONOUS).id
        sink(graph, keyed(graph, stream, Probe()))
        started = LocalJob(graph)
        started.epoch(2)
        files.arrived = 2
        assert started.epoch({(0, 1): 1})["out"] == [(("b1", 59), 10)]
        # The goal is 9 now, the clock stays at 59.
        assert started.epoch({(0, 1): 1})["out"] == [(("b2", 59), 65)]
        assert started.epoch({(0, 0): 1})["out"] == [(("a3", 59), 70)]

    def test_clock_of_an_operator_follows_the_sources_before_it_only(self) -> None:
        graph = JobGraph()
        one = source(graph, [[("a1", 50), ("a2", 60)]], MONOTONOUS, "one")
        two = source(graph, [[("b1", 10), ("b2", 20)]], MONOTONOUS, "two")
        sink(graph, keyed(graph, one, Probe(), "alone"), "alone")
        union = graph.add(UnionNode, name="union", inputs=(one, two)).id
        sink(graph, keyed(graph, union, Probe(), "both"), "both")
        started = LocalJob(graph)
        started.epoch({(0, 0): 1, (1, 0): 1})
        got = started.epoch({(0, 0): 1})
        assert got == {"alone": [(("a2", 49), 60)], "both": [(("a2", 9), 60)]}

    def test_announced_channel_that_has_not_spoken_holds_the_clock(self) -> None:
        started = two_channels((1, 0), (1, 0))
        assert started.outputs["out"] == [(("a1", MIN), 50), (("a2", MIN), 60)]

    def test_announced_channel_holds_the_clock_after_a_restart(self) -> None:
        started = two_channels((1, 0))
        started.start()
        assert started.epoch({(0, 0): 1})["out"] == [(("a2", MIN), 60)]

    def test_empty_channel_is_not_announced(self) -> None:
        started = job([[("a1", 50), ("a2", 60)], []])
        started.epoch(1)
        assert started.epoch(1)["out"] == [(("a2", 49), 60)]

    def test_channel_nobody_announced_follows_as_it_comes(self) -> None:
        table = TimeTable()
        assert goal(table.advance(Control(fragments=(Fragment(T, 0, 0, 90),)), 0, {})) == 90

    def test_channel_announced_by_a_later_start_holds_the_clock(self) -> None:
        table = TimeTable()
        first = Control(announced=((T, 0),), started=True, fragments=(Fragment(T, 0, 0, 90),))
        assert goal(table.advance(first, 0, {})) == 90
        again = Control(announced=((T, 0), (T, 1)), started=True)
        assert goal(table.advance(again, 0, {})) == MIN

    def test_finished_channel_leaves_the_minimum(self) -> None:
        started = two_channels((1, 3), (1, 0))
        assert started.outputs["out"][-1] == (("a2", 49), 60)

    def test_finished_channel_does_not_come_back_with_a_restart(self) -> None:
        started = two_channels((1, 3))
        started.start()
        assert started.epoch({(0, 0): 1})["out"] == [(("a2", 49), 60)]

    def test_no_active_channel_gives_the_largest_watermark_seen(self) -> None:
        table = TimeTable()
        control = Control(fragments=(Fragment(T, 0, 0, 90, True), Fragment(T, 1, 0, 10, True)))
        assert goal(table.advance(control, 0, {})) == 90
        assert goal(table.advance(Control(), 0, {})) == 90

    def test_infinity_comes_only_with_end(self) -> None:
        started = job([[("a1", 10)]], Probe(timer_at(1_000)))
        assert started.epoch()["out"] == [(("a1", MIN), 10)]
        assert started.epoch(0) == {}
        assert started.epoch(0, end=True)["out"] == [(("a rings", MAX), 1_000)]

    def test_source_without_timestamps_holds_the_clock_until_its_end(self) -> None:
        graph = JobGraph()
        timed = source(graph, [[("a1", 50), ("a2", 60)]], MONOTONOUS, "timed")
        untimed = source(graph, [[("b1", 0)]], None, "untimed")
        union = graph.add(UnionNode, name="union", inputs=(timed, untimed)).id
        sink(graph, keyed(graph, union, Probe(lambda value, ctx: [clock(ctx)])))
        got = LocalJob(graph).run_all(1)["out"]
        assert [value for value, _ in got] == [MIN, MIN, MIN]

    def test_end_of_one_source_lets_the_others_go_on(self) -> None:
        table = TimeTable()
        control = Control(fragments=(Fragment(1, 0, 0, 10), Fragment(2, 0, 0, 90)))
        assert goal(table.advance(control, 0, {}), 1, 2) == 10
        time = table.advance(Control(ended=frozenset({1})), 0, {})
        assert goal(time, 1, 2) == 90
        assert not time.has_ended(frozenset({1, 2}))


def goal(time: EpochTime, *timelines: int) -> int:
    return time.goal(frozenset(timelines or {T}), frozenset())


class TestIdleness:
    AFTER = {T: 100}

    def spoken(self, now_ms: int = 0) -> TimeTable:
        """A table with a channel 0 at 90 and a channel 1 at 10."""
        table = TimeTable()
        fragments = (Fragment(T, 0, 0, 90), Fragment(T, 1, 0, 10))
        table.advance(Control(fragments=fragments, started=True), now_ms, self.AFTER)
        return table

    def test_channel_silent_for_its_timeout_leaves_the_minimum(self) -> None:
        table = self.spoken()
        again = Control(fragments=(Fragment(T, 0, 1, 91),))
        assert goal(table.advance(again, 99, self.AFTER)) == 10
        assert goal(table.advance(again, 100, self.AFTER)) == 91

    def test_idle_channel_rejoins_with_its_next_record(self) -> None:
        table = self.spoken()
        table.advance(Control(fragments=(Fragment(T, 0, 1, 91),)), 100, self.AFTER)
        speaks = Control(fragments=(Fragment(T, 1, 1, 20),))
        assert goal(table.advance(speaks, 101, self.AFTER)) == 20

    def test_silence_counts_from_the_start_of_this_run(self) -> None:
        table = self.spoken()
        again = Control(fragments=(Fragment(T, 0, 1, 91),))
        assert goal(table.advance(Control(started=True), 1_000, self.AFTER)) == 10
        assert goal(table.advance(again, 1_099, self.AFTER)) == 10
        assert goal(table.advance(again, 1_100, self.AFTER)) == 91

    def test_announced_channel_that_never_speaks_leaves_too(self) -> None:
        table = TimeTable()
        start = Control(announced=((T, 0), (T, 1)), started=True)
        table.advance(start, 0, self.AFTER)
        speaks = Control(fragments=(Fragment(T, 0, 0, 90),))
        assert goal(table.advance(speaks, 99, self.AFTER)) == MIN
        assert goal(table.advance(speaks, 100, self.AFTER)) == 90

    def test_channel_with_unread_backlog_is_never_idle(self) -> None:
        table = self.spoken()
        backlog = Control(fragments=(Fragment(T, 0, 1, 91),), backlog=frozenset({(T, 1)}))
        assert goal(table.advance(backlog, 500, self.AFTER)) == 10
        # Silence begins when the backlog has been read.
        again = Control(fragments=(Fragment(T, 0, 2, 92),))
        assert goal(table.advance(again, 599, self.AFTER)) == 10
        assert goal(table.advance(again, 600, self.AFTER)) == 92

    def test_idle_channel_with_new_backlog_is_not_idle(self) -> None:
        table = self.spoken()
        again = Control(fragments=(Fragment(T, 0, 1, 91),))
        assert goal(table.advance(again, 100, self.AFTER)) == 91
        backlog = Control(fragments=(Fragment(T, 0, 2, 92),), backlog=frozenset({(T, 1)}))
        assert goal(table.advance(backlog, 101, self.AFTER)) == 10

    def test_all_channels_idle_gives_the_largest_watermark_seen(self) -> None:
        assert goal(self.spoken().advance(Control(), 100, self.AFTER)) == 90

    def test_clock_does_not_go_back_when_an_idle_channel_rejoins(self) -> None:
        strategy = MONOTONOUS.with_idleness(100)
        slow = [("b1", 10), ("b2", 20), ("b3", 30)]
        started = job([[("a1", 50), ("a2", 60), ("a3", 70)], slow], strategy=strategy)
        started.epoch(1, now_ms=0)
        # The slow channel leaves at the end of this epoch: the goal is 59.
        got = started.epoch({(0, 0): 1}, now_ms=100)
        assert got["out"] == [(("a2", 49), 60)]
        got = started.epoch({(0, 1): 1}, now_ms=150)
        assert got["out"] == [(("b2", 59), 20)]
        got = started.epoch({(0, 0): 1}, now_ms=160)
        assert got["out"] == [(("a3", 59), 70)]

    def test_idle_mark_survives_a_restart(self) -> None:
        started = job(
            [[("a1", 50), ("a2", 60), ("a3", 70)], [("b1", 10), ("b2", 20)]],
            strategy=MONOTONOUS.with_idleness(100),
        )
        started.epoch(1, now_ms=0)
        started.epoch({(0, 0): 1}, now_ms=100)
        started.start()
        assert started.epoch({(0, 0): 1}, now_ms=101)["out"] == [(("a3", 59), 70)]


class TestEventTimeTimers:
    def test_timers_fire_in_time_order_as_if_the_clock_passed_every_instant(self) -> None:
        def process(value: Any, ctx: Any) -> Any:
            return timer_at(30, 12, 21)(value, ctx) if value == "a1" else clock_of(value, ctx)

        started = job([[("a1", 10), ("a2", 20), ("a3", 40), ("a4", 41)]], Probe(process))
        assert started.run_all()["out"] == [
            (("a1", MIN), 10),
            (("a2", 9), 20),
            (("a rings", 12), 12),
            (("a3", 19), 40),
            (("a rings", 21), 21),
            (("a rings", 30), 30),
            (("a4", 39), 41),
        ]

    def test_on_timer_sees_its_own_time_and_key(self) -> None:
        def on_timer(timestamp: int, ctx: Any) -> Any:
            return [(timestamp, ctx.timestamp(), clock(ctx), ctx.get_current_key())]

        started = job([[("a1", 10), ("b1", 40)]], Probe(timer_at(20), on_timer))
        assert started.epoch(2)["out"][2:] == [
            ((20, 20, 20, "a"), 20),
            ((20, 20, 20, "b"), 20),
        ]

    def test_timer_registered_in_on_timer_fires_at_its_own_instant(self) -> None:
        def on_timer(timestamp: int, ctx: Any) -> Any:
            if timestamp < 30:
                ctx.timer_service().register_event_time_timer(timestamp + 10)
            return [clock(ctx)]

        started = job([[("a1", 5), ("a2", 100)]], Probe(timer_for("a1", 10), on_timer))
        assert started.epoch()["out"] == [
            (("a1", MIN), 5),
            (("a2", 4), 100),
            (10, 10),
            (20, 20),
            (30, 30),
        ]

    @pytest.mark.parametrize("size", [1, None])
    @pytest.mark.parametrize("time", [5, 9])
    def test_timer_at_or_before_the_clock_fires_right_after_the_callback(
        self, time: int, size: int | None
    ) -> None:
        started = job([[("b1", 10), ("a1", 20), ("a2", 30)]], Probe(timer_for("a1", time)))
        got = started.run_all(size)["out"]
        # The clock does not go back for it: it reads 9.
        assert [value for value, _ in got] == [
            ("b1", MIN),
            ("a1", 9),
            ("a rings", 9),
            ("a2", 19),
        ]

    def test_what_a_timer_at_or_before_the_clock_emits_has_the_timers_time(self) -> None:
        started = job([[("b1", 10), ("a1", 20)]], Probe(timer_for("a1", 5)))
        assert started.run_all()["out"][2] == (("a rings", 9), 5)

    def test_timer_at_or_before_the_clock_keeps_the_callbacks_place_in_the_next_stage(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("b1", 10), ("a1", 20), ("c1", 30)]], MONOTONOUS)
        stream = keyed(graph, stream, Probe(timer_for("a1", 3)), "one")
        sink(graph, keyed(graph, stream, Probe(lambda v, ctx: [v[0]]), "two", key=lambda v: 0))
        for size in (1, None):
            got = LocalJob(graph, JobOptions(parallelism=1, slots=2)).run_all(size)["out"]
            assert [value for value, _ in got] == ["b1", "a1", "a rings", "c1"]

    def test_chain_of_timers_in_the_past_all_fire_right_after_the_callback(self) -> None:
        def on_timer(timestamp: int, ctx: Any) -> Any:
            if timestamp > 1:
                ctx.timer_service().register_event_time_timer(timestamp - 1)
            return [(timestamp, clock(ctx))]

        started = job([[("b1", 10), ("a1", 20), ("a2", 30)]], Probe(timer_for("a1", 3), on_timer))
        got = [value for value, _ in started.run_all()["out"]]
        assert got == [("b1", MIN), ("a1", 9), (3, 9), (2, 9), (1, 9), ("a2", 19)]

    def test_timer_registered_twice_fires_once(self) -> None:
        started = job([[("a1", 1), ("a2", 2)]], Probe(timer_at(7, 7)))
        assert [value for value, _ in started.run_all(1)["out"]][2:] == [("a rings", MAX)]

    def test_deleted_timer_does_not_fire(self) -> None:
        def process(value: Any, ctx: Any) -> None:
            if value == "a1":
                ctx.timer_service().register_event_time_timer(7)
                ctx.timer_service().register_event_time_timer(8)
            else:
                ctx.timer_service().delete_event_time_timer(7)
                ctx.timer_service().delete_event_time_timer(99)

        started = job([[("a1", 1), ("a2", 2), ("b1", 2)]], Probe(process))
        assert started.run_all(1)["out"] == [(("a rings", MAX), 8)]

    def test_timers_of_keys_are_apart(self) -> None:
        def process(value: Any, ctx: Any) -> None:
            if value == "b2":
                ctx.timer_service().delete_event_time_timer(7)
            else:
                ctx.timer_service().register_event_time_timer(7)

        started = job([[("a1", 1), ("b1", 1), ("b2", 2)]], Probe(process))
        assert started.run_all(1)["out"] == [(("a rings", MAX), 7)]

    def test_event_time_timer_without_timestamps_is_refused(self) -> None:
        graph = JobGraph()
        sink(graph, keyed(graph, source(graph, [[("a1", 0)]]), Probe(timer_at(7))))
        with pytest.raises(MillstreamError, match="NO_TIMESTAMPS"):
            LocalJob(graph).run_all()


def timer_for(wanted: str, time: int) -> Any:
    """A timer for one record; the others only show the clock."""

    def process(value: Any, ctx: Any) -> list[Any]:
        if value == wanted:
            ctx.timer_service().register_event_time_timer(time)
        return clock_of(value, ctx)

    return process


def now(ctx: Any) -> int:
    return ctx.timer_service().current_processing_time()


def tick_at(*times: int) -> Any:
    def process(value: Any, ctx: Any) -> list[Any]:
        for time in times:
            ctx.timer_service().register_processing_time_timer(time)
        return [(value, now(ctx))]

    return process


def tick(timestamp: int, ctx: Any) -> list[Any]:
    return [("tick", timestamp, now(ctx))]


class TestProcessingTimeTimers:
    CHANNEL = [("a1", 10), ("a2", 20), ("a3", 30)]

    def test_they_fire_before_the_data_of_the_epoch_in_time_order(self) -> None:
        def process(value: Any, ctx: Any) -> Any:
            return tick_at(150, 120)(value, ctx) if value == "a1" else [(value, now(ctx))]

        started = job([self.CHANNEL], Probe(process, tick))
        started.epoch(1, now_ms=100)
        assert started.epoch(1, now_ms=149)["out"] == [
            (("tick", 120, 149), None),
            (("a2", 149), 20),
        ]
        assert started.epoch(1, now_ms=150)["out"] == [
            (("tick", 150, 150), None),
            (("a3", 150), 30),
        ]

    def test_they_fire_in_an_epoch_without_data(self) -> None:
        started = job([self.CHANNEL], Probe(tick_at(120), tick))
        started.epoch(1, now_ms=100)
        assert started.epoch(0, now_ms=119) == {}
        assert started.epoch(0, now_ms=120)["out"] == [(("tick", 120, 120), None)]

    def test_processing_time_is_constant_in_an_epoch_and_never_goes_back(self) -> None:
        started = job([self.CHANNEL], Probe(lambda value, ctx: [now(ctx)]))
        started.epoch(2, now_ms=100)
        started.start()
        started.epoch(1, now_ms=50)
        assert [value for value, _ in started.outputs["out"]] == [100, 100, 100]

    def test_deleted_and_doubled_ones_do_not_fire(self) -> None:
        def process(value: Any, ctx: Any) -> None:
            for time in (110, 110, 120):
                ctx.timer_service().register_processing_time_timer(time)
            ctx.timer_service().delete_processing_time_timer(120)

        started = job([self.CHANNEL], Probe(process, tick))
        started.epoch(1, now_ms=100)
        assert started.epoch(0, now_ms=200)["out"] == [(("tick", 110, 200), None)]

    def test_one_at_or_before_now_fires_right_after_the_callback(self) -> None:
        started = job([self.CHANNEL], Probe(tick_at(100), tick))
        got = started.epoch(2, now_ms=100)["out"]
        assert [value for value, _ in got] == [
            ("a1", 100),
            ("tick", 100, 100),
            ("a2", 100),
            ("tick", 100, 100),
        ]

    def test_what_they_emit_has_no_event_time_even_right_after_the_callback(self) -> None:
        started = job([self.CHANNEL], Probe(tick_at(100), tick))
        assert started.epoch(1, now_ms=100)["out"][1] == (("tick", 100, 100), None)

    def test_event_time_timer_in_the_past_that_one_registers_fires_right_after_it(self) -> None:
        def process(value: Any, ctx: Any) -> Any:
            if value == "a2":
                ctx.timer_service().register_processing_time_timer(0)
            return clock_of(value, ctx)

        def on_timer(timestamp: int, ctx: Any) -> Any:
            if timestamp == 0:
                ctx.timer_service().register_event_time_timer(3)
            return [(timestamp, clock(ctx))]

        got = job([self.CHANNEL], Probe(process, on_timer)).run_all()["out"]
        assert [value for value, _ in got] == [
            ("a1", MIN),
            ("a2", 9),
            (0, 9),
            (3, 9),
            ("a3", 19),
        ]

    def test_end_drops_them(self) -> None:
        started = job([self.CHANNEL], Probe(tick_at(10**12), tick))
        started.epoch(None, now_ms=100)
        assert started.epoch(0, end=True, now_ms=101) == {}

    def test_end_leaves_none_of_them_beside_event_time_timers(self) -> None:
        def process(value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(500)
            ctx.timer_service().register_processing_time_timer(10**12)

        started = job([self.CHANNEL], Probe(process))
        started.epoch()
        assert started.state_entries() == 1
        assert started.epoch(0, end=True)["out"] == [(("a rings", MAX), 500)]
        assert started.state_entries() == 0

    def test_end_leaves_none_of_them_in_state(self) -> None:
        started = job([self.CHANNEL], Probe(tick_at(10**12), tick))
        started.run_all()
        assert started.state_entries() == 0

    def test_one_due_at_once_fires_in_the_epoch_of_the_end_too(self) -> None:
        started = job([self.CHANNEL[:1]], Probe(tick_at(100), tick))
        got = started.epoch(None, end=True, now_ms=100)["out"]
        assert [value for value, _ in got] == [("a1", 100), ("tick", 100, 100)]


class TestEnd:
    @pytest.mark.parametrize("batch", [False, True])
    def test_everything_fires_in_time_order_and_the_watermark_is_max(self, batch: bool) -> None:
        started = job([[("a1", 0), ("b1", 0)]], Probe(timer_at(900, 100)), batch=batch)
        assert started.run_all()["out"] == [
            (("a1", MIN), 0),
            (("b1", -1), 0),
            (("a rings", MAX), 100),
            (("b rings", MAX), 100),
            (("a rings", MAX), 900),
            (("b rings", MAX), 900),
        ]

    def test_timers_up_to_the_last_watermark_fire_at_their_own_time_first(self) -> None:
        started = job([[("a1", 10)]], Probe(timer_at(5, 50)))
        assert started.epoch(end=True)["out"] == [
            (("a1", MIN), 10),
            (("a rings", 5), 5),
            (("a rings", MAX), 50),
        ]

    def test_what_on_timer_registers_at_end_fires_in_time_order(self) -> None:
        def on_timer(timestamp: int, ctx: Any) -> Any:
            if timestamp == 100:
                for time in (150, 950, 90):
                    ctx.timer_service().register_event_time_timer(time)
            return [(timestamp, clock(ctx))]

        got = job([[("a1", 0)]], Probe(timer_at(900, 100), on_timer)).run_all()["out"]
        times = [100, 90, 150, 900, 950]
        assert [value for value, _ in got[1:]] == [(time, MAX) for time in times]

    def test_clock_of_a_second_stage_waits_for_all_that_the_first_fires_at_end(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 0)]], MONOTONOUS)
        first = Probe(lambda value, ctx: timer_at(100, 500)(value, ctx)[:0], rings)
        stream = keyed(graph, stream, first, "one")
        sink(graph, keyed(graph, stream, Probe(timer_at(300)), "two"))
        for size in (1, None):
            assert LocalJob(graph).run_all(size)["out"] == [
                (("a rings", -1), 100),
                (("a rings", -1), 500),
                (("a rings", MAX), 300),
            ]

    @pytest.mark.parametrize("batch", [False, True])
    def test_timer_at_the_largest_time_fires_at_end(self, batch: bool) -> None:
        started = job([[("a1", 0)]], Probe(timer_at(MAX)), batch=batch)
        assert started.run_all()["out"] == [(("a1", MIN), 0), (("a rings", MAX), MAX)]

    def test_job_with_nothing_to_read_ends(self) -> None:
        assert job([[]]).run_all() == {"out": []}

    def test_epoch_without_data_after_end_does_nothing(self) -> None:
        started = job([[("a1", 10)]], Probe(timer_at(50)))
        started.run_all()
        assert started.epoch(0) == {}
        started.start()
        assert started.epoch(0, end=True) == {}

    def test_epoch_without_data_after_end_does_nothing_with_a_custom_generator(self) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 10)]])
        stream = keyed(graph, stream, Probe(lambda value, ctx: [value]), "one")
        strategy = WatermarkStrategy.for_generator(NotedMarks)
        stream = graph.add(TimestampsNode, name="times", inputs=(stream,), strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe(), "two"))
        started = LocalJob(graph)
        started.run_all()
        assert started.epoch(0) == {}

    def test_data_after_end_fails_before_commit(self) -> None:
        started = job([[("a1", 10), ("a2", 20)]])
        started.epoch(1, end=True)
        committed = started.committed
        with pytest.raises(MillstreamError, match="DATA_AFTER_END"):
            started.epoch(1)
        assert started.committed is committed
        assert started.outputs["out"] == [(("a1", MIN), 10)]

    def test_data_of_a_source_without_timestamps_after_end_fails_too(self) -> None:
        graph = JobGraph()
        sink(graph, keyed(graph, source(graph, [[("a1", 0), ("a2", 0)]]), Probe()))
        started = LocalJob(graph)
        started.epoch(1, end=True)
        with pytest.raises(MillstreamError, match="DATA_AFTER_END"):
            started.epoch(1)


class TestChannelOrder:
    def ordered(self, *reads: tuple[int, int], **options: Any) -> LocalJob:
        return two_channels(*reads, channel_order="watermark", **options)

    def test_record_waits_until_it_precedes_all_that_other_channels_may_bring(self) -> None:
        started = self.ordered((2, 0))
        # (MIN, channel 0) is before (MIN, channel 1), where the silent channel stands; (49, 0) is not.
        assert started.outputs["out"] == [(("a1", MIN), 50)]
        # The slow channel comes to 9.
        assert started.epoch({(0, 1): 1})["out"] == [(("b1", MIN), 10)]
        # Three records are the whole channel: it is finished, nothing is to be waited for.
        assert started.epoch({(0, 1): 2})["out"] == [
            (("b2", 9), 20),
            (("b3", 19), 30),
            (("a2", 49), 60),
        ]

    def test_equal_stamps_wait_for_the_channel_with_the_smaller_number(self) -> None:
        channels = [[("a1", 10), ("a2", 10), ("a3", 11)], [("b1", 10), ("b2", 11)]]
        started = job(channels, Probe(lambda v, ctx: [v]), channel_order="watermark")
        # b2 has stamp 9, and so has the next record of channel 0, which precedes it.
        assert started.epoch({(0, 0): 1, (0, 1): 2})["out"] == [("a1", 10), ("b1", 10)]
        # After a2 channel 0 may still bring stamp 9: b2 goes on waiting.
        assert started.epoch({(0, 0): 1})["out"] == [("a2", 10)]
        assert started.epoch({(0, 0): 1})["out"] == [("a3", 11), ("b2", 11)]

    def test_every_cut_gives_the_order_of_batch(self) -> None:
        channels = [[("a1", 50), ("a2", 60), ("a3", 70)], [("b1", 10), ("b2", 20), ("b3", 30)]]
        expected = job(channels, batch=True).run_all()["out"]
        assert expected == [
            (("a1", MIN), 50),
            (("b1", MIN), 10),
            (("b2", 9), 20),
            (("b3", 19), 30),
            (("a2", 49), 60),
            (("a3", 59), 70),
        ]
        for reads in ([(3, 0), (0, 3)], [(0, 3), (3, 0)], [(1, 1)] * 3, [(0, 1), (2, 0), (1, 2)]):
            assert self.ordered(*reads).outputs["out"] == expected

    def test_idle_channel_is_not_waited_for(self) -> None:
        started = self.ordered(strategy=MONOTONOUS.with_idleness(100))
        assert started.epoch({(0, 0): 2}, now_ms=0)["out"] == [(("a1", MIN), 50)]
        assert started.epoch(0, now_ms=99) == {}
        assert started.epoch(0, now_ms=100)["out"] == [(("a2", 49), 60)]

    def test_idle_channel_that_speaks_again_is_waited_for_again(self) -> None:
        started = self.ordered(strategy=MONOTONOUS.with_idleness(100))
        started.epoch({(0, 0): 2}, now_ms=0)
        started.epoch(0, now_ms=100)
        got = started.epoch({(0, 0): 1, (0, 1): 1}, now_ms=150)["out"]
        assert got == [(("b1", 59), 10)]

    def test_held_records_survive_a_restart(self) -> None:
        started = self.ordered((2, 0))
        assert started.state_entries() > 0
        started.start()
        assert started.epoch({(0, 1): 3})["out"] == [
            (("b1", MIN), 10),
            (("b2", 9), 20),
            (("b3", 19), 30),
            (("a2", 49), 60),
        ]

    def test_held_records_are_gone_from_state_when_released(self) -> None:
        started = self.ordered((2, 0), (0, 3))
        assert started.state_entries() == 0

    def test_end_releases_what_is_held(self) -> None:
        started = self.ordered((2, 0))
        assert started.epoch(0, end=True)["out"] == [(("a2", MIN), 60)]

    def test_records_of_several_sources_wait_for_each_other(self) -> None:
        graph = JobGraph()
        one = source(graph, [[("a1", 50), ("a2", 60)]], MONOTONOUS, "one")
        two = source(graph, [[("a3", 10), ("a4", 70)]], MONOTONOUS, "two")
        union = graph.add(UnionNode, name="union", inputs=(one, two)).id
        sink(graph, keyed(graph, union, Probe()))
        for reads in ([(2, 0), (0, 2)], [(1, 1), (1, 1)], [(0, 2), (2, 0)], [(2, 2)]):
            started = LocalJob(graph, JobOptions(parallelism=1, channel_order="watermark"))
            for first, second in reads:
                started.epoch({(0, 0): first, (1, 0): second})
            assert started.outputs["out"] == [
                (("a1", MIN), 50),
                (("a3", MIN), 10),
                (("a4", 9), 70),
                (("a2", 49), 60),
            ]

    @pytest.mark.parametrize("order", ["arrival", "watermark"])
    def test_two_strategies_over_one_channel_do_not_depend_on_the_cut(self, order: Any) -> None:
        graph = JobGraph()
        stream = source(graph, [[("a1", 10), ("a2", 20), ("a3", 30), ("a4", 40)]])
        branches = [marked(graph, stream, behind) for behind in (0, 15)]
        union = graph.add(UnionNode, name="union", inputs=tuple(branches)).id
        sink(graph, keyed(graph, union, Probe()))
        options = JobOptions(parallelism=1, channel_order=order)
        batch = LocalJob(graph, options, batch=True).run_all()["out"]
        assert LocalJob(graph, options).run_all(1)["out"] == batch


def marked(graph: JobGraph, stream: int, behind: int) -> int:
    """A branch with timestamps of its own, whose records show it."""
    times = graph.add(TimestampsNode, name="times", inputs=(stream,), strategy=bounded(behind)).id
    mark = {"kind": "map", "function": lambda value: f"{value} {behind}"}
    return graph.add(StatelessNode, name="mark", inputs=(times,), **mark).id


class TestCleanUp:
    @pytest.mark.parametrize("order", ["arrival", "watermark"])
    @pytest.mark.parametrize("slots", [1, 3])
    def test_state_is_empty_after_everything_has_been_cleaned_up(
        self, slots: int, order: str
    ) -> None:
        def process(value: Any, ctx: Any, state: Any) -> None:
            state.update(value)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)

        def on_timer(timestamp: int, ctx: Any, state: Any) -> list[Any]:
            state.clear()
            return []

        function = Probe(
            process, on_timer, [lambda context: context.get_state(ValueStateDescriptor("last"))]
        )
        channels = [[(f"{key}{i}", i * 3) for i in range(4) for key in "abcdef"], [("g1", 2)]]
        started = job(channels, function, slots=slots, channel_order=order)
        started.epoch(7)
        assert started.state_entries() > 0
        started.run_all(7)
        assert started.state_entries() == 0

    def test_finished_channels_are_pruned(self) -> None:
        table = TimeTable()
        table.advance(
            Control(announced=((T, 0), (T, 1)), fragments=(Fragment(T, 0, 0, 5, True),)), 0, {}
        )
        assert list(table.channels) == [(T, 1)]

    def test_unbounded_source_can_be_drained(self) -> None:
        graph = JobGraph()
        spec = GeneratorSource(0, None, function=lambda n: (f"a{n}", n))
        strategy = MONOTONOUS.with_timestamp_assigner(lambda value, earlier: value[1] * 10)
        stream = graph.add(SourceNode, name="numbers", source=spec, strategy=strategy).id
        sink(graph, keyed(graph, stream, Probe(timer_at(1_000)), key=lambda value: value[0][0]))
        started = LocalJob(graph)
        started.epoch(2)
        assert started.epoch(0, end=True)["out"] == [(("a rings", MAX), 1_000)]
