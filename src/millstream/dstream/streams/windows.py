"""Windows over the batches of a stream."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.dstream.errors import milliseconds
from millstream.dstream.nodes import ReducedWindowNode, WindowNode
from millstream.dstream.rdd import ResultIterable, StorageLevel
from millstream.dstream.streams.base import StreamBase

if TYPE_CHECKING:
    from millstream.dstream.streams.dstream import DStream

__all__ = ["Windows"]

T = TypeVar("T")
Reduce = Callable[[Any, Any], Any]
_KEPT = StorageLevel.MEMORY_ONLY


class Windows(StreamBase[T]):
    """Windows over the batches of a stream: lengths and slides are in seconds, multiples of a batch."""

    def window(self, windowDuration: float, slideDuration: float | None = None) -> DStream[T]:
        """All values of the last ``windowDuration`` seconds, every ``slideDuration`` seconds.

        Examples
        --------
        >>> from millstream.dstream import ManualClock, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> ssc.queueStream([[1], [2], [3]]).window(2).foreachRDD(lambda rdd: print(rdd.collect()))
        >>> ssc.start()
        >>> clock.advance(4)
        [1]
        [1, 2]
        [2, 3]
        [3]
        >>> ssc.stop()
        """
        self._ssc._check_open()
        self._validate_window_param(windowDuration, slideDuration)
        slide = self._slideDuration if slideDuration is None else slideDuration
        self._node.level = self._node.level or _KEPT
        return self._as(
            WindowNode(
                self._ssc._graph, self._node, milliseconds(windowDuration), milliseconds(slide)
            )
        )

    def reduceByWindow(
        self,
        reduceFunc: Reduce,
        invReduceFunc: Reduce | None,
        windowDuration: float,
        slideDuration: float,
    ) -> DStream[T]:
        """Windows of one value, made of all values with a function of two.

        With ``invReduceFunc`` a window follows from the one before: it takes out what has left.
        """
        keyed: DStream[Any] = self._each(lambda rdd: rdd.map(lambda value: (1, value)), "map")
        reduced = keyed.reduceByKeyAndWindow(
            reduceFunc, invReduceFunc, windowDuration, slideDuration, 1
        )
        return reduced.map(lambda kv: kv[1])

    def countByWindow(self, windowDuration: float, slideDuration: float) -> DStream[int]:
        """Windows of one value: how many values there were."""
        ones: DStream[Any] = self._each(lambda rdd: rdd.map(lambda value: 1), "map")
        return ones.reduceByWindow(operator.add, operator.sub, windowDuration, slideDuration)

    def countByValueAndWindow(
        self, windowDuration: float, slideDuration: float, numPartitions: int | None = None
    ) -> DStream[tuple[T, int]]:
        """Pairs of each value and how often it was in the window."""
        keyed: DStream[Any] = self._each(lambda rdd: rdd.map(lambda value: (value, 1)), "map")
        counted = keyed.reduceByKeyAndWindow(
            operator.add, operator.sub, windowDuration, slideDuration, numPartitions
        )
        return counted.filter(lambda kv: kv[1] > 0)

    def groupByKeyAndWindow(
        self, windowDuration: float, slideDuration: float, numPartitions: int | None = None
    ) -> DStream[Any]:
        """The values of each key in the window."""
        lists: DStream[Any] = self._each(
            lambda rdd: rdd.mapValues(lambda value: [value]), "mapValues"
        )
        grouped = lists.reduceByKeyAndWindow(
            _extended,
            lambda values, old: values[len(old) :],
            windowDuration,
            slideDuration,
            numPartitions,
        )
        return grouped.mapValues(ResultIterable)

    def reduceByKeyAndWindow(
        self,
        func: Reduce,
        invFunc: Reduce | None,
        windowDuration: float,
        slideDuration: float | None = None,
        numPartitions: int | None = None,
        filterFunc: Callable[[Any], Any] | None = None,
    ) -> DStream[Any]:
        """Merge the values of each key in the window.

        With ``invFunc`` a window that is at least five slides long follows from the one before: values
        that come in are merged, those that have left are taken out. Keys without values stay, unless
        ``filterFunc`` drops them.
        """
        self._validate_window_param(windowDuration, slideDuration)
        size = self._partitions(numPartitions)
        slide = self._slideDuration if slideDuration is None else slideDuration
        reduced: DStream[Any] = self._each(lambda rdd: rdd.reduceByKey(func, size), "reduceByKey")
        if invFunc is None:
            return reduced.window(windowDuration, slide).reduceByKey(func, size)
        reduced._node.level = _KEPT
        node = ReducedWindowNode(
            self._ssc._graph,
            reduced._node,
            _reducing(func, size, filterFunc),
            _inverting(func, invFunc, size),
            milliseconds(windowDuration),
            milliseconds(slide),
        )
        return self._as(node)


def _reducing(func: Reduce, size: int, keep: Callable[[Any], Any] | None) -> Any:
    def reduce(_: datetime, before: Any, new: Any) -> Any:
        found = new.reduceByKey(func, size)
        if before is not None:
            found = before.union(found).reduceByKey(func, size)
        return found if keep is None else found.filter(keep)

    return reduce


def _inverting(func: Reduce, inverse: Reduce, size: int) -> Any:
    def invert(_: datetime, before: Any, old: Any) -> Any:
        left = before.leftOuterJoin(old.reduceByKey(func, size), size)
        return left.mapValues(lambda kv: kv[0] if kv[1] is None else inverse(kv[0], kv[1]))

    return invert


def _extended(values: list[Any], more: list[Any]) -> list[Any]:
    values.extend(more)
    return values
