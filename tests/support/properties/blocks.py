"""Stateful building blocks, each written twice: on plain dicts for the oracle, and as the function a
user writes. Records are (name, number, trace); a trace shows the clock and the event time that each
callback on the way has seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from millstream.common.output_tag import OutputTag
from millstream.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from tests.support.properties.oracle import MAIN, Call, Emitted

SIDE = OutputTag("side")


class UserFunction:
    """What the functions of all blocks share."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def open(self, context: Any) -> None:
        self.context = context
        self.bind(context)

    def bind(self, context: Any) -> None:
        pass

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        raise AssertionError("this block registers no timers")

    def result(self, ctx: Any, label: str, number: int, *seen: Any) -> tuple[str, int, Any]:
        clock = ctx.timer_service().current_watermark()
        return str(ctx.get_current_key()), number, (label, clock, ctx.timestamp(), *seen)


def result(call: Call, label: str, number: int, *seen: Any) -> tuple[str, int, Any]:
    return str(call.key), number, (label, call.clock, call.ts, *seen)


def ahead(time: int, clock: int, past: bool) -> int:
    """A time for a timer; one in the past only where the program is meant to have such."""
    return time if past else max(time, clock + 1)


@dataclass(frozen=True)
class Count:
    """Counts to a limit and begins anew, so that state comes and goes; odd numbers also aside."""

    limit: int

    def process(self, value: Any, call: Call) -> list[Emitted]:
        seen = call.state.get("n", 0) + 1
        if seen < self.limit:
            call.state["n"] = seen
        else:
            call.state.pop("n", None)
        emitted: list[Emitted] = [(MAIN, result(call, "count", seen, value[2]))]
        if value[1] % 2:
            emitted.append((SIDE.tag_id, result(call, "odd", value[1])))
        return emitted

    def on_timer(self, time: int, call: Call) -> list[Emitted]:
        raise AssertionError("no timers")

    def function(self) -> UserFunction:
        return CountFunction(self)


