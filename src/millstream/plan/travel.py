"""The parts of a job that are sent to the workers, pickled, and whether they can be."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import cloudpickle

from millstream.common.errors import Location, PlanError, short_repr
from millstream.plan.graph import Node, SinkNode, SourceNode

__all__ = ["refuse_what_cannot_travel", "travelling", "unpicklable"]

_CHECKED_BYTES = 16 << 20
_DEPTH = 8
_HINT = "make what it holds (a lock, a connection, a session) in open(), not before"


def travelling(node: Node) -> Iterator[tuple[str, Any]]:
    """The parts of an operator that are sent to the workers, with a name for each."""
    for name in ("function", "selector", "second", "strategy", "decoder"):
        part = getattr(node, name, None)
        if part is not None:
            yield name, part
    if isinstance(node, SourceNode):
        source = node.source.travelling()
        if source is not None:
            yield "source", source
    if isinstance(node, SinkNode):
        yield from node.sink.travelling()


def refuse_what_cannot_travel(node: Node, hint: str = "") -> None:
    """Raise a `PlanError` if something of an operator cannot be pickled."""
    for what, part in travelling(node):
        error = unpicklable(part, f"{what} of operator {node.name!r}", node.location, hint)
        if error is not None:
            raise error


def unpicklable(
    part: Any, what: str, location: Location | None, hint: str = ""
) -> PlanError | None:
    """The error for something that cannot be pickled; None if it can be.

    Examples
    --------
    >>> lines = (line for line in ["a", "b"])
    >>> error = unpicklable(lambda value: next(lines), "function of operator 'Map'", None)
    >>> error.message
    "the function of operator 'Map' cannot be sent to the workers: lines is a generator, \
cannot pickle 'generator' object"
    """
    cause = _refusal(part)
    if cause is None:
        return None
    path, found = "", part
    with suppress(Exception):  # objects may do anything when they are looked at
        path, found = _culprit(part, "", _DEPTH)
    reason = f"{path} is a {_class_name(found)}, {cause}" if path else str(cause)
    return PlanError(
        "UNPICKLABLE_FUNCTION",
        f"the {what} cannot be sent to the workers: {reason}",
        location=location,
        hint=_HINT + hint,
    )


class _Enough(Exception):
    """So much could be pickled that the rest is left to the start of the job."""


class _Nowhere:
    """A file that keeps nothing and is full after a while: a large model is not pickled twice."""

    def __init__(self) -> None:
        self._left = _CHECKED_BYTES

    def write(self, data: Any) -> int:
        self._left -= len(data)
        if self._left < 0:
            raise _Enough
        return len(data)


def _refusal(part: Any) -> Exception | None:
    """Why something cannot be pickled; buffers of arrays are not even looked at."""
    pickler = cloudpickle.Pickler(_Nowhere(), protocol=5, buffer_callback=lambda buffer: None)
    try:
        pickler.dump(part)
    except _Enough:
        return None
    except Exception as error:
        return error
    return None


def _culprit(thing: Any, path: str, depth: int) -> tuple[str, Any]:
    """The innermost part that cannot be pickled, and the way to it as a program would write it."""
    if depth > 0:
        for label, part in _parts(thing):
            if part is not thing and _refusal(part) is not None:
                return _culprit(part, path + label if path else label.lstrip("."), depth - 1)
    return path, thing


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isfunction(thing):
        used = inspect.getclosurevars(thing)
        yield from {**used.globals, **used.nonlocals}.items()
    elif inspect.ismethod(thing):
        yield "self", thing.__self__
    elif isinstance(thing, functools.partial):
        yield from _parts_of_partial(thing)
    elif isinstance(thing, Mapping):
        yield from ((f"[{short_repr(key, 40)}]", value) for key, value in thing.items())
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from ((f"[{index}]", value) for index, value in enumerate(thing))
    else:
        # Millstream's own wrappers around a user's function are no part of the way to what it holds.
        own = type(thing).__module__.startswith("millstream.")
        for name, value in _attributes(thing):
            yield "" if own else f".{name}", value
        # A class of the main script travels with its methods, and with what they use.
        methods = thing if isinstance(thing, type) else type(thing)
        yield from (("", value) for value in vars(methods).values() if inspect.isfunction(value))


def _parts_of_partial(thing: functools.partial[Any]) -> Iterator[tuple[str, Any]]:
    yield "", thing.func
    yield from ((f"argument {index}", value) for index, value in enumerate(thing.args))
    yield from ((f"argument {name}", value) for name, value in thing.keywords.items())


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    held: dict[str, Any] = dict(getattr(thing, "__dict__", {}))
    for owner in type(thing).__mro__:
        slots: Any = vars(owner).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in held and hasattr(thing, name):
                held[name] = getattr(thing, name)
    yield from held.items()


def _class_name(value: Any) -> str:
    cls: Callable[..., Any] = type(value)
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )
