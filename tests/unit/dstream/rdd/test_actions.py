"""Actions, with the values that the documentation of PySpark shows, and on empty RDDs."""

from __future__ import annotations

from operator import add
from typing import Any

import pytest

from millstream.dstream.rdd import SparkContext, StatCounter

sc = SparkContext("local[2]")


def test_documented_values() -> None:
    numbers = sc.parallelize([1, 2, 3, 4, 5])
    assert numbers.reduce(add) == numbers.fold(0, add) == numbers.treeReduce(add) == 15
    assert sc.parallelize([1, 2, 3, 4]).aggregate(
        (0, 0), lambda x, y: (x[0] + y, x[1] + 1), lambda x, y: (x[0] + y[0], x[1] + y[1])
    ) == (10, 4)
    assert sc.parallelize([5, -4, -3, -2, -1, 1, 2, 3, 4], 10).treeAggregate(0, add, add, 5) == 5
    assert sc.parallelize([10, 4, 2, 12, 3]).top(2) == [12, 10]
    assert sc.parallelize([10, 4, 2, 12, 3]).top(3, key=str) == [4, 3, 2]
    assert sc.parallelize([10, 1, 2, 9, 3, 4, 5, 6, 7]).takeOrdered(3, key=lambda x: -x) == [
        10,
        9,
        7,
    ]
    assert sc.parallelize(range(51)).histogram(2) == ([0, 25, 50], [25, 26])
    assert sc.parallelize(["ab", "ac", "b", "bd", "ef"]).histogram(("a", "b", "c")) == (
        ("a", "b", "c"),
        [2, 2],
    )
    assert sc.parallelize([("a", 1), ("b", 1), ("a", 1)]).countByKey() == {"a": 2, "b": 1}
    assert sc.parallelize([1, 2, 1, 2, 2], 2).countByValue() == {1: 2, 2: 3}
    assert sc.parallelize([1.0, 5.0, 43.0, 10.0]).max(key=str) == 5.0
    assert sc.parallelize([1, 2, 3]).stdev() == pytest.approx(0.816496580927726)
    assert sc.parallelize([1, 2, 3]).sampleVariance() == 1.0
    assert sc.parallelize([("a", 1), ("b", 2)]).collectAsMap() == {"a": 1, "b": 2}
    assert sc.parallelize([("a", "b"), ("c", "d")]).lookup("a") == ["b"]
    assert sc.parallelize(range(20), 4).takeSample(False, 5, 1) != []
    assert len(sc.parallelize(range(20)).takeSample(True, 30, 1)) == 30
    assert len(sc.parallelize(range(10)).takeSample(False, 15, 3)) == 10


def test_names_of_empty_rdds() -> None:
    empty = sc.emptyRDD()
    nothing: Any = sc.parallelize([], 2)
    assert empty.getNumPartitions() == 0
    for rdd in (empty, nothing):
        assert rdd.isEmpty()
        assert rdd.collect() == rdd.take(3) == rdd.takeOrdered(2) == []
        assert (rdd.count(), rdd.sum()) == (0, 0)
        assert rdd.fold(0, add) == 0
        with pytest.raises(ValueError, match="RDD is empty"):
            rdd.first()
        with pytest.raises(ValueError, match="empty RDD"):
            rdd.reduce(add)
        with pytest.raises(ValueError, match="empty RDD"):
            rdd.max()
        with pytest.raises(ValueError, match="empty RDD"):
            rdd.histogram(3)
        assert rdd.join(nothing).collect() == []
        assert rdd.distinct().collect() == []
        assert rdd.sortBy(lambda v: v).collect() == []
    assert nothing.mean() == 0.0
    assert nothing.countByValue() == {}


def test_wrong_arguments() -> None:
    rdd = sc.parallelize([1, 2, 3])
    for call in (
        lambda: rdd.takeOrdered(-1),
        lambda: rdd.histogram(0),
        lambda: rdd.histogram([1]),
        lambda: rdd.histogram([2, 1]),
        lambda: rdd.histogram([1, 1]),
        lambda: rdd.histogram([1, None]),
        lambda: rdd.treeReduce(add, 0),
        lambda: rdd.treeAggregate(0, add, add, 0),
        lambda: rdd.takeSample(False, -1),
        lambda: rdd.sample(False, -0.5),
        lambda: rdd.randomSplit([-1]),
        lambda: rdd.randomSplit([0]),
        lambda: rdd.coalesce(0),
        lambda: rdd.zip(sc.parallelize([1], 1)),
        lambda: sc.parallelize([1], 0),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        rdd.histogram("ab")
    with pytest.raises(TypeError):
        rdd + 3  # type: ignore[operator]


def test_statistics_merge_like_one_pass() -> None:
    parts = StatCounter([1.0, 2.0]).mergeStats(StatCounter([7.0])).mergeStats(StatCounter())
    whole = StatCounter([1.0, 2.0, 7.0])
    assert parts.asDict() == pytest.approx(whole.asDict())
    assert StatCounter().mergeStats(whole).asDict() == whole.asDict()


def test_nan_is_the_greatest_and_smallest_of_numbers() -> None:
    stats = sc.parallelize([1.0, float("nan"), 3.0], 2).stats()
    assert stats.max() != stats.max()
    assert stats.min() != stats.min()
    assert sc.parallelize([1.0, float("nan"), None, 3.0]).histogram(2) == ([1.0, 2.0, 3.0], [1, 1])
