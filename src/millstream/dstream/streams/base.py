"""The base of DStreams: a node of the program, and how functions become nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from millstream.dstream.errors import DurationError, call_error, milliseconds
from millstream.dstream.nodes import Node, TransformedNode
from millstream.dstream.rdd import RDD, SparkContext, StorageLevel
from millstream.dstream.state import positional_arguments

if TYPE_CHECKING:
    from millstream.dstream.context import StreamingContext
    from millstream.dstream.streams.dstream import DStream

__all__ = ["StreamBase"]

T = TypeVar("T")


class StreamBase(Generic[T]):
    """A node of the program, with the context that it belongs to."""

    def __init__(self, node: Node, ssc: StreamingContext) -> None:
        self._node = node
        self._ssc = ssc
        self.is_cached = False
        self.is_checkpointed = False

    @property
    def _sc(self) -> SparkContext:
        return self._ssc._rdds

    def context(self) -> StreamingContext:
        """The context of the stream."""
        return self._ssc

    @property
    def _slideDuration(self) -> float:
        return self._node.slide_ms / 1000

    def _as(self, node: Node) -> DStream[Any]:
        return cast("DStream[Any]", type(self)(node, self._ssc))

    def _partitions(self, numPartitions: int | None) -> int:
        return self._sc.defaultParallelism if numPartitions is None else numPartitions

    def _each(self, function: Callable[[RDD[Any]], Any], label: str) -> DStream[Any]:
        """A stream with a function of each RDD."""
        self._ssc._check_open()
        node = TransformedNode(self._ssc._graph, [self._node], lambda _, rdd: function(rdd), label)
        return self._as(node)

    def transform(
        self, func: Callable[[RDD[T]], Any] | Callable[[datetime, RDD[T]], Any]
    ) -> DStream[Any]:
        """Make each RDD with a function of ``rdd``, or of ``time`` and ``rdd``.

        The function is called for each batch in the driver process, and may use other RDDs.
        """
        self._ssc._check_open()
        called = with_time(func, 1, "transform")
        return self._as(TransformedNode(self._ssc._graph, [self._node], called, "transform"))

    def transformWith(
        self,
        func: Callable[..., Any],
        other: StreamBase[Any],
        keepSerializer: bool = False,
    ) -> DStream[Any]:
        """Make each RDD with a function of the RDDs of two streams, with or without the time before.

        ``keepSerializer`` is accepted as PySpark has it.
        """
        return self._with(func, other, "transformWith")

    def _with(self, func: Callable[..., Any], other: StreamBase[Any], label: str) -> DStream[Any]:
        self._ssc._check_open()
        if other._ssc is not self._ssc:
            raise call_error(
                "DSTREAM_CONTEXTS",
                f"{label} has streams of different contexts",
                "make all streams of a program with one StreamingContext",
            )
        called = with_time(func, 2, label)
        parents = [self._node, other._node]
        return self._as(TransformedNode(self._ssc._graph, parents, called, label))

    # Keeping.

    def cache(self) -> DStream[T]:
        """Keep the RDDs of the stream, so that several outputs do not compute them again."""
        return self.persist(StorageLevel.MEMORY_ONLY)

    def persist(self, storageLevel: Any = StorageLevel.MEMORY_ONLY) -> DStream[T]:
        """Keep the RDDs of the stream. All levels mean memory of the driver process."""
        self._ssc._check_open()
        self.is_cached = True
        self._node.level = StorageLevel.of(storageLevel)
        return cast("DStream[T]", self)

    def checkpoint(self, interval: float) -> DStream[T]:
        """Ask for a snapshot of all state at least every ``interval`` seconds."""
        self._ssc._check_open()
        self.is_checkpointed = True
        self._ssc._snapshot_every(milliseconds(interval))
        return cast("DStream[T]", self)

    def slice(self, begin: datetime | float, end: datetime | float) -> list[RDD[T]]:
        """All RDDs between two times, both included, of a running context.

        Only those are there that the stream remembers: see `StreamingContext.remember`.
        """
        if self._ssc._graph.zero_ms is None:
            raise call_error(
                "DSTREAM_NOT_STARTED",
                "the stream has not been initialized: its context was not started",
                "call slice after ssc.start()",
            )
        with self._ssc._engine_lock:
            return list(self._node.between(_as_ms(begin), _as_ms(end)))

    def _validate_window_param(self, window: float, slide: float | None) -> None:
        duration = self._node.slide_ms
        slide = self._slideDuration if slide is None else slide
        for name, given in (("windowDuration", window), ("slideDuration", slide)):
            if milliseconds(given) % duration or milliseconds(given) <= 0:
                raise DurationError(
                    "DSTREAM_WINDOW",
                    f"{name} must be multiple of the parent dstream's slide (batch) duration "
                    f"({duration} ms)",
                    f"{given} s is not; change it, or the duration of batches",
                )


def _as_ms(when: datetime | float) -> int:
    if isinstance(when, datetime):
        # As in PySpark whole seconds count.
        when = time.mktime(when.timetuple())
    return milliseconds(when)


def with_time(func: Callable[..., Any], rdds: int, label: str) -> Callable[..., Any]:
    """A function of the time and RDDs, from one with or without the time."""
    if not callable(func):
        raise call_error(
            "DSTREAM_FUNCTION", f"{label} needs a function, not {func!r}", "give a function"
        )
    arguments = positional_arguments(func)
    if arguments == rdds:
        return lambda _, *given: func(*given)
    # Arguments with defaults behind these two are the function's own.
    if positional_arguments(func, without_defaults=True) <= rdds + 1 <= arguments:
        return func
    raise call_error(
        "DSTREAM_FUNCTION",
        f"the function of {label} should take {rdds} or {rdds + 1} arguments, not {arguments}",
        f"give a function of {'rdd' if rdds == 1 else 'two RDDs'}, with or without the time before",
    )
