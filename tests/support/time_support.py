"""Small jobs for the tests of the time rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.common.time import MIN_TIMESTAMP as MIN
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.plan.graph import JobGraph, KeyedNode, SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob

__all__ = ["MAX", "MIN", "Probe", "bounded", "clock", "clock_of", "job", "keyed", "sink", "source"]

Event = tuple[Any, int]


def clock(ctx: Any) -> int:
    return ctx.timer_service().current_watermark()


def clock_of(value: Any, ctx: Any) -> list[Any]:
    """The record, and the clock before it."""
    return [(value, clock(ctx))]


def ring(timestamp: int, ctx: Any) -> list[Any]:
    return [(f"{ctx.get_current_key()} rings", clock(ctx))]


class Probe:
    """A `KeyedProcessFunction` made of two functions."""

    def __init__(
        self,
        process: Callable[..., Any] = clock_of,
        on_timer: Callable[..., Any] = ring,
        states: Sequence[Callable[[Any], Any]] = (),
    ) -> None:
        self.process = process
        self.timer = on_timer
        self.wanted = states

    def open(self, context: Any) -> None:
        self.states = [wanted(context) for wanted in self.wanted]

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.process(value, ctx, *self.states)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.timer(timestamp, ctx, *self.states)


def bounded(milliseconds: int) -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(milliseconds)


def source(
    graph: JobGraph,
    channels: Sequence[Sequence[Event]],
    strategy: WatermarkStrategy | None = None,
    name: str = "source",
) -> int:
    """A source with a channel per list of (value, event time)."""
    collection = CollectionSource(
        tuple(tuple(value for value, _ in channel) for channel in channels),
        tuple(tuple(ts for _, ts in channel) for channel in channels),
    )
    spec = collection
    return graph.add(SourceNode, name=name, source=spec, strategy=strategy).id


def keyed(graph: JobGraph, stream: int, function: Any, uid: str = "op", key: Any = None) -> int:
    """A keyed operator; the key of a record is the first letter or element of its value."""
    return graph.add(
        KeyedNode,
        name=uid,
        uid=uid,
        inputs=(stream,),
        selector=key or (lambda value: value[0]),
        kind="process",
        function=function,
    ).id


def sink(graph: JobGraph, stream: int, name: str = "out") -> None:
    graph.add(SinkNode, name=name, inputs=(stream,), sink=DiscardingSink())


def job(
    channels: Sequence[Sequence[Event]],
    function: Any = None,
    strategy: WatermarkStrategy | None = None,
    *,
    batch: bool = False,
    **options: Any,
) -> LocalJob:
    """source -> keyed operator -> sink "out"; monotonous timestamps if no strategy is given."""
    graph = JobGraph()
    stream = source(graph, channels, strategy or WatermarkStrategy.for_monotonous_timestamps())
    sink(graph, keyed(graph, stream, function or Probe()))
    return LocalJob(graph, JobOptions(**{"parallelism": 1} | options), batch=batch)
