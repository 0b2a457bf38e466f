"""Operations on whole partitions of a bounded stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast, overload

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.type_variables import IN, OUT, T
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.certainty import guessed
from millstream.datastream.building.operator_settings import StreamSettings
from millstream.datastream.building.stream_types import output_type_of
from millstream.datastream.functions import AggregateFunction
from millstream.datastream.functions.checks import (
    REDUCE,
    FunctionKind,
    check_function,
    plain_callable,
    refuse_open,
)
from millstream.datastream.functions.windowed import ProcessWindowFunction
from millstream.datastream.joining.functions import (
    MAP_PARTITION,
    MapPartitionFunction,
    MappedPartition,
)
from millstream.datastream.windowing.adapters import PassedOn
from millstream.datastream.windowing.bounded_operations import (
    distinct,
    first_records,
    follows_sources,
    itself,
    require_bounded,
    whole_input,
)
from millstream.kernel.steps.routing import Place
from millstream.kernel.windows.contents import Aggregated, Reduced
from millstream.plan.graph import Selector

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V
    from millstream.datastream.functions.types import Key, ReduceLike
    from millstream.datastream.streams.data_stream import DataStream

    MapPartitionLike: TypeAlias = (
        Callable[[list[IN]], Iterable[OUT] | None] | MapPartitionFunction[IN, OUT]
    )

__all__ = ["Order", "PartitionMethods", "PartitionWindowedStream"]

_AGGREGATE = FunctionKind(
    "aggregate", AggregateFunction, "get_result", ("accumulator",), plain=False
)


class Order(Enum):
    """Which way to sort.

    Examples
    --------
    >>> Order.DESCENDING.name
    'DESCENDING'
    """

    ASCENDING = "ascending"
    DESCENDING = "descending"


class PartitionWindowedStream(Generic[T]):
    """A bounded stream cut into partitions, each of which is computed as a whole at the end.

    On a keyed stream a partition holds the records of a key. Without keys it holds the records of
    a source channel: a file, a Kafka partition, a collection. Behind an operator with keys there
    are no channels any more, and all records are one partition. So what is in a partition depends
    on the program and its input, never on parallelism, slots or epochs.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([5, 1, 4, 2])
    >>> def middle(values):
    ...     yield sorted(values)[len(values) // 2]
    >>> run_local(numbers.full_window_partition().map_partition(middle)).values()
    [4]
    >>> by_parity = numbers.key_by(lambda n: n % 2).full_window_partition()
    >>> run_local(by_parity.reduce(lambda a, b: a * b)).values()
    [5, 8]
    """

    def __init__(
        self, stream: DataStream[T], selector: Selector, key_type: TypeInformation | None
    ) -> None:
        hint = "use a window that ends: tumbling, sliding, session or count windows"
        require_bounded("full_window_partition", [stream], hint)
        self._stream = stream
        self._selector = selector
        self._key_type = key_type

    @overload
    def map_partition(self, map_partition_function: MapPartitionLike[T, V]) -> DataStream[V]: ...

    @overload
    def map_partition(
        self,
        map_partition_function: MapPartitionLike[T, object],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def map_partition(
        self, map_partition_function: Any, output_type: Any = None
    ) -> DataStream[Any]:
        """Call a function with the records of each partition, in order.

        Parameters
        ----------
        map_partition_function
            A function of the list of records, which returns or yields any number of results.
        output_type
            The type of one result, see `DataStream.map`.
        """
        check_function(map_partition_function, MAP_PARTITION)
        type_info = output_type_of(output_type, map_partition_function, MAP_PARTITION)
        function = MappedPartition(map_partition_function, MAP_PARTITION)
        return self._operator("Map Partition", function, type_info)

    def sort_partition(
        self,
        field: Key[T],
        order: Order = Order.ASCENDING,
    ) -> DataStream[T]:
        """Sort the records of each partition; those that are equal stay in their order.

        Parameters
        ----------
        field
            The position or name of the field to sort by, or a function that returns what to sort by.
        order
            Which way.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> pairs = env.from_collection([("a", 2), ("b", 3), ("c", 1)]).full_window_partition()
        >>> run_local(pairs.sort_partition(1, Order.DESCENDING)).values()
        [('b', 3), ('a', 2), ('c', 1)]
        """
        if not isinstance(order, Order):
            raise PlanError(
                "BAD_ORDER",
                f"sort_partition sorts by an Order, got {short_repr(order)}",
                location=user_location(),
                hint="use Order.ASCENDING or Order.DESCENDING",
            )
        function = _Sort(self._stream.key_by(field)._selector, order is Order.DESCENDING)
        return self._operator("Sort Partition", function, self._stream._node.output_type)

    def reduce(self, reduce_function: ReduceLike[T]) -> DataStream[T]:
        """Fold the records of each partition into one, as they come, see `WindowedStream.reduce`."""
        fold = Reduced(plain_callable(reduce_function, REDUCE))
        of_type = guessed(self._stream._node.output_type)
        return self._operator("Reduce Partition", PassedOn(), of_type, fold)

    @overload
    def aggregate(self, aggregate_function: AggregateFunction[T, Any, V]) -> DataStream[V]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, object],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def aggregate(self, aggregate_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Fold the records of each partition into an accumulator, as they come."""
        check_function(aggregate_function, _AGGREGATE)
        refuse_open(aggregate_function, "aggregate")
        type_info = output_type_of(output_type, aggregate_function, _AGGREGATE)
        fold = Aggregated(aggregate_function)
        return self._operator("Aggregate Partition", PassedOn(), type_info, fold)

    def _operator(
        self, name: str, function: Any, output_type: TypeInformation | None, fold: Any = None
    ) -> DataStream:
        return whole_input(
            self._stream,
            name,
            function,
            output_type,
            selector=self._selector,
            key_type=self._key_type,
            fold=fold,
        )


class _Sort(ProcessWindowFunction):
    def __init__(self, sort_key: Callable[[Any], Any], descending: bool) -> None:
        self._sort_key = sort_key
        self._descending = descending

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> list[Any]:
        return sorted(elements, key=self._sort_key, reverse=self._descending)


class PartitionMethods(StreamSettings, Generic[T]):
    """The methods of `DataStream` that work on bounded streams as a whole."""

    def full_window_partition(self) -> PartitionWindowedStream[T]:
        """Compute whole partitions of this bounded stream, see `PartitionWindowedStream`."""
        stream = cast("DataStream[T]", self)
        place = Place.BY_CHANNEL if follows_sources(stream) else Place.ONE_SLOT
        return PartitionWindowedStream(stream, place, None)

    @overload
    def map_partition(self, func: MapPartitionLike[T, V]) -> DataStream[V]: ...

    @overload
    def map_partition(
        self, func: MapPartitionLike[T, object], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def map_partition(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Call a function with all records of a partition, see `PartitionWindowedStream`."""
        return self.full_window_partition().map_partition(func, output_type)

    def distinct(self, key_selector: Key[T] | None = None) -> DataStream[T]:
        """Keep one record of those that are equal, or that have the same key: the first in order.

        The stream must be bounded; the results come at its end.

        Parameters
        ----------
        key_selector
            As in `DataStream.key_by`; by default the whole record, which must be usable as a key.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> sorted(run_local(env.from_collection([3, 1, 3, 1, 2]).distinct()).values())
        [1, 2, 3]
        """
        stream = cast("DataStream[T]", self)
        hint = "keep the keys seen in state: key_by(...).process(...), with a time to live"
        require_bounded("distinct", [stream], hint)
        if key_selector is None:
            return distinct(stream.key_by(itself, stream.get_type()))
        return distinct(stream.key_by(key_selector))

    def first(self, n: int) -> DataStream[T]:
        """Keep the first ``n`` records, of a keyed stream those of each key.

        The stream must be bounded; the results come at its end. First is what comes first in the
        one order of the job: for a single channel, its own order.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> run_local(env.from_collection([5, 1, 4, 2]).first(2)).values()
        [5, 1]
        """
        return first_records(cast("DataStream[T]", self), n, Place.ONE_SLOT, None)
