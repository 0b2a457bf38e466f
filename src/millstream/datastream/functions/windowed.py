"""Functions of whole windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic

from millstream.common.type_aliases import Emitted
from millstream.common.type_variables import IN, KEY, OUT, WINDOW, W
from millstream.datastream.functions.base import Function, KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]


class WindowFunction(Function, Generic[IN, OUT, KEY, WINDOW]):
    """Gives any number of results for a window and its key.

    Examples
    --------
    >>> class Span(WindowFunction):
    ...     def apply(self, key, window, inputs):
    ...         yield key, window.start, len(list(inputs))
    """

    @abstractmethod
    def apply(self, key: KEY, window: WINDOW, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Return or yield the results for the records of a window."""


class AllWindowFunction(Function, Generic[IN, OUT, WINDOW]):
    """Gives any number of results for a window over all records, without keys."""

    @abstractmethod
    def apply(self, window: WINDOW, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Return or yield the results for the records of a window."""


class _Context(ABC, Generic[W]):
    """The context of one firing."""

    @abstractmethod
    def window(self) -> W:
        """Return the window."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the watermark."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """Return the state of this window and key; clear it in ``clear``."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """Return the state of the key, shared by all its windows."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, WINDOW]):
    """Gives any number of results for a window, with the clocks and with state.

    ``yield value`` emits, ``yield tag, value`` goes to a side output. The type parameters are for type
    checkers and may be left out: ``ProcessWindowFunction[tuple, str, str, TimeWindow]`` takes tuples,
    emits texts, and has texts as keys.

    Examples
    --------
    >>> class Count(ProcessWindowFunction):
    ...     def process(self, key, context, elements):
    ...         yield key, context.window().start, len(elements)
    """

    class Context(_Context[W]):
        """The context of one firing."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[WINDOW], elements: Iterable[IN]
    ) -> Emitted[OUT]:
        """Return or yield the results of a window. It is called at each firing."""

    def clear(self, context: ProcessWindowFunction.Context[WINDOW]) -> None:
        """Clear the state of a window, which will not fire again."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, WINDOW]):
    """Gives any number of results for a window over all records, without keys."""

    class Context(_Context[W]):
        """The context of one firing."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[WINDOW], elements: Iterable[IN]
    ) -> Emitted[OUT]:
        """Return or yield the results of a window. It is called at each firing."""

    def clear(self, context: ProcessAllWindowFunction.Context[WINDOW]) -> None:
        """Clear the state of a window, which will not fire again."""
