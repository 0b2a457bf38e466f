"""What assigners, triggers, evictors and window functions can rely on, call by call.

The facts are those that Flink checks of its own window operator. Here they are looked at from outside:
by the calls that functions get, by what comes out, and by whether anything is left in state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError
from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.connectors import ChannelName, ChannelSource, Chunk
from millstream.connectors.collection import CollectionSource
from millstream.datastream import OutputTag, StreamExecutionEnvironment
from millstream.datastream.functions import ProcessWindowFunction
from millstream.datastream.state import ValueStateDescriptor
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, run_local

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE
LATE = OutputTag("late")
MARK = "watermark"
HELLO = ValueStateDescriptor("hello", Types.STRING())
Calls = list[tuple[Any, ...]]


# -- a job whose steps a test takes one by one -----------------------------------------------------


class Steps(ChannelSource):
    """A channel that grows as the test goes on: elements, and marks that are watermarks."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def latest(self) -> dict[ChannelName, int]:
        return {0: len(self.records)}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.records[start:stop])


class Marks(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        if event[0] == MARK:
            output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class Bench:
    """A window operator between a source and two sinks; every step is an epoch of its own."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        self.steps = Steps()
        env = StreamExecutionEnvironment.get_execution_environment()
        strategy = WatermarkStrategy.for_generator(Marks)
        strategy = strategy.with_timestamp_assigner(lambda event, _: event[2])
        stream = env.from_source(self.steps, strategy, "steps")
        elements = stream.filter(lambda event: event[0] != MARK)
        results = build(elements.key_by(lambda event: event[0], Types.STRING()))
        results.print().name("main")
        results.get_side_output(LATE).print().name("late")
        self.job = LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=1))

    def element(self, key: str, value: int, ts: int) -> list[Any]:
        """Give the operator a record; what comes out of it, without times."""
        return self._read((key, value, ts))

    def watermark(self, time: int) -> list[Any]:
        return self._read((MARK, 0, time))

    def processing_time(self, time: int) -> list[Any]:
        return self._values(self.job.epoch(0, now_ms=time))

    def end(self) -> list[Any]:
        return self._values(self.job.epoch(0, end=True))

    def restart(self) -> None:
        self.job.close()
        self.job.start()

    def _read(self, record: Any) -> list[Any]:
        self.steps.records.append(record)
        return self._values(self.job.epoch(1))

    def _values(self, outputs: dict[str, list[Any]]) -> list[Any]:
        return [value for value, _ in outputs.get("main", [])]

    @property
    def late(self) -> list[Any]:
        return self.job.outputs["late"]

    @property
    def dropped(self) -> int:
        return sum(one.late for one in self.job.metrics.operators.values())

    def state(self) -> dict[str, bytes]:
        """What the window operator keeps; its stage comes after that of the watermarks."""
        stores = self.job.committed.stores
        return {
            name: data
            for (stage, _), store in stores.items()
            if stage > 0
            for name, data in store.items()
            if name != "header"
        }


# -- functions that write down how they are called -------------------------------------------------


class Assigner(WindowAssigner):
    """Assigns whatever windows the test has put there."""

    def __init__(self, calls: Calls, *windows: Any, event_time: bool = True) -> None:
        self.calls = calls
        self.windows: list[Any] = list(windows)
        self.event_time = event_time

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Any]:
        self.calls.append(("assign", element[1], timestamp))
        return list(self.windows)

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger.create() if self.event_time else ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        return self.event_time


class Merger(Assigner, MergingWindowAssigner):
    """Merges windows as ``merges`` says: (windows to merge, result) if all of them are there."""

    def __init__(self, calls: Calls, *windows: Any, event_time: bool = True) -> None:
        super().__init__(calls, *windows, event_time=event_time)
        self.merges: list[tuple[list[Any], Any]] = []

    def merge_windows(self, windows: Iterable[Any], callback: Any) -> None:
        there = list(windows)
        self.calls.append(("merge_windows", sorted(set(there))))
        for group, result in self.merges:
            if set(group) <= set(there):
                callback.merge(group, result)


class Probe(Trigger):
    """Answers what the test wants; ``does`` may do something with the context first."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.answers: dict[str, TriggerResult] = {}
        self.does: dict[str, Callable[[Any, Any], None]] = {}

    def _answer(self, method: str, window: Any, ctx: Any, *arguments: Any) -> TriggerResult:
        self.calls.append((method, *arguments, window))
        self.does.get(method, lambda window, ctx: None)(window, ctx)
        return self.answers.get(method, CONTINUE)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return self._answer("on_element", window, ctx, element[1], timestamp)

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return self._answer("on_event_time", window, ctx, time)

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return self._answer("on_processing_time", window, ctx, time)

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        self._answer("on_merge", window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        self._answer("clear", window, ctx)


class Function(ProcessWindowFunction):
    """Emits the values of a window; ``does`` may do something with the context first."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.does: dict[str, Callable[[Any], None]] = {}

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> list[Any]:
        values = [value for _, value, _ in elements]
        self.calls.append(("process", key, context.window(), values))
        self.does.get("process", lambda context: None)(context)
        return [values]

    def clear(self, context: Any) -> None:
        self.calls.append(("function clear", context.window()))
        self.does.get("clear", lambda context: None)(context)


class Parts:
    """An operator of probes, with one list of all their calls."""

    def __init__(
        self,
        *windows: Any,
        merging: bool = False,
        event_time: bool = True,
        lateness: int = 0,
        aside: bool = False,
    ) -> None:
        self.calls: Calls = []
        kind = Merger if merging else Assigner
        self.assigner: Any = kind(self.calls, *windows, event_time=event_time)
        self.trigger = Probe(self.calls)
        self.function = Function(self.calls)

        def build(stream: Any) -> Any:
            windowed = stream.window(self.assigner).trigger(self.trigger)
            if lateness:
                windowed = windowed.allowed_lateness(lateness)
            if aside:
                windowed = windowed.side_output_late_data(LATE)
            return windowed.process(self.function)

        self.bench = Bench(build)

    def calls_of(self, *methods: str) -> Calls:
        return [call for call in self.calls if call[0] in methods]

    def forget(self) -> None:
        self.calls.clear()


class Domain:
    """Event time or processing time: the facts about timers hold for both."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_event = name == "event"
        self.callback = f"on_{name}_time"

    def register(self, ctx: Any, time: int) -> None:
        getattr(ctx, f"register_{self.name}_time_timer")(time)

    def delete(self, ctx: Any, time: int) -> None:
        getattr(ctx, f"delete_{self.name}_time_timer")(time)

    def advance(self, bench: Bench, time: int) -> list[Any]:
        return bench.watermark(time) if self.is_event else bench.processing_time(time)

    def __repr__(self) -> str:
        return self.name


both_domains = pytest.mark.parametrize("time", [Domain("event"), Domain("processing")], ids=repr)
merging_or_not = pytest.mark.parametrize("merging", [False, True], ids=["plain", "merging"])


def span(start: int, end: int) -> TimeWindow:
    return TimeWindow(start, end)


# -- the assigner ----------------------------------------------------------------------------------


class TestAssigner:
    @merging_or_not
    def test_is_called_once_for_each_element_with_its_event_time(self, merging: bool) -> None:
        parts = Parts(span(0, 10), merging=merging)
        parts.bench.element("a", 1, 5)
        parts.bench.element("a", 2, 3)
        parts.bench.element("b", 3, 4)
        assert parts.calls_of("assign") == [("assign", 1, 5), ("assign", 2, 3), ("assign", 3, 4)]

    def test_of_several_windows_all_get_the_element(self) -> None:
        parts = Parts(span(2, 4), span(0, 2))
        parts.trigger.answers["on_element"] = FIRE
        parts.bench.element("a", 7, 0)
        assert parts.calls_of("process") == [
            ("process", "a", span(2, 4), [7]),
            ("process", "a", span(0, 2), [7]),
        ]

    def test_sees_processing_time_and_has_state_of_the_key(self) -> None:
        class Counting(Assigner):
            def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Any]:
                state = context.get_runtime_context().get_state(
                    ValueStateDescriptor("count", Types.LONG())
                )
                state.update((state.value() or 0) + 1)
                now = context.get_current_processing_time()
                self.calls.append((element[0], state.value(), now))
                return []

        calls: Calls = []
        assigner = Counting(calls)
        bench = Bench(lambda s: s.window(assigner).process(Function([])))
        bench.element("a", 1, 0)
        bench.processing_time(40)
        bench.element("a", 1, 0)
        bench.element("b", 1, 0)
        assert calls == [("a", 1, 0), ("a", 2, 40), ("b", 1, 40)]

    def test_without_windows_an_element_on_time_is_forgotten_and_not_late(self) -> None:
        parts = Parts(aside=True)
        parts.bench.watermark(0)
        parts.bench.element("a", 1, 5)
        assert parts.calls == [("assign", 1, 5)]
        assert parts.bench.late == []
        assert parts.bench.state() == {}

    def test_without_windows_an_element_behind_the_watermark_is_late(self) -> None:
        parts = Parts(aside=True)
        parts.bench.watermark(20)
        parts.bench.element("a", 1, 10)
        assert parts.bench.late == [(("a", 1, 10), 10)]


# -- the trigger on elements -----------------------------------------------------------------------


class TestOnElement:
    @merging_or_not
    def test_is_called_for_each_element_and_window(self, merging: bool) -> None:
        parts = Parts(span(2, 4), span(0, 2), merging=merging)
        parts.bench.element("a", 42, 1)
        assert parts.calls_of("on_element") == [
            ("on_element", 42, 1, span(2, 4)),
            ("on_element", 42, 1, span(0, 2)),
        ]

    @merging_or_not
    def test_continue_emits_nothing_and_keeps_the_content(self, merging: bool) -> None:
        parts = Parts(span(0, 10), merging=merging)
        assert parts.bench.element("a", 1, 0) == []
        assert parts.calls_of("process", "clear", "function clear") == []
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 2, 0) == [[1, 2]]

    @merging_or_not
    def test_fire_emits_and_keeps_the_content(self, merging: bool) -> None:
        parts = Parts(span(0, 10), merging=merging)
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 1, 0) == [[1]]
        assert parts.bench.element("a", 2, 0) == [[1, 2]]
        assert parts.calls_of("clear", "function clear") == []

    @merging_or_not
    def test_fire_and_purge_emits_and_forgets_the_content(self, merging: bool) -> None:
        parts = Parts(span(0, 10), merging=merging)
        parts.trigger.answers["on_element"] = FIRE_AND_PURGE
        assert parts.bench.element("a", 1, 0) == [[1]]
        assert parts.bench.element("a", 2, 0) == [[2]]
        assert parts.calls_of("clear", "function clear") == []

    @merging_or_not
    def test_purge_forgets_the_content_without_a_word(self, merging: bool) -> None:
        parts = Parts(span(0, 10), merging=merging)
        parts.trigger.answers["on_element"] = PURGE
        assert parts.bench.element("a", 1, 0) == []
        assert parts.calls_of("process", "clear", "function clear") == []
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 2, 0) == [[2]]

    def test_purge_leaves_nothing_but_the_timer_that_cleans_up(self) -> None:
        parts = Parts(span(0, 10))
        parts.trigger.answers["on_element"] = PURGE
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(9)
        assert parts.calls_of("clear") == [("clear", span(0, 10))]
        assert parts.bench.state() == {}

    def test_state_of_the_trigger_outlives_a_purge(self) -> None:
        parts = Parts(span(0, 10))
        seen: list[Any] = []

        def greet(window: Any, ctx: Any) -> None:
            seen.append(ctx.get_partitioned_state(HELLO).value())
            ctx.get_partitioned_state(HELLO).update("hello")

        parts.trigger.does["on_element"] = greet
        parts.trigger.answers["on_element"] = FIRE_AND_PURGE
        parts.bench.element("a", 1, 0)
        parts.bench.element("a", 2, 0)
        assert seen == [None, "hello"]

    def test_state_of_the_trigger_is_that_of_the_key_and_window(self) -> None:
        parts = Parts(span(0, 10), span(0, 20))
        seen: list[Any] = []

        def count(window: Any, ctx: Any) -> None:
            state = ctx.get_partitioned_state(ValueStateDescriptor("count", Types.LONG()))
            state.update((state.value() or 0) + 1)
            seen.append((window.end, state.value()))

        parts.trigger.does["on_element"] = count
        parts.bench.element("a", 1, 0)
        parts.bench.element("b", 1, 0)
        parts.assigner.windows = [span(0, 20)]
        parts.bench.element("a", 1, 0)
        assert seen == [(10, 1), (20, 1), (10, 1), (20, 1), (20, 2)]

    def test_windows_and_keys_do_not_interfere(self) -> None:
        parts = Parts(span(0, 2))
        parts.bench.element("a", 1, 0)
        parts.assigner.windows = [span(0, 1)]
        parts.bench.element("b", 2, 0)
        parts.bench.element("a", 3, 0)
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("b", 4, 0) == [[2, 4]]
        parts.assigner.windows = [span(0, 2)]
        assert parts.bench.element("a", 5, 0) == [[1, 5]]

    def test_clocks(self) -> None:
        parts = Parts(span(0, 1000))
        seen: list[Any] = []
        parts.trigger.does["on_element"] = lambda window, ctx: seen.append(
            (ctx.get_current_watermark(), ctx.get_current_processing_time())
        )
        parts.bench.watermark(7)
        parts.bench.processing_time(55)
        parts.bench.element("a", 1, 100)
        assert seen == [(7, 55)]


