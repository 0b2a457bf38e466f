"""A queue of RDDs that the program gives, for tests and for first steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from millstream.dstream.inputs.base import Input
from millstream.dstream.rdd import RDD, SparkContext

__all__ = ["QueueInput"]

T = TypeVar("T")


class QueueInput(Input[T]):
    """RDDs, of which each batch gets the next one, or the first batch all.

    Parameters
    ----------
    rdds : sequence
        The queue.
    one_at_a_time : bool
        Whether a batch gets one RDD. Else the first one gets all.
    default : RDD, optional
        What batches get when the queue is empty.
    """

    def __init__(self, rdds: Sequence[RDD[T]], one_at_a_time: bool, default: RDD[T] | None) -> None:
        self._rdds = list(rdds)
        self._one_at_a_time = one_at_a_time
        self._default = default
        self._next = 0

    def take(self, time_ms: int) -> tuple[int, int]:
        """The range of RDDs in the queue."""
        first = self._next
        last = len(self._rdds)
        self._next = min(first + 1, last) if self._one_at_a_time else last
        return first, self._next

    def restore(self, taken: tuple[int, int], time_ms: int) -> None:
        """Go on behind what was taken."""
        self._next = taken[1]

    def rdd(self, context: SparkContext, taken: Any, time_ms: int) -> RDD[T]:
        """The RDDs in the range as one."""
        first, end = taken
        if first < end:
            found = self._rdds[first:end]
            return found[0] if self._one_at_a_time else context.union(found)
        # As in Spark an empty batch has one partition, for which functions of partitions are called.
        return context.parallelize([], 1) if self._default is None else self._default
