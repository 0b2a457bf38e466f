"""When RDDs are computed, what they keep, and what an error of a function says."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.dstream.rdd import SparkContext, StorageLevel

sc = SparkContext("local[2]")


def noted(calls: list[Any]) -> Callable[[Any], Any]:
    def note(value: Any) -> Any:
        calls.append(value)
        return value

    return note


def test_nothing_is_computed_before_an_action() -> None:
    calls: list[int] = []
    rdd = sc.parallelize([1, 2, 3], 2).map(noted(calls))
    assert calls == []
    assert rdd.collect() == [1, 2, 3]
    assert calls == [1, 2, 3]


def test_each_action_computes_again() -> None:
    calls: list[int] = []
    rdd = sc.parallelize([1, 2], 1).map(noted(calls))
    rdd.count()
    rdd.sum()
    assert calls == [1, 2, 1, 2]


@pytest.mark.parametrize("keep", ["cache", "persist", "checkpoint", "localCheckpoint"])
def test_what_is_kept_is_computed_once(keep: str) -> None:
    calls: list[int] = []
    rdd = sc.parallelize([1, 2], 1).map(noted(calls))
    getattr(rdd, keep)()
    rdd.count()
    assert rdd.map(lambda n: n + 1).collect() == [2, 3]
    assert calls == [1, 2]


def test_unpersist_forgets() -> None:
    calls: list[int] = []
    rdd = sc.parallelize([1], 1).map(noted(calls)).cache()
    assert rdd.is_cached
    rdd.count()
    assert not rdd.unpersist().is_cached
    rdd.count()
    assert calls == [1, 1]


def test_a_partition_that_is_kept_is_computed_as_a_whole() -> None:
    calls: list[int] = []
    rdd = sc.parallelize(range(6), 2).map(noted(calls)).cache()
    assert rdd.first() == 0
    assert calls == [0, 1, 2]


def test_take_computes_no_more_than_it_needs() -> None:
    calls: list[int] = []
    rdd = sc.parallelize(range(6), 3).map(noted(calls))
    assert rdd.take(3) == [0, 1, 2]
    assert calls == [0, 1, 2]


def test_a_shuffle_is_computed_once_as_spark_skips_its_stage() -> None:
    calls: list[int] = []
    counts = sc.parallelize([1, 2, 1], 2).map(noted(calls)).map(lambda n: (n, 1)).groupByKey()
    assert counts.count() == 2
    assert counts.mapValues(len).collectAsMap() == {1: 2, 2: 1}
    assert calls == [1, 2, 1]


def test_sort_runs_jobs_at_once_as_in_spark() -> None:
    calls: list[int] = []
    sc.parallelize([3, 1, 2], 2).map(noted(calls)).sortBy(lambda n: n)
    assert calls == [3, 1, 2] * 2


def test_functions_that_change_values_do_not_change_what_is_kept() -> None:
    rdd = sc.parallelize([("a", [1]), ("a", [2])], 2)

    def extend(left: list[int], right: list[int]) -> list[int]:
        left.extend(right)
        return left

    for _ in range(2):
        assert rdd.reduceByKey(extend, 1).collect() == [("a", [1, 2])]
    assert rdd.collect() == [("a", [1]), ("a", [2])]
    kept = rdd.cache()
    kept.foreach(lambda pair: pair[1].clear())
    assert kept.values().collect() == [[1], [2]]


def test_a_mutable_zero_begins_each_partition() -> None:
    def add(found: list[int], n: int) -> list[int]:
        found.append(n)
        return found

    def merge(left: list[int], right: list[int]) -> list[int]:
        return left + right

    zero: list[int] = []
    rdd = sc.parallelize([1, 2, 3], 3)
    assert rdd.aggregate(zero, add, merge) == [1, 2, 3]
    assert rdd.treeAggregate(zero, add, merge) == [1, 2, 3]
    pairs = rdd.map(lambda n: ("k", n))
    assert pairs.aggregateByKey(zero, add, merge).collect() == [("k", [1, 2, 3])]
    assert zero == []


def test_values_that_cannot_be_pickled_are_shared() -> None:
    values = [iter([1])]
    (found,) = sc.parallelize(values, 1).collect()
    assert list(found) == [1]


def test_partitions_of_a_function_are_read_once_when_they_are_needed() -> None:
    reads: list[int] = []

    def read() -> list[list[int]]:
        reads.append(1)
        return [[1], [2, 3]]

    rdd = sc.from_partitions(read)
    doubled = rdd.map(lambda n: n * 2)
    assert reads == []
    assert doubled.glom().collect() == [[2], [4, 6]]
    assert (rdd.count(), rdd.getNumPartitions(), reads) == (3, 2, [1])


def failing(n: int) -> float:
    return 1 / (n - 2)


@pytest.mark.parametrize(
    "action",
    [
        lambda r: r.map(failing).collect(),
        lambda r: r.map(failing).map(str).count(),
        lambda r: r.filter(failing).first(),
        lambda r: r.foreach(failing),
        lambda r: r.foreachPartition(lambda part: [failing(n) for n in part]),
        lambda r: r.flatMap(lambda n: [failing(n)]).isEmpty(),
        lambda r: r.mapPartitions(lambda part: map(failing, part)).sum(),
        lambda r: r.keyBy(failing).groupByKey().count(),
        lambda r: r.aggregate(0, lambda a, n: a + failing(n), max),
        lambda r: r.sortBy(failing).count(),
    ],
)
def test_an_error_of_a_function_names_its_line(action: Callable[[Any], Any]) -> None:
    with pytest.raises(UserCodeError, match="ZeroDivisionError") as caught:
        action(sc.parallelize([2, 1], 1))
    assert caught.value.location is not None
    assert caught.value.location.code == "return 1 / (n - 2)"


def test_an_error_without_a_line_in_a_function_names_the_call() -> None:
    with pytest.raises(UserCodeError, match="operator 'partitionBy' failed") as caught:
        sc.parallelize([1]).partitionBy(2).collect()  # type: ignore[misc]
    assert caught.value.location is not None
    assert "partitionBy(2)" in str(caught.value.location.code)


def test_a_partition_function_must_give_an_iterable() -> None:
    with pytest.raises(UserCodeError, match="not iterable"):
        sc.parallelize([1], 1).mapPartitions(lambda part: None).count()  # type: ignore[arg-type, return-value]


def test_stop_iteration_of_a_function_does_not_end_a_partition() -> None:
    def stop(n: int) -> int:
        raise StopIteration

    for act in (
        lambda r: r.map(stop).collect(),
        lambda r: r.filter(stop).collect(),
        lambda r: r.foreach(stop),
        lambda r: r.reduce(lambda a, b: stop(a)),
    ):
        with pytest.raises(UserCodeError):
            act(sc.parallelize([1, 2], 1))


def test_a_generator_given_to_foreach_partition_runs() -> None:
    seen: list[int] = []

    def each(part: Iterable[int]) -> Iterator[int]:
        for n in part:
            seen.append(n)
            yield n

    sc.parallelize([1, 2, 3], 2).foreachPartition(each)
    assert seen == [1, 2, 3]


def test_an_rdd_does_not_go_to_other_processes() -> None:
    with pytest.raises(PlanError, match="RDD_IN_FUNCTION"):
        pickle.dumps(sc.parallelize([1]))


def test_another_level_needs_unpersist() -> None:
    rdd = sc.parallelize([1]).persist(StorageLevel.DISK_ONLY)
    assert rdd.persist(StorageLevel.DISK_ONLY) is rdd
    with pytest.raises(PlanError, match="RDD_STORAGE_LEVEL"):
        rdd.persist(StorageLevel.MEMORY_ONLY)
    assert str(rdd.unpersist().cache().getStorageLevel()) == "Memory Serialized 1x Replicated"
    assert rdd.unpersist().getStorageLevel() == StorageLevel.NONE


def test_a_checkpoint_is_taken_by_the_next_job() -> None:
    rdd = sc.parallelize([1])
    rdd.checkpoint()
    assert not rdd.isCheckpointed()
    rdd.map(str).count()
    assert rdd.isCheckpointed()
    assert rdd.getCheckpointFile() is None


def test_names_and_numbers() -> None:
    context = SparkContext()
    rdd = context.parallelize([1])
    assert (rdd.id(), rdd.map(str).id()) == (0, 1)
    assert rdd.name() is None
    assert rdd.setName("ones").name() == "ones"
    assert rdd.context is context
    assert b"ones RDD[0]" in rdd.toDebugString()