# -- the trigger on timers -------------------------------------------------------------------------


class TestTimers:
    def on_time(self, time: Domain, answer: TriggerResult, *, merging: bool = False) -> Parts:
        """An element in a window until 20, and a timer at 1 with an answer."""
        parts = Parts(span(0, 20), merging=merging, event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 1)
        parts.trigger.answers[time.callback] = answer
        assert parts.bench.element("a", 1, 0) == []
        return parts

    @both_domains
    @merging_or_not
    @pytest.mark.parametrize(
        ("answer", "emitted", "kept"),
        [
            (CONTINUE, [], [1, 2]),
            (FIRE, [[1]], [1, 2]),
            (PURGE, [], [2]),
            (FIRE_AND_PURGE, [[1]], [2]),
        ],
        ids=["continue", "fire", "purge", "fire and purge"],
    )
    def test_answers(
        self, time: Domain, merging: bool, answer: TriggerResult, emitted: Any, kept: Any
    ) -> None:
        parts = self.on_time(time, answer, merging=merging)
        assert time.advance(parts.bench, 1) == emitted
        assert parts.calls_of("clear", "function clear") == []
        parts.trigger.does.clear()
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 2, 0) == [kept]

    @both_domains
    def test_results_have_the_last_time_of_the_window(self, time: Domain) -> None:
        parts = self.on_time(time, FIRE)
        time.advance(parts.bench, 1)
        assert parts.bench.job.outputs["main"] == [([1], 19)]

    @both_domains
    def test_fire_on_an_empty_window_emits_nothing(self, time: Domain) -> None:
        parts = self.on_time(time, FIRE)
        parts.trigger.answers["on_element"] = PURGE
        parts.bench.element("a", 2, 0)
        assert time.advance(parts.bench, 1) == []
        assert parts.calls_of("process") == []

    @both_domains
    @merging_or_not
    def test_a_timer_of_a_purged_window_still_comes(self, time: Domain, merging: bool) -> None:
        parts = Parts(span(0, 20), merging=merging, event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 1)
        parts.trigger.answers["on_element"] = PURGE
        parts.bench.element("a", 1, 0)
        time.advance(parts.bench, 1)
        assert parts.calls_of(time.callback) == [(time.callback, 1, span(0, 20))]

    @both_domains
    def test_timers_come_once_each_in_the_order_of_time(self, time: Domain) -> None:
        parts = Parts(span(0, 100), event_time=time.is_event)
        for moment in (17, 1, 42, 17):
            parts.trigger.does["on_element"] = lambda w, ctx, at=moment: time.register(ctx, at)  # type: ignore[misc]
            parts.bench.element("a", 1, 0)
        time.advance(parts.bench, 1)
        assert parts.calls_of(time.callback) == [(time.callback, 1, span(0, 100))]
        time.advance(parts.bench, 15)
        assert len(parts.calls_of(time.callback)) == 1
        time.advance(parts.bench, 50)
        assert [call[1] for call in parts.calls_of(time.callback)] == [1, 17, 42]
        time.advance(parts.bench, 98)
        assert len(parts.calls_of(time.callback)) == 3

    @both_domains
    def test_a_deleted_timer_does_not_come(self, time: Domain) -> None:
        parts = Parts(span(0, 100), event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 1)
        parts.bench.element("a", 1, 0)
        parts.trigger.does["on_element"] = lambda window, ctx: time.delete(ctx, 1)
        parts.bench.element("a", 1, 0)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 2)
        parts.bench.element("a", 1, 0)
        time.advance(parts.bench, 50)
        assert parts.calls_of(time.callback) == [(time.callback, 2, span(0, 100))]

    @both_domains
    def test_a_timer_belongs_to_its_key_and_window(self, time: Domain) -> None:
        parts = Parts(span(0, 50), event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 5)
        parts.trigger.answers[time.callback] = FIRE
        parts.bench.element("a", 1, 0)
        parts.trigger.does["on_element"] = lambda window, ctx: time.delete(ctx, 5)
        parts.assigner.windows = [span(0, 60)]
        parts.bench.element("a", 2, 0)
        parts.assigner.windows = [span(0, 50)]
        parts.bench.element("b", 3, 0)
        assert time.advance(parts.bench, 5) == [[1]]

    def test_the_other_clock_does_not_move_them(self) -> None:
        parts = Parts(span(0, 100))
        parts.trigger.does["on_element"] = lambda w, ctx: ctx.register_processing_time_timer(5)
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(50)
        assert parts.calls_of("on_event_time", "on_processing_time") == []
        parts.bench.processing_time(5)
        assert parts.calls_of("on_processing_time") == [("on_processing_time", 5, span(0, 100))]

    def test_the_watermark_in_a_timer_is_its_own_time(self) -> None:
        parts = Parts(span(0, 100))
        seen: list[Any] = []
        parts.trigger.does["on_element"] = lambda window, ctx: ctx.register_event_time_timer(5)
        parts.trigger.does["on_event_time"] = lambda window, ctx: seen.append(
            ctx.get_current_watermark()
        )
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(50)
        parts.bench.end()
        assert seen == [5, MAX]

    def test_the_end_drops_timers_of_processing_time(self) -> None:
        parts = Parts(span(0, 100), event_time=False)
        parts.trigger.does["on_element"] = lambda w, ctx: ctx.register_processing_time_timer(5)
        parts.bench.element("a", 1, 0)
        parts.bench.end()
        assert parts.calls_of("on_processing_time", "on_event_time", "process") == []

    def test_timers_and_state_survive_a_restart(self) -> None:
        parts = Parts(span(2, 4), span(0, 2), merging=True)
        parts.trigger.does["on_element"] = lambda w, ctx: ctx.register_event_time_timer(0)
        parts.trigger.answers["on_event_time"] = FIRE_AND_PURGE
        parts.bench.element("a", 1, 0)
        parts.bench.restart()
        assert parts.bench.watermark(0) == [[1], [1]]
        parts.bench.restart()
        parts.bench.watermark(20)
        assert sorted(parts.calls_of("clear")) == [("clear", span(0, 2)), ("clear", span(2, 4))]
        assert parts.bench.state() == {}


