"""Triggers, driven through a small window operator that keeps only clocks, timers and state."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Time, Types
from millstream.common.errors import PlanError
from millstream.common.state import ReducingState, StateDescriptor, ValueState
from millstream.common.time import MAX_TIMESTAMP, MAX_WATERMARK, MIN_TIMESTAMP
from millstream.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaFunction,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    GlobalWindow,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
)

CONTINUE, FIRE, PURGE = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.PURGE
FIRE_AND_PURGE = TriggerResult.FIRE_AND_PURGE
WINDOW = TimeWindow(0, 10)
MOST_TIMERS = 1_000


class Cell(ReducingState[Any], ValueState[Any]):
    def __init__(self, cells: dict[tuple[Window, str], Any], at: tuple[Window, str], fold: Any):
        self._cells, self._at, self._fold = cells, at, fold

    def value(self) -> Any:
        return self._cells.get(self._at)

    get = value

    def update(self, value: Any) -> None:
        self._cells[self._at] = value

    def add(self, value: Any) -> None:
        before = self.value()
        self._cells[self._at] = value if before is None else self._fold(before, value)

    def clear(self) -> None:
        self._cells.pop(self._at, None)


class Panes(Trigger.OnMergeContext):
    """The windows of one key, as a trigger sees them."""

    def __init__(self, trigger: Trigger[Any, Any], now: int = 0) -> None:
        self.trigger = pickle.loads(pickle.dumps(trigger)) if picklable(trigger) else trigger
        self.watermark, self.now = MIN_TIMESTAMP, now
        self.event_timers: set[tuple[int, Window]] = set()
        self.ticks: set[tuple[int, Window]] = set()
        self.cells: dict[tuple[Window, str], Any] = {}
        self.window: Window = WINDOW
        self.merged: list[Window] = []

    # -- what happens to the windows ---------------------------------------------------------------

    def element(self, value: Any, timestamp: Any = 0, window: Window = WINDOW) -> TriggerResult:
        self.window = window
        result = self.trigger.on_element(value, timestamp, window, self)
        assert isinstance(result, TriggerResult)
        return result

    def advance_watermark(self, to: int) -> list[tuple[int, TriggerResult]]:
        """Pass through every timer's time; at the end of the input all of them see the last one."""
        fired = []
        for time in self._due(self.event_timers, to):
            self.watermark = MAX_WATERMARK if to == MAX_WATERMARK else time
            fired.append((time, self.trigger.on_event_time(time, self.window, self)))
        self.watermark = to
        return fired

    def advance_time(self, to: int) -> list[tuple[int, TriggerResult]]:
        fired = []
        for time in self._due(self.ticks, to):
            self.now = max(self.now, time)
            fired.append((time, self.trigger.on_processing_time(time, self.window, self)))
        self.now = to
        return fired

    def _due(self, timers: set[tuple[int, Window]], to: int) -> Iterator[int]:
        for _ in range(MOST_TIMERS):
            due = [timer for timer in timers if timer[0] <= to]
            if not due:
                return
            timer = min(due)
            timers.remove(timer)
            self.window = timer[1]
            yield timer[0]
        pytest.fail("the timers never end")

    def merge(self, old: list[Window], new: Window) -> None:
        self.window, self.merged = new, old
        self.trigger.on_merge(new, self)
        for window in old:
            self.clear(window)
            self.event_timers = {timer for timer in self.event_timers if timer[1] != window}
            self.ticks = {timer for timer in self.ticks if timer[1] != window}

    def clear(self, window: Window = WINDOW) -> None:
        self.window = window
        self.trigger.clear(window, self)

    @property
    def is_empty(self) -> bool:
        return not (self.cells or self.event_timers or self.ticks)

    # -- TriggerContext ----------------------------------------------------------------------------

    def get_current_processing_time(self) -> int:
        return self.now

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> Any:
        raise NotImplementedError

    def register_event_time_timer(self, time: int) -> None:
        assert MIN_TIMESTAMP < time <= MAX_TIMESTAMP
        self.event_timers.add((time, self.window))

    def register_processing_time_timer(self, time: int) -> None:
        assert MIN_TIMESTAMP < time <= MAX_TIMESTAMP
        self.ticks.add((time, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard((time, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self.ticks.discard((time, self.window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Cell:
        fold = getattr(state_descriptor, "reduce_function", None)
        return Cell(self.cells, (self.window, state_descriptor.name), fold)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        result = self.get_partitioned_state(state_descriptor)
        for window in self.merged:
            value = self.cells.pop((window, state_descriptor.name), None)
            if value is not None:
                result.add(value)


def picklable(trigger: Trigger[Any, Any]) -> bool:
    return not isinstance(trigger, DeltaTrigger)  # the tests give it lambdas


# -- the end of the window -----------------------------------------------------------------------


def test_event_time_fires_at_the_end() -> None:
    panes = Panes(EventTimeTrigger.create())
    assert panes.element("a", 3) is CONTINUE
    assert panes.element("b", 4) is CONTINUE
    assert panes.advance_watermark(8) == []
    assert panes.advance_watermark(9) == [(9, FIRE)]
    assert panes.element("late", 3) is FIRE
    assert panes.is_empty


def test_event_time_ignores_other_timers() -> None:
    panes = Panes(EventTimeTrigger.create())
    assert panes.trigger.on_event_time(8, WINDOW, panes) is CONTINUE
    assert panes.trigger.on_processing_time(9, WINDOW, panes) is CONTINUE


def test_event_time_clears_its_timer() -> None:
    panes = Panes(EventTimeTrigger.create())
    panes.element("a", 3)
    panes.clear()
    assert panes.is_empty


@pytest.mark.parametrize(("watermark", "timers"), [(18, {19}), (19, set()), (30, set())])
def test_event_time_merge_waits_for_the_new_end(watermark: int, timers: set[int]) -> None:
    panes = Panes(EventTimeTrigger.create())
    assert panes.trigger.can_merge()
    panes.element("a", 3)
    panes.watermark = watermark
    panes.merge([WINDOW], TimeWindow(0, 20))
    assert {time for time, _ in panes.event_timers} == timers


def test_processing_time_fires_at_the_end() -> None:
    panes = Panes(ProcessingTimeTrigger.create(), now=3)
    assert panes.element("a", None) is CONTINUE
    assert panes.advance_watermark(MAX_WATERMARK) == []
    assert panes.advance_time(8) == []
    assert panes.advance_time(12) == [(9, FIRE)]
    assert panes.is_empty
    assert panes.trigger.on_event_time(9, WINDOW, panes) is CONTINUE


@pytest.mark.parametrize(("now", "timers"), [(18, {19}), (19, set())])
def test_processing_time_merge_waits_for_the_new_end(now: int, timers: set[int]) -> None:
    panes = Panes(ProcessingTimeTrigger.create(), now=3)
    assert panes.trigger.can_merge()
    panes.element("a")
    panes.now = now
    panes.merge([WINDOW], TimeWindow(0, 20))
    assert {time for time, _ in panes.ticks} == timers


def test_processing_time_clears_its_timer() -> None:
    panes = Panes(ProcessingTimeTrigger.create(), now=3)
    panes.element("a")
    panes.clear()
    assert panes.is_empty


@pytest.mark.parametrize(
    "window", [GlobalWindow.get(), TimeWindow(MIN_TIMESTAMP + 1, MAX_TIMESTAMP)]
)
def test_end_of_stream_fires_once_at_the_end(window: Window) -> None:
    panes = Panes(EndOfStreamTrigger.create())
    assert panes.element("a", None, window) is CONTINUE
    assert panes.element("b", None, window) is CONTINUE
    assert panes.advance_watermark(10**15) == []
    assert panes.advance_time(10**15) == []
    assert panes.advance_watermark(MAX_WATERMARK) == [(window.max_timestamp(), FIRE)]
    assert panes.is_empty


def test_end_of_stream_clears_its_timer() -> None:
    panes = Panes(EndOfStreamTrigger.create())
    panes.element("a", None, GlobalWindow.get())
    panes.clear(GlobalWindow.get())
    assert panes.is_empty
    assert not panes.trigger.can_merge()


def test_never() -> None:
    panes = Panes(NeverTrigger())
    assert panes.element("a", None, GlobalWindow.get()) is CONTINUE
    assert panes.is_empty
    assert panes.trigger.on_event_time(MAX_TIMESTAMP, GlobalWindow.get(), panes) is CONTINUE
    assert panes.trigger.on_processing_time(MAX_TIMESTAMP, GlobalWindow.get(), panes) is CONTINUE


# -- counts --------------------------------------------------------------------------------------


def test_count_fires_at_every_nth_record() -> None:
    panes = Panes(CountTrigger.of(3))
    results = [panes.element(number) for number in range(7)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE, CONTINUE]
    panes.clear()
    assert panes.is_empty


def test_count_counts_per_window() -> None:
    panes = Panes(CountTrigger.of(2))
    assert panes.element("a", 0, WINDOW) is CONTINUE
    assert panes.element("b", 10, TimeWindow(10, 20)) is CONTINUE
    assert panes.element("c", 1, WINDOW) is FIRE


def test_count_adds_up_when_windows_merge() -> None:
    panes = Panes(CountTrigger.of(5))
    other, both = TimeWindow(8, 18), TimeWindow(0, 18)
    for window in (WINDOW, WINDOW, other):
        panes.element("a", 0, window)
    panes.merge([WINDOW, other], both)
    assert panes.element("b", 5, both) is CONTINUE
    assert panes.element("c", 5, both) is FIRE


def test_count_ignores_time() -> None:
    panes = Panes(CountTrigger.of(1))
    assert panes.trigger.on_event_time(9, WINDOW, panes) is CONTINUE
    assert panes.trigger.on_processing_time(9, WINDOW, panes) is CONTINUE


# -- triggers around triggers --------------------------------------------------------------------


class Says(Trigger[Any, Any]):
    """Answers with the record; its timers purge."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult[element]

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return PURGE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return PURGE

    def clear(self, window: Any, ctx: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("nested", "result"),
    [
        (CONTINUE, CONTINUE),
        (FIRE, FIRE_AND_PURGE),
        (PURGE, PURGE),
        (FIRE_AND_PURGE, FIRE_AND_PURGE),
    ],
)
def test_purging(nested: TriggerResult, result: TriggerResult) -> None:
    assert Panes(PurgingTrigger.of(Says())).element(nested.name) is result


def test_purging_at_timers_and_merges() -> None:
    panes = Panes(PurgingTrigger.of(EventTimeTrigger.create()))
    assert panes.trigger.can_merge()
    panes.element("a", 3)
    panes.merge([WINDOW], TimeWindow(0, 20))
    assert panes.advance_watermark(25) == [(19, FIRE_AND_PURGE)]
    panes = Panes(PurgingTrigger.of(ProcessingTimeTrigger.create()))
    panes.element("a")
    assert panes.advance_time(9) == [(9, FIRE_AND_PURGE)]
    panes.element("a")
    panes.clear()
    assert panes.is_empty
    assert not PurgingTrigger.of(NeverTrigger()).can_merge()


def test_timeout_fires_if_the_nested_trigger_does_not() -> None:
    panes = Panes(ProcessingTimeoutTrigger.of(CountTrigger.of(3), 100), now=1_000)
    assert panes.element("a") is CONTINUE
    panes.now = 1_050
    assert panes.element("b") is CONTINUE
    assert panes.advance_time(1_099) == []
    assert panes.advance_time(1_100) == [(1_100, FIRE)]
    # The count and the timeout have begun anew.
    assert panes.is_empty
    assert [panes.element("c") for _ in range(3)] == [CONTINUE, CONTINUE, FIRE]


def test_timeout_ends_when_the_nested_trigger_fires() -> None:
    panes = Panes(ProcessingTimeoutTrigger.of(CountTrigger.of(2), 100), now=1_000)
    assert [panes.element("a"), panes.element("b")] == [CONTINUE, FIRE]
    assert panes.is_empty
    panes.now = 1_050
    panes.element("c")
    assert panes.advance_time(1_149) == []
    assert panes.advance_time(1_150) == [(1_150, FIRE)]


def test_timeout_can_begin_anew_with_every_record() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(9), 100, reset_timer_on_new_record=True)
    panes = Panes(trigger, now=1_000)
    panes.element("a")
    panes.now = 1_050
    panes.element("b")
    assert panes.advance_time(1_149) == []
    assert panes.advance_time(1_150) == [(1_150, FIRE)]


def test_timeout_can_leave_the_nested_trigger_as_it_is() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), 100, False, False)
    panes = Panes(trigger, now=1_000)
    panes.element("a")
    assert panes.advance_time(1_100) == [(1_100, FIRE)]
    assert [panes.element("b"), panes.element("c")] == [CONTINUE, FIRE]


def test_timeout_keeps_a_purge() -> None:
    panes = Panes(ProcessingTimeoutTrigger.of(Says(), 100))
    assert panes.element("CONTINUE") is CONTINUE
    assert panes.advance_time(100) == [(100, FIRE_AND_PURGE)]
    assert panes.trigger.on_event_time(9, WINDOW, panes) is FIRE_AND_PURGE


def test_timeout_fires_at_the_nested_event_timer() -> None:
    panes = Panes(ProcessingTimeoutTrigger.of(EventTimeTrigger.create(), 100))
    panes.element("a", 3)
    assert panes.advance_watermark(9) == [(9, FIRE)]
    assert panes.is_empty
    assert not panes.trigger.can_merge()


def test_timeout_at_the_end_of_time() -> None:
    panes = Panes(ProcessingTimeoutTrigger.of(CountTrigger.of(2), 100), now=MAX_TIMESTAMP - 5)
    panes.element("a")
    assert {time for time, _ in panes.ticks} == {MAX_TIMESTAMP}


# -- again and again -----------------------------------------------------------------------------


def test_continuous_event_time() -> None:
    window = TimeWindow(0, 25)
    panes = Panes(ContinuousEventTimeTrigger.of(10))
    assert panes.element("a", 3, window) is CONTINUE
    assert panes.element("b", 14, window) is CONTINUE
    assert panes.advance_watermark(9) == []
    assert panes.advance_watermark(12) == [(10, FIRE)]
    assert panes.advance_watermark(30) == [(20, FIRE), (24, FIRE)]
    assert panes.element("late", 3, window) is FIRE


def test_continuous_event_time_rounds_down_below_zero() -> None:
    window = TimeWindow(-25, 0)
    panes = Panes(ContinuousEventTimeTrigger.of(10))
    panes.element("a", -13, window)
    assert panes.advance_watermark(0) == [(-10, FIRE), (-1, FIRE)]


def test_continuous_event_time_ends_with_the_input() -> None:
    panes = Panes(ContinuousEventTimeTrigger.of(10))
    panes.element("a", 3, GlobalWindow.get())
    assert panes.advance_watermark(25) == [(10, FIRE), (20, FIRE)]
    assert panes.advance_watermark(MAX_WATERMARK) == [(30, FIRE), (MAX_TIMESTAMP, FIRE)]
    assert panes.is_empty


def test_continuous_event_time_never_goes_past_the_window() -> None:
    window = TimeWindow(MAX_TIMESTAMP - 5, MAX_TIMESTAMP)
    panes = Panes(ContinuousEventTimeTrigger.of(MAX_TIMESTAMP))
    panes.element("a", MAX_TIMESTAMP - 3, window)
    assert panes.event_timers == {(MAX_TIMESTAMP - 1, window)}


def test_continuous_event_time_merges_to_the_next_to_fire() -> None:
    panes = Panes(ContinuousEventTimeTrigger.of(100))
    early, late, both = TimeWindow(50, 250), TimeWindow(240, 400), TimeWindow(50, 400)
    panes.element("a", 50, early)
    panes.element("b", 240, late)
    panes.merge([early, late], both)
    panes.element("c", 230, both)
    assert panes.advance_watermark(500) == [(100, FIRE), (200, FIRE), (300, FIRE), (399, FIRE)]


def test_continuous_event_time_clears_all() -> None:
    panes = Panes(ContinuousEventTimeTrigger.of(4))
    panes.element("a", 3)
    assert len(panes.event_timers) == 2
    panes.clear()
    assert panes.is_empty


def test_continuous_event_time_ignores_other_timers() -> None:
    panes = Panes(ContinuousEventTimeTrigger.of(4))
    panes.element("a", 0)
    assert panes.trigger.on_event_time(3, WINDOW, panes) is CONTINUE
    assert panes.trigger.on_processing_time(4, WINDOW, panes) is CONTINUE


def test_continuous_processing_time() -> None:
    window = TimeWindow(1_000, 1_025)
    panes = Panes(ContinuousProcessingTimeTrigger.of(10), now=1_003)
    assert panes.element("a", None, window) is CONTINUE
    panes.now = 1_004
    assert panes.element("b", None, window) is CONTINUE
    assert panes.advance_watermark(MAX_WATERMARK) == []
    assert panes.advance_time(1_009) == []
    assert panes.advance_time(1_024) == [(1_010, FIRE), (1_020, FIRE), (1_024, FIRE)]
    panes.clear(window)
    assert panes.is_empty


def test_continuous_processing_time_on_windows_of_the_past() -> None:
    window = TimeWindow(0, 25)
    panes = Panes(ContinuousProcessingTimeTrigger.of(10), now=1_003)
    panes.element("a", 3, window)
    assert panes.advance_time(1_025) == [(1_010, FIRE), (1_020, FIRE)]


def test_continuous_processing_time_passes_the_end_of_event_time_windows() -> None:
    window = TimeWindow(1_000, 1_015)
    panes = Panes(ContinuousProcessingTimeTrigger.of(10), now=1_003)
    panes.element("a", 1_003, window)
    assert panes.advance_time(1_025) == [(1_010, FIRE), (1_014, FIRE), (1_024, FIRE)]


def test_continuous_processing_time_at_the_end_of_time() -> None:
    panes = Panes(ContinuousProcessingTimeTrigger.of(10), now=MAX_TIMESTAMP - 3)
    panes.element("a", None, GlobalWindow.get())
    assert panes.advance_time(MAX_TIMESTAMP) == [(MAX_TIMESTAMP, FIRE)]
    assert panes.is_empty


def test_continuous_processing_time_merges_to_the_next_to_fire() -> None:
    panes = Panes(ContinuousProcessingTimeTrigger.of(10), now=1_003)
    early, late, both = TimeWindow(1_003, 1_033), TimeWindow(1_012, 1_042), TimeWindow(1_003, 1_042)
    panes.element("a", None, early)
    panes.now = 1_012  # the epoch comes late: the first timer has not fired yet
    panes.element("b", None, late)
    panes.merge([early, late], both)
    assert {time for time, _ in panes.ticks} == {1_010}
    assert panes.trigger.can_merge()
    assert panes.trigger.on_event_time(1_010, both, panes) is CONTINUE


# -- deltas --------------------------------------------------------------------------------------


class Distance(DeltaFunction):
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        return float(new_data_point - old_data_point)


@pytest.mark.parametrize("function", [Distance(), lambda old, new: new - old])
def test_delta_fires_when_far_from_the_last_that_fired(function: Any) -> None:
    panes = Panes(DeltaTrigger.of(5, function, Types.LONG()))
    results = [panes.element(number) for number in (10, 15, 16, 20, 21, 22)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE]
    panes.clear()
    assert panes.is_empty


def test_delta_that_is_no_number_does_not_fire() -> None:
    panes = Panes(DeltaTrigger.of(5, lambda old, new: float("nan")))
    assert [panes.element(1), panes.element(100)] == [CONTINUE, CONTINUE]
    assert not panes.trigger.can_merge()


# -- custom triggers, errors, reprs --------------------------------------------------------------


def test_a_trigger_without_on_merge_says_so() -> None:
    with pytest.raises(PlanError, match=r"TRIGGER_CANNOT_MERGE.*Says") as caught:
        Panes(Says()).merge([WINDOW], TimeWindow(0, 20))
    assert "on_merge" in str(caught.value)


def test_triggers_name_their_types_as_in_pyflink() -> None:
    class Typed(Trigger[tuple[str, int], TimeWindow]):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Typed()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: CountTrigger.of(0), "BAD_NUMBER"),
        (lambda: CountTrigger.of(1.5), "BAD_NUMBER"),  # type: ignore[arg-type]
        (lambda: ContinuousEventTimeTrigger.of(0), "INVALID_DURATION"),
        (lambda: ContinuousProcessingTimeTrigger.of("-1 s"), "INVALID_DURATION"),
        (lambda: ProcessingTimeoutTrigger.of(CountTrigger.of(1), 0), "INVALID_DURATION"),
        (lambda: ProcessingTimeoutTrigger.of(CountTrigger, 5), "NOT_A_TRIGGER"),  # type: ignore[arg-type]
        (lambda: PurgingTrigger.of("count"), "NOT_A_TRIGGER"),  # type: ignore[arg-type]
        (lambda: DeltaTrigger.of("5", Distance()), "BAD_NUMBER"),  # type: ignore[arg-type]
        (lambda: DeltaTrigger.of(float("nan"), Distance()), "BAD_NUMBER"),
        (lambda: DeltaTrigger.of(5, lambda old: 1), "WRONG_ARITY"),  # type: ignore[arg-type, misc]
        (lambda: DeltaTrigger.of(5, None), "WRONG_FUNCTION_KIND"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_name_the_line(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        (EventTimeTrigger(), "EventTimeTrigger()"),
        (CountTrigger.of(window_size=5), "CountTrigger(5)"),
        (PurgingTrigger.of(nested_trigger=CountTrigger(5)), "PurgingTrigger(CountTrigger(5))"),
        (ContinuousEventTimeTrigger.of(Time.seconds(1)), "ContinuousEventTimeTrigger(1000)"),
        (
            ContinuousProcessingTimeTrigger.of(interval="1 s"),
            "ContinuousProcessingTimeTrigger(1000)",
        ),
        (
            ProcessingTimeoutTrigger.of(NeverTrigger.create(), "1 s"),
            "ProcessingTimeoutTrigger(NeverTrigger(), 1000)",
        ),
        (DeltaTrigger.of(0.5, Distance()), "DeltaTrigger(0.5)"),
    ],
)
def test_reprs_survive_pickling(trigger: Any, text: str) -> None:
    assert repr(trigger) == repr(pickle.loads(pickle.dumps(trigger))) == text
