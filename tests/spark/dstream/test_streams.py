"""DStreams against those of PySpark: random programs over the same batches."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.dstream import ManualClock, StreamingContext
from tests.support.dstream.stream_programs import BATCHES, normal, queue_of, stream_program
from tests.support.strategies import scaled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SECONDS = 0.5
Found = dict[int, list[list[str]]]


def build(ssc: Any, seeds: range, found: Found, done: Callable[[], None]) -> dict[int, str]:
    """All programs in one context; ``done`` is called at the end of each batch."""
    queues = [[ssc.sparkContext.parallelize(batch, 2) for batch in queue_of(n)] for n in (1, 2)]
    first, second = (ssc.queueStream(queue) for queue in queues)
    texts = {}
    for seed in seeds:
        texts[seed], stream = stream_program(seed, first, second, SECONDS)
        found[seed] = []
        stream.foreachRDD(_collecting(found[seed]))
    first.foreachRDD(lambda rdd: done())
    return texts


def _collecting(batches: list[list[str]]) -> Callable[[Any], None]:
    return lambda rdd: batches.append(normal(rdd.collect()))


def of_spark(spark: SparkSession, seeds: range, folder: Path) -> Found:
    from pyspark.streaming import StreamingContext as Theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        spark.sparkContext.setCheckpointDir(str(folder))
        seconds: Any = SECONDS  # Its type says int.
        ssc = Theirs(spark.sparkContext, seconds)
    found: Found = {}
    enough = threading.Event()
    batches = []

    def done() -> None:
        batches.append(1)
        if len(batches) == BATCHES:
            enough.set()

    build(ssc, seeds, found, done)
    ssc.start()
    try:
        assert enough.wait(300), "PySpark's context does not go on"
    finally:
        ssc.stop(False)
    return {seed: each[:BATCHES] for seed, each in found.items()}


def of_ours(spark: SparkSession, seeds: range) -> tuple[dict[int, str], Found]:
    found: Found = {}
    clock = ManualClock()
    ssc = StreamingContext(spark.sparkContext, SECONDS, clock=clock)
    texts = build(ssc, seeds, found, lambda: None)
    ssc.start()
    clock.advance(SECONDS * BATCHES)
    ssc.awaitTerminationOrTimeout(0)
    ssc.stop(False)
    return texts, found


def test_random_programs_give_the_same_batches(spark: SparkSession, tmp_path: Path) -> None:
    seeds = range(scaled(12, fewest=5))
    texts, found = of_ours(spark, seeds)
    expected = of_spark(spark, seeds, tmp_path)
    differ = [
        f"{seed}: {texts[seed]}\n  ours  {found[seed]}\n  spark {expected[seed]}"
        for seed in seeds
        if found[seed] != expected[seed]
    ]
    assert not differ, "\n".join(differ)


def test_a_checkpoint_takes_the_active_context_of_pyspark(
    spark: SparkSession, tmp_path: Path
) -> None:
    def setup() -> StreamingContext:
        ssc = StreamingContext(spark.sparkContext, 1, clock=ManualClock())
        ssc.queueStream([[1], [2]]).foreachRDD(lambda rdd: rdd.count())
        return ssc

    for second in range(2):
        clock = ManualClock(second * 1000)
        ssc = StreamingContext.getOrCreate(str(tmp_path), setup, clock=clock)
        assert ssc.sparkContext == spark.sparkContext
        ssc.start()
        ssc.awaitTerminationOrTimeout(1)
        ssc.stop(False)
