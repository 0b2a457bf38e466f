"""Interval joins: which pairs, with which times, what is late, and what is kept for how long."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.state import ValueStateDescriptor
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.operators.two_inputs.specs import IntervalJoinSpec
from millstream.kernel.state import pages
from millstream.plan.graph import JobGraph, KeyedNode, SideOutputNode, SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob
from tests.support.kernel_support import first, source_of, values

EPOCHS = pytest.mark.parametrize("size", [1, 2, None])
LEFT_LATE, RIGHT_LATE, SIDE = OutputTag("left late"), OutputTag("right late"), OutputTag("side")
Event = tuple[Any, int]


class Pair:
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        return [(left, right)]


def source(
    graph: JobGraph, channels: list[list[Event]], bound: int, idle: int | None = None
) -> int:
    spec = CollectionSource(
        tuple(tuple(value for value, _ in channel) for channel in channels),
        tuple(tuple(ts for _, ts in channel) for channel in channels),
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    if idle is not None:
        strategy = strategy.with_idleness(idle)
    node = graph.add(SourceNode, name="source", source=spec, strategy=strategy)
    return node.id


def job(
    left: list[Event] | int,
    right: list[Event] | int,
    lower: int,
    upper: int,
    *,
    graph: JobGraph | None = None,
    function: Any = None,
    bound: int = 0,
    lateness: Any = "channel",
    tags: tuple[Any, Any] = (LEFT_LATE, RIGHT_LATE),
    key: Any = first,
    batch: bool = False,
    **options: Any,
) -> LocalJob:
    graph = graph or JobGraph()
    inputs = [
        side if isinstance(side, int) else source(graph, [side], bound) for side in (left, right)
    ]
    spec = IntervalJoinSpec(
        function=function or Pair(),
        lower_ms=lower,
        upper_ms=upper,
        lateness=lateness,
        late_tags=tags,
    )
    node = graph.add(
        KeyedNode,
        name="join",
        uid="the-uid",
        inputs=tuple(inputs),
        selector=key,
        second=key,
        kind="interval_join",
        function=spec,
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    for tag in (LEFT_LATE, RIGHT_LATE, SIDE):
        side = graph.add(SideOutputNode, name=tag.tag_id, inputs=(node.id,), tag=tag.tag_id)
        graph.add(SinkNode, name=tag.tag_id, inputs=(side.id,), sink=DiscardingSink())
    return LocalJob(graph, JobOptions(**{"parallelism": 1} | options), batch=batch)


def at(*times: int, name: Any = "a") -> list[Event]:
    """Events of one key, each with its time as its value."""
    return [((name, ts), ts) for ts in times]


def pairs(started: LocalJob, size: int | None = None) -> list[tuple[int, int, Any]]:
    """Left time, right time and event time of each result, sorted."""
    started.run_all(size)
    return sorted((left[1], right[1], ts) for (left, right), ts in started.outputs["out"])


class TestPairs:
    @EPOCHS
    @pytest.mark.parametrize(
        ("lower", "upper", "expected"),
        [
            (0, 0, {0}),
            (-2, 1, {-2, -1, 0, 1}),
            (1, 3, {1, 2, 3}),
            (-3, -2, {-3, -2}),
            (2, 2, {2}),
            (-9, 9, {-3, -2, -1, 0, 1, 2, 3}),
        ],
    )
    def test_bounds_belong_to_the_interval(
        self, lower: int, upper: int, expected: set[int], size: int | None
    ) -> None:
        left, right = at(10), at(*range(7, 14))
        assert pairs(job(left, right, lower, upper), size) == [
            (10, 10 + apart, max(10, 10 + apart)) for apart in sorted(expected)
        ]

    @EPOCHS
    def test_each_record_meets_all_partners_of_its_key_only(self, size: int | None) -> None:
        left = [(("a", 1), 1), (("b", 2), 2), (("a", 3), 3)]
        right = [(("b", 1), 1), (("a", 2), 2), (("c", 3), 3)]
        started = job(left, right, -5, 5, slots=4)
        assert pairs(started, size) == [(1, 2, 2), (2, 1, 2), (3, 2, 3)]

    @EPOCHS
    def test_equal_records_are_pairs_of_their_own(self, size: int | None) -> None:
        assert pairs(job(at(5, 5), at(5, 5, 5), 0, 0), size) == [(5, 5, 5)] * 6

    @EPOCHS
    def test_records_out_of_order_within_the_bound_join(self, size: int | None) -> None:
        started = job(at(9, 3, 6), at(4, 8, 2), -1, 1, bound=10)
        assert pairs(started, size) == [(3, 2, 3), (3, 4, 4), (9, 8, 9)]

    def test_partners_come_by_time(self) -> None:
        started = job(at(60, 50), at(53, 51, 52, 51), -5, 5, bound=10, channel_order="watermark")
        got = [right[1] for _, right in values(started.run_all())]
        assert got == [51, 51, 52, 53]

    def test_context_has_the_times_of_the_pair(self) -> None:
        class Times:
            def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
                yield ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()

        started = job(at(5), at(3, 8), -5, 5, function=Times())
        assert sorted(started.run_all(1)["out"]) == [((5, 3, 5), 5), ((5, 8, 8), 8)]

    @EPOCHS
    def test_what_is_yielded_with_a_tag_goes_aside_with_the_pairs_time(
        self, size: int | None
    ) -> None:
        class Aside:
            def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
                if right[1] % 2:
                    yield SIDE, right[1]
                else:
                    yield right[1]
                yield SIDE, "both"

        started = job(at(5), at(4, 7, 8), -5, 5, function=Aside())
        assert sorted(started.run_all(size)["out"]) == [(4, 5), (8, 8)]
        both = [("both", 5), ("both", 7), ("both", 8)]
        assert sorted(started.outputs["side"], key=repr) == [*both, (7, 7)]

    def test_function_that_returns_nothing(self) -> None:
        class Silent:
            def process_element(self, left: Any, right: Any, ctx: Any) -> None:
                return None

        assert job(at(5), at(5), 0, 0, function=Silent()).run_all()["out"] == []

    def test_what_is_emitted_is_as_it_was(self) -> None:
        class Reuses:
            def __init__(self) -> None:
                self.list: list[Any] = []

            def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
                self.list.append(right[1])
                yield self.list

        started = job(at(5), at(5, 6), 0, 1, function=Reuses())
        assert values(started.run_all()) == [[5], [5, 6]]

    def test_error_shows_both_records(self) -> None:
        class Fails:
            def process_element(self, left: Any, right: Any, ctx: Any) -> None:
                raise ValueError("no")

        with pytest.raises(UserCodeError) as info:
            job(at(5), at(6), -1, 1, function=Fails()).run_all()
        assert info.value.record == "(('a', 5), ('a', 6))"

    @EPOCHS
    def test_function_may_have_state_per_key(self, size: int | None) -> None:
        class Numbered:
            def open(self, context: Any) -> None:
                self.count = context.get_state(ValueStateDescriptor("count"))

            def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
                self.count.update((self.count.value() or 0) + 1)
                yield left[0], self.count.value()

        left = [*at(1), *at(2, name="b"), *at(90)]
        right = [*at(1), *at(2, name="b"), *at(90, 91)]
        started = job(left, right, -5, 5, function=Numbered(), slots=2)
        assert sorted(values(started.run_all(size))) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


class TestLate:
    @EPOCHS
    def test_late_records_go_to_the_side_of_their_input(self, size: int | None) -> None:
        # The watermark after 20 is 19: 19 is not late, 18 is.
        started = job(at(20, 19, 18), at(20, 18, 19), -5, 5)
        assert pairs(started, size) == [
            (left, right, max(left, right)) for left in (19, 20) for right in (19, 20)
        ]
        assert started.outputs["left late"] == [(("a", 18), 18)]
        assert started.outputs["right late"] == [(("a", 18), 18)]

    @EPOCHS
    def test_without_a_tag_they_are_counted(self, size: int | None) -> None:
        started = job(at(20, 18, 3), at(20, 7), -5, 5, tags=(None, RIGHT_LATE))
        started.run_all(size)
        assert started.metrics.operator("join").late == 2
        assert started.outputs["left late"] == []
        assert started.outputs["right late"] == [(("a", 7), 7)]

    def two_channels(self, lateness: Any) -> LocalJob:
        graph = JobGraph()
        left = source(graph, [at(100, 50), at(40, 60)], 0)
        return job(left, at(52, 200), -5, 5, graph=graph, lateness=lateness)

    def test_each_channel_is_judged_by_itself(self) -> None:
        started = self.two_channels("channel")
        started.epoch({(0, 0): 1, (0, 1): 1, (1, 0): 1})
        started.epoch({(0, 0): 1})
        # 50 comes after 100 in its channel, though the clock is only at 39.
        assert started.outputs["left late"] == [(("a", 50), 50)]
        assert started.outputs["out"] == []

    def test_by_the_operators_clock_as_in_flink(self) -> None:
        started = self.two_channels("operator")
        started.epoch({(0, 0): 1, (0, 1): 1, (1, 0): 1})
        started.epoch({(0, 0): 1})
        assert started.outputs["left late"] == []
        assert started.outputs["out"] == [((("a", 50), ("a", 52)), 52)]

    def test_channel_that_was_idle_is_judged_by_what_the_clock_has_removed(self) -> None:
        graph = JobGraph()
        left = source(graph, [at(10, 300), at(20, 30, 120)], 0, idle=5)
        started = job(left, at(20, 110, 400), -5, 5, graph=graph)
        started.epoch({(0, 0): 1, (0, 1): 1, (1, 0): 1}, now_ms=0)
        started.epoch({(0, 0): 1, (1, 0): 1}, now_ms=6)
        # Channel 1 is idle: the clock has gone on to 109, and what 30 could have met is gone.
        started.epoch({(0, 1): 1}, now_ms=7)
        assert started.outputs["left late"] == [(("a", 30), 30)]
        started.epoch({(0, 1): 1}, now_ms=8)
        assert started.outputs["left late"] == [(("a", 30), 30)]

    def test_record_without_a_time_is_an_error(self) -> None:
        graph = JobGraph()
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        spec = CollectionSource.of([("a", 1)], None)
        node = graph.add(SourceNode, name="s", source=spec, strategy=strategy)
        with pytest.raises(PlanError, match="has no timestamp"):
            job(node.id, at(1), 0, 0, graph=graph).run_all()

    @pytest.mark.parametrize("timed", [(True, False), (False, True), (False, False)])
    def test_inputs_without_timestamps_are_refused(self, timed: tuple[bool, bool]) -> None:
        graph = JobGraph()
        sides = [source_of(graph, at(1), timed=each) for each in timed]
        with pytest.raises(PlanError, match="not all of its inputs have timestamps") as info:
            job(sides[0], sides[1], 0, 0, graph=graph)
        assert info.value.code == "NO_TIMESTAMPS"


def buffered(started: LocalJob) -> list[int]:
    """The times of all records that are kept, left ones first."""
    directory_of = {}
    for (stage, slot), store in started.committed.stores.items():
        for name, data in store.items():
            if name != "header":
                directory_of[(stage, slot, name)] = pickle.loads(data)
    columns = [content[3] for content in directory_of.values()]
    lefts = [ts for column in columns for times in column[0] for ts in times]
    rights = [ts for column in columns for times in column[2] for ts in times]
    return [*sorted(lefts), *sorted(rights)]


class TestState:
    @pytest.mark.parametrize(
        ("lower", "upper", "last_use"),
        # A left record at 100 is of use while 100 + upper may still come.
        [(-5, 5, 105), (0, 0, 100), (-5, -3, 97), (3, 5, 105)],
    )
    def test_left_record_is_kept_while_it_is_of_use(
        self, lower: int, upper: int, last_use: int
    ) -> None:
        for clock, kept in ((last_use, [100]), (last_use + 1, [])):
            started = job(at(100), at(clock + 1, 10**6, name="b"), lower, upper, bound=0)
            started.epoch({(0, 0): 1, (1, 0): 1})
            assert [ts for ts in buffered(started) if ts == 100] == kept

    @pytest.mark.parametrize(
        ("lower", "upper", "last_use"), [(-5, 5, 105), (0, 0, 100), (-5, -3, 105), (3, 5, 97)]
    )
    def test_right_record_is_kept_while_it_is_of_use(
        self, lower: int, upper: int, last_use: int
    ) -> None:
        for clock, kept in ((last_use, [100]), (last_use + 1, [])):
            started = job(at(clock + 1, 10**6, name="b"), at(100), lower, upper)
            started.epoch({(0, 0): 1, (1, 0): 1})
            assert [ts for ts in buffered(started) if ts == 100] == kept

    def test_key_that_goes_silent_is_forgotten(self) -> None:
        started = job(at(1, 2, 3, 500, 501), at(900, 901, name="b"), -5, 5)
        started.epoch({(0, 0): 3, (1, 0): 1})
        assert buffered(started)[:3] == [1, 2, 3]
        started.epoch({(0, 0): 1})
        assert buffered(started) == [500, 900]

    def test_page_is_left_alone_until_nothing_of_a_key_is_of_use(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loaded: list[int] = []
        load = pages.PageStore.load

        def counting(store: pages.PageStore, bucket: int) -> pages.Page:
            loaded.append(bucket)
            return load(store, bucket)

        # A key in the other slot lets time pass.
        other = next(n for n in range(99) if (stable_hash(n) ^ stable_hash("a")) % 2)
        left = [*at(1, 45, 50), *at(61, 62, name=other)]
        started = job(left, at(41, 56, 57, 58, name=other), -5, 5, slots=2)
        started.epoch({(0, 0): 4})
        monkeypatch.setattr(pages.PageStore, "load", counting)
        # The clock goes to 40, 55 and 56. The last use of 50 is at 55.
        for is_kept, loads in ((True, 1), (True, 1), (False, 2)):
            loaded.clear()
            started.epoch({(1, 0): 1})
            assert len(loaded) == loads
            assert (50 in buffered(started)) == (1 in buffered(started)) == is_kept

    @EPOCHS
    @pytest.mark.parametrize("batch", [True, False])
    def test_state_is_empty_at_the_end(self, batch: bool, size: int | None) -> None:
        left = [((f"k{n}", n), n) for n in range(30)]
        right = [((f"k{n % 7}", n), n) for n in range(30)]
        started = job(left, right, -(10**9), 10**9, slots=2, batch=batch)
        started.run_all(size)
        assert started.state_entries() == 0

    def test_bounds_beyond_all_time(self) -> None:
        started = job(at(1, 2), at(1, 2), -(2**62), 2**62)
        assert len(pairs(started, 1)) == 4
        assert started.state_entries() == 0
        started = job(at(-(2**62)), at(2**61, 2**61 + 1), -(2**62), -(2**62))
        assert pairs(started, 1) == []

    def test_restart_after_every_epoch(self) -> None:
        started = job(at(1, 4, 9), at(2, 5, 8), -3, 3)
        while not started.exhausted():
            started.epoch(1)
            started.start()
        started.epoch(0, end=True)
        got = sorted((left[1], right[1]) for left, right in values(started.outputs))
        assert got == [(1, 2), (4, 2), (4, 5), (9, 8)]

    def test_long_side_is_not_written_whole_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("millstream.kernel.operators.two_inputs.interval_join.SEGMENT", 100)
        # The right side stays behind, so that nothing is forgotten.
        started = job(at(*range(10, 1_010)), at(5, 305, 2_000, 3_000), 0, 100)
        started.epoch({(0, 0): 900, (1, 0): 1})
        before = dict(started.committed.stores[(0, 0)])
        started.epoch({(0, 0): 10})
        after = started.committed.stores[(0, 0)]
        changed = {name for name in after if after[name] != before.get(name)} - {"header"}
        assert changed == {"the-uid/0.0"}
        assert len(after) > 8 and len(after["the-uid/0.0"]) < len(pickle.dumps(at(*range(250))))
        started.epoch({(1, 0): 1})
        assert [left[1] for left, _ in values(started.outputs)] == list(range(205, 306))
        # Now the clock is at 304: what lies before 204 has no use, and whole segments go.
        assert len(started.committed.stores[(0, 0)]) < len(after)
        started.run_all()
        assert started.state_entries() == 0

    def test_many_results_of_one_record(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("millstream.kernel.operators.two_inputs.interval_join.FLUSH", 10)
        started = job(at(*[5] * 40), at(*[5] * 40), 0, 0, channel_order="watermark")
        assert pairs(started) == [(5, 5, 5)] * 1_600
