"""Operators of every kind, for the tests of savepoints: each keeps what it can, and tells all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millstream.common import Row, RowKind, Types, WatermarkStrategy
from millstream.common.state_ttl import StateTtlConfig
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import (
    AggregateFunction,
    CoGroupFunction,
    DataStream,
    KeyedProcessFunction,
)
from millstream.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ProcessAllWindowFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millstream.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeEvictor,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
"""Key, number, event time."""
Streams = tuple[DataStream, DataStream]


def key_of(record: Any) -> str:
    return record[0]


def by_key(stream: DataStream) -> Any:
    return stream.key_by(lambda record: record[0])


# -- process functions -----------------------------------------------------------------------------


class Count(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + 1, accumulator[1] + value]

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [a + b for a, b in zip(acc_a, acc_b, strict=True)]


class Everything(KeyedProcessFunction):
    """State of every kind, one of it asked for late, and timers of both times."""

    def __init__(self, ttl_ms: int | None = None) -> None:
        self.ttl_ms = ttl_ms

    def _living(self, descriptor: Any) -> Any:
        if self.ttl_ms is not None:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(self.ttl_ms).build())
        return descriptor

    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context
        of, long = self._living, Types.LONG()
        self.total = runtime_context.get_state(of(ValueStateDescriptor("total", long)))
        # A name that means something in a savepoint, and values that are not of the type.
        self.seen = runtime_context.get_list_state(of(ListStateDescriptor("timers", long)))
        self.last = runtime_context.get_map_state(
            of(MapStateDescriptor("last", Types.STRING(), long))
        )
        self.most = runtime_context.get_reducing_state(of(ReducingStateDescriptor("most", max)))
        self.count = runtime_context.get_aggregating_state(
            of(AggregatingStateDescriptor("count", Count(), Types.PICKLED_BYTE_ARRAY()))
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, number, ts = value
        self.total.update((self.total.value() or 0) + number)
        self.seen.add(number if number % 3 else bool(number % 2))
        self.last.put(str(number % 4), number)
        self.most.add(number)
        self.count.add(number)
        timers = ctx.timer_service()
        timers.register_event_time_timer(ts + 7)
        timers.register_processing_time_timer(timers.current_processing_time() + 25)
        if number % 5 == 4:
            self.context.get_state(ValueStateDescriptor("late", Types.STRING())).update("late")
        if number % 5 == 3:
            timers.delete_event_time_timer(ts + 6)
        yield "record", ctx.get_current_key(), number, *self._state()

    def _state(self) -> tuple[Any, ...]:
        late = self.context.get_state(ValueStateDescriptor("late", Types.STRING())).value()
        seen, last = tuple(map(repr, self.seen.get())), tuple(self.last.items())
        return self.total.value(), seen, last, self.most.get(), self.count.get(), late

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        # As the golden savepoints have it: once a time domain was a text.
        domain = ctx.time_domain().name.removesuffix("_TIME").lower()
        yield domain, ctx.get_current_key(), timestamp, *self._state()
        if timestamp % 4 == 0:
            self.last.clear()


class OnlyTimers(KeyedProcessFunction):
    """Timers, and no state at all."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[2] + 9)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


class Same(KeyedProcessFunction):
    """Passes records on, and has a state of its own."""

    def open(self, runtime_context: Any) -> None:
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.number.update((self.number.value() or 0) + 1)
        yield value


class Numbered(KeyedProcessFunction):
    """How many records there have been of each key."""

    def open(self, runtime_context: Any) -> None:
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.number.update((self.number.value() or 0) + 1)
        yield ctx.get_current_key(), self.number.value()


# -- windows ---------------------------------------------------------------------------------------


