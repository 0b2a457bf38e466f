"""Lineage of an RDD: how its partitions are computed, kept and shuffled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from millstream.common.errors import PlanError, user_location
from millstream.dstream.rdd.blocks import Block
from millstream.dstream.rdd.partitioning import Partitioner
from millstream.dstream.rdd.running import Action, named_errors
from millstream.dstream.rdd.sources import (
    Each,
    Gathered,
    Given,
    Need,
    Part,
    PartitionFunction,
    Shuffled,
    Source,
)
from millstream.dstream.rdd.storage import StorageLevel

if TYPE_CHECKING:
    from millstream.dstream.rdd.context import SparkContext
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["Lineage"]

T = TypeVar("T")
U = TypeVar("U")


class Lineage(Generic[T]):
    """The partitions of an RDD, and how they come from those of its parents.

    Parameters
    ----------
    ctx : SparkContext
        The context that it was made with.
    size : int or callable
        The number of partitions; a function is called when it is needed first.
    source : Source
        How its partitions come about.
    parents : sequence
        The RDDs that it is made of.
    label : str
        The method that has made it.
    partitioner : Partitioner, optional
        Which key is in which partition, if that is known.
    """

    def __init__(
        self,
        ctx: SparkContext,
        size: int | Callable[[], int],
        source: Source,
        parents: Sequence[Lineage[Any]] = (),
        label: str = "parallelize",
        partitioner: Partitioner | None = None,
    ) -> None:
        self.ctx = ctx
        self.partitioner = partitioner
        self._id = ctx._next_id()
        self._size = size
        self._source = source
        self._parents = tuple(parents)
        self._label = label
        self._place = user_location()
        self._name: str | None = None
        self._level: StorageLevel | None = None
        self._checkpoint = False
        self._checkpointed = False
        self._blocks: dict[int, Block[T]] = {}
        self._arrived: list[Block[T]] = []  # of a shuffle
        self._held: Any = None  # what the runner keeps of the values

    # As RDD: what methods of parts of the class return.

    @property
    def _rdd(self) -> RDD[T]:
        return cast("RDD[T]", self)

    def _derive(
        self,
        size: int | Callable[[], int],
        source: Source,
        parents: Sequence[Lineage[Any]],
        label: str,
        partitioner: Partitioner | None = None,
    ) -> RDD[Any]:
        return cast("RDD[Any]", type(self)(self.ctx, size, source, parents, label, partitioner))

    def _narrow(self, f: PartitionFunction, keep_partitioner: bool, label: str) -> RDD[Any]:
        """An RDD whose partitions are a function of those of this one."""
        partitioner = self.partitioner if keep_partitioner else None
        return self._derive(self.getNumPartitions, Each(f), [self], label, partitioner)

    def _gathered(
        self,
        size: int | Callable[[], int],
        needs: Callable[[int], Sequence[Need]],
        f: Callable[[int, Sequence[Part]], Iterable[Any]],
        parents: Sequence[Lineage[Any]],
        label: str,
        partitioner: Partitioner | None = None,
    ) -> RDD[Any]:
        """An RDD whose partitions are a function of some of those of its parents."""
        return self._derive(size, Gathered(needs, f), parents, label, partitioner)

    def _shuffled(
        self, size: int, target: Callable[[int, Iterable[Any]], Iterable[tuple[int, Any]]],
        label: str, partitioner: Partitioner | None = None,
    ) -> RDD[Any]:  # fmt: skip
        """An RDD whose values come from any partition; ``target`` says which value goes where.

        Like Spark's shuffle files, the values stay as long as the RDD: later actions do not compute
        this one again.
        """
        return self._derive(size, Shuffled(target), [self], label, partitioner)

    def _kept(self) -> RDD[T]:
        """An RDD of the same values that stands on no other one."""
        return self.ctx.runner.kept(self._rdd)

    # Computing in the driver process.

    def _values(self, split: int) -> Iterator[T]:
        """The values of a partition, from the block that is kept if there is one."""
        if self._level is None and not self._checkpoint:
            return self._guarded(split)
        block = self._blocks.get(split)
        if block is None:
            block = self._blocks[split] = Block(self._guarded(split))
        return iter(block)

    def _guarded(self, split: int) -> Iterator[T]:
        """The values of a partition; an exception of the user's function names its line."""
        with named_errors(self._label, self._place):
            yield from self._made(split)

    def _made(self, split: int) -> Iterable[T]:
        match self._source:
            case Each(function):
                return function(split, self._parents[0]._values(split))
            case Gathered(needs, function):
                found = needs(split)
                return function(split, [partial(self._parents[n]._values, s) for n, s in found])
            case Shuffled(target):
                return (self._arrived or self._shuffle(target))[split]
            case Given(partition):
                return partition(split)

    def _shuffle(
        self, target: Callable[[int, Iterable[Any]], Iterable[tuple[int, Any]]]
    ) -> list[Block[Any]]:
        (parent,) = self._parents
        buckets: list[list[Any]] = [[] for _ in range(self.getNumPartitions())]
        for source in range(parent.getNumPartitions()):
            for number, value in target(source, parent._values(source)):
                buckets[number].append(value)
        self._arrived = [Block(bucket) for bucket in buckets]
        return self._arrived

    # Jobs.

    def _run(
        self,
        f: Callable[[Iterator[T]], U],
        partitions: Iterable[int] | None = None,
        label: str = "collect",
    ) -> list[U]:
        """Compute partitions, and what a function makes of each: a job."""
        numbers = range(self.getNumPartitions()) if partitions is None else partitions
        action = Action(f, label, user_location())
        found = self.ctx.runner.run(self._rdd, action, list(numbers))
        self._end_of_job()
        return found

    def _end_of_job(self) -> None:
        todo: list[Lineage[Any]] = [self]
        while todo:
            each = todo.pop()
            each._checkpointed = each._checkpointed or each._checkpoint
            todo += each._parents

    def getNumPartitions(self) -> int:
        """The number of partitions."""
        if not isinstance(self._size, int):
            self._size = self._size()
        return self._size

    # Names and keeping.

    @property
    def context(self) -> SparkContext:
        """The context that the RDD was made with."""
        return self.ctx

    def id(self) -> int:
        """The number of the RDD in its context."""
        return self._id

    def name(self) -> str | None:
        """The name that `setName` gave."""
        return self._name

    def setName(self, name: str) -> RDD[T]:
        """Give the RDD a name, which `toDebugString` shows."""
        self._name = name
        return self._rdd

    @property
    def is_cached(self) -> bool:
        """Whether `persist` or `cache` was called."""
        return self._level is not None

    @property
    def is_checkpointed(self) -> bool:
        """Whether `checkpoint` was called."""
        return self._checkpoint

    def cache(self) -> RDD[T]:
        """Keep the values of each partition when they are computed first."""
        return self.persist()

    def persist(self, storageLevel: Any = StorageLevel.MEMORY_ONLY) -> RDD[T]:
        """Keep the values of each partition when they are computed first.

        Every level means memory of the driver process, or, if Spark's tasks compute, memory and
        disks of the executors. As in Spark another level can be given only after `unpersist`.
        """
        level = StorageLevel.of(storageLevel)
        if self._level is not None and self._level != level:
            raise PlanError(
                "RDD_STORAGE_LEVEL",
                f"the RDD is kept with level {self._level} already, it cannot get {level}",
                location=user_location(),
                hint="call unpersist() first",
            )
        self._level = level
        return self._rdd

    def unpersist(self, blocking: bool = False) -> RDD[T]:
        """Forget the values that were kept."""
        self._level = None
        if not self._checkpoint:
            self.ctx.runner.forget(self._rdd)
        return self._rdd

    def getStorageLevel(self) -> StorageLevel:
        """How the values are kept; level NONE if they are not."""
        return self._level or StorageLevel.NONE

    def checkpoint(self) -> None:
        """Keep the values of the next job, whatever `unpersist` says. No file is written."""
        self._checkpoint = True

    def localCheckpoint(self) -> None:
        """Do what `checkpoint` does."""
        self._checkpoint = True

    def isCheckpointed(self) -> bool:
        """Whether a job has computed the RDD since `checkpoint` was called."""
        return self._checkpointed

    def isLocallyCheckpointed(self) -> bool:
        """Whether `localCheckpoint` or `checkpoint` was called."""
        return self._checkpoint

    def getCheckpointFile(self) -> str | None:
        """None: no file is written."""
        return None

    def toDebugString(self) -> bytes:
        """The RDD and those it is made of, one per line.

        Examples
        --------
        >>> from millstream.dstream.rdd import SparkContext
        >>> numbers = SparkContext("local[2]").parallelize([1, 2]).setName("numbers")
        >>> print(numbers.map(str).toDebugString().decode())
        (2) RDD[1] at map
         |  numbers RDD[0] at parallelize
        """
        return "\n".join(self._described(0)).encode()

    def _described(self, depth: int) -> Iterator[str]:
        named = f"{self._name} " if self._name else ""
        head = f"({self.getNumPartitions()})" if not depth else " | " + "   " * (depth - 1)
        kept = "" if self._level is None else f" [{self._level}]"
        yield f"{head} {named}RDD[{self._id}] at {self._label}{kept}"
        yield from itertools.chain.from_iterable(p._described(depth + 1) for p in self._parents)

    def __repr__(self) -> str:
        return f"{self._name or 'RDD'}[{self._id}] at {self._label}"

    def __reduce__(self) -> Any:
        raise PlanError(
            "RDD_IN_FUNCTION",
            "an RDD cannot be sent to another process",
            location=user_location(),
            hint="use join, cartesian or a broadcast variable inside of functions",
        )
