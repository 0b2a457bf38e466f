"""The types of records, keys and state.

A type says how values are stored between tasks, in shuffles and in checkpoints. Values of a type
with a layout of its own are stored in Arrow columns; everything else is pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millstream.common.typesystem.hints import infer_from_values, infer_return_type, infer_type

if TYPE_CHECKING:
    from datetime import date, datetime, time
    from decimal import Decimal

    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    from millstream.common.time import Instant
    from millstream.common.type_variables import K2, V

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "from_arrow",
    "infer_from_values",
    "infer_return_type",
    "infer_type",
    "type_from_dict",
]


class Types:
    """All the types there are.

    Examples
    --------
    >>> Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
    ROW_NAMED(word: STRING, count: LONG)
    >>> Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE()))
    MAP(STRING, LIST(DOUBLE))
    """

    @staticmethod
    def STRING() -> TypeInformation[str]:
        """Text: `str`."""
        return _BASIC["STRING"]

    @staticmethod
    def BYTE() -> TypeInformation[int]:
        """Integers of 8 bits, from -128: `int`."""
        return _BASIC["BYTE"]

    @staticmethod
    def BOOLEAN() -> TypeInformation[bool]:
        """Truth values: `bool`."""
        return _BASIC["BOOLEAN"]

    @staticmethod
    def SHORT() -> TypeInformation[int]:
        """Integers of 16 bits: `int`."""
        return _BASIC["SHORT"]

    @staticmethod
    def INT() -> TypeInformation[int]:
        """Integers of 32 bits: `int`."""
        return _BASIC["INT"]

    @staticmethod
    def LONG() -> TypeInformation[int]:
        """Integers of 64 bits: `int`."""
        return _BASIC["LONG"]

    @staticmethod
    def FLOAT() -> TypeInformation[float]:
        """Numbers of single precision: `float`, rounded to 32 bits."""
        return _BASIC["FLOAT"]

    @staticmethod
    def DOUBLE() -> TypeInformation[float]:
        """Numbers of double precision: `float`."""
        return _BASIC["DOUBLE"]

    @staticmethod
    def CHAR() -> TypeInformation[str]:
        """Single characters: `str` of length 1."""
        return _BASIC["CHAR"]

    @staticmethod
    def BIG_INT() -> TypeInformation[int]:
        """Integers of any size: `int`."""
        return _BASIC["BIG_INT"]

    @staticmethod
    def BIG_DEC() -> TypeInformation[Decimal]:
        """Decimal numbers of any size: `decimal.Decimal`."""
        return _BASIC["BIG_DEC"]

    @staticmethod
    def INSTANT() -> TypeInformation[Instant]:
        """Points in time: `millstream.common.time.Instant`, to the microsecond."""
        return _BASIC["INSTANT"]

    @staticmethod
    def SQL_DATE() -> TypeInformation[date]:
        """Days: `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation[time]:
        """Times of day: `datetime.time` without a timezone."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation[datetime]:
        """Days with a time of day: `datetime.datetime` without a timezone."""
        return TimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation[Any]:
        """Any object that can be pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """Rows whose fields have types but no names."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str], field_types: Sequence[TypeInformation]
    ) -> RowTypeInfo:
        """Rows whose fields have names and types."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """Tuples of a fixed length."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Lists of numbers, booleans or characters without None; `bytes` for BYTE."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation[V]) -> TypeInformation[list[V]]:
        """Lists of numbers, booleans, characters or strings."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation[V]) -> TypeInformation[list[V]]:
        """Lists of values of any one type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(
        key_type_info: TypeInformation[K2], value_type_info: TypeInformation[V]
    ) -> TypeInformation[dict[K2, V]]:
        """Dicts."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation[V]) -> TypeInformation[list[V]]:
        """Lists of values of any one type."""
        return ListTypeInfo(element_type_info)


_BASIC: dict[str, TypeInformation] = {basic.name: BasicTypeInfo(basic) for basic in BasicType}
_NAMED: dict[str, TypeInformation] = _BASIC | {
    atom.kind: atom
    for atom in (DateTypeInfo(), TimeTypeInfo(), TimestampTypeInfo(), PickledBytesTypeInfo())
}
_OF_ELEMENTS: dict[str, Callable[[TypeInformation], TypeInformation]] = {
    "PRIMITIVE_ARRAY": PrimitiveArrayTypeInfo,
    "BASIC_ARRAY": BasicArrayTypeInfo,
    "OBJECT_ARRAY": ObjectArrayTypeInfo,
    "LIST": ListTypeInfo,
}


def type_from_dict(data: Mapping[str, Any]) -> TypeInformation:
    """The type that `TypeInformation.to_dict` described.

    Parameters
    ----------
    data : mapping
        JSON values.

    Examples
    --------
    >>> type_from_dict({"type": "LIST", "element": {"type": "LONG"}})
    LIST(LONG)
    """
    kind = data["type"]
    if kind in _NAMED:
        return _NAMED[kind]
    if kind in _OF_ELEMENTS:
        return _OF_ELEMENTS[kind](type_from_dict(data["element"]))
    if kind == "MAP":
        return MapTypeInfo(type_from_dict(data["key"]), type_from_dict(data["value"]))
    if kind == "ARROW":
        from millstream.common.typesystem.arrow_info import ArrowTypeInfo

        return ArrowTypeInfo.of_dict(data)
    if kind not in ("TUPLE", "ROW"):
        raise ValueError(f"no type is called {kind!r}")
    fields = [type_from_dict(field) for field in data["fields"]]
    return TupleTypeInfo(fields) if kind == "TUPLE" else RowTypeInfo(fields, data["names"])


def from_arrow(data_type: pa.DataType) -> TypeInformation:
    """The type whose Python values an Arrow type holds.

    Parameters
    ----------
    data_type : pyarrow.DataType
        The Arrow type. A struct with the fields f0, f1 and so on is a TUPLE, any other struct a
        ROW_NAMED; text is a STRING and binary a PRIMITIVE_ARRAY(BYTE), whatever wrote it.

    Raises
    ------
    TypeMismatchError
        ``UNSUPPORTED_ARROW_TYPE``: there is no such type here, as for durations and unions.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from_arrow(pa.list_(pa.int32()))
    LIST(INT)
    """
    return TypeInformation.from_arrow(data_type)
