"""Window assigners: which windows a record gets, also at both ends of time."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream.datastream as api
from millstream.common import Duration, Time
from millstream.common.errors import PlanError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.datastream import window as window_module
from millstream.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EndOfStreamWindows,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from tests.support.strategies import examples

FIRST = MIN_TIMESTAMP + 1
LAST = MAX_TIMESTAMP


class Counter:
    """The state of the current key."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.key = ""

    def value(self) -> int | None:
        return self.counts.get(self.key)

    def update(self, value: int) -> None:
        self.counts[self.key] = value


class Context(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.counter = Counter()
        self.names: set[str] = set()

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        return self

    def get_state(self, descriptor: Any) -> Counter:
        self.names.add(descriptor.name)
        return self.counter


class Merges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.seen: list[tuple[list[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.seen.append((list(to_be_merged), merge_result))


def assigned(assigner: Any, timestamp: Any, element: Any = "x", now: int = 0) -> list[Any]:
    assigner = pickle.loads(pickle.dumps(assigner))
    return [tuple(found) for found in assigner.assign_windows(element, timestamp, Context(now))]


# -- windows that follow each other --------------------------------------------------------------


@pytest.mark.parametrize(
    ("timestamp", "offset", "window"),
    [
        (0, None, (0, 5_000)),
        (4_999, None, (0, 5_000)),
        (5_000, None, (5_000, 10_000)),
        (-1, None, (-5_000, 0)),
        (0, 100, (-4_900, 100)),
        (5_100, 100, (5_100, 10_100)),
        (0, -100, (-100, 4_900)),
        (4_900, -100, (4_900, 9_900)),
    ],
)
def test_tumbling(timestamp: int, offset: int | None, window: tuple[int, int]) -> None:
    assert assigned(TumblingEventTimeWindows.of(5_000, offset), timestamp) == [window]
    by_processing_time = TumblingProcessingTimeWindows.of(5_000, offset)
    assert assigned(by_processing_time, None, now=timestamp) == [window]


@pytest.mark.parametrize(
    ("timestamp", "offset", "windows"),
    [
        (0, None, [(0, 10), (-4, 6), (-8, 2)]),
        (7, None, [(4, 14), (0, 10)]),
        (-1, None, [(-4, 6), (-8, 2)]),
        (0, 1, [(-3, 7), (-7, 3)]),
        (0, -1, [(-1, 9), (-5, 5), (-9, 1)]),
    ],
)
def test_sliding(timestamp: int, offset: int | None, windows: list[tuple[int, int]]) -> None:
    assert assigned(SlidingEventTimeWindows.of(10, 4, offset), timestamp) == windows
    by_processing_time = SlidingProcessingTimeWindows.of(10, 4, offset)
    assert assigned(by_processing_time, None, now=timestamp) == windows


def test_sliding_with_holes() -> None:
    assigner = SlidingEventTimeWindows.of(2, 5)
    found = [assigned(assigner, timestamp) for timestamp in range(4, 8)]
    assert found == [[], [(5, 7)], [(5, 7)], []]


@examples(100)
@given(
    st.integers(FIRST, LAST),
    st.integers(1, 10**6) | st.integers(1, MAX_TIMESTAMP),
    st.integers(1, 20),
    st.integers(-(10**5), 10**5),
)
def test_windows_hold_their_records(timestamp: int, size: int, parts: int, shift: int) -> None:
    slide = max(size // parts, 1)
    offset = shift % slide
    sliding = SlidingEventTimeWindows.of(size, slide, offset)
    windows = [TimeWindow(*found) for found in assigned(sliding, timestamp)]
    tumbling = TimeWindow(*assigned(TumblingEventTimeWindows.of(size, offset), timestamp)[0])
    session = TimeWindow(*assigned(EventTimeSessionWindows.with_gap(size), timestamp)[0])
    inside = min(timestamp, LAST - 1)
    assert len(set(windows)) == len(windows) >= 1
    assert windows == sorted(windows, reverse=True)
    for found in [*windows, tumbling, session]:
        assert FIRST <= found.start <= inside < found.end <= LAST
    assert session.start == inside


@pytest.mark.parametrize("timestamp", [LAST - 2, LAST - 1, LAST])
def test_the_last_windows_are_cut(timestamp: int) -> None:
    start = min(timestamp, LAST - 1)
    huge = MAX_TIMESTAMP
    assert assigned(TumblingEventTimeWindows.of(huge), timestamp) == [(0, LAST)]
    assert assigned(EventTimeSessionWindows.with_gap(huge), timestamp) == [(start, LAST)]
    assert assigned(EventTimeSessionWindows.with_dynamic_gap(int), timestamp, huge) == [
        (start, LAST)
    ]
    assert assigned(SlidingEventTimeWindows.of(3, 1), timestamp) == [
        (start - back, min(start - back + 3, LAST)) for back in range(3)
    ]
    assert assigned(TumblingProcessingTimeWindows.of(1), None, now=timestamp) == [
        (start, start + 1)
    ]


def test_the_first_windows_are_cut() -> None:
    size = 10
    assert assigned(TumblingEventTimeWindows.of(size), FIRST) == [
        (FIRST, FIRST - FIRST % size + size)
    ]
    assert assigned(SlidingEventTimeWindows.of(3, 1), FIRST) == [
        (FIRST, FIRST + 3),
        (FIRST, FIRST + 2),
        (FIRST, FIRST + 1),
    ]
    assert assigned(EventTimeSessionWindows.with_gap(1), FIRST) == [(FIRST, FIRST + 1)]


# -- sessions ------------------------------------------------------------------------------------


class TenTimes(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element) * 10


def half_minute(element: Any) -> str:
    return "30 s"


@pytest.mark.parametrize(
    ("assigner", "end"),
    [
        (EventTimeSessionWindows.with_gap("5 s"), 5_100),
        (ProcessingTimeSessionWindows.with_gap(timedelta(seconds=5)), 5_100),
        (EventTimeSessionWindows.with_dynamic_gap(TenTimes()), 170),
        (ProcessingTimeSessionWindows.with_dynamic_gap(TenTimes()), 170),
        (DynamicEventTimeSessionWindows.with_dynamic_gap(half_minute), 30_100),
        (DynamicProcessingTimeSessionWindows.with_dynamic_gap(half_minute), 30_100),
    ],
)
def test_sessions_begin_with_the_record(assigner: Any, end: int) -> None:
    timestamp = 100 if assigner.is_event_time() else None
    assert assigned(assigner, timestamp, element=7, now=100) == [(100, end)]


def test_dynamic_gaps_have_their_own_classes() -> None:
    event_time = EventTimeSessionWindows.with_dynamic_gap(TenTimes())
    processing_time = ProcessingTimeSessionWindows.with_dynamic_gap(TenTimes())
    assert type(event_time) is DynamicEventTimeSessionWindows
    assert type(processing_time) is DynamicProcessingTimeSessionWindows


@pytest.mark.parametrize("gap", [0, -1, "0 s", "soon", None, 1.5, timedelta(0), True])
def test_a_dynamic_gap_must_be_a_span(gap: Any) -> None:
    here = EventTimeSessionWindows.with_dynamic_gap(lambda element: element["gap"])
    with pytest.raises(PlanError) as caught:
        here.assign_windows({"gap": gap}, 0, Context())
    assert caught.value.code == "SESSION_GAP"
    assert repr(gap) in caught.value.message
    assert caught.value.location is not None
    assert "with_dynamic_gap(lambda" in str(caught.value.location)


def test_errors_of_an_extractor_are_its_own() -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda element: element["gap"])
    with pytest.raises(KeyError, match="gap"):
        assigner.assign_windows({}, 0, Context())


def spans(*pairs: tuple[int, int]) -> list[TimeWindow]:
    return [TimeWindow(*pair) for pair in pairs]


@pytest.mark.parametrize(
    ("windows", "merges"),
    [
        ([], []),
        ([(0, 5)], []),
        ([(0, 5), (0, 5)], []),
        ([(0, 5), (6, 9)], []),
        ([(5, 9), (0, 5)], [([(0, 5), (5, 9)], (0, 9))]),
        ([(0, 20), (2, 5), (19, 21)], [([(0, 20), (2, 5), (19, 21)], (0, 21))]),
        (
            [(0, 2), (10, 12), (1, 4), (11, 15), (30, 31)],
            [([(0, 2), (1, 4)], (0, 4)), ([(10, 12), (11, 15)], (10, 15))],
        ),
    ],
)
def test_sessions_merge_if_they_overlap_or_touch(windows: Any, merges: Any) -> None:
    callback = Merges()
    EventTimeSessionWindows.with_gap(5).merge_windows(spans(*windows), callback)
    assert callback.seen == [(spans(*parts), TimeWindow(*whole)) for parts, whole in merges]


@examples(100)
@given(st.lists(st.tuples(st.integers(-30, 30), st.integers(1, 8)), max_size=12))
def test_merged_sessions_are_apart(pairs: list[tuple[int, int]]) -> None:
    windows = {TimeWindow(start, start + length) for start, length in pairs}
    callback = Merges()
    ProcessingTimeSessionWindows.with_gap(5).merge_windows(iter(windows), callback)
    merged = [part for parts, _ in callback.seen for part in parts]
    assert len(merged) == len(set(merged))
    rest = windows - set(merged)
    final = sorted(rest | {whole for _, whole in callback.seen})
    assert all(one.end < other.start for one, other in pairwise(final))
    for parts, whole in callback.seen:
        assert whole == (min(part.start for part in parts), max(part.end for part in parts))


# -- counts and the one window -------------------------------------------------------------------


def numbers(assigner: Any, count: int, context: Context) -> list[list[int]]:
    return [
        [found.id for found in assigner.assign_windows("x", None, context)] for _ in range(count)
    ]


def test_count_tumbling() -> None:
    context = Context()
    assigner = CountTumblingWindowAssigner.of(3)
    assert numbers(assigner, 7, context) == [[0], [0], [0], [1], [1], [1], [2]]
    context.counter.key = "another"
    assert assigner.assign_windows("x", 5, context) == [CountWindow(0)]


@pytest.mark.parametrize(
    ("size", "slide", "ids"),
    [
        (3, 1, [[0], [1, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2]]),
        (4, 2, [[0], [0], [1, 0], [1, 0], [2, 1], [2, 1]]),
        (2, 3, [[0], [0], [], [1], [1], [], [2]]),
    ],
)
def test_count_sliding(size: int, slide: int, ids: list[list[int]]) -> None:
    assert numbers(CountSlidingWindowAssigner.of(size, slide), len(ids), Context()) == ids


@examples(100)
@given(st.integers(1, 9), st.integers(1, 9))
def test_full_count_windows_hold_their_size(size: int, slide: int) -> None:
    found = numbers(CountSlidingWindowAssigner.of(size, slide), 60, Context())
    members: dict[int, list[int]] = {}
    for number, ids in enumerate(found):
        for window_id in ids:
            members.setdefault(window_id, []).append(number)
    for window_id, held in members.items():
        start = window_id * slide
        assert held == list(range(start, min(start + size, 60)))


def test_the_counters_of_two_assigners_are_apart() -> None:
    context = Context()
    CountTumblingWindowAssigner.of(3).assign_windows("x", 0, context)
    CountSlidingWindowAssigner.of(3, 1).assign_windows("x", 0, context)
    assert len(context.names) == 2


def test_one_window_for_all() -> None:
    for assigner in (GlobalWindows.create(), GlobalWindows.create_with_end_of_stream_trigger()):
        assert assigner.assign_windows("x", 0, Context()) == [GlobalWindow.get()]
    assert assigned(EndOfStreamWindows.get(), None) == [(FIRST, LAST)]


# -- what all assigners have ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assigner", "text", "trigger", "event_time"),
    [
        (
            TumblingEventTimeWindows.of(Time.seconds(5)),
            "TumblingEventTimeWindows(5000, 0)",
            "EventTimeTrigger()",
            True,
        ),
        (
            TumblingProcessingTimeWindows.of(size="1 d", offset="-8 h"),
            "TumblingProcessingTimeWindows(86400000, -28800000)",
            "ProcessingTimeTrigger()",
            False,
        ),
        (
            SlidingEventTimeWindows.of(Duration.of_minutes(1), Time.seconds(10), 1),
            "SlidingEventTimeWindows(60000, 10000, 1)",
            "EventTimeTrigger()",
            True,
        ),
        (
            SlidingProcessingTimeWindows.of(size=10, slide=5),
            "SlidingProcessingTimeWindows(10, 5, 0)",
            "ProcessingTimeTrigger()",
            False,
        ),
        (
            EventTimeSessionWindows.with_gap(size=5),
            "EventTimeSessionWindows(5)",
            "EventTimeTrigger()",
            True,
        ),
        (
            ProcessingTimeSessionWindows.with_gap(5),
            "ProcessingTimeSessionWindows(5)",
            "ProcessingTimeTrigger()",
            False,
        ),
        (
            EventTimeSessionWindows.with_dynamic_gap(extractor=half_minute),
            "DynamicEventTimeSessionWindows(half_minute)",
            "EventTimeTrigger()",
            True,
        ),
        (
            ProcessingTimeSessionWindows.with_dynamic_gap(TenTimes()),
            "DynamicProcessingTimeSessionWindows(TenTimes.extract)",
            "ProcessingTimeTrigger()",
            False,
        ),
        (
            CountTumblingWindowAssigner.of(window_size=3),
            "CountTumblingWindowAssigner(3)",
            "PurgingTrigger(CountTrigger(3))",
            False,
        ),
        (
            CountSlidingWindowAssigner.of(window_size=3, window_slide=2),
            "CountSlidingWindowAssigner(3, 2)",
            "PurgingTrigger(CountTrigger(3))",
            False,
        ),
        (GlobalWindows.create(), "GlobalWindows()", "NeverTrigger()", False),
        (
            GlobalWindows.create_with_end_of_stream_trigger(),
            "GlobalWindows(EndOfStreamTrigger())",
            "EndOfStreamTrigger()",
            False,
        ),
        (EndOfStreamWindows.get(), "EndOfStreamWindows()", "EndOfStreamTrigger()", True),
    ],
)
def test_properties(assigner: Any, text: str, trigger: str, event_time: bool) -> None:
    copy = pickle.loads(pickle.dumps(assigner))
    for each in (assigner, copy):
        assert repr(each) == text
        assert repr(each.get_default_trigger()) == trigger
        assert repr(each.get_default_trigger(object())) == trigger
        assert each.is_event_time() is event_time
        assert each.get_window_serializer() is None
    merges = isinstance(assigner, MergingWindowAssigner)
    assert merges == ("Session" in text)
    assert not merges or assigner.get_default_trigger().can_merge()


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: TumblingEventTimeWindows.of(0), "INVALID_DURATION"),
        (lambda: TumblingEventTimeWindows.of("-5 s"), "INVALID_DURATION"),
        (lambda: TumblingEventTimeWindows.of(5, 5), "WINDOW_OFFSET"),
        (lambda: TumblingProcessingTimeWindows.of(5, -5), "WINDOW_OFFSET"),
        (lambda: SlidingEventTimeWindows.of(0, 5), "INVALID_DURATION"),
        (lambda: SlidingEventTimeWindows.of(5, 0), "INVALID_DURATION"),
        (lambda: SlidingProcessingTimeWindows.of(10, 5, 5), "WINDOW_OFFSET"),
        (lambda: EventTimeSessionWindows.with_gap(0), "INVALID_DURATION"),
        (lambda: ProcessingTimeSessionWindows.with_gap(None), "INVALID_DURATION"),  # type: ignore[arg-type]
        (lambda: EventTimeSessionWindows.with_dynamic_gap(5), "WRONG_FUNCTION_KIND"),  # type: ignore[arg-type]
        (lambda: EventTimeSessionWindows.with_dynamic_gap(TenTimes), "WRONG_ARITY"),  # type: ignore[arg-type]
        (lambda: CountTumblingWindowAssigner.of(0), "BAD_NUMBER"),
        (lambda: CountSlidingWindowAssigner.of(3, 0), "BAD_NUMBER"),
        (lambda: CountSlidingWindowAssigner.of(0, 3), "BAD_NUMBER"),
        (
            lambda: TumblingEventTimeWindows.of(5, window_stagger=WindowStagger.RANDOM),
            "WINDOW_STAGGER",
        ),
        (
            lambda: TumblingProcessingTimeWindows.of(5, None, WindowStagger.NATURAL),
            "WINDOW_STAGGER",
        ),
    ],
)
def test_bad_arguments_name_the_line(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_an_offset_that_is_too_large_has_an_equal() -> None:
    with pytest.raises(PlanError, match=r"offset 1$"):
        TumblingEventTimeWindows.of(5, -9)
    assert assigned(TumblingEventTimeWindows.of(5, 1), 7) == [(6, 11)]


# What `pyflink.datastream.window` and `pyflink.datastream` offer.
PYFLINK_WINDOW = """
    Window TimeWindow CountWindow GlobalWindow TumblingProcessingTimeWindows TumblingEventTimeWindows
    SlidingProcessingTimeWindows SlidingEventTimeWindows ProcessingTimeSessionWindows
    EventTimeSessionWindows DynamicProcessingTimeSessionWindows DynamicEventTimeSessionWindows
    WindowAssigner MergingWindowAssigner CountTumblingWindowAssigner CountSlidingWindowAssigner
    TriggerResult Trigger EventTimeTrigger ProcessingTimeTrigger ContinuousEventTimeTrigger
    ContinuousProcessingTimeTrigger NeverTrigger PurgingTrigger CountTrigger TimeWindowSerializer
    CountWindowSerializer SessionWindowTimeGapExtractor GlobalWindows
"""
PYFLINK_DATASTREAM = """
    Window TimeWindow CountWindow GlobalWindow WindowAssigner MergingWindowAssigner TriggerResult
    Trigger
"""


def test_names_of_pyflink() -> None:
    assert set(PYFLINK_WINDOW.split()) <= set(window_module.__all__)
    assert set(PYFLINK_DATASTREAM.split()) <= set(api.__all__)
    for name in PYFLINK_DATASTREAM.split():
        assert getattr(api, name) is getattr(window_module, name)


def test_an_assigner_ported_from_pyflink() -> None:
    class ByNumber(WindowAssigner[int, CountWindow]):
        def assign_windows(
            self, element: int, timestamp: int, context: WindowAssigner.WindowAssignerContext
        ) -> list[CountWindow]:
            return [CountWindow(element)]

        def get_default_trigger(self, env: Any = None) -> Any:
            return window_module.CountTrigger.of(1)

        def get_window_serializer(self) -> Any:
            return window_module.CountWindowSerializer()

        def is_event_time(self) -> bool:
            return False

    assert ByNumber().assign_windows(4, 0, Context()) == [CountWindow(4)]
