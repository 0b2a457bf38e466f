"""Function objects as operators call them: on a keyed stream, and on connected streams."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any

from millstream.common.by_value import dumps_by_value
from millstream.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from millstream.datastream.functions.two_inputs import (
    CoFlatMapFunction,
    CoMapFunction,
    KeyedCoProcessFunction,
)
from millstream.kernel.records.side_outputs import each_without_side, without_sides

__all__ = [
    "KeyedCoFlatMap",
    "KeyedCoMap",
    "KeyedFilter",
    "KeyedFlatMap",
    "KeyedMap",
    "OneInput",
]


class _Carrier(Function):
    """Opens and closes the function it carries."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function!r})"


class _WithoutSides:
    """A function that runs as a process function, and has no side outputs all the same."""

    has_side_outputs = False


# -- on a keyed stream, as process functions, so that they may have state --------------------------


class _Adapter(_Carrier, KeyedProcessFunction):
    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None: ...


class KeyedMap(_WithoutSides, _Adapter):
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
        return without_sides((self.function.map(value),))


class KeyedFlatMap(_WithoutSides, _Adapter):
    """A `FlatMapFunction` that may use keyed state."""

    function: FlatMapFunction

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return each_without_side(self.function.flat_map(value))


class KeyedFilter(_WithoutSides, _Adapter):
    """A `FilterFunction` that may use keyed state."""

    emits_its_records = True
    function: FilterFunction

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return (value,) if self.function.filter(value) else None


# -- on connected streams --------------------------------------------------------------------------


class KeyedCoMap(_WithoutSides, _Carrier, KeyedCoProcessFunction):
    """A `CoMapFunction` that may use keyed state."""

    function: CoMapFunction

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return without_sides((self.function.map1(value),))

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return without_sides((self.function.map2(value),))


class KeyedCoFlatMap(_WithoutSides, _Carrier, KeyedCoProcessFunction):
    """A `CoFlatMapFunction` that may use keyed state."""

    function: CoFlatMapFunction

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return each_without_side(self.function.flat_map1(value))

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return each_without_side(self.function.flat_map2(value))


class OneInput(_Carrier):
    """The part of a function of two inputs that takes one of them, with a copy of the function.

    It pickles the function by itself: two parts share nothing, in whatever task they come to run.

    Examples
    --------
    >>> from millstream.datastream.functions.two_inputs import CoMapFunction
    >>> class Signed(CoMapFunction):
    ...     def map1(self, value: int) -> int:
    ...         return value
    ...
    ...     def map2(self, value: int) -> int:
    ...         return -value
    >>> OneInput(Signed(), "map1")(3), OneInput(Signed(), "map2")(3)
    (3, -3)
    """

    def __init__(self, function: Function, method: str) -> None:
        super().__init__(copy(function))
        self.method = method
        self._call = getattr(self.function, method)

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return _one_input, (dumps_by_value(self.function), self.method)

    def __repr__(self) -> str:
        return f"OneInput({self.function!r}, {self.method!r})"


def _one_input(function: bytes, method: str) -> OneInput:
    return OneInput(pickle.loads(function), method)
