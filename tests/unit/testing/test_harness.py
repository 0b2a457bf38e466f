"""Harnesses run one function in its real operator."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Time, Types
from millstream.common.errors import CheckpointError, MillstreamError, PlanError, UserCodeError
from millstream.common.time import MAX_WATERMARK, MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark
from millstream.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from millstream.datastream.state import StateTtlConfig, ValueStateDescriptor
from millstream.testing import KeyedProcessHarness, ProcessHarness, StreamRecord
from tests.support.strategies import examples
from tests.support.testing_support import LATE, Attribute, Count, Odd, Sessions, Ticker, same


def sessions() -> KeyedProcessHarness:
    return KeyedProcessHarness(Sessions(), lambda value: value[0])


class TestTime:
    def test_watermark_fires_timers_and_stands_behind_what_they_emit(self) -> None:
        harness = sessions()
        harness.process_element(("a", 1), 5)
        harness.process_element(("b", 2), 7)
        harness.process_watermark(16)
        harness.process_element(("b", 3), 17)
        harness.process_watermark(Watermark(40))
        assert harness.get_output() == [
            StreamRecord(("a", [1], [5]), 15),
            Watermark(16),
            StreamRecord(("b", [2, 3], [7, 17]), 27),
            Watermark(40),
        ]
        assert harness.extract_output() == [("a", [1], [5]), ("b", [2, 3], [7, 17])]

    def test_timers_of_all_keys_fire_in_time_order(self) -> None:
        harness = sessions()
        keys = "hgfedcba"
        for number, key in enumerate(keys):
            harness.process_element((key, number), number)
        harness.process_watermark(1_000)
        assert [value[0] for value in harness.extract_output()] == list(keys)

    def test_watermark_never_goes_back(self) -> None:
        harness = sessions()
        harness.process_watermark(20)
        harness.process_watermark(10)
        assert harness.current_watermark() == 20
        assert harness.get_output() == [Watermark(20)]

    def test_late_records_and_side_outputs(self) -> None:
        harness = sessions()
        assert harness.current_watermark() == MIN_TIMESTAMP
        harness.process_watermark(20)
        harness.process_element(("a", 1), 20)
        harness.process_element(("a", 2), 21)
        assert harness.get_side_output(LATE) == [StreamRecord(("a", 1), 20)]
        assert harness.get_side_output("late") == [(("a", 1), 20)]
        assert harness.get_side_output("nothing") == []
        assert harness.extract_output() == []

    def test_processing_time_is_moved_by_hand(self) -> None:
        harness = KeyedProcessHarness(Ticker(), same)
        harness.set_processing_time(100)
        harness.process_elements("a", "b")
        harness.set_processing_time(104)
        assert harness.num_processing_time_timers() == 2
        harness.set_processing_time(50)
        assert harness.current_processing_time() == 104
        assert harness.extract_output() == []
        harness.set_processing_time(105)
        assert sorted(harness.extract_output()) == [("a", 105), ("b", 105)]
        assert harness.num_processing_time_timers() == 0

    def test_state_expires_in_processing_time(self) -> None:
        harness = KeyedProcessHarness(Expiring(), same)
        harness.process_element("a")
        harness.set_processing_time(999)
        harness.process_element("a")
        harness.set_processing_time(1999)
        harness.process_element("a")
        assert harness.extract_output() == [None, "seen", None]

    def test_records_without_a_time(self) -> None:
        harness = KeyedProcessHarness(Count(), same)
        harness.process_elements("a", "a")
        harness.process_elements(("b", 3), timestamped=True)
        assert harness.get_output() == [(("a", 1), None), (("a", 2), None), (("b", 1), 3)]


class Expiring(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("seen", Types.STRING())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
        self.seen = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.seen.value()
        self.seen.update("seen")


class TestCounts:
    def test_timers_and_state_entries_of_all_keys(self) -> None:
        harness = sessions()
        assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0
        for key in "abc":
            harness.process_element((key, 1), 5)
        assert harness.num_event_time_timers() == 3
        assert harness.num_keyed_state_entries() == 9
        harness.process_watermark(15)
        assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0

    def test_accumulators_and_counters(self) -> None:
        harness = KeyedProcessHarness(Sessions(), 0, name="sessions")
        harness.process_watermark(3)
        harness.process_elements((("a", 1), 2), (("a", 2), 5), timestamped=True)
        assert harness.accumulators() == {"seen": 2}
        assert harness.metrics().counters == {"aside": 1}

    def test_output_can_be_cleared(self) -> None:
        harness = sessions()
        harness.process_watermark(3)
        harness.process_element(("a", 1), 2)
        harness.clear_output()
        assert harness.get_output() == harness.get_side_output(LATE) == []


class TestEnd:
    def test_close_fires_everything_and_closes_the_function(self) -> None:
        class Closing(Sessions):
            closed = False

            def close(self) -> None:
                Closing.closed = True

        with KeyedProcessHarness(Closing(), 0) as harness:
            harness.process_element(("a", 1), 5)
        assert harness.get_output() == [(("a", [1], [5]), 15), Watermark(MAX_WATERMARK)]
        assert Closing.closed
        harness.close()
        assert len(harness.get_output()) == 2

    def test_nothing_comes_after_the_end(self) -> None:
        harness = sessions()
        harness.close()
        with pytest.raises(PlanError, match="HARNESS_CLOSED"):
            harness.process_element(("a", 1), 5)

    def test_test_that_fails_shows_its_own_error(self) -> None:
        harness = KeyedProcessHarness(Failing(), same)
        with pytest.raises(ZeroDivisionError), harness:
            raise ZeroDivisionError


class Failing(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("s", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.state.update(value)
        yield value
        if value == "bad":
            raise ValueError("no luck")


class TestErrors:
    def test_failed_call_leaves_no_trace(self) -> None:
        harness = KeyedProcessHarness(Failing(), same, name="fragile")
        harness.process_element("good")
        with pytest.raises(UserCodeError, match="'fragile' failed: ValueError: no luck") as caught:
            harness.process_element("bad")
        assert caught.value.record == "'bad'"
        assert harness.extract_output() == ["good"]
        assert harness.num_keyed_state_entries() == 1

    @pytest.mark.parametrize("key", [None, {"a"}, object()])
    def test_bad_keys_are_refused_as_in_a_job(self, key: Any) -> None:
        harness = KeyedProcessHarness(Count(), lambda value: key)
        with pytest.raises(MillstreamError, match="KEY"):
            harness.process_element("a")

    def test_functions_are_checked_as_by_the_stream(self) -> None:
        with pytest.raises(PlanError, match="WRONG_FUNCTION_KIND"):
            KeyedProcessHarness(Odd(), same)
        with pytest.raises(PlanError, match="UNKNOWN_KIND"):
            KeyedProcessHarness(lambda value: value, same)
        with pytest.raises(PlanError, match="UNKNOWN_KIND"):
            ProcessHarness(len)
        with pytest.raises(PlanError, match="WRONG_ARITY"):
            ProcessHarness(lambda: 1, kind="map")
        with pytest.raises(PlanError, match="WRONG_FUNCTION_KIND"):
            KeyedProcessHarness(lambda value: value, same, kind="map")

    @pytest.mark.parametrize("time", [1.5, "1", True, MIN_TIMESTAMP])
    def test_times_are_whole_milliseconds(self, time: Any) -> None:
        harness = sessions()
        with pytest.raises(PlanError, match="BAD_TIMESTAMP"):
            harness.process_element(("a", 1), time)
        with pytest.raises(PlanError, match="BAD_TIMESTAMP"):
            harness.process_watermark(time)
        with pytest.raises(PlanError, match="BAD_TIMESTAMP"):
            harness.set_processing_time(time)

    def test_last_watermark_is_a_watermark(self) -> None:
        harness = sessions()
        harness.process_element(("a", 1), 5)
        harness.process_watermark(MAX_WATERMARK)
        assert harness.get_output() == [(("a", [1], [5]), 15), Watermark(MAX_WATERMARK)]


class Twice(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Split(FlatMapFunction):
    def flat_map(self, value: str) -> list[str]:
        return value.split()


class New(FilterFunction):
    """Lets each key pass once."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value: Any) -> bool:
        is_new = self.seen.value() is None
        self.seen.update(True)
        return is_new


