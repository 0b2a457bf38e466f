"""RDD: a batch of values in partitions."""

from __future__ import annotations

from typing import TypeVar

from millstream.dstream.rdd.actions import Actions
from millstream.dstream.rdd.output import Output
from millstream.dstream.rdd.pairs import PairTransformations
from millstream.dstream.rdd.placement import Placement
from millstream.dstream.rdd.transformations import Transformations

__all__ = ["RDD"]

T = TypeVar("T")


class RDD(Transformations[T], PairTransformations[T], Placement[T], Actions[T], Output[T]):
    """A batch of values in partitions, with the methods of PySpark's RDD.

    Functions of `foreachRDD` and `transform` get one, and ``ssc.sparkContext.parallelize`` makes one.
    Transformations are lazy; an action computes what it needs, in the driver process or in the tasks of
    Spark. Partitions, their order and the keys in them are those that PySpark would make.

    Examples
    --------
    >>> from millstream.dstream.rdd import SparkContext
    >>> words = SparkContext("local[2]").parallelize(["a", "b", "a"])
    >>> sorted(words.map(lambda word: (word, 1)).reduceByKey(lambda x, y: x + y).collect())
    [('a', 2), ('b', 1)]
    """
