"""Functions of pairs and groups of records: joins, co-groups, and whole partitions."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal

from millstream.common.type_variables import IN, IN1, IN2, OUT
from millstream.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types
from millstream.common.typesystem.certainty import no_surer_than
from millstream.datastream.building.stream_types import declared_type, output_type_of
from millstream.datastream.functions import Function
from millstream.datastream.functions.checks import FunctionKind, check_function
from millstream.datastream.functions.windowed import ProcessWindowFunction
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.side_outputs import each_without_side, without_sides

__all__ = [
    "CO_GROUP",
    "MAP_PARTITION",
    "CoGroupFunction",
    "CoGroupedWindow",
    "CrossFunction",
    "FlatJoinFunction",
    "JoinFunction",
    "JoinKind",
    "JoinedWindow",
    "MapPartitionFunction",
    "MappedPartition",
    "PairFunction",
    "pair_function",
]

JoinKind = Literal["inner", "left", "right", "full"]


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """One result for a pair of records, which it may change: each pair has copies of its own.

    Examples
    --------
    >>> class Total(JoinFunction):
    ...     def join(self, first, second):
    ...         return first[0], first[1] * second[1]
    >>> Total().join(("apple", 3), ("apple", 0.5))
    ('apple', 1.5)
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return the result for a pair. In an outer join one of the two may be None."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results for a pair of records, which it may change: each pair has its own copies.

    Examples
    --------
    >>> class Affordable(FlatJoinFunction):
    ...     def join(self, wish, price):
    ...         if price[1] <= wish[1]:
    ...             yield wish[0]
    >>> list(Affordable().join(("apple", 3), ("apple", 5)))
    []
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Return or yield the results for a pair; None means no result."""


class CrossFunction(Function, Generic[IN1, IN2, OUT]):
    """One result for a pair of records, each of the first stream with each of the second.

    Examples
    --------
    >>> class Distance(CrossFunction):
    ...     def cross(self, first, second):
    ...         return abs(first - second)
    >>> Distance().cross(3, 5)
    2
    """

    @abstractmethod
    def cross(self, first: IN1, second: IN2) -> OUT:
        """Return the result for a pair."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results for all records of a key, from two streams.

    Examples
    --------
    >>> class Unpaid(CoGroupFunction):
    ...     def co_group(self, orders, payments):
    ...         if not payments:
    ...             yield from orders
    >>> list(Unpaid().co_group(["order 1"], []))
    ['order 1']
    """

    @abstractmethod
    def co_group(self, first: list[IN1], second: list[IN2]) -> Iterable[OUT] | None:
        """Return or yield the results for the records of a key; one of the lists may be empty."""


class MapPartitionFunction(Function, Generic[IN, OUT]):
    """Any number of results for all records of a partition.

    Examples
    --------
    >>> class Span(MapPartitionFunction):
    ...     def map_partition(self, values):
    ...         yield min(values), max(values)
    >>> list(Span().map_partition([3, 1, 2]))
    [(1, 3)]
    """

    @abstractmethod
    def map_partition(self, values: list[IN]) -> Iterable[OUT] | None:
        """Return or yield the results for the records of a partition, which are in order."""


_PAIR = ("first", "second")
_JOIN = FunctionKind("apply", JoinFunction, "join", _PAIR)
_FLAT_JOIN = FunctionKind("apply", FlatJoinFunction, "join", _PAIR, yields=True)
_CROSS = FunctionKind("apply", CrossFunction, "cross", _PAIR)
CO_GROUP = FunctionKind("apply", CoGroupFunction, "co_group", _PAIR, yields=True)
MAP_PARTITION = FunctionKind(
    "map_partition", MapPartitionFunction, "map_partition", ("values",), yields=True
)


# -- functions of pairs ----------------------------------------------------------------------------


class PairFunction:
    """A function of two records in one form: it gives a collection of results.

    ``copies``: the function can change the records. It has copies then, because a record may be in
    many pairs.

    Examples
    --------
    >>> list(PairFunction(lambda first, second: first + second, _JOIN)(1, 2))
    [3]
    """

    def __init__(self, function: Any, kind: FunctionKind, *, copies: bool = True) -> None:
        self._function = function
        self._call = _call_of(function, kind)
        self._copies = copies
        self._flat = kind.yields

    def open(self, runtime_context: Any) -> None:
        """Open the function."""
        _open(self._function, runtime_context)

    def close(self) -> None:
        """Close the function."""
        _close(self._function)

    def __call__(self, first: Any, second: Any) -> Iterable[Any]:
        if self._copies:
            first, second = frozen(first), frozen(second)
        result = self._call(first, second)
        return each_without_side(result) if self._flat else without_sides((result,))

    def __repr__(self) -> str:
        return repr(self._function)


def pair_function(
    function: Any,
    output_type: Any,
    types: tuple[TypeInformation | None, TypeInformation | None],
    call: str = "apply",
    *,
    shared: bool = False,
) -> tuple[PairFunction, TypeInformation | None]:
    """Return a checked function of pairs and the type of its results.

    Parameters
    ----------
    function
        A `JoinFunction`, a `FlatJoinFunction`, a `CrossFunction`, a plain function of two, or None
        for the pairs themselves. A plain function that yields gives any number of results.
    output_type
        The type of the results as declared.
    types
        The types of both records.
    call : str
        Who asks, for messages.
    shared : bool
        Whether others can change the records of a result when they are needed again.
    """
    mutable = any(known is None or not known.is_immutable for known in types)
    if function is None:
        pairs = PairFunction(_pair, _JOIN, copies=mutable and shared)
        return pairs, declared_type(output_type) or _pair_type(*types)
    kind = _kind_of(function)._replace(call=call)
    check_function(function, kind)
    return PairFunction(function, kind, copies=mutable), output_type_of(output_type, function, kind)


def _kind_of(function: Any) -> FunctionKind:
    if isinstance(function, CrossFunction):
        return _CROSS
    if isinstance(function, FlatJoinFunction) or inspect.isgeneratorfunction(function):
        return _FLAT_JOIN
    return _JOIN


def _pair(first: Any, second: Any) -> tuple[Any, Any]:
    return first, second


def _pair_type(
    first: TypeInformation | None, second: TypeInformation | None
) -> TypeInformation | None:
    known = [
        t for t in (first, second) if t is not None and not isinstance(t, PickledBytesTypeInfo)
    ]
    return no_surer_than(Types.TUPLE(known), *known) if len(known) == 2 else None


def _call_of(function: Any, kind: FunctionKind) -> Callable[..., Any]:
    call: Callable[..., Any] = function
    if isinstance(function, kind.base):
        call = getattr(function, kind.method)
    return call


def _open(function: Any, runtime_context: Any) -> None:
    if isinstance(function, Function):
        function.open(runtime_context)


def _close(function: Any) -> None:
    if isinstance(function, Function):
        function.close()


# -- the same as functions of windows --------------------------------------------------------------


class JoinedWindow(ProcessWindowFunction):
    """Calls a function for each pair of records of a window: by the first input, then the second.

    Examples
    --------
    >>> window = JoinedWindow(PairFunction(lambda a, b: (a, b), _JOIN), "left")
    >>> list(window.process("key", None, [(0, 1), (1, 10), (0, 2)]))
    [(1, 10), (2, 10)]
    >>> list(window.process("key", None, [(0, 1)]))
    [(1, None)]
    """

    leaves_elements = True

    def __init__(self, function: PairFunction, kind: JoinKind) -> None:
        self.function = function
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        firsts, seconds = _by_input(elements)
        if not firsts and self.kind in ("right", "full"):
            firsts = [None]
        if not seconds and self.kind in ("left", "full"):
            seconds = [None]
        for first in firsts:
            for second in seconds:
                yield from self.function(first, second)


class _OfFunction(ProcessWindowFunction):
    """Carries a function or function object, which it opens and closes."""

    def __init__(self, function: Any, kind: FunctionKind) -> None:
        self.function = function
        self._call = _call_of(function, kind)

    def open(self, runtime_context: Any) -> None:
        _open(self.function, runtime_context)

    def close(self) -> None:
        _close(self.function)

    @abstractmethod
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any] | None: ...


class CoGroupedWindow(_OfFunction):
    """Calls a function with the records of a window, those of each input apart."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return self._call(*_by_input(elements))


class MappedPartition(_OfFunction):
    """Calls a function with the records of a window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return self._call(elements)


def _by_input(elements: Iterable[tuple[int, Any]]) -> tuple[list[Any], list[Any]]:
    """The records of each input, from pairs of the input's number and the record."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for number, value in elements:
        sides[number].append(value)
    return sides