class Total(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class ReadsWatermark(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


class TestKinds:
    def test_functions_without_a_key(self) -> None:
        for harness, values, expected in (
            (ProcessHarness(Twice()), [1, 2], [2, 4]),
            (ProcessHarness(Split()), ["a b", "", "c"], ["a", "b", "c"]),
            (ProcessHarness(lambda n: n > 1, kind="filter"), [1, 2], [2]),
            (ProcessHarness(lambda n: -n, kind="map"), [1, 2], [-1, -2]),
            (ProcessHarness(range, kind="flat_map"), [0, 2], [0, 1]),
        ):
            harness.process_elements(*values)
            assert harness.extract_output() == expected
            assert harness.num_event_time_timers() == 0

    def test_process_function_with_side_outputs(self) -> None:
        with ProcessHarness(Odd()) as harness:
            harness.process_elements((1, 10), (2, 20), timestamped=True)
            harness.process_watermark(15)
        assert harness.get_output()[:2] == [((2, 20), 20), Watermark(15)]
        assert harness.get_side_output(LATE) == [(1, 10)]

    def test_process_function_that_reads_the_watermark(self) -> None:
        harness = ProcessHarness(ReadsWatermark())
        harness.process_element("a", 1)
        harness.process_watermark(7)
        harness.process_element("b", 8)
        assert harness.extract_output() == [("a", MIN_TIMESTAMP), ("b", 7)]

    def test_process_function_that_reads_processing_time(self) -> None:
        class Reads(ProcessFunction):
            def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                yield ctx.timer_service().current_processing_time()

        harness = ProcessHarness(Reads())
        harness.set_processing_time(9)
        harness.process_element("a")
        assert harness.extract_output() == [9]

    def test_functions_on_a_keyed_stream_may_keep_state(self) -> None:
        harness = KeyedProcessHarness(New(), same)
        harness.process_elements("a", "b", "a")
        assert harness.extract_output() == ["a", "b"]
        harness = KeyedProcessHarness(Twice(), same)
        harness.process_element(4)
        assert harness.extract_output() == [8]

    @pytest.mark.parametrize(
        "harness",
        [
            KeyedProcessHarness(Total(), 0),
            KeyedProcessHarness(lambda a, b: (a[0], a[1] + b[1]), 0, kind="reduce"),
        ],
    )
    def test_reduce(self, harness: KeyedProcessHarness) -> None:
        harness.process_elements(("a", 1), ("b", 5), ("a", 2))
        assert harness.extract_output() == [("a", 1), ("b", 5), ("a", 3)]
        assert harness.num_keyed_state_entries() == 2


class TestSnapshots:
    def test_another_harness_goes_on_from_a_snapshot(self) -> None:
        first = sessions()
        first.process_element(("a", 1), 5)
        first.process_watermark(6)
        second = sessions()
        second.restore(first.snapshot())
        assert second.current_watermark() == 6
        assert second.num_event_time_timers() == 1
        second.process_watermark(15)
        assert second.get_output() == [(("a", [1], [5]), 15), Watermark(15)]

    def test_restored_function_is_a_new_one(self) -> None:
        harness = KeyedProcessHarness(Attribute(), same)
        harness.process_element("a")
        harness.restore(harness.snapshot())
        harness.process_element("a")
        # An attribute is no state: a restart forgets it.
        assert harness.extract_output() == [("a", 1), ("a", 1)]

    def test_function_that_cannot_be_copied_can_be_tested_but_not_restarted(self) -> None:
        class Locked(Count):
            def __init__(self) -> None:
                self.lock = threading.Lock()

        harness = KeyedProcessHarness(Locked(), same)
        harness.process_element("a")
        with pytest.raises(PlanError, match="UNPICKLABLE_FUNCTION"):
            harness.restore(harness.snapshot())
        other = KeyedProcessHarness(Locked(), same)
        other.restore(harness.snapshot())
        other.process_element("a")
        assert other.extract_output() == [("a", 2)]

    def test_closed_harness_can_be_restored(self) -> None:
        harness = KeyedProcessHarness(Count(), same)
        harness.process_element("a")
        snapshot = harness.snapshot()
        harness.close()
        harness.restore(snapshot)
        harness.process_element("a")
        assert harness.extract_output() == [("a", 1), ("a", 2)]

    @pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80\x05N."])
    def test_nonsense_is_refused(self, data: bytes) -> None:
        with pytest.raises(CheckpointError, match="BAD_SNAPSHOT"):
            sessions().restore(data)


class Busy(Sessions):
    """Timers of both kinds."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + value[1])
        yield from super().process_element(value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.last.value() is not None:
            yield from super().on_timer(timestamp, ctx)


ELEMENTS = st.tuples(
    st.just("process_element"),
    st.tuples(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), st.integers(0, 60)),
)
WATERMARKS = st.tuples(st.just("process_watermark"), st.tuples(st.integers(0, 60)))
TICKS = st.tuples(st.just("set_processing_time"), st.tuples(st.integers(0, 30)))


@examples(50)
@given(st.lists(ELEMENTS | WATERMARKS | TICKS, max_size=12), st.sets(st.integers(0, 11)))
def test_snapshot_and_restore_at_any_point_change_nothing(
    calls: list[tuple[str, tuple[Any, ...]]], restarts: set[int]
) -> None:
    plain, restarted = (KeyedProcessHarness(Busy(), 0) for _ in range(2))
    for number, (method, arguments) in enumerate(calls):
        if number in restarts:
            restarted.restore(restarted.snapshot())
        for harness in (plain, restarted):
            getattr(harness, method)(*arguments)
        assert restarted.num_event_time_timers() == plain.num_event_time_timers()
        assert restarted.num_processing_time_timers() == plain.num_processing_time_timers()
        assert restarted.num_keyed_state_entries() == plain.num_keyed_state_entries()
    for harness in (plain, restarted):
        harness.close()
    assert restarted.get_output() == plain.get_output()
    assert restarted.get_side_output(LATE) == plain.get_side_output(LATE)
    assert restarted.accumulators() == plain.accumulators()


@examples(30)
@given(st.lists(ELEMENTS | WATERMARKS | TICKS, max_size=8), st.lists(ELEMENTS, max_size=4))
def test_restore_undoes_what_came_after_the_snapshot(
    before: list[tuple[str, tuple[Any, ...]]], after: list[tuple[str, tuple[Any, ...]]]
) -> None:
    harness = KeyedProcessHarness(Busy(), 0)
    for method, arguments in before:
        getattr(harness, method)(*arguments)
    snapshot = harness.snapshot()
    runs = []
    for _ in range(2):
        harness.restore(snapshot)
        harness.clear_output()
        for method, arguments in after:
            getattr(harness, method)(*arguments)
        harness.close()
        runs.append((harness.get_output(), harness.get_side_output(LATE)))
    assert runs[0] == runs[1]