class Listed(ProcessWindowFunction):
    """The records of a window, with state of the key and of the window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        fired = context.global_state().get_state(ValueStateDescriptor("fired", Types.LONG()))
        fired.update((fired.value() or 0) + 1)
        own = context.window_state().get_list_state(ListStateDescriptor("own", Types.LONG()))
        own.add(fired.value())
        return [(key, str(context.window()), tuple(elements), fired.value(), tuple(own.get()))]

    def clear(self, context: Any) -> None:
        context.window_state().get_list_state(ListStateDescriptor("own", Types.LONG())).clear()


class Merging(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return [(key, str(context.window()), tuple(elements))]


class Applied(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
        return [(key, str(window), tuple(inputs))]


class AllListed(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Any:
        return [(str(context.window()), tuple(elements))]


class EveryThird(Trigger):
    """Fires at each third record, at a time in the window and at its end; merges."""

    def can_merge(self) -> bool:
        return True

    COUNT = ReducingStateDescriptor("n", lambda a, b: a + b, Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        count = ctx.get_partitioned_state(self.COUNT)
        count.add(1)
        ctx.register_event_time_timer(window.max_timestamp())
        ctx.register_event_time_timer(window.start + 3)
        if count.get() % 3 == 0:
            return TriggerResult.FIRE if count.get() % 2 else TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.COUNT)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.COUNT).clear()
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.delete_event_time_timer(window.start + 3)


class PurgingCount(EveryThird):
    """Fires at each third record."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        count = ctx.get_partitioned_state(self.COUNT)
        count.add(1)
        return TriggerResult.CONTINUE if count.get() % 3 else TriggerResult.FIRE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.COUNT).clear()


class Sums(AggregateFunction):
    def create_accumulator(self) -> dict[str, int]:
        return {}

    def add(self, value: Any, accumulator: dict[str, int]) -> dict[str, int]:
        accumulator[value[0]] = accumulator.get(value[0], 0) + value[1]
        return accumulator

    def get_result(self, accumulator: dict[str, int]) -> Any:
        return tuple(accumulator.items())

    def merge(self, acc_a: dict[str, int], acc_b: dict[str, int]) -> dict[str, int]:
        raise AssertionError("these windows do not merge")


def added(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1], one[2]


TUMBLING = TumblingEventTimeWindows.of(10)
SLIDING = SlidingEventTimeWindows.of(12, 4)
TICKING = TumblingProcessingTimeWindows.of(25)
TICKING_SESSIONS = ProcessingTimeSessionWindows.with_gap(25)
SESSIONS = EventTimeSessionWindows.with_gap(5)


# -- two streams -----------------------------------------------------------------------------------


