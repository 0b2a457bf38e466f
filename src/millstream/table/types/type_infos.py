"""Types of streams as types of columns, and the other way round."""

from __future__ import annotations

from millstream.common.errors import PlanError
from millstream.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.common.typesystem.composites import ChangesTypeInfo
from millstream.table.types.arrow import logical_of_arrow
from millstream.table.types.logical import (
    ArrayType,
    LogicalType,
    MapType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    StructuredType,
)
from millstream.table.types.parsing import parse_logical_type

__all__ = ["columns_of_stream", "info_of_type", "type_of_info"]

_TEXTS: dict[TypeInformation, str] = {
    Types.STRING(): "STRING",
    Types.CHAR(): "CHAR(1)",
    Types.BOOLEAN(): "BOOLEAN",
    Types.BYTE(): "TINYINT",
    Types.SHORT(): "SMALLINT",
    Types.INT(): "INT",
    Types.LONG(): "BIGINT",
    Types.FLOAT(): "FLOAT",
    Types.DOUBLE(): "DOUBLE",
    Types.BIG_INT(): "DECIMAL(38, 0)",
    Types.BIG_DEC(): "DECIMAL(38, 18)",
    Types.SQL_DATE(): "DATE",
    Types.SQL_TIME(): "TIME(0)",
    Types.SQL_TIMESTAMP(): "TIMESTAMP(9)",
    Types.INSTANT(): "TIMESTAMP_LTZ(9)",
    Types.PRIMITIVE_ARRAY(Types.BYTE()): "BYTES",
}
_INFOS: dict[str, TypeInformation] = {
    "CHAR": Types.STRING(),
    "VARCHAR": Types.STRING(),
    "BINARY": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "VARBINARY": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "BOOLEAN": Types.BOOLEAN(),
    "TINYINT": Types.BYTE(),
    "SMALLINT": Types.SHORT(),
    "INTEGER": Types.INT(),
    "BIGINT": Types.LONG(),
    "FLOAT": Types.FLOAT(),
    "DOUBLE": Types.DOUBLE(),
    "DECIMAL": Types.BIG_DEC(),
    "DATE": Types.SQL_DATE(),
    "TIME_WITHOUT_TIME_ZONE": Types.SQL_TIME(),
    "TIMESTAMP_WITHOUT_TIME_ZONE": Types.SQL_TIMESTAMP(),
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": Types.INSTANT(),
}
_PRIMITIVE = {
    Types.BOOLEAN(),
    Types.BYTE(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.FLOAT(),
    Types.DOUBLE(),
    Types.CHAR(),
}
_ITEMS = (BasicArrayTypeInfo, ListTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


def columns_of_stream(info: TypeInformation | None) -> RowType:
    """The columns of a stream's records: those of rows and tuples, or one, ``f0``.

    Numbers that are no fields of rows are never NULL, as in Flink.

    Examples
    --------
    >>> columns_of_stream(Types.TUPLE([Types.INT(), Types.STRING()])).as_summary()
    'ROW<`f0` INT NOT NULL, `f1` STRING>'
    """
    if info is None:
        raise _unknown("a stream without a type")
    if isinstance(info, RowTypeInfo | ChangesTypeInfo):
        found = type_of_info(info)
        assert isinstance(found, RowType)
        return found
    parts = info.get_field_types() if isinstance(info, TupleTypeInfo) else [info]
    types = [type_of_info(each).with_nullability(each not in _PRIMITIVE) for each in parts]
    return RowType(tuple(RowField(f"f{at}", each) for at, each in enumerate(types)))


def type_of_info(info: TypeInformation) -> LogicalType:
    """The type of a column that holds the values of a stream's type."""
    if info in _TEXTS:
        return parse_logical_type(_TEXTS[info])
    if isinstance(info, ArrowTypeInfo):
        return logical_of_arrow(info.arrow)
    if isinstance(info, RowTypeInfo | ChangesTypeInfo):
        pairs = zip(info.get_field_names(), info.get_field_types(), strict=True)
        return RowType(tuple(RowField(name, type_of_info(each)) for name, each in pairs))
    if isinstance(info, TupleTypeInfo):
        types = enumerate(info.get_field_types())
        return RowType(tuple(RowField(f"f{at}", type_of_info(each)) for at, each in types))
    if isinstance(info, MapTypeInfo):
        return MapType(type_of_info(info.key_type), type_of_info(info.value_type))
    if isinstance(info, _ITEMS):
        return ArrayType(type_of_info(info.element_type))
    if isinstance(info, PickledBytesTypeInfo) and info.class_name:
        return RawType(info.class_name)
    raise _unknown(f"a stream of type {info}")


def info_of_type(type_: LogicalType) -> TypeInformation:
    """The type of a stream that holds the values of a column.

    Examples
    --------
    >>> info_of_type(parse_logical_type("ROW<a INT, b ARRAY<STRING>>"))
    ROW_NAMED(a: INT, b: LIST(STRING))
    """
    if type_.root in _INFOS:
        return _INFOS[type_.root]
    if isinstance(type_, (RowType, StructuredType)):
        names = [field.name for field in type_.fields]
        return Types.ROW_NAMED(names, [info_of_type(field.type) for field in type_.fields])
    if isinstance(type_, ArrayType):
        return Types.LIST(info_of_type(type_.element))
    if isinstance(type_, MultisetType):
        return Types.MAP(info_of_type(type_.element), Types.INT())
    if isinstance(type_, MapType):
        return Types.MAP(info_of_type(type_.key), info_of_type(type_.value))
    return Types.PICKLED_BYTE_ARRAY()


def _unknown(what: str) -> PlanError:
    return PlanError(
        "STREAM_TYPE",
        f"{what} has no columns of SQL types",
        hint="declare one: stream.map(..., output_type=Types.ROW_NAMED([...], [...]))",
    )
