"""DStream: a stream of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from millstream.dstream.nodes import Node
from millstream.dstream.streams.outputs import Outputs
from millstream.dstream.streams.pairs import Pairs
from millstream.dstream.streams.transformations import BatchTransformations
from millstream.dstream.streams.windows import Windows

if TYPE_CHECKING:
    from millstream.dstream.context import StreamingContext

__all__ = ["DStream", "MapWithStateDStream"]

T = TypeVar("T")


class DStream(BatchTransformations[T], Pairs[T], Windows[T], Outputs[T]):
    """A stream of batches, each an RDD, with the methods of PySpark's DStream and some of Scala's.

    Examples
    --------
    >>> from millstream.dstream import ManualClock, StreamingContext
    >>> clock = ManualClock()
    >>> ssc = StreamingContext(None, 1, clock=clock)
    >>> lines = ssc.queueStream([["to be or"], ["not to be"]])
    >>> counts = lines.flatMap(str.split).countByValue(1)
    >>> counts.foreachRDD(lambda rdd: print(sorted(rdd.collect())))
    >>> ssc.start()
    >>> clock.advance(2)
    [('be', 1), ('or', 1), ('to', 1)]
    [('be', 1), ('not', 1), ('to', 1)]
    >>> ssc.stop()
    """


class MapWithStateDStream(DStream[T]):
    """The results of `DStream.mapWithState`."""

    def __init__(self, node: Node, ssc: StreamingContext, snapshots: Node) -> None:
        super().__init__(node, ssc)
        self._snapshots = snapshots

    def _as(self, node: Node) -> DStream[T]:
        return DStream(node, self._ssc)

    def stateSnapshots(self) -> DStream[T]:
        """All keys with their states after each batch. Its cost is that of all keys."""
        return DStream(self._snapshots, self._ssc)