class Joined(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right, ctx.get_timestamp()


class Grouped(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Any:
        return [(tuple(first), tuple(second))]


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_state(ValueStateDescriptor("right"))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.left.add(value[1])
        ctx.timer_service().register_event_time_timer(value[2] + 4)
        yield "left", value, tuple(self.left.get()), self.right.value()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.right.update({"last": value})
        yield "right", value, tuple(self.left.get())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", ctx.get_current_key(), timestamp, tuple(self.left.get())


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
TOTAL = ValueStateDescriptor("total", Types.LONG())


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, tuple(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield "rule", value


class KeyedRuled(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(value[2] + 6)
        yield value, self.total.value(), tuple(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        if value[1] % 3 == 0:
            ctx.apply_to_keyed_state(TOTAL, lambda key, total: total.update(total.value() + 100))
        yield "rule", value

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, self.total.value()


class Slow(WatermarkGenerator):
    """Three records behind the latest time it has seen."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        self.times = [*self.times, timestamp][-4:]
        output.emit_watermark(Watermark(min(self.times) - 2))

    def on_periodic_emit(self, output: Any) -> None:
        pass


def bounded() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(4)
    return strategy.with_timestamp_assigner(lambda record, _: record[2])


def custom() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_generator(Slow)
    return strategy.with_timestamp_assigner(lambda record, _: record[2])


def again(stream: DataStream) -> DataStream:
    """Watermarks made anew behind a keyed operator."""
    counted = by_key(stream).process(Same(), output_type=RECORD).uid("first")
    return counted.assign_timestamps_and_watermarks(custom()).uid("again")


# -- the cases -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What an operator is made of its two inputs.

    ``rolling``: in batch mode only the last result of each key comes.
    """

    name: str
    build: Callable[[DataStream, DataStream], DataStream]
    two: bool = False
    strategy: Callable[[], WatermarkStrategy] = bounded
    rolling: bool = False


def windows(name: str, build: Callable[[Any], DataStream], **options: Any) -> Case:
    return Case(name, lambda left, right: build(by_key(left)), **options)


def untyped(stream: DataStream) -> Any:
    """By a key that is no column, so that records are kept as objects."""
    return stream.key_by(lambda record: str(record[0]))


def read_key(record: Any) -> str:
    key: str = record[0]
    return key


def of_function(stream: DataStream) -> Any:
    """By a function that does the same as the lambda, and that the planner cannot read."""
    return stream.key_by(read_key)


def with_gaps(stream: DataStream) -> DataStream:
    """Records whose second field is often None."""
    return stream.map(lambda r: (r[0], r[1] % 2 if r[1] % 3 else None, r[2]), output_type=RECORD)


def read_pair(record: Any) -> Any:
    key = record[1], record[0]
    return key


def by_pair(stream: DataStream) -> Any:
    """By two columns, one of which may be None."""
    return with_gaps(stream).key_by(lambda record: (record[1], record[0]))


def pair_of_function(stream: DataStream) -> Any:
    """The same by a function that the planner cannot read."""
    return with_gaps(stream).key_by(read_pair)


def summary(windowed: Any) -> DataStream:
    return windowed.summarize(("sum", 2), "count", ("max", 2), ("avg", 2), ("min", 2))


CHANGE = Types.ROW([Types.STRING(), Types.LONG(), Types.LONG()])


def changes(stream: DataStream) -> DataStream:
    """Records of which some are taken back."""
    kinds = (RowKind.INSERT, RowKind.DELETE, RowKind.UPDATE_AFTER)
    rows = stream.map(
        lambda record: Row.of_kind(kinds[record[1] % 3], *record),
        output_type=Types.PICKLED_BYTE_ARRAY(),
    )
    return rows.changelog(CHANGE)


def join_of(left: DataStream, right: DataStream, how: str) -> Any:
    sides = getattr(left, how)(right).where(key_of).equal_to(key_of)
    return sides.window(TUMBLING)


CASES = [
    Case("state of every kind", lambda s, _: by_key(s).process(Everything())),
    Case("state that expires", lambda s, _: by_key(s).process(Everything(ttl_ms=40))),
    Case("timers alone", lambda s, _: by_key(s).process(OnlyTimers())),
    Case("rolling reduce", lambda s, _: by_key(s).reduce(added), rolling=True),
    Case("rolling sum", lambda s, _: by_key(s).sum(1), rolling=True),
    windows("sums by column", lambda s: s.window(TUMBLING).sum(1)),
    windows("sliding sums by column", lambda s: s.window(SLIDING).max_by(1)),
    windows("kept columns, process", lambda s: s.window(SLIDING).process(Listed())),
    windows("kept columns, apply", lambda s: s.window(TUMBLING).apply(Applied())),
    Case("tumbling", lambda s, _: untyped(s).window(TUMBLING).process(Listed())),
    Case("sliding", lambda s, _: untyped(s).window(SLIDING).process(Listed())),
    Case("sliding sum", lambda s, _: untyped(s).window(SLIDING).sum(1)),
    Case("minimum of tumbling", lambda s, _: untyped(s).window(TUMBLING).min_by(1)),
    Case("aggregate", lambda s, _: untyped(s).window(TUMBLING).aggregate(Sums())),
    windows(
        "late firings",
        lambda s: s.window(TUMBLING).allowed_lateness(6).process(Listed()),
    ),
    windows("sessions", lambda s: s.window(SESSIONS).process(Merging())),
    windows("sums of sessions", lambda s: s.window(SESSIONS).sum(1)),
    windows("count windows", lambda s: s.count_window(3).process(Merging())),
    windows("sliding count windows", lambda s: s.count_window(4, 2).reduce(added)),
    windows(
        "a trigger with state",
        lambda s: s.window(TUMBLING).trigger(EveryThird()).process(Listed()),
    ),
    windows(
        "a trigger that merges", lambda s: s.window(SESSIONS).trigger(EveryThird()).reduce(added)
    ),
    windows(
        "an evictor",
        lambda s: s.window(SLIDING).evictor(CountEvictor.of(2)).process(Merging()),
    ),
    windows(
        "an evictor by time and a trigger",
        lambda s: (
            s.window(GlobalWindows.create())
            .trigger(PurgingCount())
            .evictor(TimeEvictor.of(6, True))
            .process(Merging())
        ),
    ),
    windows("processing time", lambda s: s.window(TICKING).process(Listed())),
    windows("processing-time sessions", lambda s: s.window(TICKING_SESSIONS).process(Merging())),
    Case("the first of each key", lambda s, _: by_key(s).first(2)),
    Case("windows over all", lambda s, _: s.window_all(TUMBLING).process(AllListed())),
    Case("a union", lambda s, t: by_key(s.union(t)).process(Everything()), two=True),
    Case(
        "interval join",
        lambda s, t: by_key(s).interval_join(by_key(t)).between(-5, 3).process(Joined()),
        two=True,
    ),
    Case(
        "window join",
        lambda s, t: join_of(s, t, "join").apply(lambda a, b: (a, b)),
        two=True,
    ),
    Case(
        "co-group",
        lambda s, t: join_of(s, t, "co_group").apply(Grouped()),
        two=True,
    ),
    Case(
        "connected",
        lambda s, t: s.connect(t).key_by(key_of, key_of).process(Both()),
        two=True,
    ),
    Case(
        "broadcast",
        lambda s, t: s.connect(t.broadcast(RULES)).process(Ruled()),
        two=True,
    ),
    Case(
        "keyed broadcast",
        lambda s, t: by_key(s).connect(t.broadcast(RULES)).process(KeyedRuled()),
        two=True,
    ),
    Case("own watermarks", lambda s, _: by_key(s).process(Everything()), strategy=custom),
    windows("own watermarks and windows", lambda s: s.window(SLIDING).sum(1), strategy=custom),
    Case(
        "own watermarks behind a key",
        lambda s, _: by_key(again(s)).window(TUMBLING).sum(1),
    ),
    windows("counts by column", lambda s: s.window(SLIDING).count()),
    Case("sums by a function", lambda s, _: of_function(s).window(TUMBLING).sum(1)),
    Case("records by a function", lambda s, _: of_function(s).window(TUMBLING).process(Listed())),
    windows("several aggregates", lambda s: s.window(SLIDING).summarize(("avg", 1), ("max", 2))),
    Case("several aggregates by pairs", lambda s, _: summary(by_pair(s).window(TUMBLING))),
    Case("counts by pairs", lambda s, _: by_pair(s).window(SLIDING).count()),
    Case("sums by pairs", lambda s, _: by_pair(s).window(TUMBLING).sum(2)),
    Case("kept columns by pairs", lambda s, _: by_pair(s).window(SLIDING).process(Listed())),
    Case(
        "counts of changes",
        lambda s, _: changes(s).key_by(0).window(SLIDING).summarize("count", ("sum", 1)),
    ),
    Case("rolling sum by column", lambda s, _: by_key(s).sum(1), rolling=True),
    Case("rolling maximum by pairs", lambda s, _: by_pair(s).max_by(2), rolling=True),
]
