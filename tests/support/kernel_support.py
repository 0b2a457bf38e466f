"""Small jobs for the tests of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.plan.graph import JobGraph, KeyedNode, SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob


def first(value: Any) -> Any:
    return value[0]


def source_of(graph: JobGraph, events: Iterable[tuple[Any, int]], *, timed: bool = True) -> int:
    """A source of one channel."""
    pairs = list(events)
    values, times = [value for value, _ in pairs], [ts for _, ts in pairs]
    spec = CollectionSource.of(values, times)
    strategy = WatermarkStrategy.for_monotonous_timestamps() if timed else None
    return graph.add(SourceNode, name="source", source=spec, strategy=strategy).id


def keyed_job(
    events: Iterable[tuple[Any, int]],
    function: Any,
    *,
    key: Callable[[Any], Any] = first,
    kind: str = "process",
    timed: bool = True,
    batch: bool = False,
    **options: Any,
) -> LocalJob:
    """source -> keyed operator "op" with uid "the-uid" -> sink "out"."""
    graph = JobGraph()
    node = graph.add(
        KeyedNode,
        name="op",
        uid="the-uid",
        inputs=(source_of(graph, events, timed=timed),),
        selector=key,
        kind=kind,
        function=function,
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    return LocalJob(graph, JobOptions(**{"parallelism": 1} | options), batch=batch)


class Function:
    """A `KeyedProcessFunction` over the states of some descriptors, made of plain functions."""

    def __init__(self, process: Any, on_timer: Any = None, **states: Callable[[Any], Any]) -> None:
        self.process = process
        self.timer = on_timer
        self.wanted = states

    def open(self, context: Any) -> None:
        for name, wanted in self.wanted.items():
            setattr(self, name, wanted(context))

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.process(self, value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.timer(self, timestamp, ctx)


def values(outputs: dict[str, list[tuple[Any, Any]]], sink: str = "out") -> list[Any]:
    return [value for value, _ in outputs.get(sink, [])]
