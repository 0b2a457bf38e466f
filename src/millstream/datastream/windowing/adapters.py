"""Functions of windows in the one form the window operator calls: ``process`` and ``clear``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from millstream.datastream.functions import AggregateFunction, Function
from millstream.datastream.functions.windowed import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millstream.kernel.records.side_outputs import without_sides

__all__ = ["Count", "CountedKey", "PassedOn", "SummarizedKey", "in_one_form"]


class PassedOn(ProcessWindowFunction):
    """Emits what the records of a window were folded into.

    Examples
    --------
    >>> PassedOn().process("key", None, [42])
    [42]
    """

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return without_sides(list(elements))


class CountedKey(ProcessWindowFunction):
    """Emits the key beside what the records of a window were folded into."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return [(key, element) for element in elements]


class SummarizedKey(ProcessWindowFunction):
    """Emits the key before the several values that the records of a window were folded into."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return [(key, *element) for element in elements]


class Count(AggregateFunction):
    """The number of records.

    Examples
    --------
    >>> count = Count()
    >>> count.get_result(count.add("a", count.create_accumulator()))
    1
    """

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class _Adapter(ProcessWindowFunction):
    """Opens and closes the function it carries."""

    def __init__(self, function: Function) -> None:
        self.function: Any = function

    def open(self, runtime_context: Any) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    @abstractmethod
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any] | None: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function!r})"


class _Apply(_Adapter):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return self.function.apply(key, context.window(), elements)


class _ApplyAll(_Adapter):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return self.function.apply(context.window(), elements)


class _ProcessAll(_Adapter):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return self.function.process(context, elements)

    def clear(self, context: Any) -> None:
        self.function.clear(context)


def in_one_form(function: Function) -> Any:
    """Return a window function as the operator calls it.

    Examples
    --------
    >>> class Size(WindowFunction):
    ...     def apply(self, key, window, inputs):
    ...         return [len(inputs)]
    >>> in_one_form(Size()).process("key", type("C", (), {"window": lambda self: None})(), [1, 2])
    [2]
    """
    if isinstance(function, WindowFunction):
        return _Apply(function)
    if isinstance(function, AllWindowFunction):
        return _ApplyAll(function)
    if isinstance(function, ProcessAllWindowFunction):
        return _ProcessAll(function)
    return function
