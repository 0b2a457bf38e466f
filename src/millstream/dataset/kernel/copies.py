"""Copies of records: functions may change what they get, and nobody else may see it."""

from __future__ import annotations

import pickle
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.pickling import dumps
from millstream.common.typeinfo import TupleTypeInfo, TypeInformation

__all__ = ["copied", "never_changes"]


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
    if never_changes(type_info) or not records:
        return records
    try:
        found: list[Any] = pickle.loads(dumps(records))
    except MillstreamError:
        return records
    return found