# -- cleaning up -----------------------------------------------------------------------------------


class TestCleanup:
    @pytest.mark.parametrize("lateness", [0, 20])
    def test_comes_at_the_last_time_and_the_lateness(self, lateness: int) -> None:
        parts = Parts(span(0, 20), lateness=lateness)
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(18 + lateness)
        assert parts.calls_of("on_event_time", "clear", "function clear") == []
        assert parts.bench.state() != {}
        parts.bench.watermark(19 + lateness)
        assert parts.calls_of("on_event_time") == [("on_event_time", 19 + lateness, span(0, 20))]
        assert parts.calls_of("clear") == [("clear", span(0, 20))]
        assert parts.calls_of("function clear") == [("function clear", span(0, 20))]
        assert parts.bench.state() == {}

    def test_in_processing_time_comes_at_the_last_time(self) -> None:
        parts = Parts(span(0, 20), event_time=False)
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(100)
        parts.bench.processing_time(18)
        assert parts.calls_of("on_processing_time", "on_event_time", "clear") == []
        parts.bench.processing_time(19)
        assert parts.calls_of("on_processing_time") == [("on_processing_time", 19, span(0, 20))]
        assert parts.calls_of("clear") == [("clear", span(0, 20))]
        assert parts.bench.state() == {}

    @both_domains
    def test_the_trigger_may_fire_at_it_for_the_last_time(self, time: Domain) -> None:
        parts = Parts(span(0, 20), event_time=time.is_event)
        parts.trigger.answers[time.callback] = FIRE
        parts.bench.element("a", 1, 0)
        assert time.advance(parts.bench, 19) == [[1]]
        last = [call[0] for call in parts.calls[-3:]]
        assert parts.calls[-4][0] == time.callback
        assert last == ["process", "clear", "function clear"]

    @both_domains
    def test_a_timer_of_the_trigger_at_that_time_comes_once(self, time: Domain) -> None:
        parts = Parts(span(0, 20), event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 19)
        parts.bench.element("a", 1, 0)
        time.advance(parts.bench, 19)
        assert parts.calls_of(time.callback) == [(time.callback, 19, span(0, 20))]
        assert parts.calls_of("clear") == [("clear", span(0, 20))]

    @both_domains
    @merging_or_not
    def test_clears_what_trigger_and_function_clear(self, time: Domain, merging: bool) -> None:
        parts = Parts(span(0, 20), merging=merging, event_time=time.is_event)

        def set_up(window: Any, ctx: Any) -> None:
            time.register(ctx, 1000)
            ctx.get_partitioned_state(HELLO).update("hello")

        def tidy_up(window: Any, ctx: Any) -> None:
            time.delete(ctx, 1000)
            ctx.get_partitioned_state(HELLO).clear()

        parts.trigger.does |= {"on_element": set_up, "clear": tidy_up}
        parts.trigger.answers["on_element"] = PURGE
        parts.bench.element("a", 1, 0)
        assert parts.calls_of("clear") == []
        assert parts.bench.state() != {}
        time.advance(parts.bench, 20)
        assert parts.calls_of("clear") == [("clear", span(0, 20))]
        assert parts.bench.state() == {}
        parts.forget()
        time.advance(parts.bench, 2000)
        assert parts.calls == []

    @both_domains
    def test_after_it_no_timer_of_a_merging_window_comes(self, time: Domain) -> None:
        parts = Parts(span(2, 4), merging=True, event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda window, ctx: time.register(ctx, 10)
        parts.bench.element("a", 1, 0)
        time.advance(parts.bench, 4)
        assert len(parts.calls_of("clear")) == 1
        parts.forget()
        time.advance(parts.bench, 10)
        assert parts.calls == []

    def test_state_of_the_window_is_there_in_clear_and_gone_after_it(self) -> None:
        parts = Parts(span(0, 20))
        seen: list[Any] = []
        parts.trigger.answers["on_element"] = FIRE
        parts.function.does["process"] = lambda context: (
            context.window_state().get_state(HELLO).update("hello")
        )

        def clear(context: Any) -> None:
            state = context.window_state().get_state(HELLO)
            seen.append((context.window(), state.value()))
            state.clear()

        parts.function.does["clear"] = clear
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(19)
        assert seen == [(span(0, 20), "hello")]
        assert parts.bench.state() == {}

    def test_happens_once_however_many_elements_there_were(self) -> None:
        parts = Parts(span(0, 20))
        for number in range(5):
            parts.bench.element("a", number, 0)
        parts.bench.element("b", 9, 0)
        parts.bench.watermark(1000)
        parts.bench.end()
        assert parts.calls_of("clear") == [("clear", span(0, 20))] * 2
        assert parts.calls_of("function clear") == [("function clear", span(0, 20))] * 2

    def test_the_end_cleans_up(self) -> None:
        parts = Parts(span(0, 20), lateness=100)
        parts.bench.element("a", 1, 0)
        parts.bench.end()
        assert parts.calls_of("on_event_time") == [("on_event_time", 119, span(0, 20))]
        assert parts.calls_of("clear") == [("clear", span(0, 20))]
        assert parts.bench.state() == {}

    @pytest.mark.parametrize("event_time", [True, False], ids=["event", "processing"])
    def test_never_comes_for_the_global_window(self, event_time: bool) -> None:
        parts = Parts(GlobalWindow.get(), event_time=event_time)
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(10**15)
        parts.bench.processing_time(10**15)
        parts.bench.end()
        assert {call[0] for call in parts.calls} == {"assign", "on_element"}

    def test_never_comes_beyond_the_end_of_time(self) -> None:
        parts = Parts(span(0, MAX - 10), lateness=20)
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(MAX - 2)
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 2, 0) == [[1, 2]], "it is not late either"
        parts.bench.end()
        assert parts.calls_of("on_event_time", "clear", "function clear") == []

    def test_a_count_window_that_was_full_leaves_nothing_behind(self) -> None:
        bench = Bench(lambda s: s.count_window(2).process(Function([])))
        sizes = []
        for number in range(12):
            bench.element("a", number, 0)
            sizes.append(sum(map(len, bench.state().values())))
        assert max(sizes[1::2]) <= sizes[1] + 2, "the count is all that grows"


