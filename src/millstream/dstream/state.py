"""State of single keys: what `mapWithState` is told to do, and what its function gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from millstream.dstream.errors import DurationError, milliseconds
from millstream.dstream.rdd import RDD, portable_hash

__all__ = ["State", "StateSpec", "positional_arguments"]

S = TypeVar("S")
_MISSING = object()


class State(Generic[S]):
    """The state of one key, as the function of `mapWithState` gets it. It is valid during the call.

    Examples
    --------
    >>> state = State()
    >>> state.exists(), state.getOption(0)
    (False, 0)
    >>> state.update(5)
    >>> state.get()
    5
    """

    __slots__ = ("_removed", "_state", "_timing_out", "_updated")

    def __init__(self, state: Any = _MISSING, *, timing_out: bool = False) -> None:
        self._state = state
        self._timing_out = timing_out
        self._updated = False
        self._removed = False

    def exists(self) -> bool:
        """Whether the key has a state."""
        return self._state is not _MISSING

    def get(self) -> S:
        """The state; a `KeyError` if there is none."""
        if self._state is _MISSING:
            raise KeyError("State is not set")
        state: S = self._state
        return state

    def getOption(self, default: Any = None) -> Any:
        """The state, or a default if there is none."""
        return default if self._state is _MISSING else self._state

    def update(self, newState: S) -> None:
        """Set the state. A state that was removed or is timing out cannot be updated."""
        if self._removed:
            raise ValueError("Cannot update the state after it has been removed")
        if self._timing_out:
            raise ValueError("Cannot update the state that is timing out")
        self._state = newState
        self._updated = True

    def remove(self) -> None:
        """Remove the state. Another record of the key begins without one."""
        if self._timing_out:
            raise ValueError("Cannot remove the state that is timing out")
        if self._removed:
            raise ValueError("Cannot remove the state that has already been removed")
        self._state = _MISSING
        self._removed = True
        self._updated = False

    def isTimingOut(self) -> bool:
        """Whether no record came for as long as the timeout says; the state goes after the call."""
        return self._timing_out

    def __repr__(self) -> str:
        return f"State({'' if self._state is _MISSING else repr(self._state)})"


class StateSpec:
    """The settings of `mapWithState`. Each method sets one and returns the object.

    Examples
    --------
    >>> def count(key, value, state):
    ...     state.update(state.getOption(0) + value)
    ...     return key, state.get()
    >>> StateSpec.function(count).timeout(30).numPartitions(2)
    StateSpec(count, timeout=30 s)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._with_time = positional_arguments(function, without_defaults=True) == 4
        self._initial: Any = None
        self._partitions: int | None = None
        self._partition_function: Callable[[Any], int] = portable_hash
        self._timeout_ms: int | None = None

    @classmethod
    def function(cls, mappingFunction: Callable[..., Any]) -> StateSpec:
        """Settings with a function of ``(key, value, state)`` or ``(time, key, value, state)``.

        It is called for each record, in order for each key, and once more, with ``None`` as value, when
        the state of a key times out. What it returns goes into the result; a function with the time
        may return None, which is left out.
        """
        return cls(mappingFunction)

    def initialState(self, rdd: RDD[Any] | Iterable[tuple[Any, Any]]) -> StateSpec:
        """Set the states to begin with: pairs of a key and its state."""
        self._initial = rdd
        return self

    def numPartitions(self, numPartitions: int) -> StateSpec:
        """Set the number of partitions of the states."""
        self._partitions = int(numPartitions)
        return self

    def partitioner(self, partitioner: Any) -> StateSpec:
        """Set which key is in which partition: a function, or an object with both its number and it."""
        if hasattr(partitioner, "partitionFunc"):
            self._partitions = partitioner.numPartitions
            partitioner = partitioner.partitionFunc
        self._partition_function = partitioner
        return self

    def timeout(self, idleDuration: float) -> StateSpec:
        """Set after how many seconds without a record the state of a key goes."""
        self._timeout_ms = milliseconds(idleDuration)
        if self._timeout_ms <= 0:
            raise DurationError(
                "DSTREAM_TIMEOUT", f"a timeout must be longer than 0 s, not {idleDuration}"
            )
        return self

    def __repr__(self) -> str:
        name = getattr(self._function, "__name__", repr(self._function))
        timeout = "" if self._timeout_ms is None else f", timeout={self._timeout_ms / 1000:g} s"
        return f"StateSpec({name}{timeout})"


def positional_arguments(function: Callable[..., Any], *, without_defaults: bool = False) -> int:
    """How many arguments by position a function takes, or needs; 1 if Python does not know.

    Examples
    --------
    >>> positional_arguments(lambda time, rdd: None)
    2
    >>> positional_arguments(lambda time, rdd, limit=5: None, without_defaults=True)
    2
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    counted = [each for each in parameters if each.kind in kinds]
    if without_defaults:
        counted = [each for each in counted if each.default is inspect.Parameter.empty]
    return len(counted) or 1
