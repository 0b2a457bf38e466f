"""BatchTransformations of the batches of a stream, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.dstream.errors import DurationError
from millstream.dstream.rdd import RDD
from millstream.dstream.rdd.sources import Need, Part, one_after_another
from millstream.dstream.streams.base import StreamBase

if TYPE_CHECKING:
    from millstream.dstream.streams.dstream import DStream

__all__ = ["BatchTransformations"]

T = TypeVar("T")
U = TypeVar("U")


class BatchTransformations(StreamBase[T]):
    """BatchTransformations of the batches of a stream, each by itself."""

    def map(self, f: Callable[[T], U], preservesPartitioning: bool = False) -> DStream[U]:
        """Call a function with each value.

        Examples
        --------
        >>> from millstream.dstream import ManualClock, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> squares = ssc.queueStream([[1, 2], [3]]).map(lambda n: n * n)
        >>> squares.foreachRDD(lambda rdd: print(rdd.collect()))
        >>> ssc.start()
        >>> clock.advance(2)
        [1, 4]
        [9]
        >>> ssc.stop()
        """
        return self._each(lambda rdd: rdd.map(f, preservesPartitioning), "map")

    def flatMap(
        self, f: Callable[[T], Iterable[U]], preservesPartitioning: bool = False
    ) -> DStream[U]:
        """Call a function with each value; it gives any number of values."""
        return self._each(lambda rdd: rdd.flatMap(f, preservesPartitioning), "flatMap")

    def filter(self, f: Callable[[T], Any]) -> DStream[T]:
        """Keep the values for which a function is true."""
        return self._each(lambda rdd: rdd.filter(f), "filter")

    def mapPartitions(
        self, f: Callable[[Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> DStream[U]:
        """Call a function once per partition of each batch, with an iterator of its values."""
        return self._each(lambda rdd: rdd.mapPartitions(f, preservesPartitioning), "mapPartitions")

    def mapPartitionsWithIndex(
        self, f: Callable[[int, Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> DStream[U]:
        """Call a function once per partition of each batch, with its number and an iterator."""
        return self._each(
            lambda rdd: rdd.mapPartitionsWithIndex(f, preservesPartitioning),
            "mapPartitionsWithIndex",
        )

    def glom(self) -> DStream[list[T]]:
        """Each partition as one list."""
        return self._each(lambda rdd: rdd.glom(), "glom")

    def repartition(self, numPartitions: int) -> DStream[T]:
        """Batches in that many partitions."""
        return self._each(lambda rdd: rdd.repartition(numPartitions), "repartition")

    def reduce(self, func: Callable[[T, T], T]) -> DStream[T]:
        """Batches of one value, made of all values with a function of two; empty ones stay empty."""
        return self._each(
            lambda rdd: (
                rdd.map(lambda value: (None, value)).reduceByKey(func, 1).map(lambda kv: kv[1])
            ),
            "reduce",
        )

    def count(self) -> DStream[int]:
        """Batches of one value: how many there were. That of an empty batch is 0."""
        return self._each(_counted, "count")

    def countByValue(self, numPartitions: int | None = None) -> DStream[tuple[T, int]]:
        """Pairs of each value and how often it was in the batch."""
        ones: DStream[Any] = self.map(lambda value: (value, 1))
        return ones.reduceByKey(lambda one, two: one + two, numPartitions)

    def union(self, other: StreamBase[Any]) -> DStream[Any]:
        """The values of both streams. They need the same time from one RDD to the next."""
        if self._slideDuration != other._slideDuration:
            raise DurationError(
                "DSTREAM_SLIDES",
                "the two DStream should have same slide duration: "
                f"{self._slideDuration} s and {other._slideDuration} s",
                "give both the same window, or unite them before the windows",
            )
        return self._with(lambda a, b: a.union(b), other, "union")


def _counted(rdd: RDD[Any]) -> RDD[int]:
    counts: RDD[int] = rdd._narrow(lambda _, values: [sum(1 for _ in values)], False, "count")

    def all_of_them(_: int) -> list[Need]:
        return [(0, split) for split in range(counts.getNumPartitions())]

    def total(split: int, parts: Sequence[Part]) -> list[int]:
        return [sum(one_after_another(split, parts))]

    return counts._gathered(1, all_of_them, total, [counts], "count")
