"""Edges into sinks that forget: counts travel, and values that do not fit are still refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common.errors import TypeMismatchError
from millstream.common.typeinfo import Types
from millstream.datastream.connectors import DiscardingSink, PrintSink
from millstream.kernel.records.buffers import DATA, BufferRow, record_count
from millstream.kernel.records.columns import Columns
from millstream.kernel.stages.programs import Block, SourceProgram
from millstream.plan.compile import Compiler
from millstream.plan.graph import JobGraph, SinkNode, StatelessNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import plan
from millstream.spark.query.builder import forgetful_sinks
from tests.support.kernel_support import source_of

PAIRS = Types.ROW_NAMED(["key", "value"], [Types.STRING(), Types.LONG()])


def program(step: Any, sink: Any) -> SourceProgram:
    """A source stage that ends in a sink, whose records nobody reads."""
    graph = JobGraph()
    node = graph.add(
        StatelessNode,
        name="step",
        uid="step",
        inputs=(source_of(graph, []),),
        kind="map",
        function=step,
        output_type=PAIRS,
    )
    sink = graph.add(SinkNode, name="out", inputs=(node.id,), sink=sink)
    component = plan(graph, {}).components[0]
    compiler = Compiler(
        component,
        JobOptions(parallelism=1),
        batch=False,
        wall_clock_ms=lambda: 0,
        forgetful={sink.id},
    )
    (found,) = compiler.compile().sources.values()
    return found


def written(found: SourceProgram, values: Any) -> list[BufferRow]:
    block = Block(values, np.zeros(len(values), np.int64), 0, 0, 0)
    return [row for row in found.run([block], 0) if row.kind == DATA]


def columns(count: int) -> Columns:
    names, numbers = pa.array(["a"] * count), pa.array(range(count), pa.int64())
    return Columns(PAIRS, [names, numbers])


def counting(sink: Any) -> SourceProgram:
    """The same with columns that reach the sink as they are."""
    found = program(lambda row: row, sink)
    (edge,) = found.chain.edges
    found.chain.root.children[:] = [edge]
    return found


def test_columns_are_only_counted() -> None:
    found = counting(DiscardingSink())
    for count in (5_000, 3):
        (row,) = written(found, columns(count))
        assert record_count(row.header) == count
        assert row.payload == b""


def test_an_epoch_without_records_writes_nothing() -> None:
    assert written(counting(DiscardingSink()), columns(0)) == []


def test_objects_are_still_written_and_checked() -> None:
    found = program(lambda n: ("a", n), DiscardingSink())
    (row,) = written(found, [1, 2])
    assert record_count(row.header) == 2
    with pytest.raises(TypeMismatchError):
        written(program(lambda n: ("a", "b"), DiscardingSink()), [1, 2])


def test_what_an_attempt_has_counted_is_gone_with_it() -> None:
    found = counting(DiscardingSink())

    def broken() -> Any:
        yield Block(columns(7), np.zeros(7, np.int64), 0, 0, 0)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk"):
        list(found.run(broken(), 0))
    (row,) = written(found, columns(2))
    assert record_count(row.header) == 2


def test_spark_counts_for_sinks_that_forget_only() -> None:
    graph = JobGraph()
    source = source_of(graph, [])
    kept = graph.add(SinkNode, name="kept", inputs=(source,), sink=PrintSink())
    gone = graph.add(SinkNode, name="gone", inputs=(source,), sink=DiscardingSink())
    assert forgetful_sinks(plan(graph, {}).components[0].sinks) == {gone.id} != {kept.id}
