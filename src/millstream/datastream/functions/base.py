"""The classes that user functions derive from, and what the runtime hands to them.

Wherever a stream takes a function, a lambda or a plain function is enough. Use a class for what
those cannot do: prepare something once per task in ``open``, state, timers, metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import Any, Generic, TypeVar

from millstream.common.fencing import FencingToken
from millstream.common.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millstream.common.type_aliases import Emitted
from millstream.common.type_variables import ACC, IN, K2, KEY, OUT, K, V
from millstream.datastream.accumulators import (
    Accumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)
from millstream.datastream.time_domain import TimeDomain
from millstream.datastream.timerservice import TimerService
from millstream.metrics import MetricGroup

__all__ = [
    "AggregateFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "Partitioner",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
]

A = TypeVar("A", bound=Accumulator[Any, Any])


class KeyedStateStore(ABC):
    """Where a function gets its state: one value, list or map per key, found by its name."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[V]) -> ValueState[V]:
        """Return the value of the current key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[V]) -> ListState[V]:
        """Return the list of the current key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K2, V]) -> MapState[K2, V]:
        """Return the map of the current key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[V]) -> ReducingState[V]:
        """Return the state that folds what is added into one value of the same type."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Return the state that folds what is added into an accumulator."""


class RuntimeContext(KeyedStateStore):
    """The argument of ``open``: the function's place, state, metrics and accumulators.

    Only functions on a keyed stream have state. A state object follows the current key:
    get it once in ``open``, use it in every call.
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the operator."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the number of parallel parts of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the largest possible number of parallel parts."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return which part this is, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how often this task was tried before."""

    @abstractmethod
    def get_fencing_token(self) -> FencingToken:
        """Return, in the ``open`` of a sink function, who writes which epoch.

        A sink function is opened again for each epoch and task. A database that compares the token
        inside its transactions takes nothing from a driver that was replaced.
        """

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return a name such as ``"Map (1/4)"``, with the part counted from 1."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a parameter set with ``env.get_config().set_global_job_parameters``."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return where the function's metrics are made."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Add a total to the job. The same name in another task must have the same class."""

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """Return this task's accumulator with that name, None if there is none."""

    def get_int_counter(self, name: str) -> IntCounter:
        """Return a counter, added to the job if it is not there yet."""
        return self._accumulator(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        """Return a counter, added to the job if it is not there yet."""
        return self._accumulator(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        """Return a counter, added to the job if it is not there yet."""
        return self._accumulator(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        """Return a histogram, added to the job if it is not there yet."""
        return self._accumulator(name, Histogram)

    def _accumulator(self, name: str, kind: type[A]) -> A:
        found = self.get_accumulator(name)
        if found is None:
            found = kind()
            self.add_accumulator(name, found)
        if not isinstance(found, kind):
            raise TypeError(
                f"accumulator {name!r} is a {type(found).__name__}, not a {kind.__name__}"
            )
        return found


class Function(ABC):  # noqa: B024  (open and close have a default)
    """Base of all function classes: a call before the first record and one after the last."""

    def open(self, runtime_context: RuntimeContext) -> Awaitable[None] | None:  # noqa: B027
        """Prepare. Called once in every task before its first record; make connections here."""

    def close(self) -> Awaitable[None] | None:  # noqa: B027
        """Tidy up. Called once when the task ends, also when it fails."""


class MapFunction(Function, Generic[IN, OUT]):
    """Turns each record into one record.

    Examples
    --------
    >>> class Double(MapFunction):
    ...     def map(self, value: int) -> int:
    ...         return value * 2
    >>> Double().map(21)
    42
    """

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Return the result for a record."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Turns each record into any number of records."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """Return or yield the results for a record; None means no result."""


class FilterFunction(Function, Generic[IN]):
    """Keeps some records."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Return whether the record stays."""


class ReduceFunction(Function, Generic[V]):
    """Folds two values of a type into one. It must be associative."""

    @abstractmethod
    def reduce(self, value1: V, value2: V) -> V:
        """Combine two values into one; ``value1`` is the older."""


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Folds values into an accumulator of another type, and that into a result."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return the accumulator of no values."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return the accumulator with one more value."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the result of the accumulator."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return one accumulator with the values of both. Only merging windows call it."""


class KeySelector(Function, Generic[IN, OUT]):
    """Returns the key of a record."""

    @abstractmethod
    def get_key(self, value: IN) -> OUT:
        """Return the key; the same record must always give the same one."""


class Partitioner(Function, Generic[KEY]):
    """Decides where ``partition_custom`` sends a key."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """Return a number from 0 to ``num_partitions - 1``."""


class SourceFunction(ABC):  # noqa: B024
    """The name of Flink's old sources, which are Java objects.

    Here ``add_source`` takes what ``from_source`` takes: a
    `millstream.datastream.connectors.Source`.
    """


class SinkFunction(Function, Generic[IN]):
    """Takes records out of the job, one at a time, in the task that writes them.

    After a crash the records of the last epoch come again: make ``invoke`` idempotent, or use a
    sink that writes exactly once, such as `FileSink`.
    """

    @abstractmethod
    def invoke(self, value: IN) -> None:
        """Write one record."""


class ProcessFunction(Function, Generic[IN, OUT]):
    """Emits any number of records per record, with its time and with side outputs.

    ``yield value`` emits to the stream, ``yield tag, value`` to the side output of an
    `OutputTag`. Timers and state are for `KeyedProcessFunction`.

    Examples
    --------
    >>> from millstream.datastream import OutputTag
    >>> bad = OutputTag("bad")
    >>> class Parse(ProcessFunction):
    ...     def process_element(self, value: str, ctx: ProcessFunction.Context):
    ...         if value.isdigit():
    ...             yield int(value)
    ...         else:
    ...             yield bad, value
    """

    class Context(ABC):
        """The context of one record."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks; setting a timer needs a keyed stream."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the record's event time, None if it has none."""

    @abstractmethod
    def process_element(self, value: IN, ctx: ProcessFunction.Context) -> Emitted[OUT]:
        """Return or yield the results for a record; None means no result."""


class KeyedProcessFunction(Function, Generic[KEY, IN, OUT]):
    """Emits any number of records for each record and each timer, with state per key.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from millstream.datastream.state import ValueStateDescriptor
    >>> class CountPerKey(KeyedProcessFunction):
    ...     def open(self, runtime_context: RuntimeContext) -> None:
    ...         self.count = runtime_context.get_state(
    ...             ValueStateDescriptor("count", Types.LONG())
    ...         )
    ...
    ...     def process_element(self, value, ctx: KeyedProcessFunction.Context):
    ...         count = (self.count.value() or 0) + 1
    ...         self.count.update(count)
    ...         yield ctx.get_current_key(), count
    """

    class Context(ABC, Generic[K]):
        """The context of one record."""

        @abstractmethod
        def get_current_key(self) -> K:
            """Return the key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks and timers."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the record, or the time of the timer."""

    class OnTimerContext(Context[K]):
        """The context of one timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock made the timer fire."""

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedProcessFunction.Context[KEY]) -> Emitted[OUT]:
        """Return or yield the results for a record; None means no result."""

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[KEY]
    ) -> Emitted[OUT]:
        """Return or yield the results of a timer; by default none."""
        return None
