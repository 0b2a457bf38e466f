"""Records as columns that Spark knows, under names that no user gives."""

from __future__ import annotations

import pyarrow as pa

from millstream.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.dataset.plan.records import PICKLED, field_types, has_fields

__all__ = ["arrow_schema", "column_names", "is_plain", "stored"]

_PLAIN = frozenset(
    {
        "STRING",
        "CHAR",
        "BYTE",
        "SHORT",
        "INT",
        "LONG",
        "BOOLEAN",
        "SQL_DATE",
        "SQL_TIMESTAMP",
        "INSTANT",
    }
)
_FLOATS = frozenset({"FLOAT", "DOUBLE"})


def stored(type_info: TypeInformation) -> TypeInformation:
    """The type as which records are stored: what Spark has no column type for is pickled.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> stored(Types.TUPLE([Types.LONG(), Types.SQL_TIME()]))
    TUPLE(LONG, PICKLED_BYTE_ARRAY)
    """
    if isinstance(type_info, TupleTypeInfo) and has_fields(type_info):
        # A type that makes records of a class of its own stays that type.
        return type(type_info)([stored(field) for field in type_info.field_types])
    if isinstance(type_info, RowTypeInfo) and has_fields(type_info):
        return RowTypeInfo(
            [stored(field) for field in type_info.field_types], type_info.get_field_names()
        )
    return type_info if _has_column(type_info) else PICKLED


def _has_column(type_info: TypeInformation) -> bool:
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        return has_fields(type_info) and all(map(_has_column, type_info.field_types))
    if isinstance(type_info, MapTypeInfo):
        return _has_column(type_info.key_type) and _has_column(type_info.value_type)
    if isinstance(type_info, ListTypeInfo) or hasattr(type_info, "element_type"):
        return _has_column(type_info.element_type)
    return type_info.kind not in ("SQL_TIME", "ARROW")


def is_plain(type_info: TypeInformation, *, floats: bool = False) -> bool:
    """Whether Spark compares and sorts values of a type as Python does."""
    if type_info.to_arrow() == pa.binary():
        return type_info.kind != PICKLED.kind
    return type_info.kind in _PLAIN or (floats and type_info.kind in _FLOATS)


def column_names(type_info: TypeInformation, prefix: str = "c") -> list[str]:
    """The names of the columns that hold records: user's names may be anything."""
    return [f"{prefix}{i}" for i in range(len(field_types(type_info)))]


def arrow_schema(type_info: TypeInformation, prefix: str = "c") -> pa.Schema:
    """The Arrow columns of records."""
    kinds = [kind.to_arrow() for kind in field_types(type_info)]
    return pa.schema(list(zip(column_names(type_info, prefix), kinds, strict=True)))
