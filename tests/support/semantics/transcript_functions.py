"""User functions of the transcripts. Spark's workers import this module, so it imports little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millstream.common import Types
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
)
from millstream.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millstream.datastream.state import (
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountWindow,
    EventTimeTrigger,
    Evictor,
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    Trigger,
    TriggerResult,
    WindowAssigner,
)

LATE = OutputTag("late")
ASIDE = OutputTag("aside")

Record = tuple[str, str, str, int, int]
"""A step of a script on its way: case, "element" or "watermark", key, value, time."""


# -- around the operator: from steps to records, and from results to lines -------------------------


class Marks(WatermarkGenerator):
    """Watermarks where the script has them, and nowhere else."""

    def on_event(self, event: Record, timestamp: int, output: Any) -> None:
        if event[1] == "watermark":
            output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        pass


def time_of(record: Record, _: int) -> int:
    return record[4]


def is_element(record: Record) -> bool:
    return record[1] == "element"


def key_and_value(record: Record) -> tuple[str, int]:
    return record[2], record[3]


def key_of(value: tuple[Any, ...]) -> Any:
    return value[0]


def with_digits(pair: tuple[str, int]) -> tuple[str, int, int]:
    """(key, tens, ones): a field to compare, and one that tells which record it was."""
    return pair[0], pair[1] // 10, pair[1] % 10


class OfCase:
    """Whether a step belongs to a case."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, record: Record) -> bool:
        return record[0] == self.name


class PassedOn(KeyedProcessFunction):
    """Does nothing to records but to take them through a keyed stage."""

    def process_element(self, value: Any, ctx: Any) -> list[Any]:
        return [value]


class Line(ProcessFunction):
    """Makes (case, output, key, text) of a result: its fields, and its event time behind an @."""

    def __init__(self, case: str, output: str) -> None:
        self.case = case
        self.output = output

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[str, str, str, str]]:
        fields = [str(field) for field in value] if isinstance(value, tuple) else [str(value)]
        text = " ".join([*fields, f"@{shown_time(ctx.timestamp())}"])
        yield self.case, self.output, fields[0], text


def shown_time(time: int | None) -> str:
    """A time; near the ends of time, how far from them."""
    if time is None:
        return "none"
    for end, name in ((MAX_TIMESTAMP, "MAX"), (MIN_TIMESTAMP, "MIN")):
        if abs(time - end) < 10_000:
            return f"{name}{time - end:+}" if time != end else name
    return str(time)


def shown(window: Any) -> str:
    if isinstance(window, TimeWindow):
        return f"[{shown_time(window.start)},{shown_time(window.end)})"
    return f"#{window.id}" if isinstance(window, CountWindow) else "all"


# -- window functions ------------------------------------------------------------------------------


class Listed(ProcessWindowFunction):
    """(key, window, all values); with ``clock`` also where the watermark stands."""

    def __init__(self, *, window: bool = True, clock: bool = False, now: bool = False) -> None:
        self.window = window
        self.clock = clock
        self.now = now

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        fields = [shown(context.window())] if self.window else []
        if self.clock:
            fields.append(f"clock={shown_time(context.current_watermark())}")
        if self.now:
            fields.append(f"now={context.current_processing_time()}")
        yield (key, *fields, *[value for _, value in elements])


class ListedAll(ProcessAllWindowFunction):
    """("*", window, all values) for windows without keys."""

    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield ("*", shown(context.window()), *[value for _, value in elements])


class Applied(WindowFunction):
    """What `Listed` says, by the simpler function."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> list[Any]:
        return [(key, shown(window), *[value for _, value in inputs])]


class AppliedAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> list[Any]:
        return [("*", shown(window), *[value for _, value in inputs])]


class Folded(ProcessWindowFunction):
    """(key, window, everything there is): behind a reduce or an aggregate that is one thing."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield (key, shown(context.window()), *elements)


class FoldedAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield ("*", shown(context.window()), *elements)


