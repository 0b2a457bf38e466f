"""Transformations that move values between partitions, sort them, or number them."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.dstream.rdd.hashing import portable_hash
from millstream.dstream.rdd.lineage import Lineage
from millstream.dstream.rdd.partitioning import Partitioner, grouped_ranges, start_of_deal
from millstream.dstream.rdd.sources import Need, Part, one_after_another, same_partition

if TYPE_CHECKING:
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["Placement"]

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")
_DEALT_TOGETHER = 10
_SAMPLES_PER_PARTITION = 20.0


def _itself(value: Any) -> Any:
    return value


class Placement(Lineage[T]):
    """Transformations that move values between partitions, sort them, or number them."""

    def _reduce_partitions(self) -> int:
        """How many partitions a shuffle makes if the program does not say."""
        return self.ctx._configured_parallelism() or self.getNumPartitions()

    def partitionBy(
        self: Lineage[tuple[K, V]],
        numPartitions: int | None,
        partitionFunc: Callable[[Any], int] = portable_hash,
    ) -> RDD[tuple[K, V]]:
        """Pairs in the partitions that a function of their keys says.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> pairs = SparkContext().parallelize([(n, "x") for n in range(4)])
        >>> pairs.partitionBy(2).keys().glom().collect()
        [[0, 2], [1, 3]]
        """
        rdd = self._rdd
        size = rdd._reduce_partitions() if numPartitions is None else numPartitions
        partitioner = Partitioner(size, partitionFunc)
        if rdd.partitioner == partitioner:
            return rdd

        def target(_: int, pairs: Iterable[tuple[K, V]]) -> Iterator[tuple[int, tuple[K, V]]]:
            for key, value in pairs:
                yield partitionFunc(key) % size, (key, value)

        return rdd._shuffled(size, target, "partitionBy", partitioner)

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> RDD[T]:
        """Fewer partitions: neighbours become one. With ``shuffle`` there may be more, too."""
        if not numPartitions > 0:
            raise ValueError("Number of partitions must be positive.")
        if shuffle:
            return self._shuffled(numPartitions, _dealt(numPartitions), "coalesce")

        def needs(split: int) -> list[Need]:
            count = self.getNumPartitions()
            first, end = grouped_ranges(count, min(numPartitions, count))[split]
            return [(0, number) for number in range(first, end)]

        size = lambda: min(numPartitions, self.getNumPartitions())  # noqa: E731
        return self._gathered(size, needs, one_after_another, [self], "coalesce")

    def repartition(self, numPartitions: int) -> RDD[T]:
        """That many partitions of about the same size: ten values at a time are dealt to each."""
        return self.coalesce(numPartitions, shuffle=True)

    def repartitionAndSortWithinPartitions(
        self: Lineage[tuple[K, V]],
        numPartitions: int | None = None,
        partitionFunc: Callable[[Any], int] = portable_hash,
        ascending: bool = True,
        keyfunc: Callable[[Any], Any] = _itself,
    ) -> RDD[tuple[K, V]]:
        """Pairs in the partitions of their keys, sorted there."""
        placed = self._rdd.partitionBy(numPartitions, partitionFunc)
        return placed._narrow(_sorting(keyfunc, ascending), True, "sort")

    def sortByKey(
        self: Lineage[tuple[K, V]],
        ascending: bool | None = True,
        numPartitions: int | None = None,
        keyfunc: Callable[[Any], Any] = _itself,
    ) -> RDD[tuple[K, V]]:
        """Pairs in the order of their keys over all partitions.

        With more than one partition two jobs run at once, as in Spark: they take a sample of the keys.
        """
        rdd = self._rdd
        up = bool(ascending)
        size = rdd._reduce_partitions() if numPartitions is None else numPartitions
        sort = _sorting(keyfunc, up)
        if size == 1:
            whole = rdd.coalesce(1) if rdd.getNumPartitions() > 1 else rdd
            return whole._narrow(sort, True, "sortByKey")
        count = rdd.count()
        if not count:
            return rdd
        fraction = min(size * _SAMPLES_PER_PARTITION / count, 1.0)
        keys = sorted(rdd.sample(False, fraction, 1).keys().collect(), key=keyfunc)
        # A sample of few keys may be empty, then all go into one partition.
        limits = [keyfunc(keys[len(keys) * number // size]) for number in range(1, size) if keys]

        def place(key: Any) -> int:
            found = bisect.bisect_left(limits, keyfunc(key))
            return found if up else size - 1 - found

        return rdd.partitionBy(size, place)._narrow(sort, True, "sortByKey")

    def sortBy(
        self, keyfunc: Callable[[T], Any], ascending: bool = True, numPartitions: int | None = None
    ) -> RDD[T]:
        """Values in the order of the key that a function gives.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> SparkContext().parallelize([3, 1, 2], 2).sortBy(lambda n: -n).collect()
        [3, 2, 1]
        """
        keyed: RDD[Any] = self._rdd.keyBy(keyfunc).sortByKey(ascending, numPartitions)
        return keyed.map(lambda pair: pair[1])

    def zip(self, other: RDD[U]) -> RDD[tuple[T, U]]:
        """Pairs of values at the same place; both RDDs need the same number in each partition."""
        right = self.ctx.as_rdd(other)
        if self.getNumPartitions() != right.getNumPartitions():
            raise ValueError("Can only zip with RDD which has the same number of partitions")
        return self._gathered(
            self.getNumPartitions, same_partition(0, 1), _zipped, [self, right], "zip"
        )

    def zipWithIndex(self) -> RDD[tuple[T, int]]:
        """Values with their number over all partitions. As in Spark it counts the partitions at once."""
        starts = [0]
        if self.getNumPartitions() > 1:
            counts = self._run(lambda values: sum(1 for _ in values), label="zipWithIndex")
            for count in counts[:-1]:
                starts.append(starts[-1] + count)

        def numbered(split: int, values: Iterable[T]) -> Iterator[tuple[T, int]]:
            return ((value, number) for number, value in enumerate(values, starts[split]))

        return self._narrow(numbered, False, "zipWithIndex")

    def zipWithUniqueId(self) -> RDD[tuple[T, int]]:
        """Values with numbers that differ: in partition k of n these are k, n+k, 2n+k and so on."""

        step = self.getNumPartitions()

        def numbered(split: int, values: Iterable[T]) -> Iterator[tuple[T, int]]:
            return ((value, number * step + split) for number, value in enumerate(values))

        return self._narrow(numbered, False, "zipWithUniqueId")


def _zipped(split: int, parts: Sequence[Part]) -> Iterator[tuple[Any, Any]]:
    one, two = (list(part()) for part in parts)
    if len(one) != len(two):
        raise ValueError(
            f"zip needs the same number of values in each partition, but partition {split} "
            f"has {len(one)} and {len(two)}"
        )
    return zip(one, two, strict=True)


def _sorting(
    keyfunc: Callable[[Any], Any], ascending: bool
) -> Callable[[int, Iterable[Any]], Iterable[Any]]:
    def sort(_: int, pairs: Iterable[Any]) -> Iterable[Any]:
        return sorted(pairs, key=lambda pair: keyfunc(pair[0]), reverse=not ascending)

    return sort


def _dealt(size: int) -> Callable[[int, Iterable[T]], Iterator[tuple[int, T]]]:
    def target(split: int, values: Iterable[T]) -> Iterator[tuple[int, T]]:
        start = start_of_deal(split, size) + 1
        for number, value in enumerate(values):
            yield (start + number // _DEALT_TOGETHER) % size, value

    return target
