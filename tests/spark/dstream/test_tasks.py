"""RDDs and streams computed in Spark's tasks: the same as in the driver process."""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common.errors import MillstreamError, PlanError, UserCodeError
from millstream.dstream import ManualClock, State, StateSpec, StreamingContext
from millstream.dstream.rdd import SparkContext
from millstream.dstream.spark import SparkRunner
from tests.support.dstream.rdd_programs import ACTIONS, outcome, program, values_of
from tests.support.dstream.stream_programs import BATCHES, normal, queue_of, stream_program
from tests.support.strategies import scaled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tasks(spark: SparkSession) -> Iterator[SparkContext]:
    made = SparkContext("local[2]", session=spark)
    made.runner = SparkRunner(made)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def driver() -> SparkContext:
    return SparkContext("local[2]")


def test_random_programs_give_the_same_partitions(
    tasks: SparkContext, driver: SparkContext
) -> None:
    differ = []
    for seed in range(scaled(16, fewest=4)):
        text, found = program(seed, tasks)
        _, expected = program(seed, driver)
        left, right = found.glom().collect(), expected.glom().collect()
        if repr(left) != repr(right):
            differ.append(f"{seed}: {text}\n  tasks  {left}\n  driver {right}")
    assert not differ, "\n".join(differ)


def test_actions_give_the_same(tasks: SparkContext, driver: SparkContext) -> None:
    differ = []
    values = values_of(2)
    for name, action in ACTIONS.items():
        left = outcome(action, tasks.parallelize(values, 3))
        right = outcome(action, driver.parallelize(values, 3))
        if left != right:
            differ.append(f"{name}\n  tasks  {left}\n  driver {right}")
    assert not differ, "\n".join(differ)


def collecting(batches: list[list[str]]) -> Callable[[Any], None]:
    return lambda rdd: batches.append(normal(rdd.collect()))


def batches_of(
    spark: SparkSession, where: str, *programs: Any, count: int = BATCHES
) -> list[list[list[str]]]:
    """The batches of programs over two queues, computed in a place."""
    clock = ManualClock()
    ssc = StreamingContext(spark if where == "spark" else None, 1, clock=clock, tasks=where)
    sc = ssc.sparkContext
    queues = [[sc.parallelize(batch, 2) for batch in queue_of(n)] for n in (1, 2)]
    first, second = (ssc.queueStream(queue) for queue in queues)
    found: list[list[list[str]]] = [[] for _ in programs]
    for number, each in enumerate(programs):
        stream = each(first, second)
        stream.foreachRDD(collecting(found[number]))
    ssc.start()
    try:
        clock.advance(count)
        ssc.awaitTerminationOrTimeout(0)
    finally:
        ssc.stop()
    return found


def test_streams_give_the_same_batches(spark: SparkSession) -> None:
    def numbered(seed: int) -> Any:
        return lambda first, second: stream_program(seed, first, second, 1)[1]

    seeds = (17, 26, 29)
    programs = [numbered(seed) for seed in seeds]
    left = batches_of(spark, "spark", *programs, count=5)
    right = batches_of(spark, "driver", *programs, count=5)
    for seed, one, two in zip(seeds, left, right, strict=True):
        assert one == two, seed


def test_state_of_single_keys_gives_the_same_batches(spark: SparkSession) -> None:
    def total(key: str, value: int | None, state: State[int]) -> tuple[str, int]:
        state.update(state.getOption(0) + (value or 0))
        return key, state.get()

    def program(first: Any, second: Any) -> Any:
        return first.union(second).mapWithState(StateSpec.function(total))

    left, right = (batches_of(spark, where, program, count=4) for where in ("spark", "driver"))
    assert left == right


def test_functions_run_in_tasks_and_accumulators_come_back(
    tasks: SparkContext, tmp_path: Path
) -> None:
    def note(values: Any) -> None:
        for value in values:
            seen.add(1)
            (tmp_path / f"{value}-{os.getpid()}").touch()

    seen, mapped = tasks.accumulator(0), tasks.accumulator(0)
    names = tasks.broadcast({1: "one", 2: "two"})

    def name(number: int) -> tuple[str, int]:
        mapped.add(number)
        return names.value.get(number, "many"), number

    counts = tasks.parallelize(range(5), 3).map(name).reduceByKey(lambda one, two: one + two, 2)
    counts.map(lambda pair: pair[1]).foreachPartition(note)
    assert counts.count() == 3
    assert seen.value == 3
    assert mapped.value == 10  # The shuffle was computed once.
    written = [path.name.split("-") for path in tmp_path.iterdir()]
    assert sorted(number for number, _ in written) == ["1", "2", "7"]
    assert str(os.getpid()) not in {process for _, process in written}


def test_what_is_kept_is_computed_once(tasks: SparkContext) -> None:
    calls = tasks.accumulator(0)

    def note(number: int) -> int:
        calls.add(1)
        return number

    kept = tasks.parallelize(range(4), 2).map(note).cache()
    assert kept.take(4) == kept.collect() == [0, 1, 2, 3]
    assert calls.value == 4
    kept.unpersist()
    assert kept.sum() == 6
    assert calls.value == 8
    alone = kept._kept()
    assert calls.value == 12
    assert alone.glom().collect() == [[0, 1], [2, 3]]
    assert calls.value == 12


