"""BatchTransformations of streams of pairs: a key and a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.dstream.errors import call_error
from millstream.dstream.nodes import (
    MapWithStateNode,
    StateSnapshotsNode,
    UpdateStateNode,
)
from millstream.dstream.rdd import portable_hash
from millstream.dstream.state import StateSpec
from millstream.dstream.streams.base import StreamBase

if TYPE_CHECKING:
    from millstream.dstream.streams.dstream import DStream, MapWithStateDStream

__all__ = ["Pairs"]

T = TypeVar("T")


class Pairs(StreamBase[T]):
    """BatchTransformations of streams of pairs, batch by batch, and with state."""

    def mapValues(self, f: Callable[[Any], Any]) -> DStream[Any]:
        """Call a function with each value; keys, and their partitions, stay."""
        return self._each(lambda rdd: rdd.mapValues(f), "mapValues")

    def flatMapValues(self, f: Callable[[Any], Iterable[Any]]) -> DStream[Any]:
        """Call a function with each value; it gives any number of values for the same key."""
        return self._each(lambda rdd: rdd.flatMapValues(f), "flatMapValues")

    def reduceByKey(
        self, func: Callable[[Any, Any], Any], numPartitions: int | None = None
    ) -> DStream[Any]:
        """Merge the values of each key in a batch.

        Examples
        --------
        >>> from operator import add
        >>> from millstream.dstream import ManualClock, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> pairs = ssc.queueStream([[("a", 1), ("a", 2)], [("a", 5)]])
        >>> pairs.reduceByKey(add, 1).foreachRDD(lambda rdd: print(rdd.collect()))
        >>> ssc.start()
        >>> clock.advance(2)
        [('a', 3)]
        [('a', 5)]
        >>> ssc.stop()
        """
        size = self._partitions(numPartitions)
        return self._each(lambda rdd: rdd.reduceByKey(func, size), "reduceByKey")

    def combineByKey(
        self,
        createCombiner: Callable[[Any], Any],
        mergeValue: Callable[[Any, Any], Any],
        mergeCombiners: Callable[[Any, Any], Any],
        numPartitions: int | None = None,
    ) -> DStream[Any]:
        """Combine the values of each key in a batch."""
        size = self._partitions(numPartitions)
        return self._each(
            lambda rdd: rdd.combineByKey(createCombiner, mergeValue, mergeCombiners, size),
            "combineByKey",
        )

    def groupByKey(self, numPartitions: int | None = None) -> DStream[Any]:
        """The values of each key in a batch."""
        size = self._partitions(numPartitions)
        return self._each(lambda rdd: rdd.groupByKey(size), "groupByKey")

    def partitionBy(
        self, numPartitions: int, partitionFunc: Callable[[Any], int] = portable_hash
    ) -> DStream[Any]:
        """Pairs in the partitions that a function of their keys says."""
        return self._each(lambda rdd: rdd.partitionBy(numPartitions, partitionFunc), "partitionBy")

    # Two streams.

    def cogroup(self, other: StreamBase[Any], numPartitions: int | None = None) -> DStream[Any]:
        """For each key in a batch of either stream, its values in both."""
        return self._joined("cogroup", other, numPartitions)

    def join(self, other: StreamBase[Any], numPartitions: int | None = None) -> DStream[Any]:
        """Pairs of values with the same key in the same batch of both streams."""
        return self._joined("join", other, numPartitions)

    def leftOuterJoin(
        self, other: StreamBase[Any], numPartitions: int | None = None
    ) -> DStream[Any]:
        """The join with all pairs of this stream, with None where the other one has none."""
        return self._joined("leftOuterJoin", other, numPartitions)

    def rightOuterJoin(
        self, other: StreamBase[Any], numPartitions: int | None = None
    ) -> DStream[Any]:
        """The join with all pairs of the other stream, with None where this one has none."""
        return self._joined("rightOuterJoin", other, numPartitions)

    def fullOuterJoin(
        self, other: StreamBase[Any], numPartitions: int | None = None
    ) -> DStream[Any]:
        """The join with all pairs of both streams, with None where one has none."""
        return self._joined("fullOuterJoin", other, numPartitions)

    def _joined(
        self, method: str, other: StreamBase[Any], numPartitions: int | None
    ) -> DStream[Any]:
        size = self._partitions(numPartitions)
        return self._with(lambda a, b: getattr(a, method)(b, size), other, method)

    # State.

    def updateStateByKey(
        self,
        updateFunc: Callable[[list[Any], Any], Any],
        numPartitions: int | None = None,
        initialRDD: Any = None,
    ) -> DStream[Any]:
        """The state of each key, updated in every batch by a function of new values and the state.

        All keys are visited in every batch. The state of a new key is None before; a result of None
        removes the key. ``initialRDD`` has pairs of keys and states to begin with.

        Examples
        --------
        >>> from millstream.dstream import ManualClock, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> totals = ssc.queueStream([[("a", 1)], [("a", 2), ("b", 3)]]).updateStateByKey(
        ...     lambda values, total: sum(values, total or 0), 1
        ... )
        >>> totals.foreachRDD(lambda rdd: print(rdd.collect()))
        >>> ssc.start()
        >>> clock.advance(3)
        [('a', 1)]
        [('a', 3), ('b', 3)]
        [('a', 3), ('b', 3)]
        >>> ssc.stop()
        """
        self._ssc._check_open()
        size = self._partitions(numPartitions)
        initial = None if initialRDD is None else self._sc.as_rdd(initialRDD)
        return self._as(UpdateStateNode(self._ssc._graph, self._node, updateFunc, size, initial))

    def mapWithState(self, spec: StateSpec) -> MapWithStateDStream[Any]:
        """The results of a function of each record and the state of its key: see `StateSpec`.

        Only the keys of a batch are visited, and those whose timeout has passed.

        Examples
        --------
        >>> from millstream.dstream import ManualClock, StateSpec, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> def total(key, value, state):
        ...     state.update(state.getOption(0) + value)
        ...     return key, state.get()
        >>> totals = ssc.queueStream([[("a", 1), ("a", 2)], [("a", 5)]]).mapWithState(
        ...     StateSpec.function(total)
        ... )
        >>> totals.foreachRDD(lambda rdd: print(rdd.collect()))
        >>> ssc.start()
        >>> clock.advance(2)
        [('a', 1), ('a', 3)]
        [('a', 8)]
        >>> ssc.stop()
        """
        from millstream.dstream.streams.dstream import MapWithStateDStream

        self._ssc._check_open()
        if not isinstance(spec, StateSpec):
            raise call_error(
                "DSTREAM_FUNCTION",
                f"mapWithState needs a StateSpec, not {spec!r}",
                "mapWithState(StateSpec.function(function))",
            )
        size = self._partitions(spec._partitions)
        initial = None if spec._initial is None else self._sc.as_rdd(spec._initial)
        node = MapWithStateNode(self._ssc._graph, self._node, spec, size, initial)
        snapshots = StateSnapshotsNode(self._ssc._graph, node)
        return MapWithStateDStream(node, self._ssc, snapshots)
