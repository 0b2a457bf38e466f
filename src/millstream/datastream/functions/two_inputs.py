"""Functions of two streams: connected streams, broadcast state, interval joins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic

from millstream.common.state import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    StateDescriptor,
)
from millstream.common.type_aliases import Emitted
from millstream.common.type_variables import IN1, IN2, K2, KEY, OUT, K, V
from millstream.datastream.functions.base import Function, KeyedProcessFunction
from millstream.datastream.time_domain import TimeDomain
from millstream.datastream.timerservice import TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "ProcessJoinFunction",
]


# -- connected streams -----------------------------------------------------------------------------


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Emits one record for each record of either input.

    Examples
    --------
    >>> class AsText(CoMapFunction):
    ...     def map1(self, value: int) -> str:
    ...         return str(value)
    ...
    ...     def map2(self, value: bool) -> str:
    ...         return "yes" if value else "no"
    >>> AsText().map1(7), AsText().map2(True)
    ('7', 'yes')
    """

    @abstractmethod
    def map1(self, value: IN1) -> OUT:
        """Return the result for a record of the first input."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT:
        """Return the result for a record of the second input."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Emits any number of records for each record of either input.

    Examples
    --------
    >>> class Words(CoFlatMapFunction):
    ...     def flat_map1(self, value):
    ...         yield from value.split()
    ...
    ...     def flat_map2(self, value):
    ...         return [value] if value else None
    >>> list(Words().flat_map1("to be")), Words().flat_map2("")
    (['to', 'be'], None)
    """

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Return or yield the results for a record of the first input; None means no result."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Return or yield the results for a record of the second input; None means no result."""


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Emits any number of records for each record of either input, with time and side outputs.

    ``yield value`` emits to the stream, ``yield tag, value`` to the side output of an `OutputTag`.
    On connected streams with keys it may use keyed state and timers too.

    Examples
    --------
    >>> class Merge(CoProcessFunction):
    ...     def process_element1(self, value, ctx: CoProcessFunction.Context):
    ...         yield "order", value, ctx.timestamp()
    ...
    ...     def process_element2(self, value, ctx: CoProcessFunction.Context):
    ...         yield "payment", value, ctx.timestamp()
    """

    class Context(ABC):
        """The context of one record."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks; setting a timer needs connected streams with keys."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the record, None if it has none."""

    class OnTimerContext(Context):
        """The context of one timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock made the timer fire."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: CoProcessFunction.Context) -> Emitted[OUT]:
        """Return or yield the results for a record of the first input; None means no result."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: CoProcessFunction.Context) -> Emitted[OUT]:
        """Return or yield the results for a record of the second input; None means no result."""

    def on_timer(self, timestamp: int, ctx: CoProcessFunction.OnTimerContext) -> Emitted[OUT]:
        """Return or yield the results of a timer; by default none."""
        return None


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2, OUT]):
    """Emits any number of records for each record of either input and each timer, with state.

    Both inputs see the same state of their key. The clock is the slower one of both.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from millstream.datastream.state import ValueStateDescriptor
    >>> class Enrich(KeyedCoProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.city = runtime_context.get_state(ValueStateDescriptor("city", Types.STRING()))
    ...
    ...     def process_element1(self, user, ctx: KeyedCoProcessFunction.Context):
    ...         self.city.update(user[1])
    ...
    ...     def process_element2(self, order, ctx: KeyedCoProcessFunction.Context):
    ...         yield ctx.get_current_key(), order[1], self.city.value()
    """

    class Context(KeyedProcessFunction.Context[K]):
        """The context of one record."""

    class OnTimerContext(Context[K], KeyedProcessFunction.OnTimerContext[K]):
        """The context of one timer."""

    @abstractmethod
    def process_element1(
        self, value: IN1, ctx: KeyedCoProcessFunction.Context[KEY]
    ) -> Emitted[OUT]:
        """Return or yield the results for a record of the first input; None means no result."""

    @abstractmethod
    def process_element2(
        self, value: IN2, ctx: KeyedCoProcessFunction.Context[KEY]
    ) -> Emitted[OUT]:
        """Return or yield the results for a record of the second input; None means no result."""

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext[KEY]
    ) -> Emitted[OUT]:
        """Return or yield the results of a timer; by default none."""
        return None


# -- broadcast state -------------------------------------------------------------------------------


class BaseBroadcastProcessFunction(Function):
    """Base of both functions with broadcast state.

    Broadcast state is a map that every parallel instance holds in full. Records of the broadcast
    stream come to all instances and may change it, always in the same order; records of the other
    stream can only read it. Write `process_broadcast_element` so that it has the same effect everywhere.

    Records that it emits count once, at any number of instances. (Flink emits it once per
    instance, so its output depends on the parallelism.) What an instance alone knows comes from
    every instance: what it has found in the state of its keys, or kept of records of the other stream.

    Examples
    --------
    >>> issubclass(BroadcastProcessFunction, BaseBroadcastProcessFunction)
    True
    """

    class BaseContext(ABC):
        """The context of one record."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the record, None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the timestamp of the epoch, the same for all its records."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark, the minimum over both inputs."""

    class Context(BaseContext):
        """Context of a record of the broadcast stream."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[K2, V]
        ) -> BroadcastState[K2, V]:
            """Return a broadcast state, to read and write."""

    class ReadOnlyContext(BaseContext):
        """Context of a record of the other stream."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[K2, V]
        ) -> ReadOnlyBroadcastState[K2, V]:
            """Return a broadcast state, to read only."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Records without a key meet a broadcast stream.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from millstream.datastream.state import MapStateDescriptor
    >>> RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
    >>> class AboveLimit(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext):
    ...         limit = ctx.get_broadcast_state(RULES).get("limit")
    ...         if limit is not None and value > limit:
    ...             yield value
    ...
    ...     def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context):
    ...         ctx.get_broadcast_state(RULES).put("limit", value)
    """

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Emitted[OUT]:
        """Return or yield the results for a record; None means no result."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BroadcastProcessFunction.Context
    ) -> Emitted[OUT]:
        """Take in a record of the broadcast stream; what it yields is emitted once in the job."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Records with keys, state and timers meet a broadcast stream.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from millstream.datastream.state import MapStateDescriptor, ValueStateDescriptor
    >>> RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
    >>> COUNT = ValueStateDescriptor("count", Types.LONG())
    >>> class Alert(KeyedBroadcastProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.count = runtime_context.get_state(COUNT)
    ...
    ...     def process_element(self, value, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext):
    ...         self.count.update((self.count.value() or 0) + 1)
    ...         if self.count.value() == ctx.get_broadcast_state(RULES).get("alert at"):
    ...             yield ctx.get_current_key()
    ...
    ...     def process_broadcast_element(self, value, ctx: KeyedBroadcastProcessFunction.Context):
    ...         ctx.get_broadcast_state(RULES).put("alert at", value)
    ...         ctx.apply_to_keyed_state(COUNT, lambda key, count: count.clear())
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """Context of a record of the broadcast stream. It has no key, and so no keyed state."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Any]
        ) -> None:
            """Call ``function(key, state)`` for every key that has a value of this state.

            What the function yields is emitted, in the order of keys.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, Generic[K]):
        """Context of a record with a key."""

        @abstractmethod
        def get_current_key(self) -> K:
            """Return the key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks and timers."""

    class OnTimerContext(ReadOnlyContext[K]):
        """The context of one timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which clock made the timer fire."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[KEY]
    ) -> Emitted[OUT]:
        """Return or yield the results for a record; None means no result."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Emitted[OUT]:
        """Take in a record of the broadcast stream; what it yields is emitted once in the job."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext[KEY]
    ) -> Emitted[OUT]:
        """Return or yield the results of a timer; by default none."""
        return None


# -- interval joins --------------------------------------------------------------------------------


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Emits any number of records for each pair that an interval join finds.

    It may change the records: each pair has copies of its own.

    Examples
    --------
    >>> class Delay(ProcessJoinFunction):
    ...     def process_element(self, left, right, ctx: ProcessJoinFunction.Context):
    ...         yield left, right, ctx.get_right_timestamp() - ctx.get_left_timestamp()
    """

    class Context(ABC):
        """The times of a pair."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the event time of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Return the event time of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the later one of both, which is the event time of what is emitted."""

    @abstractmethod
    def process_element(
        self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context
    ) -> Emitted[OUT]:
        """Return or yield the results for a pair; None means no result."""
