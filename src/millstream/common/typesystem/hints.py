"""Types found out from type hints and from values."""

from __future__ import annotations

import collections.abc as abc
import functools
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any

from millstream.common.time import Instant
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.atoms import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from millstream.common.typesystem.base import TypeInformation
from millstream.common.typesystem.composites import (
    ListTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    _is_hashable,
)

_PICKLED = PickledBytesTypeInfo()
_ATOMS: dict[object, TypeInformation] = {
    bool: BasicTypeInfo(BasicType.BOOLEAN),
    int: BasicTypeInfo(BasicType.LONG),
    float: BasicTypeInfo(BasicType.DOUBLE),
    str: BasicTypeInfo(BasicType.STRING),
    bytes: PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)),
    Decimal: BasicTypeInfo(BasicType.BIG_DEC),
    Instant: BasicTypeInfo(BasicType.INSTANT),
    datetime: TimestampTypeInfo(),
    date: DateTypeInfo(),
    time: TimeTypeInfo(),
}
_ITERABLES = frozenset(
    {
        abc.Iterable, abc.Iterator, abc.Generator, abc.Collection, abc.Sequence,
        abc.MutableSequence, abc.Set, list, set, frozenset,
    }
)  # fmt: skip


def infer_type(hint: object) -> TypeInformation | None:
    """The type that a Python type hint stands for.

    ``int`` is LONG, ``float`` DOUBLE, ``bytes`` PRIMITIVE_ARRAY(BYTE), ``datetime``
    SQL_TIMESTAMP, ``tuple[A, B]`` TUPLE, ``list[A]`` LIST, ``dict[A, B]`` MAP; ``A | None`` is the
    type of A. Classes such as dataclasses and NamedTuples have no type: stored as a tuple or row
    their values would come back without their class.

    Parameters
    ----------
    hint : object
        A type, a generic alias, or anything else that may stand in an annotation.

    Returns
    -------
    TypeInformation or None
        None if nothing is known; such values are pickled.

    Examples
    --------
    >>> infer_type(tuple[str, int | None])
    TUPLE(STRING, LONG)
    >>> infer_type(dict[str, list[float]])
    MAP(STRING, LIST(DOUBLE))
    >>> infer_type(object) is None
    True
    """
    hint = _plain_hint(hint)
    if isinstance(hint, abc.Hashable) and hint in _ATOMS:
        return _ATOMS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    parts = [infer_type(argument) for argument in arguments if argument is not Ellipsis]
    known = [part for part in parts if part is not None]
    if not known or len(known) != len(arguments):
        return None
    return _generic(origin, known)


def _generic(origin: object, parts: list[TypeInformation]) -> TypeInformation | None:
    if origin is tuple:
        return TupleTypeInfo(parts)
    if origin is list:
        return ListTypeInfo(parts[0])
    if origin is dict and _is_hashable(parts[0]):
        return MapTypeInfo(parts[0], parts[1])
    return None


def _plain_hint(hint: object) -> object:
    """A hint without Annotated, NewType and the ``| None`` of optional values."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _plain_hint(typing.get_args(hint)[0])
    if isinstance(hint, typing.NewType):
        return _plain_hint(hint.__supertype__)
    if origin in (typing.Union, types.UnionType):
        others = [part for part in typing.get_args(hint) if part is not type(None)]
        return _plain_hint(others[0]) if len(others) == 1 else None
    return hint


def infer_return_type(
    function: Callable[..., Any], *, elements: bool = False
) -> TypeInformation | None:
    """The type of what a function returns, from its annotations.

    Parameters
    ----------
    function : callable
        A function, method, partial, object with ``__call__``, or a class such as ``str``.
    elements : bool
        The function returns or yields many values (a flat map): the type of one of them, from
        ``Iterator[A]``, ``Iterable[A]``, ``Generator[A, ...]``, ``list[A]`` and the like.

    Returns
    -------
    TypeInformation or None
        None without annotations, or if they say nothing of use.

    Examples
    --------
    >>> def pair(word: str) -> tuple[str, int]:
    ...     return word, 1
    >>> infer_return_type(pair)
    TUPLE(STRING, LONG)
    >>> from collections.abc import Iterator
    >>> def words(line: str) -> Iterator[str]:
    ...     yield from line.split()
    >>> infer_return_type(words, elements=True)
    STRING
    """
    hint = _return_hint(function)
    return infer_type(_element_hint(hint) if elements else hint)


def _return_hint(function: Any) -> object:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        return function
    plain = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
    if callable(function) and not isinstance(function, plain):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function).get("return")
    except Exception:
        # Annotations are the user's expressions: one that cannot be evaluated says nothing.
        return None


def _element_hint(hint: object) -> object:
    hint = _plain_hint(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    is_many = origin in _ITERABLES or (origin is tuple and Ellipsis in arguments)
    return arguments[0] if is_many and arguments else None


def infer_from_values(values: Sequence[Any]) -> TypeInformation:
    """The type that all these values have.

    None fits in anywhere. Where classes differ (even int and float), or values do not fit the
    type of their class, the type is PICKLED_BYTE_ARRAY, so that every value comes back as it is.

    Parameters
    ----------
    values : sequence
        All the values there are, not a sample.

    Examples
    --------
    >>> infer_from_values([("a", 1), ("b", None), None])
    TUPLE(STRING, LONG)
    >>> infer_from_values([1, 2.5])
    PICKLED_BYTE_ARRAY
    >>> infer_from_values([{"a": [1]}, {}])
    MAP(STRING, LIST(LONG))
    """
    present = [value for value in values if value is not None]
    classes = set(map(type, present))
    if len(classes) != 1:
        return _PICKLED
    cls = classes.pop()
    if cls in _ATOMS:
        atom = _ATOMS[cls]
        return _PICKLED if any(map(atom.check, present)) else atom
    infer = _CONTAINERS.get(cls)
    return _PICKLED if infer is None else infer(present)


def _columns(values: Iterable[Sequence[Any]]) -> list[TypeInformation] | None:
    """The types of the fields; None unless all values have the same number of them, not zero."""
    parts = [tuple(value) for value in values]
    if len(set(map(len, parts))) != 1 or not parts[0]:
        return None
    return [infer_from_values(column) for column in zip(*parts, strict=True)]


def _from_tuples(values: list[Any]) -> TypeInformation:
    types = _columns(values)
    return _PICKLED if types is None else TupleTypeInfo(types)


def _from_rows(values: list[Any]) -> TypeInformation:
    names = {row._fields for row in values}
    types = _columns(values)
    kinds = {row.get_row_kind() for row in values}
    if types is None or len(names) != 1 or kinds != {RowKind.INSERT}:
        return _PICKLED
    return RowTypeInfo(types, names.pop())


def _from_lists(values: list[Any]) -> TypeInformation:
    return ListTypeInfo(infer_from_values(list(chain.from_iterable(values))))


def _from_dicts(values: list[Any]) -> TypeInformation:
    keys = list(chain.from_iterable(values))
    if None in keys:
        return _PICKLED
    items = list(chain.from_iterable(value.values() for value in values))
    return MapTypeInfo(infer_from_values(keys), infer_from_values(items))


_CONTAINERS: dict[type, Callable[[list[Any]], TypeInformation]] = {
    tuple: _from_tuples,
    Row: _from_rows,
    list: _from_lists,
    dict: _from_dicts,
}
