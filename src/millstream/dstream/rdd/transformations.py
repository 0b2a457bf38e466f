"""Transformations of RDDs of any values."""

from __future__ import annotations

import random
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.dstream.rdd.hashing import portable_hash
from millstream.dstream.rdd.iterables import ResultIterable
from millstream.dstream.rdd.lineage import Lineage
from millstream.dstream.rdd.sampling import in_range, sampled, seed_or_random
from millstream.dstream.rdd.sources import Need, Part, one_after_another, same_partition

if TYPE_CHECKING:
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["Transformations"]

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")


class Transformations(Lineage[T]):
    """Transformations of RDDs of any values."""

    def map(self, f: Callable[[T], U], preservesPartitioning: bool = False) -> RDD[U]:
        """Call a function with each value.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> SparkContext().parallelize([1, 2]).map(lambda n: n * 10).collect()
        [10, 20]
        """

        # Generators turn a StopIteration of f into an error; `map` would end the partition.
        def each(_: int, values: Iterable[T]) -> Iterator[U]:
            for value in values:
                yield f(value)

        return self._narrow(each, preservesPartitioning, "map")

    def flatMap(self, f: Callable[[T], Iterable[U]], preservesPartitioning: bool = False) -> RDD[U]:
        """Call a function with each value; it gives any number of values."""

        def each(_: int, values: Iterable[T]) -> Iterator[U]:
            for value in values:
                yield from f(value)

        return self._narrow(each, preservesPartitioning, "flatMap")

    def filter(self, f: Callable[[T], Any]) -> RDD[T]:
        """Keep the values for which a function is true."""

        def each(_: int, values: Iterable[T]) -> Iterator[T]:
            for value in values:
                if f(value):
                    yield value

        return self._narrow(each, True, "filter")

    def mapPartitions(
        self, f: Callable[[Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """Call a function once per partition, with an iterator of its values."""
        return self._narrow(lambda _, values: f(values), preservesPartitioning, "mapPartitions")

    def mapPartitionsWithIndex(
        self, f: Callable[[int, Iterable[T]], Iterable[U]], preservesPartitioning: bool = False
    ) -> RDD[U]:
        """Call a function once per partition, with its number and an iterator of its values."""
        return self._narrow(f, preservesPartitioning, "mapPartitionsWithIndex")

    mapPartitionsWithSplit = mapPartitionsWithIndex

    def glom(self) -> RDD[list[T]]:
        """Each partition as one list."""
        return self._narrow(lambda _, values: [list(values)], False, "glom")

    def keyBy(self, f: Callable[[T], K]) -> RDD[tuple[K, T]]:
        """Pairs of the key that a function gives, and the value."""
        return self.map(lambda value: (f(value), value))

    def groupBy(
        self,
        f: Callable[[T], K],
        numPartitions: int | None = None,
        partitionFunc: Callable[[K], int] = portable_hash,
    ) -> RDD[tuple[K, ResultIterable[T]]]:
        """The values by the key that a function gives."""
        return self.keyBy(f).groupByKey(numPartitions, partitionFunc)

    def distinct(self, numPartitions: int | None = None) -> RDD[T]:
        """Each value once."""
        pairs = self.map(lambda value: (value, None))
        return pairs.reduceByKey(lambda first, _: first, numPartitions).keys()

    def union(self, other: RDD[Any]) -> RDD[Any]:
        """The partitions of this RDD and of another. Values that are in both come twice."""
        right = self.ctx.as_rdd(other)
        if (
            self.partitioner is not None
            and self.partitioner == right.partitioner
            and self.getNumPartitions() == right.getNumPartitions()
        ):
            # The same keys are in the same partitions: they stay there.
            return self._gathered(
                self.getNumPartitions(),
                same_partition(0, 1),
                one_after_another,
                [self, right],
                "union",
                self.partitioner,
            )
        return self.ctx.union([self._rdd, right])

    def __add__(self, other: RDD[Any]) -> RDD[Any]:
        if not isinstance(other, Lineage):
            return NotImplemented
        return self.union(other._rdd)

    def intersection(self, other: RDD[T]) -> RDD[T]:
        """The values that are in both, each once."""
        right = self.ctx.as_rdd(other).map(lambda value: (value, None))
        groups = self.map(lambda value: (value, None)).cogroup(right)
        return groups.filter(lambda group: len(group[1][0]) and len(group[1][1])).keys()

    def subtract(self, other: RDD[T], numPartitions: int | None = None) -> RDD[T]:
        """The values that are not in another RDD, as often as they are in this one."""
        right = self.ctx.as_rdd(other).map(lambda value: (value, True))
        return self.map(lambda value: (value, True)).subtractByKey(right, numPartitions).keys()

    def cartesian(self, other: RDD[U]) -> RDD[tuple[T, U]]:
        """All pairs of a value of this RDD and one of another."""
        right = self.ctx.as_rdd(other)

        def needs(split: int) -> list[Need]:
            left_part, right_part = divmod(split, right.getNumPartitions())
            return [(0, left_part), (1, right_part)]

        return self._gathered(
            lambda: self.getNumPartitions() * right.getNumPartitions(),
            needs,
            _all_pairs,
            [self, right],
            "cartesian",
        )

    def sample(self, withReplacement: bool, fraction: float, seed: int | None = None) -> RDD[T]:
        """A random part; the same seed and partitions give the same values as in PySpark."""
        if not fraction >= 0:
            raise ValueError("Fraction must be nonnegative.")
        keep = sampled(withReplacement, fraction, seed_or_random(seed))
        return self._narrow(keep, True, "sample")

    def randomSplit(self, weights: Sequence[int | float], seed: int | None = None) -> list[RDD[T]]:
        """Random parts with these weights: each value is in one of them."""
        if not all(weight >= 0 for weight in weights):
            raise ValueError("Weights must be nonnegative")
        total = float(sum(weights))
        if not total > 0:
            raise ValueError("Sum of weights must be positive")
        limits = [0.0]
        for weight in weights:
            limits.append(limits[-1] + weight / total)
        chosen = random.randint(0, 2**32 - 1) if seed is None else seed
        return [
            self._narrow(in_range(lower, upper, chosen), True, "randomSplit")
            for lower, upper in pairwise(limits)
        ]

    def pipe(
        self, command: str, env: Mapping[str, str] | None = None, checkCode: bool = False
    ) -> RDD[str]:
        """The lines that a command prints; it gets the values of a partition as lines.

        With ``checkCode`` a command that does not end with 0 is an error.
        """
        return self._narrow(
            lambda _, values: _piped(command, env, checkCode, values), False, "pipe"
        )


def _all_pairs(_: int, parts: Sequence[Part]) -> Iterator[tuple[Any, Any]]:
    left, right = parts
    return ((one, two) for one in left() for two in right())


def _piped(
    command: str, env: Mapping[str, str] | None, check: bool, values: Iterable[Any]
) -> Iterator[str]:
    process = subprocess.Popen(
        shlex.split(command), env=dict(env or {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    failed: list[Exception] = []

    def write() -> None:
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                for value in values:
                    pipe.write(f"{str(value).rstrip(chr(10))}\n".encode())
        except BrokenPipeError:
            pass  # The command does not read to the end.
        except Exception as error:
            failed.append(error)

    writer = Thread(target=write, daemon=True)
    writer.start()
    with process.stdout as lines:
        for line in lines:
            yield line.rstrip(b"\n").decode()
    process.wait()
    writer.join()
    if failed:
        raise failed[0]
    if check and process.returncode:
        raise RuntimeError(f"the command {command!r} ended with {process.returncode}")