# -- windows that merge ----------------------------------------------------------------------------


class TestMerging:
    def merging(self, **options: Any) -> Parts:
        """The windows [0, 2) and [2, 4), which [1, 3) makes one."""
        parts = Parts(span(0, 2), merging=True, **options)
        group = [span(0, 2), span(2, 4), span(1, 3)]
        parts.assigner.merges = [(group, span(0, 4))]
        parts.bench.element("a", 1, 0)
        parts.assigner.windows = [span(2, 4)]
        parts.bench.element("a", 2, 2)
        parts.assigner.windows = [span(1, 3)]
        return parts

    def test_the_assigner_sees_all_windows_of_the_key_and_the_new_one(self) -> None:
        parts = self.merging()
        parts.assigner.windows = [span(50, 60)]
        parts.bench.element("b", 9, 50)
        assert parts.calls_of("merge_windows") == [
            ("merge_windows", [span(0, 2)]),
            ("merge_windows", [span(0, 2), span(2, 4)]),
            ("merge_windows", [span(50, 60)]),
        ]

    def test_what_has_merged_is_one_window(self) -> None:
        parts = self.merging()
        parts.bench.element("a", 3, 1)
        parts.trigger.answers["on_element"] = FIRE
        parts.assigner.windows = [span(0, 4)]
        parts.assigner.merges = []
        assert parts.bench.element("a", 4, 1) == [[1, 2, 3, 4]]
        assert parts.calls_of("merge_windows")[-1] == ("merge_windows", [span(0, 4)])

    def test_on_merge_comes_before_the_element_and_both_have_the_result(self) -> None:
        parts = self.merging()
        parts.forget()
        parts.bench.element("a", 3, 1)
        calls = parts.calls_of("on_merge", "on_element")
        assert calls == [("on_merge", span(0, 4)), ("on_element", 3, 1, span(0, 4))]

    def test_on_merge_does_not_come_where_nothing_merges(self) -> None:
        parts = self.merging()
        assert parts.calls_of("on_merge", "clear") == []

    def test_on_merge_does_not_come_for_a_window_inside_another(self) -> None:
        parts = Parts(span(0, 20), merging=True)
        parts.assigner.merges = [([span(0, 20), span(5, 10)], span(0, 20))]
        parts.bench.element("a", 1, 0)
        parts.assigner.windows = [span(5, 10)]
        parts.bench.element("a", 2, 5)
        assert parts.calls_of("on_merge", "clear") == []
        assert parts.calls_of("on_element")[-1] == ("on_element", 2, 5, span(0, 20))

    def test_the_old_windows_are_cleared_for_the_trigger_but_not_for_the_function(self) -> None:
        parts = self.merging()
        parts.bench.element("a", 3, 1)
        assert sorted(parts.calls_of("clear")) == [("clear", span(0, 2)), ("clear", span(2, 4))]
        assert parts.calls_of("function clear", "process") == []

    @both_domains
    def test_timers_of_the_old_windows_do_not_come(self, time: Domain) -> None:
        parts = Parts(span(10, 12), merging=True, event_time=time.is_event)
        parts.trigger.does["on_element"] = lambda w, ctx: time.register(ctx, w.max_timestamp() - 1)
        parts.bench.element("a", 1, 10)
        parts.assigner.windows = [span(12, 30)]
        parts.assigner.merges = [([span(10, 12), span(12, 30)], span(10, 30))]
        parts.bench.element("a", 2, 12)
        parts.forget()
        time.advance(parts.bench, 27)
        assert parts.calls == []
        time.advance(parts.bench, 28)
        assert parts.calls_of(time.callback) == [(time.callback, 28, span(10, 30))]
        time.advance(parts.bench, 30)
        assert parts.calls_of("clear") == [("clear", span(10, 30))]
        assert parts.bench.state() == {}

    @both_domains
    def test_what_on_merge_sets_up_is_there(self, time: Domain) -> None:
        parts = Parts(span(10, 12), merging=True, event_time=time.is_event)
        seen: list[Any] = []

        def on_merge(window: Any, ctx: Any) -> None:
            time.register(ctx, 20)
            ctx.get_partitioned_state(HELLO).update("hello")

        parts.trigger.does["on_merge"] = on_merge
        parts.trigger.does[time.callback] = lambda window, ctx: seen.append(
            (window, ctx.get_partitioned_state(HELLO).value())
        )
        parts.bench.element("a", 1, 10)
        parts.assigner.windows = [span(12, 30)]
        parts.assigner.merges = [([span(10, 12), span(12, 30)], span(10, 30))]
        parts.bench.element("a", 2, 12)
        time.advance(parts.bench, 20)
        assert seen == [(span(10, 30), "hello")]

    @both_domains
    def test_a_merge_into_the_past_is_refused(self, time: Domain) -> None:
        lateness = 10 if time.is_event else 0
        parts = Parts(span(0, 22), merging=True, event_time=time.is_event, lateness=lateness)
        parts.bench.element("a", 1, 0)
        time.advance(parts.bench, 20)
        parts.assigner.windows = [span(0, 25)]
        shrunk = span(0, 23 - lateness)
        parts.assigner.merges = [([span(0, 22), span(0, 25)], shrunk)]
        parts.bench.element("a", 2, 0)
        assert parts.calls_of("on_merge") == [("on_merge", shrunk)], "this one has not ended"
        too_short = span(0, 20 - lateness)
        parts.assigner.merges = [([shrunk, span(0, 25)], too_short)]
        with pytest.raises(MillstreamError, match=str(too_short.end)):
            parts.bench.element("a", 3, 0)

    def test_contents_come_together_in_the_order_of_arrival(self) -> None:
        parts = Parts(span(4, 6), merging=True)
        parts.bench.element("a", 1, 0)
        parts.assigner.windows = [span(0, 2)]
        parts.bench.element("a", 2, 0)
        parts.assigner.windows = [span(2, 4)]
        group = [span(0, 2), span(2, 4), span(4, 6)]
        parts.assigner.merges = [(group, span(0, 6))]
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 3, 0) == [[1, 2, 3]]

    def test_one_element_may_merge_two_groups(self) -> None:
        parts = Parts(span(0, 2), merging=True)
        parts.bench.element("a", 1, 0)
        parts.assigner.windows = [span(10, 12)]
        parts.bench.element("a", 2, 10)
        parts.assigner.windows = [span(2, 4), span(12, 14)]
        parts.assigner.merges = [
            ([span(0, 2), span(2, 4)], span(0, 4)),
            ([span(10, 12), span(12, 14)], span(10, 14)),
        ]
        parts.trigger.answers["on_element"] = FIRE
        assert parts.bench.element("a", 3, 2) == [[1, 3], [2, 3]]

    def test_a_late_element_touches_no_window(self) -> None:
        parts = self.merging(aside=True)
        parts.bench.watermark(2)
        parts.assigner.windows = [span(-9, -5)]
        parts.forget()
        parts.bench.element("a", 9, -9)
        assert parts.calls_of("on_element", "on_merge", "clear", "process") == []
        assert parts.bench.late == [(("a", 9, -9), -9)]

    def test_there_is_no_state_of_a_window_that_may_merge(self) -> None:
        parts = Parts(span(0, 20), merging=True)
        parts.trigger.answers["on_element"] = FIRE
        parts.function.does["process"] = lambda context: context.window_state().get_state(HELLO)
        with pytest.raises(MillstreamError, match="merge"):
            parts.bench.element("a", 1, 0)

    def test_a_trigger_that_cannot_merge_is_refused(self) -> None:
        class Alone(Probe):
            def can_merge(self) -> bool:
                return False

        with pytest.raises(PlanError, match="merge"):
            Bench(
                lambda s: (
                    s.window(EventTimeSessionWindows.with_gap(5))
                    .trigger(Alone([]))
                    .process(Function([]))
                )
            )


