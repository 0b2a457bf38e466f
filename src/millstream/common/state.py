"""State: what user functions see of it, and how they ask for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.state_ttl import StateTtlConfig
from millstream.common.type_variables import ACC, IN, K2, OUT, V
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.typesystem.base import require_type

if TYPE_CHECKING:
    from millstream.common.type_aliases import Aggregates, Reduces

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

StateKind = Literal["value", "list", "map", "reducing", "aggregating"]


class State(ABC):
    """State of the current key.

    Examples
    --------
    >>> issubclass(ValueState, State)
    True
    """

    @abstractmethod
    def clear(self) -> None:
        """Remove the state of the current key."""


class ValueState(State, Generic[V]):
    """One value per key.

    Examples
    --------
    >>> sorted(ValueState.__abstractmethods__)
    ['clear', 'update', 'value']
    """

    @abstractmethod
    def value(self) -> V | None:
        """The value, None if there is none."""

    @abstractmethod
    def update(self, value: V | None) -> None:
        """Replace the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that takes values in and gives out what they add up to.

    Examples
    --------
    >>> sorted(AppendingState.__abstractmethods__)
    ['add', 'clear', 'get']
    """

    @abstractmethod
    def get(self) -> OUT | None:
        """Return the result of everything added so far."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state of which two can become one, as session windows need it.

    Examples
    --------
    >>> issubclass(ListState, MergingState)
    True
    """


class ReducingState(MergingState[V, V]):
    """One value per key, into which new values are reduced.

    Examples
    --------
    >>> issubclass(ReducingState, MergingState)
    True
    """


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator per key, to which values are added.

    Examples
    --------
    >>> issubclass(AggregatingState, MergingState)
    True
    """


class ListState(MergingState[V, Iterable[V]]):
    """A list per key; iterating over it gives its elements.

    Examples
    --------
    >>> sorted(ListState.__abstractmethods__)
    ['add', 'add_all', 'clear', 'get', 'update']
    """

    @abstractmethod
    def get(self) -> Iterable[V]:
        """The elements; none if there is no list."""

    @abstractmethod
    def update(self, values: Iterable[V]) -> None:
        """Replace all elements."""

    @abstractmethod
    def add_all(self, values: Iterable[V]) -> None:
        """Add elements at the end."""

    def __iter__(self) -> Iterator[V]:
        return iter(self.get())


class _ReadableMap(State, Generic[K2, V]):
    @abstractmethod
    def get(self, key: K2) -> V | None:
        """The value of a key, None if it has none."""

    @abstractmethod
    def contains(self, key: K2) -> bool:
        """Whether a key has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K2, V]]:
        """All keys with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K2]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are no keys."""

    def __getitem__(self, key: K2) -> V | None:
        return self.get(key)

    def __contains__(self, key: K2) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K2]:
        return iter(self.keys())


class _WritableMap(_ReadableMap[K2, V]):
    @abstractmethod
    def put(self, key: K2, value: V) -> None:
        """Give a key a value."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K2, V]) -> None:
        """Give several keys their values."""

    @abstractmethod
    def remove(self, key: K2) -> None:
        """Remove a key with its value."""

    def __setitem__(self, key: K2, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K2) -> None:
        self.remove(key)


class MapState(_WritableMap[K2, V]):
    """A dict per key; ``state[k]``, ``k in state`` and iteration over keys work as for a dict.

    Examples
    --------
    >>> "put_all" in MapState.__abstractmethods__
    True
    """


class ReadOnlyBroadcastState(_ReadableMap[K2, V]):
    """Broadcast state as the keyed side sees it: nothing can be written.

    Examples
    --------
    >>> hasattr(ReadOnlyBroadcastState, "put")
    False
    """


class BroadcastState(_WritableMap[K2, V], ReadOnlyBroadcastState[K2, V]):
    """A dict that every parallel instance holds in full, written by the broadcast side.

    Examples
    --------
    >>> issubclass(BroadcastState, ReadOnlyBroadcastState)
    True
    """


class OperatorStateStore(ABC):
    """Where state that belongs to no key is found.

    Examples
    --------
    >>> sorted(OperatorStateStore.__abstractmethods__)
    ['get_broadcast_state']
    """

    @abstractmethod
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K2, V]
    ) -> BroadcastState[K2, V]:
        """The broadcast state of a descriptor."""


def _or_pickled(type_info: TypeInformation | None, what: str) -> TypeInformation:
    return Types.PICKLED_BYTE_ARRAY() if type_info is None else require_type(type_info, what)


