"""In Millstream what `sql_windows` and `java_windows` say in SQL and Java, under the same names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millstream.common import Types
from millstream.datastream import (
    AggregateFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from millstream.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.support.parity.sql_windows import TABLES

Timed = Callable[..., Any]
tumbling = TumblingEventTimeWindows.of
sliding = SlidingEventTimeWindows.of
sessions = EventTimeSessionWindows.with_gap


class CumulativeWindows(WindowAssigner):
    """SQL's CUMULATE: windows that begin together and end one step after the other."""

    def __init__(self, step: int, size: int) -> None:
        self.step = step
        self.size = size

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        start = TimeWindow.get_window_start_with_offset(timestamp, 0, self.size)
        first_end = timestamp - timestamp % self.step + self.step
        return [
            TimeWindow(start, end) for end in range(first_end, start + self.size + 1, self.step)
        ]

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value[1]

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class WithBounds(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        for element in elements:
            yield key, context.window().start, context.window().end, *element


class Times(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp()


class PairOfValues(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left[0], left[1], right[1]


def stream(timed: Timed, table: str) -> Any:
    records, out_of_orderness = TABLES[table]
    return timed(records, out_of_orderness=out_of_orderness)


def keyed(timed: Timed, table: str) -> Any:
    return stream(timed, table).key_by(lambda record: record[0], Types.STRING())


def totals(table: str, assigner: WindowAssigner) -> Callable[[Timed], Any]:
    return lambda timed: keyed(timed, table).window(assigner).aggregate(CountAndSum(), WithBounds())


def shared_window(left: Any, right: Any) -> tuple[int, int]:
    time = (left or right)[2]
    return time - time % 20, time - time % 20 + 20


def window_join(kind: str) -> Callable[[Timed], Any]:
    def pair(left: Any, right: Any) -> tuple[Any, ...]:
        nothing = (None, None)
        return *(left or nothing)[:2], *(right or nothing)[:2], *shared_window(left, right)

    def program(timed: Timed) -> Any:
        both = getattr(stream(timed, "in_order"), kind)(stream(timed, "other"))
        return both.where(0).equal_to(0).window(tumbling(20)).apply(pair)

    return program


def interval_join(timed: Timed) -> Any:
    both = keyed(timed, "in_order").interval_join(keyed(timed, "other"))
    return both.between(-5, 10).process(PairOfValues())


def floats(timed: Timed) -> Any:
    numbers = stream(timed, "in_order").map(
        lambda record: (record[0], float(record[1]), record[2]),
        Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()]),
    )
    return numbers.key_by(lambda record: record[0], Types.STRING())


def distance(one: Any, other: Any) -> float:
    return abs(one[1] - other[1])


def windows(table: str, assigner: WindowAssigner) -> Callable[[Timed], Any]:
    return lambda timed: keyed(timed, table).window(assigner)


SQL: dict[str, Callable[[Timed], Any]] = {
    "sql_tumble": totals("in_order", tumbling(10)),
    "sql_tumble_offset": totals("in_order", tumbling(10, 3)),
    "sql_tumble_late": totals("with_late", tumbling(10)),
    "sql_hop": totals("in_order", sliding(20, 5)),
    "sql_hop_late": totals("with_late", sliding(20, 10)),
    "sql_cumulate": totals("in_order", CumulativeWindows(10, 40)),
    "sql_cumulate_late": totals("with_late", CumulativeWindows(10, 30)),
    "sql_session": totals("in_order", sessions(12)),
    "sql_session_late": totals("with_late", sessions(5)),
    "sql_session_bridged": totals("bridged", sessions(10)),
    "sql_window_join": window_join("join"),
    "sql_window_left_join": window_join("left_outer_join"),
    "sql_window_right_join": window_join("right_outer_join"),
    "sql_window_full_join": window_join("full_outer_join"),
    "sql_interval_join": interval_join,
}
JAVA: dict[str, Callable[[Timed], Any]] = {
    "java_sum": lambda timed: windows("in_order", tumbling(20))(timed).sum(1),
    "java_min": lambda timed: windows("in_order", tumbling(50))(timed).min(1),
    "java_max": lambda timed: windows("with_late", tumbling(50))(timed).max(1),
    "java_min_by": lambda timed: windows("in_order", tumbling(50))(timed).min_by(1),
    "java_max_by": lambda timed: windows("with_late", tumbling(50))(timed).max_by(1),
    "java_sliding_sum": lambda timed: windows("with_late", sliding(20, 5))(timed).sum(1),
    "java_session_sum": lambda timed: windows("bridged", sessions(10))(timed).sum(1).project(0, 1),
    "java_late_sum": lambda timed: (
        windows("with_late", tumbling(10))(timed).allowed_lateness(15).sum(1)
    ),
    "java_all_sum": lambda timed: stream(timed, "in_order").window_all(tumbling(20)).sum(1),
    "java_all_max_by": lambda timed: (
        stream(timed, "in_order").window_all(sliding(40, 20)).max_by(1)
    ),
    "java_all_min": lambda timed: stream(timed, "in_order").window_all(tumbling(50)).min(1),
    "java_all_max": lambda timed: stream(timed, "in_order").window_all(tumbling(50)).max(1),
    "java_all_min_by": lambda timed: stream(timed, "with_late").window_all(tumbling(30)).min_by(1),
    "java_all_evictor": lambda timed: (
        stream(timed, "in_order").window_all(tumbling(50)).evictor(CountEvictor.of(3)).sum(1)
    ),
    "java_count_window_all": lambda timed: stream(timed, "in_order").count_window_all(4).sum(1),
    "java_count_window": lambda timed: keyed(timed, "in_order").count_window(2).sum(1),
    "java_count_window_sliding": lambda timed: (
        windows("in_order", GlobalWindows.create())(timed)
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(3))
        .sum(1)
    ),
    "java_continuous_trigger": lambda timed: (
        windows("in_order", tumbling(50))(timed).trigger(ContinuousEventTimeTrigger.of(20)).sum(1)
    ),
    "java_end_of_stream": lambda timed: windows(
        "with_late", GlobalWindows.create_with_end_of_stream_trigger()
    )(timed).sum(1),
    "java_delta_trigger": lambda timed: (
        floats(timed).window(GlobalWindows.create()).trigger(DeltaTrigger.of(2.5, distance)).sum(1)
    ),
    "java_delta_evictor": lambda timed: (
        floats(timed).window(tumbling(50)).evictor(DeltaEvictor.of(3.5, distance)).sum(1)
    ),
    "java_count_evictor": lambda timed: (
        windows("in_order", sliding(40, 20))(timed).evictor(CountEvictor.of(2)).sum(1)
    ),
    "java_count_evictor_after": lambda timed: (
        windows("in_order", tumbling(50))(timed)
        .trigger(CountTrigger.of(1))
        .evictor(CountEvictor.of(1, True))
        .sum(1)
    ),
    "java_time_evictor": lambda timed: (
        windows("with_late", tumbling(50))(timed).evictor(TimeEvictor.of(12)).sum(1)
    ),
    "java_time_evictor_after": lambda timed: (
        windows("with_late", tumbling(50))(timed)
        .trigger(CountTrigger.of(1))
        .evictor(TimeEvictor.of(12, True))
        .sum(1)
    ),
    "java_evictor_in_sessions": lambda timed: (
        windows("bridged", sessions(10))(timed).evictor(TimeEvictor.of(15)).sum(1)
    ),
}


def counterpart(name: str, timed: Timed) -> Any:
    """The stream that must have the records of a query or of a Java program."""
    return SQL[name](timed) if name in SQL else JAVA[name](timed).process(Times())
