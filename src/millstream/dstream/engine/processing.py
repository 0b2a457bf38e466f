"""Processing of one batch: outputs in order, with what listeners are told about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millstream.common.errors import MillstreamError, user_code_error
from millstream.dstream.listener import (
    BatchInfo,
    BatchTime,
    OutputOperationInfo,
    StreamInputInfo,
)
from millstream.dstream.nodes import Graph, OutputNode
from millstream.dstream.nodes.base import moment
from millstream.dstream.rdd import RDD

__all__ = ["Batch", "described", "process"]

Tell = Callable[..., None]


@dataclass
class Batch:
    """A batch whose records are known, and what listeners know about it."""

    time_ms: int
    info: BatchInfo


def described(graph: Graph, time_ms: int, now_ms: int) -> Batch:
    """The batch that ends at a time, from what its inputs have taken."""
    inputs = {}
    for number, (source, taken) in enumerate(zip(graph.inputs, graph.taken[time_ms], strict=True)):
        records, text = source.records(taken), source.description(taken)
        if records or text:
            inputs[number] = StreamInputInfo(number, records, text)
    outputs = {output.number: _info(output, time_ms) for output in graph.outputs}
    return Batch(time_ms, BatchInfo(BatchTime(time_ms), now_ms, inputs=inputs, outputs=outputs))


def _info(output: OutputNode, time_ms: int) -> OutputOperationInfo:
    place = "" if output.place is None else f" at {output.place.file}:{output.place.line}"
    return OutputOperationInfo(
        BatchTime(time_ms), output.number, f"{output.label}{place}", str(output.place or "")
    )


def process(
    graph: Graph, batch: Batch, tell: Tell, now_ms: Callable[[], int]
) -> BaseException | None:
    """Run the outputs of a batch, and bring all state to it; the first error, if there is one."""
    batch.info = batch.info.begun(now_ms())
    tell("onBatchStarted", batchInfo=batch.info)
    outputs = dict(batch.info.outputs)
    failed: BaseException | None = None
    try:
        # All RDDs before the first output, as in Spark: an error in a transformation stops them all.
        rdds = [(output, output.node.rdd_at(batch.time_ms)) for output in graph.outputs]
        for output, rdd in rdds:
            if rdd is not None:
                done, error = _run(output, rdd, outputs[output.number], tell, now_ms)
                outputs[output.number] = done
                failed = failed or error
        graph.advance(batch.time_ms)
    except Exception as error:
        failed = failed or error
    batch.info = batch.info.finished(now_ms(), outputs)
    tell("onBatchCompleted", batchInfo=batch.info)
    return failed


def _run(
    output: OutputNode,
    rdd: RDD[Any],
    info: OutputOperationInfo,
    tell: Tell,
    now_ms: Callable[[], int],
) -> tuple[OutputOperationInfo, BaseException | None]:
    info = replace(info, started_ms=now_ms())
    tell("onOutputOperationStarted", outputOperationInfo=info)
    failed: BaseException | None = None
    try:
        output.function(moment(info.batch_time.time_ms), rdd)
    except MillstreamError as error:
        failed = error
        error.location = error.location or output.place
    except Exception as error:
        failed = user_code_error(error, output.label)
        failed.__cause__ = error
        failed.location = failed.location or output.place
    info = replace(info, ended_ms=now_ms(), failure=None if failed is None else str(failed))
    tell("onOutputOperationCompleted", outputOperationInfo=info)
    return info, failed
