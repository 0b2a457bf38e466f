"""Lineage of an RDD: how its partitions are computed, kept and shuffled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from millstream.common.errors import (
    Location,
    MillstreamError,
    PlanError,
    UserCodeError,
    user_code_error,
    user_location,
)
from millstream.dstream.rdd.blocks import Block
from millstream.dstream.rdd.partitioning import Partitioner
from millstream.dstream.rdd.storage import StorageLevel

if TYPE_CHECKING:
    from millstream.dstream.rdd.context import SparkContext
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["Lineage"]

T = TypeVar("T")
U = TypeVar("U")
PartitionFunction = Callable[[int, Iterable[Any]], Iterable[Any]]


class Lineage(Generic[T]):
    """The partitions of an RDD, as functions of those of its parents.

    Parameters
    ----------
    ctx : SparkContext
        The context that it was made with.
    size : int or callable
        The number of partitions; a function is called when it is needed first.
    compute : callable
        Computes the values of a partition, from its number.
    parents : sequence
        The RDDs that it is made of, for `toDebugString`.
    label : str
        The method that has made it.
    partitioner : Partitioner, optional
        Which key is in which partition, if that is known.
    """

    def __init__(
        self,
        ctx: SparkContext,
        size: int | Callable[[], int],
        compute: Callable[[int], Iterable[Any]],
        parents: Sequence[Lineage[Any]] = (),
        label: str = "parallelize",
        partitioner: Partitioner | None = None,
    ) -> None:
        self.ctx = ctx
        self.partitioner = partitioner
        self._id = ctx._next_id()
        self._size = size
        self._compute = compute
        self._parents = tuple(parents)
        self._label = label
        self._place = user_location()
        self._name: str | None = None
        self._level: StorageLevel | None = None
        self._checkpoint = False
        self._checkpointed = False
        self._blocks: dict[int, Block[T]] = {}

    # As RDD: what methods of parts of the class return.

    @property
    def _rdd(self) -> RDD[T]:
        return cast("RDD[T]", self)

    def _derive(
        self,
        size: int | Callable[[], int],
        compute: Callable[[int], Iterable[Any]],
        parents: Sequence[Lineage[Any]],
        label: str,
        partitioner: Partitioner | None = None,
    ) -> RDD[Any]:
        return cast("RDD[Any]", type(self)(self.ctx, size, compute, parents, label, partitioner))

    def _narrow(self, f: PartitionFunction, keep_partitioner: bool, label: str) -> RDD[Any]:
        """An RDD whose partitions are a function of those of this one."""

        def compute(split: int) -> Iterator[Any]:
            # Here, so that an error names this RDD if f does not return an iterable.
            return iter(f(split, self._values(split)))

        partitioner = self.partitioner if keep_partitioner else None
        return self._derive(self.getNumPartitions, compute, [self], label, partitioner)

    def _shuffled(
        self, size: int, target: Callable[[int, Iterable[Any]], Iterable[tuple[int, Any]]],
        label: str, partitioner: Partitioner | None = None,
    ) -> RDD[Any]:  # fmt: skip
        """An RDD whose values come from any partition; ``target`` says which value goes where.

        Like Spark's shuffle files, the values stay as long as the RDD: later actions do not compute
        this one again.
        """
        arrived: list[Block[Any]] = []

        def compute(split: int) -> Iterable[Any]:
            if not arrived:
                buckets: list[list[Any]] = [[] for _ in range(size)]
                for source in range(self.getNumPartitions()):
                    for number, value in target(source, self._values(source)):
                        buckets[number].append(value)
                arrived.extend(map(Block, buckets))
            return arrived[split]

        return self._derive(size, compute, [self], label, partitioner)

    # Computing.

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
        try:
            yield from self._compute(split)
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> Exception:
        if isinstance(error, MillstreamError):
            return error
        described = user_code_error(error, self._label)
        if described.location is None:
            described.location = self._place
        return described

    def _run(
        self,
        f: Callable[[Iterator[T]], U],
        partitions: Iterable[int] | None = None,
        label: str = "collect",
    ) -> list[U]:
        """Compute partitions, one after another, and what a function makes of each: a job."""
        place = user_location()
        numbers = range(self.getNumPartitions()) if partitions is None else partitions
        try:
            found = [f(self._values(number)) for number in numbers]
        except MillstreamError:
            raise
        except Exception as error:
            raise _failed_action(error, label, place) from error
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

        Every level means memory of the driver process. As in Spark another level can be given only
        after `unpersist`.
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
            self._blocks.clear()
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


def _failed_action(error: Exception, label: str, place: Location | None) -> UserCodeError:
    described = user_code_error(error, label)
    if described.location is None:
        described.location = place
    return described
