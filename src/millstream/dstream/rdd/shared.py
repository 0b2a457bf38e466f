"""Broadcast variables and accumulators: what functions of RDDs share with the program."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

from millstream.common.errors import PlanError, user_location

__all__ = ["Accumulator", "AccumulatorParam", "Broadcast"]

T = TypeVar("T")


class Broadcast(Generic[T]):
    """A value for all functions: ``broadcast.value``.

    Examples
    --------
    >>> from millstream.dstream.rdd import SparkContext
    >>> names = SparkContext().broadcast({1: "one"})
    >>> names.value[1]
    'one'
    """

    def __init__(self, value: T) -> None:
        self._value = value
        self._destroyed = False

    @property
    def value(self) -> T:
        """The value."""
        if self._destroyed:
            raise PlanError(
                "BROADCAST_DESTROYED",
                "the broadcast variable was destroyed",
                location=user_location(),
                hint="call destroy() only when no batch needs the value any more",
            )
        return self._value

    def unpersist(self, blocking: bool = False) -> None:
        """Nothing: the value stays in the driver process."""

    def destroy(self, blocking: bool = False) -> None:
        """Forget the value; who reads it afterwards gets an error."""
        self._destroyed = True
        del self._value


class AccumulatorParam(Generic[T]):
    """How values of an accumulator are added, for types that have no ``+=``."""

    def zero(self, value: T) -> T:
        """The value to begin with in a task."""
        raise NotImplementedError

    def addInPlace(self, value1: T, value2: T) -> T:
        """The sum of two values."""
        raise NotImplementedError


class _Sum(AccumulatorParam[Any]):
    def zero(self, value: Any) -> Any:
        return type(value)()

    def addInPlace(self, value1: Any, value2: Any) -> Any:
        value1 += value2
        return value1


class Accumulator(Generic[T]):
    """A total that functions of RDDs add to, and the program reads.

    As in Spark, a transformation that is computed again adds again; in an action each value counts once.

    Examples
    --------
    >>> from millstream.dstream.rdd import SparkContext
    >>> sc = SparkContext()
    >>> total = sc.accumulator(0)
    >>> sc.parallelize([1, 2, 3]).foreach(total.add)
    >>> total.value
    6
    """

    def __init__(self, value: T, param: AccumulatorParam[T]) -> None:
        self._value = value
        self.accum_param = param
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"_value": self._value, "accum_param": self.accum_param}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    @property
    def value(self) -> T:
        """The total."""
        return self._value

    @value.setter
    def value(self, value: T) -> None:
        self._value = value

    def add(self, term: T) -> None:
        """Add to the total."""
        with self._lock:
            self._value = self.accum_param.addInPlace(self._value, term)

    def __iadd__(self, term: T) -> Accumulator[T]:
        self.add(term)
        return self

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"Accumulator<value={self._value}>"


def accumulator(value: T, param: AccumulatorParam[T] | None = None) -> Accumulator[T]:
    """An accumulator; numbers need no ``param``."""
    if param is None and not isinstance(value, (int, float, complex)):
        raise TypeError(f"No default accumulator param for type {type(value)}")
    return Accumulator(value, param or _Sum())
