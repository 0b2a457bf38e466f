"""Values as every stage gets them, whether they were stored in between or not."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.common.types import Row, rows_of

__all__ = ["as_stored", "holds_records", "is_plain_tuple"]


def as_stored(type_info: TypeInformation, value: Any) -> Any:
    """Return a value that fits a type as it would come back from storage.

    What the program writes may be looser than its type: a tuple or dict for a row, an int for a
    DOUBLE. Functions must see the same thing wherever they run.

    Examples
    --------
    >>> from millstream.common import Types
    >>> as_stored(Types.ROW_NAMED(["id", "size"], [Types.LONG(), Types.DOUBLE()]), (1, 2))
    Row(id=1, size=2.0)
    """
    if value is None:
        return None
    plain = _ATOMS.get(type_info.kind)
    if plain is not None:
        return plain(value)
    if isinstance(type_info, TupleTypeInfo):
        pairs = zip(type_info.field_types, value, strict=True)
        return tuple([as_stored(field, item) for field, item in pairs])
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info, value)
    if isinstance(type_info, MapTypeInfo):
        key_type, value_type = type_info.key_type, type_info.value_type
        return {as_stored(key_type, k): as_stored(value_type, v) for k, v in value.items()}
    element = getattr(type_info, "element_type", None)
    if element is None or (isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes):
        return value
    return [as_stored(element, item) for item in value]


def holds_records(type_info: TypeInformation) -> bool:
    """Return whether values may be rows or tuples, or hold some: a function may write lists instead.

    Examples
    --------
    >>> from millstream.common import Types
    >>> holds_records(Types.LIST(Types.TUPLE([Types.LONG()]))), holds_records(Types.LONG())
    (True, False)
    """
    text = str(type_info)
    return "ROW" in text or "TUPLE" in text


def is_plain_tuple(type_info: TypeInformation) -> bool:
    """Return whether the type is one of tuples that hold neither tuples nor rows."""
    if not isinstance(type_info, TupleTypeInfo):
        return False
    return not any(map(holds_records, type_info.field_types))


def _row(type_info: RowTypeInfo, value: Any) -> Row:
    pairs = zip(type_info.field_types, type_info.positional(value), strict=True)
    values = [as_stored(field, item) for field, item in pairs]
    names = type_info.field_names
    return rows_of(names, [values], numbered=names is None)[0]


def _single(value: Any) -> float:
    """A number rounded to 32 bits."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


_ATOMS: dict[str, Callable[[Any], Any]] = {
    "STRING": str,
    "CHAR": str,
    "BOOLEAN": bool,
    "BYTE": int,
    "SHORT": int,
    "INT": int,
    "LONG": int,
    "BIG_INT": int,
    "FLOAT": _single,
    "DOUBLE": float,
}