class FoldedApplied(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield (key, shown(window), *inputs)


class Scattered(ProcessWindowFunction):
    """A result for each value, none for a 0, and the negative ones aside."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for _, value in elements:
            if value < 0:
                yield ASIDE, (key, shown(context.window()), value)
            elif value > 0:
                yield key, shown(context.window()), value


class Nothing(ProcessWindowFunction):
    """Has nothing to say."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> None:
        return None


class Firings(ProcessWindowFunction):
    """(key, window, how often this window has fired, how often all of its key have)."""

    def open(self, runtime_context: Any) -> None:
        self.here = ValueStateDescriptor("here", Types.LONG())
        self.everywhere = ValueStateDescriptor("everywhere", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        here = context.window_state().get_state(self.here)
        everywhere = context.global_state().get_state(self.everywhere)
        here.update((here.value() or 0) + 1)
        everywhere.update((everywhere.value() or 0) + 1)
        yield key, shown(context.window()), here.value(), everywhere.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.here).clear()


class Remembering(ProcessWindowFunction):
    """(key, window, the sums that this window has told before): list state of a window."""

    sums = ListStateDescriptor("sums", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        told = context.window_state().get_list_state(self.sums)
        told.add(sum(value for _, value in elements))
        yield (key, shown(context.window()), *told.get())

    def clear(self, context: Any) -> None:
        context.window_state().get_list_state(self.sums).clear()


class SinceLast(ProcessWindowFunction):
    """(key, window, its sum, the sum of the key's window before): state of a key."""

    last = ValueStateDescriptor("last", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        state = context.global_state().get_state(self.last)
        total = sum(value for _, value in elements)
        yield key, shown(context.window()), total, state.value()
        state.update(total)


def add(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    """The key of the older, and the sum."""
    return one[0], one[1] + other[1]


class Average(AggregateFunction):
    """(key of the first, average)."""

    def create_accumulator(self) -> tuple[str, int, int]:
        return "", 0, 0

    def add(self, value: tuple[str, int], accumulator: tuple[str, int, int]) -> Any:
        key, total, count = accumulator
        return key or value[0], total + value[1], count + 1

    def get_result(self, accumulator: tuple[str, int, int]) -> tuple[str, float]:
        key, total, count = accumulator
        return key, total / count

    def merge(self, acc_a: tuple[str, int, int], acc_b: tuple[str, int, int]) -> Any:
        return acc_a[0] or acc_b[0], acc_a[1] + acc_b[1], acc_a[2] + acc_b[2]


class Gathered(AggregateFunction):
    """The values in an accumulator that changes in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: tuple[str, int], accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(sorted(accumulator))

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


# -- assigners, triggers and evictors of the user's own --------------------------------------------


class GapOfValue(SessionWindowTimeGapExtractor):
    """Each record says how long its session waits."""

    def extract(self, element: tuple[str, int]) -> int:
        return element[1]


class ByTens(WindowAssigner):
    """Two windows for each record: its ten, and its hundred."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        ten, hundred = timestamp - timestamp % 10, timestamp - timestamp % 100
        return [TimeWindow(ten, ten + 10), TimeWindow(hundred, hundred + 100)]

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class SkippingZeros(ByTens):
    """As `ByTens`, but records with value 0 belong to no window."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return super().assign_windows(element, timestamp, context) if element[1] else []


class Neighbours(MergingWindowAssigner):
    """Windows of ten; those that follow each other become one, but never more than thirty long."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        start = timestamp - timestamp % 10
        return [TimeWindow(start, start + 10)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        group: list[TimeWindow] = []
        for window in [*sorted(windows), None]:
            if window and group and window.start <= group[-1].end <= group[0].start + 20:
                group.append(window)
                continue
            if len(group) > 1:
                callback.merge(group, TimeWindow(group[0].start, max(w.end for w in group)))
            group = [window] if window else []

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class _OfMine(Trigger):
    """A trigger that does nothing; subclasses do."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        pass


class OnEven(_OfMine):
    """Fires for even values at once, and at the window's end like the default."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE if element[1] % 2 else TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class PurgeOnZero(_OfMine):
    """A value of 0 throws away what the window holds; it fires at its end."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE if element[1] else TriggerResult.PURGE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class WhenSumReaches(_OfMine):
    """Fires and purges when the values since the last firing come to a sum; state that merges."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        total = ctx.get_partitioned_state(self.total)
        total.add(element[1])
        if total.get() < self.limit:
            return TriggerResult.CONTINUE
        total.clear()
        return TriggerResult.FIRE_AND_PURGE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.total)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.total).clear()


class EarlyAndLate(_OfMine):
    """A timer some time after each record, in place of the one before; fires then and at the end."""

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.due = ValueStateDescriptor("due", Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        due = ctx.get_partitioned_state(self.due)
        if due.value() is not None:
            ctx.delete_event_time_timer(due.value())
        due.update(timestamp + self.delay)
        ctx.register_event_time_timer(due.value())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def clear(self, window: Any, ctx: Any) -> None:
        due = ctx.get_partitioned_state(self.due)
        if due.value() is not None:
            ctx.delete_event_time_timer(due.value())
            due.clear()


class AfterDelay(_OfMine):
    """Fires some processing time after each record."""

    def __init__(self, delay: int) -> None:
        self.delay = delay

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + self.delay)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE


class WithoutOdd(Evictor):
    """Removes odd values, before the function or after it."""

    def __init__(self, after: bool = False) -> None:
        self.after = after

    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        if not self.after:
            self._evict(elements, size)

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        if self.after:
            self._evict(elements, size)

    def _evict(self, elements: list[Any], size: int) -> None:
        assert len(elements) == size
        elements[:] = [element for element in elements if element.value[1] % 2 == 0]


class OnlyNearEnd(Evictor):
    """Keeps records of the last milliseconds of the window, by window and event time."""

    def __init__(self, millis: int) -> None:
        self.millis = millis

    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        border = window.max_timestamp() - self.millis
        elements[:] = [element for element in elements if element.timestamp > border]

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        pass


def distance(old: tuple[str, int], new: tuple[str, int]) -> int:
    """How far two records are apart by value."""
    return abs(new[1] - old[1])
