"""The functions that users write for data sets, and what the runtime hands to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from millstream.common.accumulators import (
    Accumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)
from millstream.common.errors import PlanError
from millstream.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)

__all__ = [
    "Aggregation",
    "CoGroupFunction",
    "Collector",
    "CrossFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "GroupCombineFunction",
    "GroupReduceFunction",
    "IterationRuntimeContext",
    "JoinFunction",
    "JoinHint",
    "KeySelector",
    "MapFunction",
    "MapPartitionFunction",
    "Max",
    "Min",
    "Order",
    "Partitioner",
    "ReduceFunction",
    "RichFunction",
    "RuntimeContext",
    "Sum",
    "WriteMode",
]


class Aggregation(Enum):
    """A built-in aggregate of a field.

    Examples
    --------
    >>> Aggregation.SUM.value
    'sum'
    """

    SUM = "sum"
    MIN = "min"
    MAX = "max"


Sum = Aggregation.SUM
"""The sum, by the name of Flink's Python API."""
Min = Aggregation.MIN
"""The smallest value, by the name of Flink's Python API."""
Max = Aggregation.MAX
"""The largest value, by the name of Flink's Python API."""


class Order(Enum):
    """The direction of a sort.

    Examples
    --------
    >>> Order.DESCENDING.value
    -1
    """

    NONE = 0
    ASCENDING = 1
    DESCENDING = -1
    ANY = 2


class WriteMode(Enum):
    """The behaviour of a sink whose file is there already.

    Examples
    --------
    >>> WriteMode.OVERWRITE.value
    1
    """

    NO_OVERWRITE = 0
    OVERWRITE = 1


class JoinHint(Enum):
    """A strategy for a join that the optimizer takes over from the program.

    Spark has one kind of broadcast, one hash join and one sort-merge join; which side is built is said
    by ``FIRST`` and ``SECOND``.

    Examples
    --------
    >>> JoinHint.BROADCAST_HASH_SECOND.value
    'broadcast second'
    """

    OPTIMIZER_CHOOSES = ""
    BROADCAST_HASH_FIRST = "broadcast first"
    BROADCAST_HASH_SECOND = "broadcast second"
    REPARTITION_HASH_FIRST = "hash first"
    REPARTITION_HASH_SECOND = "hash second"
    REPARTITION_SORT_MERGE = "sort merge"


class Collector:
    """The receiver of what a function emits, for functions that do not return or yield it.

    Examples
    --------
    >>> out = Collector()
    >>> out.collect(1)
    >>> out.values
    [1]
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.collect: Callable[[Any], None] = self.values.append

    def close(self) -> None:
        """Nothing: Flink's collectors have this method."""


