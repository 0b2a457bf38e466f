"""Transformations of RDDs of pairs: a key and a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.dstream.rdd.blocks import private_copy
from millstream.dstream.rdd.hashing import portable_hash
from millstream.dstream.rdd.iterables import ResultIterable
from millstream.dstream.rdd.lineage import Lineage
from millstream.dstream.rdd.sampling import sampled_by_key, seed_or_random

if TYPE_CHECKING:
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["PairTransformations"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
W = TypeVar("W")
U = TypeVar("U")
Partitioning = Callable[[Any], int]


class PairTransformations(Lineage[T]):
    """Transformations of RDDs of pairs: a key and a value."""

    def keys(self: Lineage[tuple[K, V]]) -> RDD[K]:
        """The keys."""
        return self._rdd.map(lambda pair: pair[0])

    def values(self: Lineage[tuple[K, V]]) -> RDD[V]:
        """The values."""
        return self._rdd.map(lambda pair: pair[1])

    def mapValues(self: Lineage[tuple[K, V]], f: Callable[[V], U]) -> RDD[tuple[K, U]]:
        """Call a function with each value; keys, and their partitions, stay."""
        return self._rdd.map(lambda pair: (pair[0], f(pair[1])), True)

    def flatMapValues(
        self: Lineage[tuple[K, V]], f: Callable[[V], Iterable[U]]
    ) -> RDD[tuple[K, U]]:
        """Call a function with each value; it gives any number of values for the same key."""
        return self._rdd.flatMap(lambda pair: ((pair[0], made) for made in f(pair[1])), True)

    def combineByKey(
        self: Lineage[tuple[K, V]],
        createCombiner: Callable[[V], U],
        mergeValue: Callable[[U, V], U],
        mergeCombiners: Callable[[U, U], U],
        numPartitions: int | None = None,
        partitionFunc: Partitioning = portable_hash,
    ) -> RDD[tuple[K, U]]:
        """Combine the values of each key: first in each partition, then over all of them.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> pairs = SparkContext().parallelize([("a", 1), ("b", 5), ("a", 3)], 1)
        >>> add = lambda total, n: total + n
        >>> pairs.combineByKey(lambda n: n, add, add).collect()
        [('a', 4), ('b', 5)]
        """
        rdd = self._rdd
        size = rdd._reduce_partitions() if numPartitions is None else numPartitions

        def in_partition(_: int, pairs: Iterable[tuple[K, V]]) -> Iterable[tuple[K, U]]:
            found: dict[K, U] = {}
            for key, value in pairs:
                if key in found:
                    found[key] = mergeValue(found[key], value)
                else:
                    found[key] = createCombiner(value)
            return found.items()

        def merged(_: int, pairs: Iterable[tuple[K, U]]) -> Iterable[tuple[K, U]]:
            found: dict[K, U] = {}
            for key, part in pairs:
                found[key] = mergeCombiners(found[key], part) if key in found else part
            return found.items()

        combined = rdd._narrow(in_partition, True, "combineByKey")
        moved = combined.partitionBy(size, partitionFunc)
        return moved._narrow(merged, True, "combineByKey")

    def reduceByKey(
        self: Lineage[tuple[K, V]],
        func: Callable[[V, V], V],
        numPartitions: int | None = None,
        partitionFunc: Partitioning = portable_hash,
    ) -> RDD[tuple[K, V]]:
        """Merge the values of each key with a function of two values."""
        rdd = self._rdd
        return rdd.combineByKey(lambda value: value, func, func, numPartitions, partitionFunc)

    def aggregateByKey(
        self: Lineage[tuple[K, V]],
        zeroValue: U,
        seqFunc: Callable[[U, V], U],
        combFunc: Callable[[U, U], U],
        numPartitions: int | None = None,
        partitionFunc: Partitioning = portable_hash,
    ) -> RDD[tuple[K, U]]:
        """Merge the values of each key into a copy of ``zeroValue``."""
        return self._rdd.combineByKey(
            lambda value: seqFunc(private_copy(zeroValue), value),
            seqFunc,
            combFunc,
            numPartitions,
            partitionFunc,
        )

    def foldByKey(
        self: Lineage[tuple[K, V]],
        zeroValue: V,
        func: Callable[[V, V], V],
        numPartitions: int | None = None,
        partitionFunc: Partitioning = portable_hash,
    ) -> RDD[tuple[K, V]]:
        """Merge the values of each key, beginning with ``zeroValue`` in each partition."""
        return self._rdd.aggregateByKey(zeroValue, func, func, numPartitions, partitionFunc)

    def groupByKey(
        self: Lineage[tuple[K, V]],
        numPartitions: int | None = None,
        partitionFunc: Partitioning = portable_hash,
    ) -> RDD[tuple[K, ResultIterable[V]]]:
        """The values of each key, in the order of their partitions."""

        def create(value: V) -> list[V]:
            return [value]

        def add(values: list[V], value: V) -> list[V]:
            values.append(value)
            return values

        def extend(values: list[V], more: list[V]) -> list[V]:
            values.extend(more)
            return values

        groups = self._rdd.combineByKey(create, add, extend, numPartitions, partitionFunc)
        return groups.mapValues(ResultIterable)

    def groupWith(
        self: Lineage[tuple[K, V]], other: RDD[Any], *others: RDD[Any]
    ) -> RDD[tuple[K, tuple[ResultIterable[Any], ...]]]:
        """For each key of any of the RDDs, its values in each of them."""
        return _grouped(self._rdd, [other, *others], None)

    def cogroup(
        self: Lineage[tuple[K, V]], other: RDD[tuple[K, W]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[ResultIterable[Any], ...]]]:
        """For each key of one of the RDDs, its values in both of them.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> sc = SparkContext()
        >>> groups = sc.parallelize([("a", 1)], 1).cogroup(sc.parallelize([("a", 2), ("b", 3)], 1), 1)
        >>> [(key, list(left), list(right)) for key, (left, right) in groups.collect()]
        [('a', [1], [2]), ('b', [], [3])]
        """
        return _grouped(self._rdd, [other], numPartitions)

    def join(
        self: Lineage[tuple[K, V]], other: RDD[tuple[K, W]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V, W]]]:
        """All pairs of values of the same key."""
        return _joined(self._rdd, other, numPartitions, False, False)

    def leftOuterJoin(
        self: Lineage[tuple[K, V]], other: RDD[tuple[K, W]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V, W | None]]]:
        """A join that keeps keys which the other RDD does not have, with None."""
        return _joined(self._rdd, other, numPartitions, False, True)

    def rightOuterJoin(
        self: Lineage[tuple[K, V]], other: RDD[tuple[K, W]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V | None, W]]]:
        """A join that keeps keys which only the other RDD has, with None."""
        return _joined(self._rdd, other, numPartitions, True, False)

    def fullOuterJoin(
        self: Lineage[tuple[K, V]], other: RDD[tuple[K, W]], numPartitions: int | None = None
    ) -> RDD[tuple[K, tuple[V | None, W | None]]]:
        """A join that keeps all keys, with None for the side that has no value."""
        return _joined(self._rdd, other, numPartitions, True, True)

    def subtractByKey(
        self: Lineage[tuple[K, V]], other: RDD[tuple[K, Any]], numPartitions: int | None = None
    ) -> RDD[tuple[K, V]]:
        """The pairs whose key the other RDD does not have."""
        groups = self._rdd.cogroup(other, numPartitions)
        alone = groups.filter(lambda group: len(group[1][0]) and not len(group[1][1]))
        return alone.flatMapValues(lambda sides: sides[0])

    def sampleByKey(
        self: Lineage[tuple[K, V]],
        withReplacement: bool,
        fractions: Mapping[K, float],
        seed: int | None = None,
    ) -> RDD[tuple[K, V]]:
        """A random part, with a fraction for each key."""
        for fraction in fractions.values():
            if not fraction >= 0:
                raise ValueError(f"Negative fraction value: {fraction}")
        keep = sampled_by_key(withReplacement, fractions, seed_or_random(seed))
        return self._rdd._narrow(keep, True, "sampleByKey")


def _grouped(rdd: RDD[Any], others: list[RDD[Any]], size: int | None) -> RDD[Any]:
    sides = [rdd, *map(rdd.ctx.as_rdd, others)]

    def marked(side: RDD[Any], number: int) -> RDD[Any]:
        return side.mapValues(lambda value: (number, value))

    count = len(sides)

    def split(values: Iterable[tuple[int, Any]]) -> tuple[ResultIterable[Any], ...]:
        parts: list[list[Any]] = [[] for _ in range(count)]
        for number, value in values:
            parts[number].append(value)
        return tuple(map(ResultIterable, parts))

    marks = [marked(side, number) for number, side in enumerate(sides)]
    both = reduce(lambda left, right: left.union(right), marks)
    return both.groupByKey(size).mapValues(split)


def _joined(
    rdd: RDD[Any], other: RDD[Any], size: int | None, keep_right: bool, keep_left: bool
) -> RDD[Any]:
    def pairs(sides: tuple[ResultIterable[Any], ...]) -> Iterator[tuple[Any, Any]]:
        left = list(sides[0]) or ([None] if keep_right else [])
        right = list(sides[1]) or ([None] if keep_left else [])
        return ((one, two) for one in left for two in right)

    return _grouped(rdd, [other], size).flatMapValues(pairs)