# -- late elements ---------------------------------------------------------------------------------


class TestLateness:
    def test_up_to_the_last_moment_an_element_is_taken(self) -> None:
        parts = Parts(span(0, 2), lateness=20)
        parts.trigger.answers["on_element"] = FIRE
        parts.bench.watermark(20)
        assert parts.bench.element("a", 1, 0) == [[1]]
        assert parts.calls_of("clear") == []
        assert parts.bench.state() != {}

    def test_after_it_nobody_but_the_assigner_sees_it(self) -> None:
        parts = Parts(span(0, 2), lateness=20)
        parts.trigger.answers["on_element"] = FIRE
        parts.bench.watermark(21)
        assert parts.bench.element("a", 1, 0) == []
        assert parts.calls == [("assign", 1, 0)]
        assert parts.bench.dropped == 1
        assert parts.bench.state() == {}

    def test_late_for_some_windows_it_is_in_the_others(self) -> None:
        parts = Parts(span(0, 5), span(0, 10), aside=True)
        parts.bench.watermark(4)
        parts.bench.element("a", 1, 0)
        assert parts.calls_of("on_element") == [("on_element", 1, 0, span(0, 10))]
        assert parts.bench.late == []

    def test_aside_it_keeps_its_time_and_is_not_counted(self) -> None:
        parts = Parts(span(0, 5), span(0, 10), aside=True)
        parts.bench.watermark(9)
        parts.bench.element("a", 1, 3)
        assert parts.bench.late == [(("a", 1, 3), 3)]
        assert parts.bench.dropped == 0

    def test_in_processing_time_nothing_is_late(self) -> None:
        parts = Parts(span(0, 5), event_time=False, aside=True)
        parts.bench.watermark(1000)
        parts.bench.element("a", 1, 0)
        assert parts.calls_of("on_element") == [("on_element", 1, 0, span(0, 5))]
        assert parts.bench.late == []

    @pytest.mark.parametrize(
        ("rule", "content", "dropped"), [("channel", [1, 2], 1), ("operator", [1, 3, 2], 0)]
    )
    def test_is_judged_by_the_channel_or_by_the_operator(
        self, rule: Any, content: list[int], dropped: int
    ) -> None:
        """One channel is at 50 and brings an old record; the other holds the clock."""
        fast = (("a", 1, 1), ("m", 0, 51), ("a", 3, 5))
        slow = (("a", 2, 2), ("m", 0, 60), ("m", 0, 70))
        env = StreamExecutionEnvironment.get_execution_environment()
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        strategy = strategy.with_timestamp_assigner(lambda event, _: event[2])
        two = CollectionSource((fast, slow), (None, None))
        stream = env.from_source(two, strategy, "two").filter(lambda event: event[0] == "a")
        windowed = stream.key_by(lambda event: event[0], Types.STRING()).window(
            TumblingEventTimeWindows.of(10), lateness=rule
        )
        windowed.process(Function([])).print().name("main")
        job = LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=1))
        job.epoch({(0, 0): 3, (0, 1): 1})
        assert job.outputs["main"] == []
        job.epoch({(0, 1): 2})
        (result,) = job.outputs["main"]
        assert (sorted(result[0]), result[1]) == (sorted(content), 9)
        late = sum(one.late for one in job.metrics.operators.values())
        assert late == dropped

    @pytest.mark.parametrize("epochs", [1, 2, "all"])
    @pytest.mark.parametrize("operation", ["sum", "process", "reduce"])
    def test_after_the_last_instant_every_record_is_late(self, operation: str, epochs: Any) -> None:
        """However the operator keeps its records: partial sums, columns, or one value."""
        functions = {
            "sum": 1,
            "process": Function([]),
            "reduce": lambda a, b: (*a[:1], a[1] + b[1], a[2]),
        }
        kinds = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        strategy = strategy.with_timestamp_assigner(lambda value, _: value[2])
        last_window = [("a", 1, MAX - 5), ("a", 2, MAX)]

        def program(env: StreamExecutionEnvironment) -> Any:
            stream = env.from_collection([*last_window, ("a", 4, MAX), ("a", 8, 0)], kinds)
            timed = stream.assign_timestamps_and_watermarks(strategy)
            windows = timed.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(500))
            return getattr(windows, operation)(functions[operation])

        results = run_local(program, epochs=epochs)
        (result,) = results.values()
        assert result == ([1, 2] if operation == "process" else ("a", 3, MAX - 5))
        assert [one.late for one in results.metrics.operators.values() if one.late] == [2]


