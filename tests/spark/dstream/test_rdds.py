"""RDDs against those of PySpark: the same values in the same partitions, in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.dstream.rdd import SparkContext
from tests.support.dstream.rdd_programs import ACTIONS, outcome, program, values_of
from tests.support.strategies import scaled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def ours(spark: SparkSession) -> SparkContext:
    return SparkContext.of(spark.sparkContext)


def test_random_programs_give_the_same_partitions(spark: SparkSession, ours: SparkContext) -> None:
    differ = []
    for seed in range(scaled(40, fewest=20)):
        text, expected = program(seed, spark.sparkContext)
        _, found = program(seed, ours)
        left, right = found.glom().collect(), expected.glom().collect()
        if repr(left) != repr(right):
            differ.append(f"{seed}: {text}\n  ours  {left}\n  spark {right}")
    assert not differ, "\n".join(differ)


def test_actions_give_the_same(spark: SparkSession, ours: SparkContext) -> None:
    differ = []
    for seed, slices in ((2, 3), (3, 1), (5, 2), (10, 4)):
        values = values_of(seed)
        expected = spark.sparkContext.parallelize(values, slices)
        found = ours.parallelize(values, slices)
        for name, action in ACTIONS.items():
            left, right = outcome(action, found), outcome(action, expected)
            if left != right:
                differ.append(f"{name} {len(values)} {slices}\n  ours  {left}\n  spark {right}")
    assert not differ, "\n".join(differ)