class RuntimeContext:
    """The place of a function in a running job: its task, broadcast sets and accumulators.

    Examples
    --------
    >>> context = RuntimeContext("Map", 0, 4, {"stopwords": ["the"]})
    >>> context.get_broadcast_variable("stopwords")
    ['the']
    """

    def __init__(
        self,
        name: str,
        index: int,
        count: int,
        broadcasts: Mapping[str, list[Any]] | None = None,
        accumulators: dict[str, Accumulator[Any, Any]] | None = None,
    ) -> None:
        self._name = name
        self._index = index
        self._count = count
        self._broadcasts = broadcasts or {}
        self._made: dict[str, Any] = {}
        self._accumulators = {} if accumulators is None else accumulators

    def get_task_name(self) -> str:
        """The name of the operator."""
        return self._name

    def get_index_of_this_subtask(self) -> int:
        """The number of this parallel part, from 0."""
        return self._index

    def get_number_of_parallel_subtasks(self) -> int:
        """The number of parallel parts."""
        return self._count

    def has_broadcast_variable(self, name: str) -> bool:
        """Whether the operator has a broadcast set with this name."""
        return name in self._broadcasts

    def get_broadcast_variable(self, name: str) -> list[Any]:
        """All elements of a broadcast set, in no particular order."""
        if name not in self._broadcasts:
            known = ", ".join(map(repr, self._broadcasts)) or "none"
            raise PlanError(
                "DATASET_BROADCAST",
                f"operator {self._name!r} has no broadcast set {name!r}; it has: {known}",
                hint=f"add it: .with_broadcast_set({name!r}, data_set)",
            )
        return self._broadcasts[name]

    def get_broadcast_variable_with_initializer(
        self, name: str, initializer: Callable[[list[Any]], Any]
    ) -> Any:
        """The value that a function makes of a broadcast set, such as a dict; made once per task."""
        if name not in self._made:
            self._made[name] = initializer(self.get_broadcast_variable(name))
        return self._made[name]

    def get_iteration_aggregator(self, name: str) -> Any:
        """The aggregator of the iteration, in functions of its step."""
        raise self._outside()

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """The value of an aggregator after the last superstep, in functions of a step."""
        raise self._outside()

    def get_superstep_number(self) -> int:
        """The number of the superstep, in functions of a step."""
        raise self._outside()

    def _outside(self) -> PlanError:
        return PlanError(
            "DATASET_ITERATION",
            f"operator {self._name!r} is not in the step of an iteration",
            hint="use this function in what leads from iterate() to close_with()",
        )

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Add a total to the job. The same name in another task must have the same class."""
        if name in self._accumulators:
            raise PlanError(
                "DATASET_ACCUMULATOR",
                f"accumulator {name!r} is there already in this task",
                hint="get it with get_accumulator(name), or use another name",
            )
        self._accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """This task's accumulator with that name, None if there is none."""
        return self._accumulators.get(name)

    def get_int_counter(self, name: str) -> IntCounter:
        """A counter, added to the job if it is not there yet."""
        return self._counter(name, IntCounter)  # type: ignore[no-any-return]

    def get_long_counter(self, name: str) -> LongCounter:
        """A counter, added to the job if it is not there yet."""
        return self._counter(name, LongCounter)  # type: ignore[no-any-return]

    def get_double_counter(self, name: str) -> DoubleCounter:
        """A counter, added to the job if it is not there yet."""
        return self._counter(name, DoubleCounter)  # type: ignore[no-any-return]

    def get_histogram(self, name: str) -> Histogram:
        """A histogram, added to the job if it is not there yet."""
        return self._counter(name, Histogram)  # type: ignore[no-any-return]

    def _counter(self, name: str, kind: type[Accumulator[Any, Any]]) -> Any:
        found = self._accumulators.setdefault(name, kind())
        if not isinstance(found, kind):
            raise PlanError(
                "DATASET_ACCUMULATOR",
                f"accumulator {name!r} is a {type(found).__name__}, not a {kind.__name__}",
                hint="use another name",
            )
        return found


class IterationRuntimeContext(RuntimeContext):
    """The place of a function inside an iteration.

    Examples
    --------
    >>> context = IterationRuntimeContext("Map", 0, 1, superstep=3)
    >>> context.get_superstep_number()
    3
    """

    def __init__(
        self,
        name: str,
        index: int,
        count: int,
        broadcasts: Mapping[str, list[Any]] | None = None,
        accumulators: dict[str, Accumulator[Any, Any]] | None = None,
        *,
        superstep: int = 1,
        aggregators: Mapping[str, Any] | None = None,
        previous: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, index, count, broadcasts, accumulators)
        self._superstep = superstep
        self._aggregators = aggregators or {}
        self._previous = previous or {}

    def get_superstep_number(self) -> int:
        """The number of this superstep, from 1."""
        return self._superstep

    def get_iteration_aggregator(self, name: str) -> Any:
        """The aggregator of that name: call its ``aggregate``."""
        return self._found(name, self._aggregators)

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """The value of an aggregator in the superstep before; None in the first one."""
        self._found(name, self._aggregators)
        return self._previous.get(name)

    def _found(self, name: str, where: Mapping[str, Any]) -> Any:
        if name not in where:
            known = ", ".join(map(repr, where)) or "none"
            raise PlanError(
                "DATASET_AGGREGATOR",
                f"the iteration has no aggregator {name!r}; it has: {known}",
                hint=f"register it: iteration.register_aggregator({name!r}, LongSumAggregator())",
            )
        return where[name]


