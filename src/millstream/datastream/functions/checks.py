"""Checks of a user's function before it runs."""

from __future__ import annotations

import dis
import inspect
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
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
from millstream.datastream.functions.two_inputs import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
)

__all__ = [
    "BROADCAST_PROCESS",
    "CO_FLAT_MAP",
    "CO_MAP",
    "CO_PROCESS",
    "FENCED_BATCH",
    "FILTER",
    "FLAT_MAP",
    "FOREACH_BATCH",
    "KEY",
    "KEYED_BROADCAST_PROCESS",
    "KEYED_CO_PROCESS",
    "KEYED_PROCESS",
    "MAP",
    "PARTITION",
    "PROCESS",
    "PROCESS_JOIN",
    "REDUCE",
    "SINK",
    "FunctionKind",
    "check_foreach_batch",
    "check_function",
    "plain_callable",
    "refuse_open",
    "warn_of_attributes",
]


class NoFunctionClass:
    """Stands where only a plain function is accepted."""


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
        """Description of the functions that are accepted, for messages."""
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
FENCED_BATCH = FunctionKind("foreach_batch", NoFunctionClass, "", ("dataframe", "epoch", "token"))
PROCESS = FunctionKind(
    "process", ProcessFunction, "process_element", ("value", "ctx"), plain=False, yields=True
)
KEYED_PROCESS = FunctionKind(
    "process", KeyedProcessFunction, "process_element", ("value", "ctx"), plain=False, yields=True
)
PROCESS_JOIN = FunctionKind(
    "interval_join(...).process",
    ProcessJoinFunction,
    "process_element",
    ("left", "right", "ctx"),
    plain=False,
    yields=True,
)

FunctionKinds = tuple[FunctionKind, FunctionKind]
"""A place that takes a function with a method for each of two inputs."""


def _for_two(
    call: str, base: type[Any], methods: tuple[str, str], arguments: tuple[str, ...], yields: bool
) -> FunctionKinds:
    first, second = (
        FunctionKind(f"connect(...).{call}", base, method, arguments, plain=False, yields=yields)
        for method in methods
    )
    return first, second


_ELEMENTS = ("process_element1", "process_element2")
_WITH_BROADCAST = ("process_element", "process_broadcast_element")
_IN_CONTEXT = ("value", "ctx")
CO_MAP = _for_two("map", CoMapFunction, ("map1", "map2"), ("value",), False)
CO_FLAT_MAP = _for_two("flat_map", CoFlatMapFunction, ("flat_map1", "flat_map2"), ("value",), True)
CO_PROCESS = _for_two("process", CoProcessFunction, _ELEMENTS, _IN_CONTEXT, True)
KEYED_CO_PROCESS = _for_two("process", KeyedCoProcessFunction, _ELEMENTS, _IN_CONTEXT, True)
BROADCAST_PROCESS = _for_two(
    "process", BroadcastProcessFunction, _WITH_BROADCAST, _IN_CONTEXT, True
)
KEYED_BROADCAST_PROCESS = _for_two(
    "process", KeyedBroadcastProcessFunction, _WITH_BROADCAST, _IN_CONTEXT, True
)
_OF_TWO_STREAMS = (
    *(CoMapFunction, CoFlatMapFunction, CoProcessFunction, KeyedCoProcessFunction),
    *(BroadcastProcessFunction, KeyedBroadcastProcessFunction, ProcessJoinFunction),
)
_PLACES = (
    *(MAP, FLAT_MAP, FILTER, KEY, REDUCE, PARTITION, SINK),
    *(PROCESS_JOIN, CO_MAP[0], CO_FLAT_MAP[0], CO_PROCESS[0], BROADCAST_PROCESS[0]),
)


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


def check_foreach_batch(func: Any) -> bool:
    """Check a function for `foreach_batch`; whether it is to be given a token.

    A third parameter with a default is the function's own business, unless it is named ``token``.

    Examples
    --------
    >>> check_foreach_batch(lambda dataframe, epoch, table="t": None)
    False
    >>> check_foreach_batch(lambda dataframe, epoch, token: None)
    True
    """
    if not callable(func) or isinstance(func, type):
        check_function(func, FOREACH_BATCH)
    wants = _takes(func, 3) and (not _takes(func, 2) or _third_name(func) == "token")
    check_function(func, FENCED_BATCH if wants else FOREACH_BATCH)
    return wants


