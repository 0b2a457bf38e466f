"""Streams that are grouped by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, overload

from millstream.common.errors import PlanError, user_location
from millstream.common.type_variables import K, T
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.certainty import guessed
from millstream.datastream.building.aggregations import (
    FieldReduce,
)
from millstream.datastream.building.field_aggregates import FieldAggregates
from millstream.datastream.building.stream_types import checked_field, output_type_of
from millstream.datastream.functions.adapters import KeyedFilter, KeyedFlatMap, KeyedMap
from millstream.datastream.functions.checks import (
    KEYED_PROCESS,
    REDUCE,
    FunctionKind,
    check_function,
)
from millstream.datastream.streams.data_stream import DataStream
from millstream.datastream.streams.partitions import PartitionWindowedStream
from millstream.datastream.windowing.assigners import WindowAssigner
from millstream.datastream.windowing.bounded_operations import first_records
from millstream.datastream.windowing.streams import Lateness, WindowedStream, count_assigner
from millstream.plan.graph import JobGraph, KeyedNode

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import K2, W2, V
    from millstream.common.windows import CountWindow
    from millstream.datastream.functions.base import KeyedProcessFunction, Partitioner
    from millstream.datastream.functions.types import KeyLike, ReduceLike
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["KeyedStream"]

_WITH_STATE: dict[str, Callable[[Any], Any]] = {
    "map": KeyedMap,
    "flat_map": KeyedFlatMap,
    "filter": KeyedFilter,
}


class KeyedStream(FieldAggregates[T], DataStream[T], Generic[K, T]):
    """A stream whose records have keys. Its operators keep state per key.

    ``KeyedStream[str, int]`` has texts as keys and numbers as records.

    It is a stream with a key, not an operator: names, uids and parallelism belong to the operator
    that follows.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> sales = env.from_collection([("ada", 3), ("bob", 5), ("ada", 4)])
    >>> by_name = sales.key_by(lambda sale: sale[0], key_type=str)
    >>> total = by_name.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("total")
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        graph: JobGraph,
        node_id: int,
        selector: Callable[[Any], Any],
        key_type: TypeInformation | None,
    ) -> None:
        super().__init__(env, graph, node_id)
        self._selector = selector
        self._key_type = key_type

    def get_key_type(self) -> TypeInformation[K] | None:
        """Return the type of the key, None if it is unknown."""
        return self._key_type

    def get_key_selector(self) -> Callable[[T], K]:
        """Return the function that gives a record its key."""
        return self._selector

    def cache(self) -> NoReturn:
        """Refuse: cache the stream before ``key_by``."""
        self._operator("cache")

    # -- functions with state --------------------------------------------------------------------

    @overload  # type: ignore[override]
    def process(self, func: KeyedProcessFunction[K, T, V]) -> DataStream[V]: ...

    @overload
    def process(
        self, func: KeyedProcessFunction[K, T, object], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Apply a `KeyedProcessFunction` to each record and each timer, with state per key.

        Parameters
        ----------
        func
            The function. ``yield value`` emits, ``yield tag, value`` goes to a side output.
        output_type
            The type of what it emits, see `DataStream.map`.
        """
        check_function(func, KEYED_PROCESS)
        type_info = output_type_of(output_type, func, KEYED_PROCESS)
        return self._keyed("Keyed Process", func, type_info)

    def _apply(
        self,
        kind: Literal["map", "flat_map", "filter"],
        name: str,
        func: Any,
        function_kind: FunctionKind,
        output_type: TypeInformation | None,
    ) -> DataStream:
        if not isinstance(func, function_kind.base):
            return super()._apply(kind, name, func, function_kind, output_type)
        check_function(func, function_kind)
        return self._keyed(f"Keyed {name}", _WITH_STATE[kind](func), output_type)

    # -- rolling aggregations --------------------------------------------------------------------

    def reduce(self, func: ReduceLike[T]) -> DataStream[T]:
        """Fold the records of a key into one, and emit it after each record.

        In batch mode only the last one of each key is emitted.

        Parameters
        ----------
        func
            A function of the result so far and of the new record. It must return a value of
            the stream's type only if that type is declared. The first record of a key is emitted
            as it is.
        """
        check_function(func, REDUCE)
        return self._reduce("Reduce", func, guessed(self._node.output_type))

    def _aggregate(
        self, name: str, reducer: type[FieldReduce], field: int | str, numbers: bool = False
    ) -> DataStream:
        found = checked_field(self._node.output_type, field, reducer.kind, numbers=numbers)
        own_type = self._node.output_type
        # A sum may be too large for its type; the other results are fields of records.
        return self._reduce(name, reducer(found), guessed(own_type) if numbers else own_type)

    def _reduce(self, name: str, func: Any, output_type: TypeInformation | None) -> DataStream:
        return self._keyed(name, func, output_type, kind="reduce")

    def _keyed(
        self, name: str, func: Any, output_type: TypeInformation | None, kind: str = "process"
    ) -> DataStream:
        return self._then(
            KeyedNode,
            name=name,
            kind=kind,
            function=func,
            selector=self._selector,
            key_type=self._key_type,
            output_type=output_type,
        )

    # -- windows ---------------------------------------------------------------------------------

    def window(
        self, window_assigner: WindowAssigner[Any, W2], lateness: Lateness = "channel"
    ) -> WindowedStream[K, T, W2]:
        """Cut the records of each key into windows.

        Parameters
        ----------
        window_assigner
            Says which windows a record belongs to, see `millstream.datastream.window`.
        lateness
            A window is late for a record when the record's own channel has passed it (``"channel"``,
            so that a slow channel loses nothing), or, as in Flink, when the operator's clock has
            (``"operator"``).
        """
        return WindowedStream(self, self._selector, self._key_type, window_assigner, lateness)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[K, T, CountWindow]:
        """Cut the records of each key into windows of ``size`` records.

        With ``slide``, a window starts after every ``slide`` records. As in PyFlink, only full windows
        fire.
        """
        return self.window(count_assigner(size, slide))

    # -- joins -----------------------------------------------------------------------------------

    def interval_join(
        self, other_stream: KeyedStream[Any, V], *, lateness: Lateness = "channel"
    ) -> IntervalJoin[T, V]:
        """Join with the records of another keyed stream whose event times are near.

        Parameters
        ----------
        other_stream
            The right side. Its keys mean the same as those of this stream, the left side.
        lateness
            A record is late when its own channel has passed its time (``"channel"``), or, as in
            Flink, when the operator's clock has (``"operator"``). Late records join nothing.

        Examples
        --------
        >>> from millstream.common import WatermarkStrategy
        >>> from millstream.datastream import ProcessJoinFunction, StreamExecutionEnvironment
        >>> class Pair(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, right
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> clicks, views = env.from_collection([("a", 1)]), env.from_collection([("a", 2)])
        >>> pairs = clicks.key_by(0).interval_join(views.key_by(0)).between("-5 s", "1 min")
        >>> pairs.process(Pair()).get_name()
        'Interval Join'
        """
        return IntervalJoin(self, other_stream, lateness)

    # -- the whole input -------------------------------------------------------------------------

    def full_window_partition(self) -> PartitionWindowedStream[T]:
        """Compute all records of a key as a whole, at the end: see `PartitionWindowedStream`."""
        return PartitionWindowedStream(self, self._selector, self._key_type)

    def first(self, n: int) -> DataStream[T]:
        """Keep the first ``n`` records of each key, see `DataStream.first`."""
        return first_records(self, n, self._selector, self._key_type)

    # -- what a key forbids ----------------------------------------------------------------------

    def get_name(self) -> str:
        """Refuse: a keyed stream is not an operator."""
        self._operator("get_name")

    def rebalance(self) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("rebalance")

    def shuffle(self) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("shuffle")

    def rescale(self) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("rescale")

    def forward(self) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("forward")

    def global_(self) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("global_")

    def broadcast(self, *descriptors: Any, **named: Any) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("broadcast")

    def partition_custom(
        self,
        partitioner: Callable[[K2, int], int] | Partitioner[K2],
        key_selector: KeyLike[T, K2],
    ) -> NoReturn:
        """Refuse: the key decides where records go."""
        self._refuse_exchange("partition_custom")

    def _refuse_exchange(self, method: str) -> NoReturn:
        raise PlanError(
            "KEYED_EXCHANGE",
            f"{method} cannot be called on a keyed stream: the key decides where records go",
            location=user_location(),
            hint=f"call {method} before key_by, or leave it out",
        )

    def _operator(self, setting: str) -> NoReturn:
        raise PlanError(
            "NOT_AN_OPERATOR",
            f"{setting} cannot be called on a keyed stream, which is not an operator",
            location=user_location(),
            hint=f"call {setting} on what follows, as in key_by(...).reduce(...).{setting}(...)",
        )


# It derives nothing from KeyedStream, but takes two of them.
from millstream.datastream.streams.interval_join import IntervalJoin  # noqa: E402
