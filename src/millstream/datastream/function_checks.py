"""What can be said about a user's function before it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)

__all__ = [
    "FILTER",
    "FLAT_MAP",
    "FOREACH_BATCH",
    "KEY",
    "KEYED_PROCESS",
    "MAP",
    "PARTITION",
    "PROCESS",
    "REDUCE",
    "SINK",
    "FunctionKind",
    "check_function",
    "plain_callable",
]


class NoFunctionClass:
    """Stands where only a plain function will do."""


class FunctionKind(NamedTuple):
    """A place in the API that takes a function."""

    call: str
    base: type[Any]
    method: str
    arguments: tuple[str, ...]
    plain: bool = True
    yields: bool = False

    @property
    def wanted(self) -> str:
        """What may stand there, for messages."""
        function = f"a function of ({', '.join(self.arguments)})"
        if self.base is NoFunctionClass:
            return function
        return f"{function} or a {self.base.__name__}" if self.plain else f"a {self.base.__name__}"


MAP = FunctionKind("map", MapFunction, "map", ("value",))
FLAT_MAP = FunctionKind("flat_map", FlatMapFunction, "flat_map", ("value",), yields=True)
FILTER = FunctionKind("filter", FilterFunction, "filter", ("value",))
KEY = FunctionKind("key_by", KeySelector, "get_key", ("value",))
REDUCE = FunctionKind("reduce", ReduceFunction, "reduce", ("value1", "value2"))
PARTITION = FunctionKind("partition_custom", Partitioner, "partition", ("key", "num_partitions"))
SINK = FunctionKind("add_sink", SinkFunction, "invoke", ("value",))
FOREACH_BATCH = FunctionKind("foreach_batch", NoFunctionClass, "", ("dataframe", "epoch"))
PROCESS = FunctionKind(
    "process", ProcessFunction, "process_element", ("value", "ctx"), plain=False, yields=True
)
KEYED_PROCESS = FunctionKind(
    "process", KeyedProcessFunction, "process_element", ("value", "ctx"), plain=False, yields=True
)
_PLACES = (MAP, FLAT_MAP, FILTER, KEY, REDUCE, PARTITION, SINK)


def check_function(func: Any, kind: FunctionKind) -> None:
    """Raise a `PlanError` at the user's line if a function cannot work where it is given.

    Examples
    --------
    >>> check_function(lambda value: value, MAP)
    >>> check_function(lambda: 1, MAP)
    Traceback (most recent call last):
    millstream.common.errors.PlanError: [WRONG_ARITY] map calls its function with (value), \
which <lambda>() does not take
    ...
    """
    if isinstance(func, type) and issubclass(func, Function):
        raise _error(
            "FUNCTION_CLASS",
            f"{kind.call} got the class {func.__name__}, not an object of it",
            f"write {kind.call}({func.__name__}(...))",
        )
    if isinstance(func, kind.base):
        _check_callable(getattr(func, kind.method), kind)
    elif isinstance(func, Function) or not callable(func) or not kind.plain:
        raise _wrong_kind(func, kind)
    else:
        _check_callable(func, kind)


def plain_callable(func: Any, kind: FunctionKind) -> Callable[..., Any]:
    """Return a checked function, or its method, where no ``open`` or ``close`` is called."""
    check_function(func, kind)
    if not isinstance(func, kind.base):
        return func  # type: ignore[no-any-return]
    if _has_lifecycle(func):
        raise _error(
            "NO_OPEN_HERE",
            f"{type(func).__name__} has an open or close method, which {kind.call} never calls",
            "prepare in __init__, or at the first record",
        )
    return getattr(func, kind.method)  # type: ignore[no-any-return]


def _has_lifecycle(func: Function) -> bool:
    """Return whether a function's class has its own ``open`` or ``close``."""
    cls = type(func)
    return cls.open is not Function.open or cls.close is not Function.close


def _check_callable(func: Any, kind: FunctionKind) -> None:
    if inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
        raise _error(
            "ASYNC_FUNCTION",
            f"{kind.call} cannot await {_name(func)}",
            "make it a plain function; run the event loop inside it if you need one",
        )
    if inspect.isgeneratorfunction(func) and not kind.yields:
        raise _error(
            "GENERATOR_FUNCTION",
            f"{kind.call} needs one result per call, and {_name(func)} yields",
            "return the result; to emit any number of records use flat_map",
        )
    if not _takes(func, len(kind.arguments)):
        raise _error(
            "WRONG_ARITY",
            f"{kind.call} calls its function with ({', '.join(kind.arguments)}), "
            f"which {_name(func)}{_signature(func)} does not take",
            f"give {kind.wanted}",
        )


def _takes(func: Any, count: int) -> bool:
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):  # some built-ins do not tell
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _wrong_kind(func: Any, kind: FunctionKind) -> PlanError:
    return _error(
        "WRONG_FUNCTION_KIND",
        f"{kind.call} needs {kind.wanted}, got {short_repr(func)}",
        _better_place(func, kind),
    )


def _better_place(func: Any, kind: FunctionKind) -> str:
    if isinstance(func, KeyedProcessFunction):
        return "call key_by(...) first: keyed state and timers belong to a key"
    if isinstance(func, ProcessFunction) and kind is KEYED_PROCESS:
        return "derive from KeyedProcessFunction: after key_by that is what process calls"
    for place in _PLACES:
        if isinstance(func, place.base):
            return f"a {place.base.__name__} goes into {place.call}(...)"
    return f"give {kind.wanted}"


def _name(func: Any) -> str:
    return getattr(func, "__qualname__", type(func).__name__).replace("<locals>.", "")


def _signature(func: Any) -> str:
    names = inspect.signature(func).replace(return_annotation=inspect.Signature.empty)
    return str(names)


def _error(code: str, message: str, hint: str) -> PlanError:
    return PlanError(code, message, location=user_location(), hint=hint)
