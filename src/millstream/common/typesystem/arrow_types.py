"""The Arrow type for each type of Millstream, and back."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from millstream.common.errors import TypeMismatchError
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
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
    _ItemsTypeInfo,
)

_ATOMS = {
    "STRING": pa.string(),
    "BYTE": pa.int8(),
    "BOOLEAN": pa.bool_(),
    "SHORT": pa.int16(),
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "CHAR": pa.string(),
    "BIG_INT": pa.string(),
    "BIG_DEC": pa.string(),
    "INSTANT": pa.timestamp("us", tz="UTC"),
    "SQL_DATE": pa.date32(),
    "SQL_TIME": pa.time64("us"),
    "SQL_TIMESTAMP": pa.timestamp("us"),
    "PICKLED_BYTE_ARRAY": pa.binary(),
}


def field_names(type_info: TupleTypeInfo | RowTypeInfo) -> list[str]:
    """The names of the Arrow fields of a tuple or row."""
    if isinstance(type_info, RowTypeInfo):
        return type_info.get_field_names()
    return [f"f{i}" for i in range(len(type_info.field_types))]


@lru_cache(maxsize=1024)
def arrow_type(type_info: TypeInformation) -> pa.DataType:
    """The Arrow type that values of a type are stored as."""
    if isinstance(type_info, ArrowTypeInfo):
        return type_info.arrow
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes:
        return pa.binary()
    if isinstance(type_info, _ItemsTypeInfo):
        return pa.list_(arrow_type(type_info.element_type))
    if isinstance(type_info, MapTypeInfo):
        return pa.map_(arrow_type(type_info.key_type), arrow_type(type_info.value_type))
    if isinstance(type_info, (TupleTypeInfo, RowTypeInfo)):
        names = field_names(type_info)
        return pa.struct(list(zip(names, map(arrow_type, type_info.field_types), strict=True)))
    return _ATOMS[type_info.kind]


def _basic(name: str) -> TypeInformation:
    return BasicTypeInfo(BasicType[name])


# Unsigned integers take the next wider type: their values come back unchanged.
_FROM_ATOMS: dict[str, TypeInformation] = {
    "null": PickledBytesTypeInfo(),
    "bool": _basic("BOOLEAN"),
    "int8": _basic("BYTE"),
    "int16": _basic("SHORT"),
    "int32": _basic("INT"),
    "int64": _basic("LONG"),
    "uint8": _basic("SHORT"),
    "uint16": _basic("INT"),
    "uint32": _basic("LONG"),
    "uint64": _basic("BIG_INT"),
    "halffloat": _basic("FLOAT"),
    "float": _basic("FLOAT"),
    "double": _basic("DOUBLE"),
    "string": _basic("STRING"),
    "large_string": _basic("STRING"),
    "string_view": _basic("STRING"),
    "binary": PrimitiveArrayTypeInfo(_basic("BYTE")),
    "large_binary": PrimitiveArrayTypeInfo(_basic("BYTE")),
    "binary_view": PrimitiveArrayTypeInfo(_basic("BYTE")),
    "date32[day]": DateTypeInfo(),
    "date64[ms]": DateTypeInfo(),
}


def from_arrow(data_type: pa.DataType) -> TypeInformation:
    """The type whose Python values an Arrow type holds.

    Parameters
    ----------
    data_type : pyarrow.DataType
        The Arrow type. A struct with the fields f0, f1 and so on is a TUPLE, any other struct a
        ROW_NAMED. Text is a STRING, binary a PRIMITIVE_ARRAY(BYTE), whatever wrote it.

    Raises
    ------
    TypeMismatchError
        ``UNSUPPORTED_ARROW_TYPE``: there is no such type here (durations, unions).

    Examples
    --------
    >>> from_arrow(pa.struct([("f0", pa.string()), ("f1", pa.int64())]))
    TUPLE(STRING, LONG)
    >>> from_arrow(pa.list_(pa.timestamp("ms")))
    LIST(SQL_TIMESTAMP)
    """
    found = _FROM_ATOMS.get(str(data_type)) or _from_parametric(data_type)
    if found is None:
        raise TypeMismatchError(
            "UNSUPPORTED_ARROW_TYPE",
            f"the Arrow type {data_type} has no counterpart here",
            parameters={"type": str(data_type)},
            hint="cast the column to a number, text, binary, date, time, list, map or struct",
        )
    return found


def _from_parametric(data_type: pa.DataType) -> TypeInformation | None:
    is_a = pa.types
    if is_a.is_struct(data_type):
        return _from_struct(data_type)
    if is_a.is_list(data_type) or is_a.is_large_list(data_type):
        return ListTypeInfo(from_arrow(data_type.value_type))
    if is_a.is_fixed_size_list(data_type):
        return ListTypeInfo(from_arrow(data_type.value_type))
    if is_a.is_map(data_type):
        return MapTypeInfo(from_arrow(data_type.key_type), from_arrow(data_type.item_type))
    if is_a.is_dictionary(data_type):
        return from_arrow(data_type.value_type)
    return _from_measured(data_type)


def _from_measured(data_type: pa.DataType) -> TypeInformation | None:
    is_a = pa.types
    if is_a.is_timestamp(data_type):
        return TimestampTypeInfo() if data_type.tz is None else _basic("INSTANT")
    if is_a.is_time(data_type):
        return TimeTypeInfo()
    if is_a.is_decimal(data_type):
        return _basic("BIG_DEC")
    if is_a.is_fixed_size_binary(data_type):
        return PrimitiveArrayTypeInfo(_basic("BYTE"))
    return None


def _from_struct(data_type: pa.DataType) -> TypeInformation:
    fields = [data_type.field(i) for i in range(data_type.num_fields)]
    names = [field.name for field in fields]
    types = [from_arrow(field.type) for field in fields]
    if names == [f"f{i}" for i in range(len(names))]:
        return TupleTypeInfo(types)
    return RowTypeInfo(types, names)