class CountFunction(UserFunction):
    def bind(self, context: Any) -> None:
        self.n = context.get_state(ValueStateDescriptor("n"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        seen = (self.n.value() or 0) + 1
        if seen < self.block.limit:
            self.n.update(seen)
        else:
            self.n.clear()
        yield self.result(ctx, "count", seen, value[2])
        if value[1] % 2:
            yield SIDE, self.result(ctx, "odd", value[1])


@dataclass(frozen=True)
class Alarm:
    """A timer per record, which registers itself again a bounded number of times."""

    delay: int
    step: int
    hops: int
    past: bool = False

    def process(self, value: Any, call: Call) -> list[Emitted]:
        call.state["left"] = self.hops
        call.timers.add(ahead(call.ts + self.delay, call.clock, self.past))
        return [(MAIN, result(call, "set", value[1]))]

    def on_timer(self, time: int, call: Call) -> list[Emitted]:
        left = call.state.get("left", 0)
        call.state.pop("left", None)
        if left:
            call.state["left"] = left - 1
            call.timers.add(time + self.step)
        return [(MAIN, result(call, "alarm", left)), (SIDE.tag_id, result(call, "rang", time))]

    def function(self) -> UserFunction:
        return AlarmFunction(self)


class AlarmFunction(UserFunction):
    def bind(self, context: Any) -> None:
        self.left = context.get_state(ValueStateDescriptor("left"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        self.left.update(self.block.hops)
        time = ctx.timestamp() + self.block.delay
        time = ahead(time, timers.current_watermark(), self.block.past)
        timers.register_event_time_timer(time)
        yield self.result(ctx, "set", value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        left = self.left.value() or 0
        self.left.clear()
        if left:
            self.left.update(left - 1)
            ctx.timer_service().register_event_time_timer(timestamp + self.block.step)
        yield self.result(ctx, "alarm", left)
        yield SIDE, self.result(ctx, "rang", timestamp)


@dataclass(frozen=True)
class Session:
    """Gathers until nothing has come for a while: each record deletes the timer of the last one."""

    gap: int
    past: bool = False

    def process(self, value: Any, call: Call) -> list[Emitted]:
        call.timers.discard(call.state.get("due"))
        call.state["due"] = ahead(call.ts + self.gap, call.clock, self.past)
        call.timers.add(call.state["due"])
        call.state.setdefault("seen", []).append(value[1])
        return []

    def on_timer(self, time: int, call: Call) -> list[Emitted]:
        seen = tuple(call.state.get("seen", ()))
        call.state.clear()
        return [(MAIN, result(call, "session", sum(seen), seen))]

    def function(self) -> UserFunction:
        return SessionFunction(self)


class SessionFunction(UserFunction):
    def bind(self, context: Any) -> None:
        self.due = context.get_state(ValueStateDescriptor("due"))
        self.seen = context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        if self.due.value() is not None:
            timers.delete_event_time_timer(self.due.value())
        time = ctx.timestamp() + self.block.gap
        self.due.update(ahead(time, timers.current_watermark(), self.block.past))
        timers.register_event_time_timer(self.due.value())
        self.seen.add(value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        seen = tuple(self.seen.get())
        self.due.clear()
        self.seen.clear()
        yield self.result(ctx, "session", sum(seen), seen)


class Average:
    """An `AggregateFunction`: sum and count."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        return one[0] + other[0], one[1] + other[1]


@dataclass(frozen=True)
class Tally:
    """Tumbling buckets by hand: map, reducing and aggregating state, one timer registered often."""

    size: int
    past: bool = False

    def process(self, value: Any, call: Call) -> list[Emitted]:
        numbers = call.state.setdefault("numbers", [])
        numbers.append(value[1])
        end = (call.ts // self.size + 1) * self.size - 1
        call.timers.add(ahead(end, call.clock, self.past))
        return [(MAIN, result(call, "tally", sum(numbers), sum(numbers) / len(numbers)))]

    def on_timer(self, time: int, call: Call) -> list[Emitted]:
        numbers = call.state.pop("numbers", [])
        counts = sorted((n, numbers.count(n)) for n in set(numbers))
        return [(MAIN, result(call, "of", n, times)) for n, times in counts]

    def function(self) -> UserFunction:
        return TallyFunction(self)


class TallyFunction(UserFunction):
    def bind(self, context: Any) -> None:
        self.counts = context.get_map_state(MapStateDescriptor("counts"))
        self.total = context.get_reducing_state(
            ReducingStateDescriptor("total", lambda one, other: one + other)
        )
        self.mean = context.get_aggregating_state(AggregatingStateDescriptor("mean", Average()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers, number = ctx.timer_service(), value[1]
        self.counts.put(number, (self.counts.get(number) or 0) + 1)
        self.total.add(number)
        self.mean.add(number)
        end = (ctx.timestamp() // self.block.size + 1) * self.block.size - 1
        timers.register_event_time_timer(ahead(end, timers.current_watermark(), self.block.past))
        return [self.result(ctx, "tally", self.total.get(), self.mean.get())]

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        counts = sorted(self.counts.items())
        for state in (self.counts, self.total, self.mean):
            state.clear()
        return [self.result(ctx, "of", number, times) for number, times in counts]


Block = Count | Alarm | Session | Tally


def blocks(*, past: bool = False) -> st.SearchStrategy[Block]:
    """Blocks; with ``past`` those that register timers at or before the clock too."""
    least = -15 if past else 1
    kinds: list[st.SearchStrategy[Block]] = [
        st.builds(
            Alarm,
            delay=st.integers(least, 20),
            step=st.integers(least, 12),
            hops=st.integers(0, 3),
            past=st.just(past),
        ),
        st.builds(Session, gap=st.integers(least, 20), past=st.just(past)),
        st.builds(Tally, size=st.sampled_from((1, 5, 10)), past=st.just(past)),
    ]
    if not past:
        kinds.append(st.builds(Count, limit=st.integers(1, 4)))
    return st.one_of(kinds)