def test_partitions_without_values_are_there(tasks: SparkContext) -> None:
    nothing = tasks.emptyRDD()
    assert nothing.collect() == []
    assert nothing.reduceByKey(max).glom().collect() == []
    assert nothing.map(lambda n: (n, n)).partitionBy(2).glom().collect() == [[], []]
    assert tasks.parallelize([], 2).repartition(3).glom().collect() == [[], [], []]
    assert nothing.union(tasks.parallelize([1], 1)).glom().collect() == [[1]]
    assert nothing._kept().collect() == []
    assert tasks.parallelize([], 3)._kept().glom().collect() == [[], [], []]


def test_files_are_written_by_tasks(tasks: SparkContext, tmp_path: Path) -> None:
    lines = tasks.parallelize(["a", "b", "c"], 2)
    lines.saveAsTextFile(str(tmp_path / "text"))
    lines.saveAsPickleFile(str(tmp_path / "pickles"))
    names = sorted(path.name for path in (tmp_path / "text").iterdir())
    assert names == ["_SUCCESS", "part-00000", "part-00001"]
    assert sorted(tasks.textFile(str(tmp_path / "text")).collect()) == ["a", "b", "c"]
    assert tasks.pickleFile(str(tmp_path / "pickles")).glom().collect() == [["a"], ["b", "c"]]


def test_errors_name_the_line_of_the_function(tasks: SparkContext) -> None:
    def divide(number: int) -> float:
        return 1 / number

    rdd = tasks.parallelize([1, 0], 2).map(divide)
    for action in (rdd.collect, rdd.repartition(2).count, rdd._kept, rdd.cartesian(rdd).count):
        with pytest.raises(UserCodeError) as caught:
            action()
        assert "ZeroDivisionError" in str(caught.value)
        assert caught.value.location is not None
        assert caught.value.location.code == "return 1 / number"


def test_mistakes(tasks: SparkContext, spark: SparkSession) -> None:
    lock = threading.Lock()
    rdd = tasks.parallelize([1], 1)
    with pytest.raises(PlanError, match="RDD_FUNCTION_CANNOT_TRAVEL"):
        rdd.map(lambda n: lock.locked()).collect()
    with pytest.raises(PlanError, match="RDD_IN_FUNCTION"):
        rdd.map(lambda n: rdd.count()).collect()
    with pytest.raises(MillstreamError, match="UNPICKLABLE_VALUE"):
        rdd.map(lambda n: threading.Lock()).collect()
    with pytest.raises(MillstreamError, match="DSTREAM_TASKS"):
        StreamingContext(spark, 1, tasks="threads")


def test_the_configuration_chooses(spark: SparkSession) -> None:
    assert StreamingContext(spark, 1).tasks == "driver"
    chosen = StreamingContext(SparkContext(conf={"millstream.dstream.tasks": "spark"}), 1)
    assert chosen.tasks == "spark"
    assert repr(chosen) == "<StreamingContext batches of 1 s, tasks=spark, initialized>"
    assert StreamingContext(spark.sparkContext, 1, tasks="spark").tasks == "spark"


def test_a_program_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """State is in the tasks, and comes back from the snapshot and the log."""
    found: list[list[Any]] = []
    _outputs[str(tmp_path)] = found

    def setup() -> StreamingContext:
        ssc = StreamingContext(spark, 1, clock=ManualClock(), tasks="spark")
        numbers = ssc.queueStream([[("a", n), ("b", 1)] for n in range(6)])
        totals = numbers.updateStateByKey(lambda values, total: sum(values, total or 0), 2)
        totals.checkpoint(2)
        window = numbers.reduceByKeyAndWindow(operator.add, operator.sub, 5, 1, 1)
        totals.join(window).foreachRDD(functools.partial(remember, str(tmp_path)))
        return ssc

    path, time_ms = str(tmp_path / "checkpoint"), 0
    for batches in (3, 3):
        clock: Any = ManualClock(time_ms)
        ssc = StreamingContext.getOrCreate(path, setup, clock=clock)
        clock = ssc._clock
        assert ssc.tasks == "spark"
        ssc.start()
        clock.advance(batches)
        ssc.awaitTerminationOrTimeout(0)
        crashed: Any = ssc
        crashed._loop._halted = True
        crashed._checkpoint.close(None)  # Without a last snapshot.
        ssc.stop()
        time_ms += batches * 1000
    assert found == [
        [("a", (0, 0)), ("b", (1, 1))],
        [("a", (1, 1)), ("b", (2, 2))],
        [("a", (3, 3)), ("b", (3, 3))],
        [("a", (6, 6)), ("b", (4, 4))],
        [("a", (10, 10)), ("b", (5, 5))],
        [("a", (15, 15)), ("b", (6, 5))],
    ]


_outputs: dict[str, list[Any]] = {}


def remember(name: str, rdd: Any) -> None:
    _outputs[name].append(sorted(rdd.collect()))
