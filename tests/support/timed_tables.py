"""Operators of tables that follow the clock, in memory: sources with times, and what is late in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from millstream.common import WatermarkStrategy
from millstream.common.time import Duration
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.kernel.steps.columns import TableStep
from millstream.kernel.tables.spec import TableSpec
from millstream.plan.graph import JobGraph, SinkNode, StatelessNode
from millstream.plan.tables import add_columns, add_table
from millstream.testing import TestSource
from tests.support.tables import (
    TableRun,
    Weighted,
    _numbered,
    _renumbered,
    _units,
    row_of,
)

EPOCH = datetime(1970, 1, 1)
FIRST = -(1 << 62)


def at(ms: int) -> datetime:
    """A TIMESTAMP(3)."""
    return EPOCH + timedelta(milliseconds=ms)


def ms_of(time: datetime) -> int:
    """The milliseconds of a TIMESTAMP."""
    return (time.replace(tzinfo=None) - EPOCH) // timedelta(milliseconds=1)


def zoned(ms: int) -> datetime:
    """A TIMESTAMP_LTZ(3)."""
    return at(ms).replace(tzinfo=UTC)


def single(rows: Sequence[Weighted]) -> list[Weighted]:
    """Each row with a weight of 1 or -1."""
    return [(row, unit) for row, weight in rows for unit in _units(weight)]


def limits(rows: Sequence[Weighted], time: int, delay: int) -> list[int]:
    """What the watermark of a channel is before each of its records."""
    found, highest = [], FIRST
    for row, _ in rows:
        found.append(highest)
        highest = max(highest, ms_of(row[time]) - delay - 1)
    return found


def _time_at(place: int) -> Callable[[Any, int], int]:
    return lambda row, _: ms_of(row[place])


@dataclass
class TimedRun(TableRun):
    """A graph of a spec over sources whose rows have a time.

    ``times``: of each input the place of its time. ``delay``: how far rows may be out of order.
    ``before``: of each input the steps before the operator.
    """

    times: Sequence[int] = (0,)
    delay: int = 0
    before: Sequence[Sequence[TableStep | TableSpec]] = field(default_factory=tuple)
    rows: Sequence[Any] = field(default_factory=tuple)

    def graph(self) -> JobGraph:
        env = StreamExecutionEnvironment.get_execution_environment()
        streams = []
        for i, rows in enumerate(self.inputs):
            source = TestSource([row_of(row) for row in single(rows)])
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(
                Duration.of_millis(self.delay)
            ).with_timestamp_assigner(_time_at(self.times[i]))
            streams.append(env.from_source(source, strategy, f"in{i}").uid(f"in{i}").changelog())
        for stream in streams:
            stream.sink_to(DiscardingSink()).name("out")
        return self._with_tables(env._job_graph())

    def _with_tables(self, made: JobGraph) -> JobGraph:
        sink = next(node.sink for node in made if isinstance(node, SinkNode))
        graph = JobGraph({i: n for i, n in made.nodes.items() if not isinstance(n, SinkNode)})
        graph.nodes = {new: _renumbered(n, new, graph) for new, n in _numbered(graph)}
        changes = [n for n in graph if isinstance(n, StatelessNode) and n.kind == "changelog"]
        lasts = []
        for i, node in enumerate(changes):
            steps = self.before[i] if self.before else ()
            kind = self.rows[i] if self.rows else self.spec.inputs[i]
            graph.update(node.id, output_type=kind)
            lasts.append(_behind(graph, node.id, steps, f"before{i}"))
        last = add_table(graph, "table", lasts, self.spec, uid="table").id
        last = _behind(graph, last, self.behind, "behind")
        graph.add(SinkNode, name="out", inputs=(last,), sink=sink, changelog="retract")
        return graph


def _behind(graph: JobGraph, last: int, steps: Sequence[TableStep | TableSpec], name: str) -> int:
    for i, step in enumerate(steps):
        if isinstance(step, TableSpec):
            last = add_table(graph, f"{name} {i}", [last], step, uid=f"{name}-{i}").id
        else:
            last = add_columns(graph, f"{name} {i}", last, step).id
    return last
