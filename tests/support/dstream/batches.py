"""DStream programs in tests: batches in, batches out, no time passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.dstream import DStream, ManualClock, SparkContext, StreamingContext

__all__ = ["run_batches"]

Program = Callable[..., DStream[Any]]


def run_batches(
    program: Program,
    *inputs: Sequence[Any],
    batches: int | None = None,
    seconds: float = 1,
    partitions: int | None = 1,
    parallelism: int = 1,
) -> list[list[Any]]:
    """The values of each RDD that a program makes of queues of batches.

    Lists become RDDs of ``partitions`` partitions.
    """
    sc = SparkContext(f"local[{parallelism}]")
    clock = ManualClock()
    ssc = StreamingContext(sc, seconds, clock=clock)
    streams = []
    for each in inputs:
        rdds = [sc.parallelize(batch, partitions) for batch in each]
        streams.append(ssc.queueStream(rdds))
    found: list[list[Any]] = []
    program(*streams).foreachRDD(lambda rdd: found.append(rdd.collect()))
    ssc.start()
    try:
        count = max(map(len, inputs)) if batches is None else batches
        clock.advance(seconds * count)
        ssc.awaitTerminationOrTimeout(0)
    finally:
        ssc.stop()
    return found