def _third_name(func: Any) -> str | None:
    try:
        names = list(inspect.signature(func).parameters)
    except (TypeError, ValueError):
        return None
    return names[2] if len(names) > 2 else None


def plain_callable(func: Any, kind: FunctionKind) -> Callable[..., Any]:
    """Return a checked function, or its method, where no ``open`` or ``close`` is called."""
    check_function(func, kind)
    if not isinstance(func, kind.base):
        return func  # type: ignore[no-any-return]
    refuse_open(func, kind.call)
    return getattr(func, kind.method)  # type: ignore[no-any-return]


def refuse_open(
    func: Any, call: str, hint: str = "prepare in __init__, or at the first record"
) -> None:
    """Refuse a function with an ``open`` or ``close`` of its own where neither is called."""
    cls = type(func)
    if isinstance(func, Function) and (
        cls.open is not Function.open or cls.close is not Function.close
    ):
        raise _error(
            "NO_OPEN_HERE",
            f"{cls.__name__} has an open or close method, which {call} never calls",
            hint,
        )


def _check_callable(func: Any, kind: FunctionKind) -> None:
    if inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
        raise _error(
            "ASYNC_FUNCTION",
            f"{kind.call} cannot await {_name(func)}",
            "use AsyncDataStream.unordered_wait(...), which runs many at a time; or a plain function",
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
    if isinstance(func, KeyedProcessFunction) and kind.base not in _OF_TWO_STREAMS:
        return "call key_by(...) first: keyed state and timers belong to a key"
    if isinstance(func, KeyedCoProcessFunction):
        return "call key_by(...) on both streams first: keyed state and timers belong to a key"
    if isinstance(func, KeyedBroadcastProcessFunction):
        return "call key_by(...) before connect(...): keyed state and timers belong to a key"
    if isinstance(func, ProcessFunction) and kind is KEYED_PROCESS:
        return "derive from KeyedProcessFunction: after key_by that is what process calls"
    if isinstance(func, BroadcastProcessFunction) and kind.base is KeyedBroadcastProcessFunction:
        return "derive from KeyedBroadcastProcessFunction: that is what a keyed stream calls"
    if kind is KEY and isinstance(func, list) and all(isinstance(f, int | str) for f in func):
        return f"several fields are a tuple: key_by({tuple(func)!r})"
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


# -- attributes instead of state -------------------------------------------------------------------

_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF"})


def warn_of_attributes(func: Any, kinds: FunctionKinds) -> None:
    """Warn if a method sets attributes of its object, which the other input would never see.

    Examples
    --------
    >>> class Last(CoMapFunction):
    ...     def map1(self, value):
    ...         self.last = value
    ...         return value
    ...
    ...     def map2(self, value):
    ...         return self.last, value
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_attributes(Last(), CO_MAP)
    >>> str(caught[0].message).split(":")[0]
    'Last.map1 sets self.last, which is lost'
    """
    for kind in kinds:
        code: Any = getattr(getattr(func, kind.method), "__code__", None)
        for name, line in _stored_attributes(code) if code is not None else ():
            warnings.warn_explicit(
                f"{type(func).__name__}.{kind.method} sets self.{name}, which is lost: without "
                "keys a function has a copy for each input and task, and they share nothing; use "
                "key_by(...) on both streams and keyed state, or broadcast state",
                UserWarning,
                code.co_filename,
                line,
            )


def _stored_attributes(code: Any) -> Iterator[tuple[str, int]]:
    """The attributes that a method stores on its first argument, with their lines.

    ``self.n = 1`` stores right after loading self; ``self.n += 1`` loads self, copies it, loads n,
    and swaps before it stores.
    """
    if not code.co_varnames:
        return
    owner = code.co_varnames[0]
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    read = {
        step.argval
        for load, copy, step in zip(steps, steps[1:], steps[2:], strict=False)
        if _loads(load, owner) and copy.opname == "COPY" and step.opname == "LOAD_ATTR"
    }
    for before, step in pairwise(steps):
        is_own = _loads(before, owner) or (before.opname == "SWAP" and step.argval in read)
        if step.opname == "STORE_ATTR" and is_own:
            line = step.positions.lineno if step.positions is not None else None
            yield step.argval, line or code.co_firstlineno


def _loads(step: dis.Instruction, name: str) -> bool:
    """Whether a step leaves a variable on top of the stack; some load two at once."""
    if step.opname in _LOADS:
        return bool(step.argval == name)
    return isinstance(step.argval, tuple) and bool(step.argval) and step.argval[-1] == name
