"""Kinds of changes as a column of rows: what is left of a changelog if each change is a row."""

from __future__ import annotations

import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.types import RowKind
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.records.order import Ints

__all__ = [
    "DELETE",
    "INSERT",
    "KIND",
    "UPDATE_AFTER",
    "UPDATE_BEFORE",
    "kind_names",
    "with_kind",
]

KIND = "$kind"
"""The name of the column of kinds, which is the last one."""
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = (kind.value for kind in RowKind)
_NAMES = [kind.name for kind in RowKind]


def with_kind(row: RowTypeInfo) -> RowTypeInfo:
    """The type of rows with their kind behind them."""
    types = [*row.field_types, ArrowTypeInfo(pa.string())]
    return RowTypeInfo(types, [*row.get_field_names(), KIND])


def kind_names(kinds: Ints) -> pa.Array:
    """The column of kinds, given their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> kind_names(np.array([UPDATE_AFTER, DELETE])).to_pylist()
    ['UPDATE_AFTER', 'DELETE']
    """
    return pa.array(_NAMES).take(pa.array(kinds))
