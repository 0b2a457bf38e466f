"""The maker of RDDs: its parallelism, and what it accepts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.dstream.rdd import AccumulatorParam, SparkContext
from millstream.testing import in_memory


def test_parallelism() -> None:
    assert SparkContext("local[3]").defaultParallelism == 3
    assert SparkContext("local[3,2]").defaultParallelism == 3
    assert SparkContext("local").defaultParallelism == 1
    assert SparkContext("local[*]").defaultParallelism == os.cpu_count()
    assert SparkContext(conf={"spark.default.parallelism": "5"}).defaultParallelism == 5
    assert SparkContext(conf={"spark.master": "local[7]"}).defaultParallelism == 7
    with in_memory(parallelism=4):
        assert SparkContext().defaultParallelism == 4


def test_a_configured_parallelism_is_that_of_shuffles() -> None:
    sc = SparkContext("local[2]", conf={"spark.default.parallelism": "5"})
    pairs = sc.parallelize([("a", 1)], 1)
    assert pairs.groupByKey().getNumPartitions() == 5
    assert SparkContext("local[2]").parallelize([("a", 1)], 1).groupByKey().getNumPartitions() == 1


def test_a_configuration_of_pyspark() -> None:
    class Conf:
        def getAll(self) -> list[tuple[str, str]]:
            return [("spark.master", "local[6]"), ("spark.app.name", "six")]

    sc = SparkContext(conf=Conf())
    assert (sc.master, sc.appName, sc.defaultParallelism) == ("local[6]", "six", 6)


def test_collections_that_become_rdds() -> None:
    sc = SparkContext("local[1]")
    for data in ([1, 2], (1, 2), range(1, 3), {1: 0, 2: 0}, iter([1, 2]), {1, 2}.__iter__()):
        assert sorted(sc.parallelize(data).collect()) == [1, 2]
        assert sc.as_rdd(sc.parallelize([1])).collect() == [1]
    assert sc.as_rdd(n for n in [1]).collect() == [1]
    for wrong in ("text", 5, None):
        with pytest.raises(PlanError, match="RDD_EXPECTED"):
            sc.as_rdd(wrong)


def test_rdds_of_pyspark_are_accepted_in_joins() -> None:
    class Foreign:
        def __init__(self, values: list[Any]) -> None:
            self.values = values

        def mapPartitions(self) -> None: ...

        def glom(self) -> Foreign:
            return Foreign([self.values])

        def collect(self) -> list[Any]:
            return self.values

    other: Any = Foreign([("a", 2)])
    assert SparkContext().parallelize([("a", 1)]).join(other).collect() == [("a", (1, 2))]


def test_accumulators() -> None:
    class Lists(AccumulatorParam[list[int]]):
        def zero(self, value: list[int]) -> list[int]:
            return []

        def addInPlace(self, value1: list[int], value2: list[int]) -> list[int]:
            return value1 + value2

    sc = SparkContext("local[2]")
    total, seen = sc.accumulator(10), sc.accumulator([], Lists())

    def count(n: int) -> None:
        nonlocal total
        total += n
        seen.add([n])

    sc.parallelize([1, 2, 3]).foreach(count)
    assert (total.value, seen.value) == (16, [1, 2, 3])
    total.value = 0
    assert (str(total), repr(total)) == ("0", "Accumulator<value=0>")
    with pytest.raises(TypeError):
        sc.accumulator([])


def test_broadcasts() -> None:
    shared = SparkContext().broadcast([1])
    assert shared.value == [1]
    shared.unpersist()
    shared.destroy()
    with pytest.raises(PlanError, match="BROADCAST_DESTROYED"):
        _ = shared.value


def test_jobs_of_some_partitions() -> None:
    sc = SparkContext()
    rdd = sc.parallelize(range(6), 3)
    assert sc.runJob(rdd, lambda part: [sum(part)]) == [1, 5, 9]
    assert sc.runJob(rdd, lambda part: part, [2, 0]) == [4, 5, 0, 1]


def test_text_files(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("one\ntwo\r\nthree")
    sc = SparkContext("local[4]")
    assert sc.textFile(str(tmp_path / "words")).collect() == ["one", "two", "three"]
    assert sc.textFile(f"file://{tmp_path}/words", 3).getNumPartitions() == 3
    assert sc.textFile(str(tmp_path)).count() == 3
    with pytest.raises(PlanError, match="RDD_NO_INPUT"):
        sc.textFile(str(tmp_path / "none")).count()


def test_data_frames_need_spark() -> None:
    with in_memory(), pytest.raises(PlanError, match="RDD_NEEDS_SPARK"):
        SparkContext().parallelize([(1, 2)]).toDF(["a", "b"])


def test_what_programs_for_pyspark_ask_a_context() -> None:
    """Spark's own tests of DStreams end with a look at ``SparkContext._jvm``."""
    pyspark = pytest.importorskip("pyspark")
    conf = pyspark.SparkConf(loadDefaults=False).setMaster("local[2]").setAppName("asked")
    sc = SparkContext(conf=conf)
    assert SparkContext._jvm is None
    found = sc.getConf()
    assert sorted(found.getAll()) == [("spark.app.name", "asked"), ("spark.master", "local[2]")]
    assert found.contains("spark.master") and not found.contains("spark.user")
    assert found.get("spark.user", "nobody") == "nobody"
    assert found.toDebugString() == "spark.app.name=asked\nspark.master=local[2]"
    found["spark.master"] = "local[9]"
    assert sc.getConf()["spark.master"] == "local[2]"
    sc.setJobGroup("group", "description")
    sc.setJobDescription("description")
    sc.setLocalProperty("spark.scheduler.pool", "pool")