class RichFunction(Function):
    """The base of functions that want their place in the job.

    All function classes may have ``open`` and ``close``. This one also keeps the context.

    Examples
    --------
    >>> class Place(RichFunction, MapFunction):
    ...     def map(self, value):
    ...         return self.get_runtime_context().get_index_of_this_subtask(), value
    """

    context: Any = None

    def get_runtime_context(self) -> Any:
        """The `RuntimeContext`; in an iteration an `IterationRuntimeContext`."""
        return self.context

    def get_iteration_runtime_context(self) -> IterationRuntimeContext:
        """The context of a function in the step of an iteration."""
        if not isinstance(self.context, IterationRuntimeContext):
            raise PlanError(
                "DATASET_NO_ITERATION",
                f"{type(self).__name__} does not run in an iteration",
                hint="use get_runtime_context()",
            )
        return self.context


class MapPartitionFunction(Function):
    """Turns the elements of a whole partition into any number of elements.

    Examples
    --------
    >>> class Count(MapPartitionFunction):
    ...     def map_partition(self, iterator, collector):
    ...         collector.collect(sum(1 for _ in iterator))
    """

    @abstractmethod
    def map_partition(self, iterator: Iterator[Any], collector: Collector) -> Any:
        """Read the elements of a partition; yield, return or collect the results."""


class GroupReduceFunction(Function):
    """Turns a group of elements into any number of elements.

    Examples
    --------
    >>> class Size(GroupReduceFunction):
    ...     def reduce(self, iterator, collector):
    ...         collector.collect(sum(1 for _ in iterator))
    """

    @abstractmethod
    def reduce(self, iterator: Iterator[Any], collector: Collector) -> Any:
        """Read the elements of a group; yield, return or collect the results."""


class GroupCombineFunction(Function):
    """Turns what one task has of a group into any number of elements, before data is moved.

    Examples
    --------
    >>> class Sum(GroupCombineFunction):
    ...     def combine(self, iterator, collector):
    ...         collector.collect(sum(iterator))
    """

    @abstractmethod
    def combine(self, iterator: Iterator[Any], collector: Collector) -> Any:
        """Read elements of a group; yield, return or collect the results."""


class CoGroupFunction(Function):
    """Turns two groups with the same key into any number of elements.

    Examples
    --------
    >>> class Sizes(CoGroupFunction):
    ...     def co_group(self, iterator1, iterator2, collector):
    ...         collector.collect((sum(1 for _ in iterator1), sum(1 for _ in iterator2)))
    """

    @abstractmethod
    def co_group(
        self, iterator1: Iterator[Any], iterator2: Iterator[Any], collector: Collector
    ) -> Any:
        """Read both groups, one of which may be empty; yield, return or collect the results."""


class JoinFunction(Function):
    """Makes one element of two elements that have met.

    Examples
    --------
    >>> class Names(JoinFunction):
    ...     def join(self, value1, value2):
    ...         return value1[0], value2[1]
    """

    @abstractmethod
    def join(self, value1: Any, value2: Any) -> Any:
        """The result for a pair. In an outer join one of them may be None."""


class FlatJoinFunction(Function):
    """Makes any number of elements of two elements that have met.

    Examples
    --------
    >>> class Both(FlatJoinFunction):
    ...     def join(self, value1, value2, collector):
    ...         collector.collect(value1)
    ...         collector.collect(value2)
    """

    @abstractmethod
    def join(self, value1: Any, value2: Any, collector: Collector) -> Any:
        """Yield, return or collect the results for a pair."""


class CrossFunction(Function, ABC):
    """Makes one element of each pair of elements.

    Examples
    --------
    >>> class Product(CrossFunction):
    ...     def cross(self, value1, value2):
    ...         return value1 * value2
    """

    @abstractmethod
    def cross(self, value1: Any, value2: Any) -> Any:
        """The result for a pair."""
