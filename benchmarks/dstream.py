"""CPU seconds of DStreams with state: ``python benchmarks/dstream.py``.

- `updateStateByKey` with many keys: batches without records visit all of them.
- `mapWithState` with the same keys: batches of 1 to 10,000 records visit those only.
- A word count of large batches, and batches of one record.
- What a checkpoint adds: the batch log, and snapshots of all keys or of those that have changed.
- With ``--places``: seconds of batches that cost much CPU, in the driver process and in Spark's tasks.
"""

from __future__ import annotations

import argparse
import gc
import operator
import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

from millstream.dstream import DStream, ManualClock, SparkContext, StateSpec, StreamingContext

Program = Callable[[DStream[Any]], DStream[Any]]
SIZES = (0, 1, 100, 10_000)
PLACES = ("driver", "spark")


def count(values: list[int], state: int | None) -> int:
    """The function of `updateStateByKey`."""
    return (state or 0) + sum(values) if values else state or 0


def add(key: int, value: int, state: Any) -> tuple[int, int]:
    """The function of `mapWithState`."""
    state.update(state.getOption(0) + (value or 0))
    return key, state.get()


def cpu_of_batches(
    program: Program, keys: int, sizes: tuple[int, ...], checkpoint: str | None = None
) -> list[float]:
    """CPU seconds of the batch that makes the keys, and then of batches of these sizes."""
    clock = ManualClock()
    ssc = StreamingContext(SparkContext("local[2]"), 1, clock=clock)
    if checkpoint is not None:
        ssc.checkpoint(checkpoint)
    batches = [[(key, 1) for key in range(size)] for size in (keys, *sizes)]
    stream = program(ssc.queueStream(batches))
    if checkpoint is not None:
        stream.checkpoint(1)
    stream.foreachRDD(lambda rdd: None)
    ssc.start()
    found = []
    for _ in batches:
        gc.collect()
        begun = time.process_time()
        clock.advance(1)
        found.append(time.process_time() - begun)
    ssc.awaitTerminationOrTimeout(0)
    ssc.stop()
    return found


def stateless() -> None:
    """Print the CPU seconds of a large batch, and of small ones."""
    drawn = random.Random(1)
    words = [f"word {drawn.randrange(10_000)}" for _ in range(1_000_000)]
    large = cpu_per_batch([words] * 3, lambda stream: stream.countByValue())
    small = cpu_per_batch([["a"]] * 2_000, lambda stream: stream.map(str.upper).count())
    print(f"word count of 1,000,000 words: {large:.2f} s per batch")
    print(f"one record through map and count: {small * 1000:.2f} ms per batch")


def cpu_per_batch(batches: list[list[str]], program: Program) -> float:
    """CPU seconds per batch."""
    clock = ManualClock()
    ssc = StreamingContext(SparkContext("local[2]"), 1, clock=clock)
    program(ssc.queueStream(batches)).foreachRDD(lambda rdd: rdd.count())
    ssc.start()
    begun = time.process_time()
    clock.advance(len(batches))
    found = (time.process_time() - begun) / len(batches)
    ssc.stop()
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--places", action="store_true")
    arguments = parser.parse_args()
    if arguments.places:
        compare_places()
        return
    keys = arguments.keys
    programs: dict[str, Program] = {
        "updateStateByKey": lambda stream: stream.updateStateByKey(count),
        "mapWithState": lambda stream: stream.mapWithState(StateSpec.function(add)),
        "mapWithState, timeout": lambda stream: stream.mapWithState(
            StateSpec.function(add).timeout(60)
        ),
    }
    print(f"CPU seconds per batch, {keys:,} keys")
    print("| program | first batch | " + " | ".join(f"{size:,} records" for size in SIZES) + " |")
    print("|---|" + "---:|" * (len(SIZES) + 1))
    for name, program in programs.items():
        show(name, cpu_of_batches(program, keys, SIZES))
    for name in ("updateStateByKey", "mapWithState"):
        with tempfile.TemporaryDirectory() as folder:
            found = cpu_of_batches(programs[name], keys, SIZES, folder)
            show(f"{name}, a snapshot in each batch", found)
    stateless()


def costly(number: int) -> tuple[int, int]:
    """Some microseconds of pure Python."""
    found = number
    for step in range(60):
        found = (found * 1_103_515_245 + step) & 0x7FFFFFFF
    return found % 1000, 1


def compare_places() -> None:
    """Seconds of a batch of 1 M records, after a first one."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    print("| program | driver | Spark's tasks |\n|---|---:|---:|")
    programs: dict[str, Program] = {
        "map": lambda stream: stream.map(costly),
        "map and reduceByKey": lambda stream: stream.map(costly).reduceByKey(operator.add, 2),
        "one record": lambda stream: stream.map(lambda n: (n, 1)).reduceByKey(operator.add, 2),
    }
    for name, program in programs.items():
        size = 1 if name == "one record" else 1_000_000
        show(name, [seconds_of_a_batch(spark, where, program, size) for where in PLACES])


def seconds_of_a_batch(spark: Any, where: str, program: Program, size: int) -> float:
    """The second of two batches, without the time to make its records."""
    clock = ManualClock()
    ssc = StreamingContext(spark, 1, clock=clock, tasks=where)
    numbers = ssc.sparkContext.parallelize(range(4), 4).flatMap(
        lambda part: range(part * size // 4, (part + 1) * size // 4)
    )
    program(ssc.queueStream([numbers, numbers])).foreachRDD(lambda rdd: rdd.count())
    ssc.start()
    clock.advance(1)
    begun = time.perf_counter()
    clock.advance(1)
    found = time.perf_counter() - begun
    ssc.awaitTerminationOrTimeout(0)
    ssc.stop()
    return found


def show(name: str, seconds: list[float]) -> None:
    """Print a row."""
    print(f"| {name} | " + " | ".join(f"{each:.4f}" for each in seconds) + " |", flush=True)


if __name__ == "__main__":
    main()