# -- functions and evictors ------------------------------------------------------------------------


class TestFunctions:
    def test_clocks_of_a_window_function(self) -> None:
        parts = Parts(span(0, 10), lateness=100)
        seen: list[Any] = []
        parts.trigger.answers["on_event_time"] = parts.trigger.answers["on_element"] = FIRE
        parts.function.does["process"] = lambda context: seen.append(
            (context.current_watermark(), context.current_processing_time())
        )
        parts.bench.watermark(7)
        parts.bench.processing_time(30)
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(20)
        parts.bench.element("a", 2, 0)
        parts.bench.end()
        assert seen == [(7, 30), (20, 30), (MAX, 30)]

    def test_state_of_the_key_outlives_its_windows(self) -> None:
        parts = Parts(span(0, 10))
        seen: list[Any] = []

        def remember(context: Any) -> None:
            state = context.global_state().get_state(HELLO)
            seen.append(state.value())
            state.update("hello")

        parts.trigger.answers["on_element"] = FIRE
        parts.function.does["process"] = remember
        parts.bench.element("a", 1, 0)
        parts.bench.watermark(9)
        parts.assigner.windows = [span(10, 20)]
        parts.bench.element("a", 2, 10)
        parts.bench.element("b", 3, 10)
        assert seen == [None, "hello", None]

    def test_an_evictor_is_asked_before_and_after_with_times(self) -> None:
        calls: Calls = []

        class Noting(Evictor):
            def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
                found = [(e.value[1], e.timestamp) for e in elements]
                calls.append(("before", found, size, window, ctx.get_current_watermark()))
                del elements[0]

            def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
                calls.append(("after", [e.value[1] for e in elements], size))

        bench = Bench(
            lambda s: (
                s.window(TumblingEventTimeWindows.of(10)).evictor(Noting()).process(Function(calls))
            )
        )
        bench.element("a", 1, 4)
        bench.element("a", 2, 3)
        bench.watermark(9)
        assert calls == [
            ("before", [(1, 4), (2, 3)], 2, span(0, 10), 9),
            ("process", "a", span(0, 10), [2]),
            ("after", [2], 1),
            ("function clear", span(0, 10)),
        ]

    def test_an_evictor_is_not_asked_about_an_empty_window(self) -> None:
        class Never(Evictor):
            def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
                raise AssertionError("the window is empty")

            evict_after = evict_before

        probe = Probe([])
        probe.answers = {"on_element": PURGE, "on_event_time": FIRE}
        bench = Bench(
            lambda s: (
                s.window(TumblingEventTimeWindows.of(10))
                .trigger(probe)
                .evictor(Never())
                .process(Function([]))
            )
        )
        bench.element("a", 1, 4)
        assert bench.watermark(9) == []

    def test_an_accumulator_of_another_window_is_never_shared(self) -> None:
        """A reduce may return one of its arguments; the next record must not change what was told."""
        bench = Bench(
            lambda s: (
                s.window(GlobalWindows.create())
                .trigger(CountTrigger.of(1))
                .reduce(lambda one, other: (one[0], one[1] + other[1], 0))
            )
        )
        assert bench.element("a", 1, 0) == [("a", 1, 0)]
        assert bench.element("b", 5, 0) == [("b", 5, 0)]
        assert bench.element("a", 2, 0) == [("a", 3, 0)]

    @pytest.mark.parametrize("place", ["assigner", "trigger", "timer", "function", "clear"])
    def test_an_error_in_any_of_them_fails_the_epoch_and_changes_nothing(self, place: str) -> None:
        parts = Parts(span(0, 10))
        parts.trigger.answers["on_event_time"] = FIRE
        parts.bench.element("a", 1, 0)
        before = parts.bench.state()

        def fail(*arguments: Any) -> None:
            raise ValueError("no luck")

        if place == "assigner":
            parts.assigner.assign_windows = fail
        elif place == "trigger":
            parts.trigger.does["on_element"] = fail
        elif place == "timer":
            parts.trigger.does["on_event_time"] = fail
        else:
            parts.function.does["process" if place == "function" else "clear"] = fail
        with pytest.raises(MillstreamError, match="no luck"):
            if place in ("assigner", "trigger"):
                parts.bench.element("a", 2, 0)
            else:
                parts.bench.watermark(9)
        assert parts.bench.state() == before
