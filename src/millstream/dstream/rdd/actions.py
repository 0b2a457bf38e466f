"""Actions of RDDs: they compute, and give values to the program."""

from __future__ import annotations

import heapq
import operator
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar, cast

from millstream.dstream.rdd.blocks import private_copy
from millstream.dstream.rdd.lineage import Lineage
from millstream.dstream.rdd.sampling import fraction_for
from millstream.dstream.rdd.statistics import (
    StatCounter,
    counter_of,
    even_buckets,
    width_of_buckets,
)

if TYPE_CHECKING:
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["Actions"]

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")


class Actions(Lineage[T]):
    """Actions of RDDs: they compute, and give values to the program."""

    def collect(self) -> list[T]:
        """All values, in the order of the partitions."""
        return [value for part in self._run(list) for value in part]

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[T]:
        """All values; a partition is computed when its first value is needed."""
        for split in range(self.getNumPartitions()):
            yield from self._run(list, [split], "toLocalIterator")[0]

    def collectAsMap(self: Lineage[tuple[K, V]]) -> dict[K, V]:
        """All pairs as a dictionary; the last value of a key stays."""
        return dict(self._rdd.collect())

    def reduce(self, f: Callable[[T, T], T]) -> T:
        """Merge all values with a function of two: in each partition, then over all of them."""

        def merged(values: Iterator[T]) -> list[T]:
            for first in values:
                return [reduce(f, values, first)]
            return []

        found = [value for part in self._run(merged, label="reduce") for value in part]
        if not found:
            raise ValueError("Can not reduce() empty RDD")
        return reduce(f, found)

    def fold(self, zeroValue: T, op: Callable[[T, T], T]) -> T:
        """Merge all values, beginning with ``zeroValue`` in each partition and once more at the end."""
        return self.aggregate(zeroValue, op, op)

    def aggregate(self, zeroValue: U, seqOp: Callable[[U, T], U], combOp: Callable[[U, U], U]) -> U:
        """Merge the values of each partition into ``zeroValue``, then the results.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> numbers = SparkContext().parallelize([1, 2, 3, 4], 2)
        >>> numbers.aggregate(0, lambda total, n: total + n, max)
        7
        """
        parts = self._run(lambda v: reduce(seqOp, v, private_copy(zeroValue)), label="aggregate")
        return reduce(combOp, parts, zeroValue)

    def treeReduce(self, f: Callable[[T, T], T], depth: int = 2) -> T:
        """Do what `reduce` does, with steps between: partitions are merged in groups."""
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")
        nothing: tuple[Any, bool] = (None, True)

        def merge(left: tuple[Any, bool], right: tuple[Any, bool]) -> tuple[Any, bool]:
            if left[1]:
                return right
            return left if right[1] else (f(left[0], right[0]), False)

        marked = self._rdd.map(lambda value: (value, False))
        found, empty = marked.treeAggregate(nothing, merge, merge, depth)
        if empty:
            raise ValueError("Cannot reduce empty RDD.")
        result: T = found
        return result

    def treeAggregate(
        self,
        zeroValue: U,
        seqOp: Callable[[U, T], U],
        combOp: Callable[[U, U], U],
        depth: int = 2,
    ) -> U:
        """Do what `aggregate` does, with steps between: partitions are merged in groups."""
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")
        if self.getNumPartitions() == 0:
            return zeroValue
        parts: RDD[U] = self._narrow(
            lambda _, v: [reduce(seqOp, v, private_copy(zeroValue))], False, "treeAggregate"
        )
        count: float = parts.getNumPartitions()
        scale = max(ceil(count ** (1.0 / depth)), 2)
        while count > scale + count / scale:
            count /= scale
            parts = _in_groups(parts, int(count)).reduceByKey(combOp, int(count)).values()
        return parts.reduce(combOp)

    def max(self, key: Callable[[T], Any] | None = None) -> T:
        """The greatest value, of several the first."""
        return self.reduce(cast(Any, max) if key is None else lambda a, b: max(a, b, key=key))

    def min(self, key: Callable[[T], Any] | None = None) -> T:
        """The smallest value, of several the first."""
        return self.reduce(cast(Any, min) if key is None else lambda a, b: min(a, b, key=key))

    def sum(self) -> Any:
        """The sum of the values; 0 if there is none."""
        return reduce(
            operator.add, self._run(lambda v: sum(cast(Iterable[Any], v)), label="sum"), 0
        )

    def count(self) -> int:
        """How many values there are."""
        return sum(self._run(lambda values: sum(1 for _ in values), label="count"))

    def stats(self) -> StatCounter:
        """Count, mean, variance, smallest and greatest of numbers, in one job."""
        parts: RDD[StatCounter] = self._narrow(lambda _, v: [StatCounter(v)], False, "stats")
        return parts.reduce(lambda left, right: left.mergeStats(right))

    def mean(self) -> float:
        """The mean of numbers."""
        return self.stats().mean()

    def variance(self) -> float:
        """The variance of numbers as a whole population."""
        return self.stats().variance()

    def stdev(self) -> float:
        """The standard deviation of numbers as a whole population."""
        return self.stats().stdev()

    def sampleVariance(self) -> float:
        """The variance of numbers as a sample."""
        return self.stats().sampleVariance()

    def sampleStdev(self) -> float:
        """The standard deviation of numbers as a sample."""
        return self.stats().sampleStdev()

    def histogram(self, buckets: int | Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
        """Counts by buckets: their limits, or how many of the same width.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> SparkContext().parallelize(range(51)).histogram([0, 5, 25, 50])
        ([0, 5, 25, 50], [5, 20, 26])
        """
        width: float | None
        limits: Sequence[Any]
        if isinstance(buckets, int):
            if buckets < 1:
                raise ValueError("number of buckets must be >= 1")
            numbers: RDD[Any] = self._rdd.filter(lambda v: v is not None and v == v)
            pairs = numbers.map(lambda v: (v, v))
            try:
                least, most = pairs.reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
            except ValueError:
                raise ValueError("can not generate buckets from empty RDD") from None
            if least == most or buckets == 1:
                return [least, most], [numbers.count()]
            try:
                limits, width = even_buckets(least, most, buckets)
            except TypeError:
                raise TypeError("Can not generate buckets with non-number in RDD") from None
        elif isinstance(buckets, (list, tuple)):
            limits = _checked(buckets)
            width = width_of_buckets(limits)
        else:
            raise TypeError("buckets should be a list or tuple or number(int or long)")
        counts = self._run(counter_of(limits, width), label="histogram")
        if not counts:
            raise ValueError("Can not reduce() empty RDD")
        return limits, [sum(column) for column in zip(*counts, strict=True)]

    def countByValue(self) -> dict[T, int]:
        """How often each value comes."""
        return _counted(self, lambda value: value)

    def countByKey(self: Lineage[tuple[K, V]]) -> dict[K, int]:
        """How many pairs each key has."""
        return _counted(self, lambda pair: pair[0])

    def reduceByKeyLocally(self: Lineage[tuple[K, V]], func: Callable[[V, V], V]) -> dict[K, V]:
        """Do what `reduceByKey` does, and give a dictionary."""
        return self._rdd.reduceByKey(func, 1).collectAsMap()

    def top(self, num: int, key: Any = None) -> list[T]:
        """The greatest values, in descending order."""
        parts = self._run(lambda values: heapq.nlargest(num, values, key=key), label="top")
        if not parts:
            raise ValueError("Can not reduce() empty RDD")
        return reduce(lambda a, b: heapq.nlargest(num, a + b, key=key), parts)

    def takeOrdered(self, num: int, key: Any = None) -> list[T]:
        """The smallest values, in ascending order."""
        if num < 0:
            raise ValueError("top N cannot be negative.")
        if num == 0 or self.getNumPartitions() == 0:
            return []
        parts = self._run(lambda values: heapq.nsmallest(num, values, key=key), label="takeOrdered")
        return reduce(lambda a, b: heapq.nsmallest(num, a + b, key=key), parts)

    def take(self, num: int) -> list[T]:
        """The first values; partitions after them are not computed."""
        found: list[T] = []
        done, count, growing = 0, self.getNumPartitions(), 1
        while done < count and len(found) < num:
            splits = range(count)[done : done + growing]
            for part in self._run(_first(num - len(found)), splits, "take"):
                found += part
            done, growing = splits.stop, growing * self.ctx.runner.growth
        return found[:num]

    def first(self) -> T:
        """The first value."""
        found = self.take(1)
        if not found:
            raise ValueError("RDD is empty")
        return found[0]

    def isEmpty(self) -> bool:
        """Whether there is no value."""
        return not self.take(1)

    def lookup(self: Lineage[tuple[K, V]], key: K) -> list[V]:
        """The values of a key; with a partitioner only its partition is computed."""
        found = self._rdd.filter(lambda pair: pair[0] == key).values()
        if self.partitioner is None:
            return found.collect()
        return found._run(list, [self.partitioner(key)], "lookup")[0]

    def takeSample(self, withReplacement: bool, num: int, seed: int | None = None) -> list[T]:
        """That many random values; with replacement a value may come several times."""
        if num < 0:
            raise ValueError("Sample size cannot be negative.")
        total = self.count() if num else 0
        if not total:
            return []
        draw = random.Random(seed)
        if not withReplacement and num >= total:
            found = self.collect()
            draw.shuffle(found)
            return found
        fraction = fraction_for(num, total, withReplacement)
        found = self._rdd.sample(withReplacement, fraction, seed).collect()
        while len(found) < num:
            again = draw.randint(0, (1 << 63) - 1)
            found = self._rdd.sample(withReplacement, fraction, again).collect()
        draw.shuffle(found)
        return found[:num]

    def foreach(self, f: Callable[[T], Any]) -> None:
        """Call a function with each value."""

        def each(values: Iterator[T]) -> None:
            for value in values:
                f(value)

        self._run(each, label="foreach")

    def foreachPartition(self, f: Callable[[Iterable[T]], Any]) -> None:
        """Call a function once per partition, with an iterator of its values.

        The function runs where the partition is computed: in the driver process, or in a task of Spark.
        """

        def each(values: Iterator[T]) -> None:
            made = f(values)
            if isinstance(made, Iterator):
                for _ in made:  # A generator function does its work only if it is read.
                    pass

        self._run(each, label="foreachPartition")


def _first(count: int) -> Callable[[Iterable[T]], list[T]]:
    return lambda values: list(islice(values, count))


def _checked(buckets: Sequence[Any]) -> Sequence[Any]:
    if len(buckets) < 2:
        raise ValueError("buckets should have more than one value")
    if any(limit is None or limit != limit for limit in buckets):
        raise ValueError("can not have None or NaN in buckets")
    if sorted(buckets) != list(buckets):
        raise ValueError("buckets should be sorted")
    if len(set(buckets)) != len(buckets):
        raise ValueError("buckets should not contain duplicated values")
    return buckets


def _counted(rdd: Lineage[T], key: Callable[[T], K]) -> dict[K, int]:
    def count(values: Iterator[T]) -> dict[K, int]:
        found: dict[K, int] = defaultdict(int)
        for value in values:
            found[key(value)] += 1
        return found

    parts = rdd._run(count, label="countByValue")
    if not parts:
        raise ValueError("Can not reduce() empty RDD")
    total = parts[0]
    for part in parts[1:]:
        for each, number in part.items():
            total[each] += number
    return total


def _in_groups(parts: RDD[U], count: int) -> RDD[tuple[int, U]]:
    return parts._narrow(
        lambda split, values: ((split % count, value) for value in values), False, "treeAggregate"
    )
