"""Broadcast variables and accumulators: what functions of RDDs share with the program."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from millstream.common.errors import PlanError, user_location

__all__ = [
    "Accumulator",
    "AccumulatorParam",
    "Broadcast",
    "accumulators_in_task",
    "accumulators_sent",
]

T = TypeVar("T")
_sent: ContextVar[dict[int, Any] | None] = ContextVar("accumulators_sent", default=None)
_numbers = itertools.count()
_arrived: dict[int, Any] = {}


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
        self.number = next(_numbers)
        self.changed = False
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"_value": self._value, "accum_param": self.accum_param}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, number=next(_numbers), changed=False)
        self._lock = threading.Lock()

    def __reduce_ex__(self, protocol: Any) -> Any:
        sent = _sent.get()
        if sent is None:
            return super().__reduce_ex__(protocol)
        sent[self.number] = self
        zero = self.accum_param.zero(self._value)
        return _accumulator_in_task, (self.number, zero, self.accum_param)

    def taken(self) -> T:
        """The total, which begins again."""
        with self._lock:
            found, self._value = self._value, self.accum_param.zero(self._value)
            self.changed = False
        return found

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
            self.changed = True

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


@contextmanager
def accumulators_sent() -> Iterator[dict[int, Accumulator[Any]]]:
    """Let accumulators be pickled inside the block; those that were, by their number."""
    found: dict[int, Accumulator[Any]] = {}
    token = _sent.set(found)
    try:
        yield found
    finally:
        _sent.reset(token)


def accumulators_in_task() -> dict[int, Accumulator[Any]]:
    """The accumulators that the functions of a task have brought along."""
    found = dict(_arrived)
    _arrived.clear()
    return found


def _accumulator_in_task(number: int, zero: Any, param: AccumulatorParam[Any]) -> Accumulator[Any]:
    found = _arrived[number] = Accumulator(zero, param)
    return found
