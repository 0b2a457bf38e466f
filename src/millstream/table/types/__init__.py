"""Flink's logical types: what they print, how they are cast, merged and kept in Arrow columns.

PyFlink's names, such as ``DataTypes``, are here too; they are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.common.types import Row, RowKind
    from millstream.table.types.data_types import DataTypes, UserDefinedType

__all__ = ["DataTypes", "Row", "RowKind", "UserDefinedType"]


def __getattr__(name: str) -> Any:
    """A name of `pyflink.table.types`."""
    if name in ("Row", "RowKind"):
        return getattr(import_module("millstream.common.types"), name)
    if name[:1].isupper():
        data_types = import_module("millstream.table.types.data_types")
        if name in data_types.__all__:
            return getattr(data_types, name)
    raise AttributeError(f"module 'millstream.table.types' has no attribute {name!r}")
