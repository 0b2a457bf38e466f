"""Copies of records: functions may change what they get, and nobody else may see it."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.pickling import dumps
from millstream.common.typeinfo import TupleTypeInfo, TypeInformation

__all__ = ["copied", "never_changes", "own"]

_ATOMS = frozenset(
    (int, float, str, bytes, bool, type(None), Decimal, dt.date, dt.datetime, dt.time)
)


def never_changes(type_info: TypeInformation) -> bool:
    """Whether no record of a type can be changed.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> never_changes(Types.TUPLE([Types.LONG()])), never_changes(Types.LIST(Types.LONG()))
    (True, False)
    """
    if isinstance(type_info, TupleTypeInfo):
        return all(map(never_changes, type_info.field_types))
    return type_info.is_immutable


def copied(type_info: TypeInformation, records: list[Any]) -> list[Any]:
    """Records that share nothing with the given ones that can be changed.

    What cannot be pickled stays as it is: such records cannot leave this process either.

    Examples
    --------
    >>> from millstream.dataset.plan.records import PICKLED
    >>> given = [[1]]
    >>> copied(PICKLED, given)[0].append(2)
    >>> given
    [[1]]
    """
    if never_changes(type_info) or all(map(_frozen, records)):
        return records
    return own(records)  # type: ignore[no-any-return]


def own(value: Any) -> Any:
    """A value that shares nothing with the given one that can be changed, if pickle can make it.

    Examples
    --------
    >>> given = ("a", [1])
    >>> own(given)[1].append(2)
    >>> given
    ('a', [1])
    """
    if _frozen(value):
        return value
    try:
        return pickle.loads(dumps(value))
    except MillstreamError:
        return value


def _frozen(value: Any) -> bool:
    """Whether a value can be seen to be one that nobody can change."""
    if value.__class__ in _ATOMS:
        return True
    return value.__class__ is tuple and all(map(_frozen, value))