class StateDescriptor(ABC):
    """The name and type of a state; what functions ask for state with.

    Parameters
    ----------
    name : str
        Unique among the states of one function; state is found again by it.
    type_info : TypeInformation, optional
        The type of the values; without one they are pickled.

    Attributes
    ----------
    kind : {"value", "list", "map", "reducing", "aggregating"}
        Which sort of state it is.
    ttl_config : StateTtlConfig or None
        How long the state lives, if not forever.

    Examples
    --------
    >>> ValueStateDescriptor("count", Types.LONG())
    ValueStateDescriptor('count', LONG)
    """

    kind: ClassVar[StateKind]

    def __init__(self, name: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise PlanError(
                "INVALID_STATE_NAME",
                f"{short_repr(name)} cannot be the name of a state",
                location=user_location(),
                hint="use a text that is not empty",
            )
        self.name = name
        self.type_info = _or_pickled(type_info, f"state {name!r}")
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the state expire.

        Parameters
        ----------
        ttl_config : StateTtlConfig
            When, and what makes it live on.
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise PlanError(
                "INVALID_STATE_TTL",
                f"state {self.name!r} got {short_repr(ttl_config)} as its time to live",
                location=user_location(),
                hint="make one with StateTtlConfig.new_builder(Time.hours(1)).build()",
            )
        self.ttl_config = ttl_config

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor, Generic[V]):
    """Asks for a `ValueState`.

    Parameters
    ----------
    name : str
        The name of the state.
    value_type_info : TypeInformation, optional
        The type of the value.

    Examples
    --------
    >>> ValueStateDescriptor("last").type_info
    PICKLED_BYTE_ARRAY
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation[V] | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Generic[V]):
    """Asks for a `ListState`.

    Parameters
    ----------
    name : str
        The name of the state.
    elem_type_info : TypeInformation, optional
        The type of one element.

    Examples
    --------
    >>> ListStateDescriptor("seen", Types.STRING())
    ListStateDescriptor('seen', LIST(STRING))
    """

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation[V] | None = None) -> None:
        self.elem_type_info = _or_pickled(elem_type_info, f"state {name!r}")
        super().__init__(name, Types.LIST(self.elem_type_info))


class MapStateDescriptor(StateDescriptor, Generic[K2, V]):
    """Asks for a `MapState` or a `BroadcastState`.

    Parameters
    ----------
    name : str
        The name of the state.
    key_type_info : TypeInformation, optional
        The type of the keys.
    value_type_info : TypeInformation, optional
        The type of the values.

    Examples
    --------
    >>> MapStateDescriptor("rules", Types.STRING(), Types.LONG())
    MapStateDescriptor('rules', MAP(STRING, LONG))
    """

    kind = "map"

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation[K2] | None = None,
        value_type_info: TypeInformation[V] | None = None,
    ) -> None:
        self.key_type_info = _or_pickled(key_type_info, f"the keys of state {name!r}")
        self.value_type_info = _or_pickled(value_type_info, f"the values of state {name!r}")
        super().__init__(name, Types.MAP(self.key_type_info, self.value_type_info))


def _not_a_function(name: str, function: object, hint: str) -> PlanError:
    return PlanError(
        "INVALID_STATE_FUNCTION",
        f"state {name!r} cannot use {short_repr(function)} as its function",
        location=user_location(),
        hint=hint,
    )


def _refuse_open(name: str, function: object) -> None:
    """Refuse a function that has to be opened: the function of a state never is, as in Flink."""
    for method in ("open", "close"):
        owner = next((c for c in type(function).__mro__ if method in vars(c)), None)
        if owner is not None and not owner.__module__.startswith("millstream."):
            raise PlanError(
                "NO_OPEN_HERE",
                f"{type(function).__name__} has an open or close method, which state {name!r} never "
                "calls",
                location=user_location(),
                hint="prepare in __init__, or at the first record",
            )


class ReducingStateDescriptor(StateDescriptor, Generic[V]):
    """Asks for a `ReducingState`.

    Parameters
    ----------
    name : str
        The name of the state.
    reduce_function : ReduceFunction or callable
        Makes one value of two.
    type_info : TypeInformation, optional
        The type of the values.

    Examples
    --------
    >>> import operator
    >>> ReducingStateDescriptor("sum", operator.add, Types.LONG()).get_reduce_function()(1, 2)
    3
    """

    kind = "reducing"

    def __init__(
        self,
        name: str,
        reduce_function: Callable[[V, V], V] | Reduces[V],
        type_info: TypeInformation[V] | None = None,
    ) -> None:
        super().__init__(name, type_info)
        if not callable(getattr(reduce_function, "reduce", reduce_function)):
            raise _not_a_function(
                name, reduce_function, "pass a ReduceFunction, or a function of two values"
            )
        _refuse_open(name, reduce_function)
        self.reduce_function = reduce_function

    def get_reduce_function(self) -> Any:
        """The function, as it was given."""
        return self.reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, OUT]):
    """Asks for an `AggregatingState`.

    Parameters
    ----------
    name : str
        The name of the state.
    agg_function : AggregateFunction
        Makes accumulators, adds values to them, and gets results out of them.
    state_type_info : TypeInformation, optional
        The type of the accumulators.

    Examples
    --------
    >>> class Count:
    ...     def create_accumulator(self): return 0
    ...     def add(self, value, accumulator): return accumulator + 1
    ...     def get_result(self, accumulator): return accumulator
    ...     def merge(self, one, other): return one + other
    >>> AggregatingStateDescriptor("count", Count(), Types.LONG()).kind
    'aggregating'
    """

    kind = "aggregating"

    def __init__(
        self,
        name: str,
        agg_function: Aggregates[IN, ACC, OUT],
        state_type_info: TypeInformation[ACC] | None = None,
    ) -> None:
        super().__init__(name, state_type_info)
        needed = ("create_accumulator", "add", "get_result")
        is_class = isinstance(agg_function, type)
        if is_class or not all(callable(getattr(agg_function, part, None)) for part in needed):
            raise _not_a_function(name, agg_function, "pass an AggregateFunction object")
        _refuse_open(name, agg_function)
        self.agg_function = agg_function

    def get_agg_function(self) -> Any:
        """The function, as it was given."""
        return self.agg_function
