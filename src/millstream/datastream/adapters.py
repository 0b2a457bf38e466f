"""Function objects on a keyed stream, run as process functions so that they may have state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from millstream.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)

__all__ = ["KeyedFilter", "KeyedFlatMap", "KeyedMap"]


class _Adapter(KeyedProcessFunction):
    """Opens and closes the function it carries."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function!r})"


class KeyedMap(_Adapter):
    """A `MapFunction` that may use keyed state.

    Examples
    --------
    >>> class Upper(MapFunction):
    ...     def map(self, value: str) -> str:
    ...         return value.upper()
    >>> KeyedMap(Upper()).process_element("a", None)
    ('A',)
    """

    function: MapFunction

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (self.function.map(value),)


class KeyedFlatMap(_Adapter):
    """A `FlatMapFunction` that may use keyed state."""

    function: FlatMapFunction

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map(value)


class KeyedFilter(_Adapter):
    """A `FilterFunction` that may use keyed state."""

    function: FilterFunction

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return (value,) if self.function.filter(value) else None
