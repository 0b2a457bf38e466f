"""Row types as Spark schemas, and back, without loading PySpark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["row_type_of_ddl", "row_type_of_schema", "to_ddl"]

_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_DDL = {
    "STRING": "STRING",
    "CHAR": "STRING",
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INT": "INT",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "BIG_DEC": "DECIMAL(38, 18)",
    "SQL_DATE": "DATE",
    "SQL_TIMESTAMP": "TIMESTAMP_NTZ",
    "INSTANT": "TIMESTAMP",
}
_FROM_SPARK = {
    "string": Types.STRING(),
    "byte": Types.BYTE(),
    "tinyint": Types.BYTE(),
    "short": Types.SHORT(),
    "smallint": Types.SHORT(),
    "int": Types.INT(),
    "integer": Types.INT(),
    "long": Types.LONG(),
    "bigint": Types.LONG(),
    "float": Types.FLOAT(),
    "real": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "boolean": Types.BOOLEAN(),
    "binary": _BYTES,
    "date": Types.SQL_DATE(),
    "timestamp": Types.INSTANT(),
    "timestamp_ltz": Types.INSTANT(),
    "timestamp_ntz": Types.SQL_TIMESTAMP(),
}
_DDL_COLUMN = re.compile(r"\s*(?:`([^`]+)`|(\w+))\s*[\s:]\s*(\w+(?:\([\d\s,]+\))?)\s*(?:,|$)")


def to_ddl(row_type: RowTypeInfo | TupleTypeInfo) -> str:
    """Return a row type as Spark writes schemas.

    Examples
    --------
    >>> to_ddl(Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LIST(Types.LONG())]))
    '`word` STRING, `n` ARRAY<BIGINT>'
    """
    return ", ".join(f"{_quoted(name)} {_ddl(field)}" for name, field in _fields(row_type))


def _fields(row_type: RowTypeInfo | TupleTypeInfo) -> list[tuple[str, TypeInformation]]:
    types = row_type.field_types
    if isinstance(row_type, RowTypeInfo):
        return list(zip(row_type.get_field_names(), types, strict=True))
    return [(f"f{i}", field) for i, field in enumerate(types)]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _ddl(type_info: TypeInformation) -> str:
    if type_info.kind in _DDL:
        return _DDL[type_info.kind]
    if type_info == _BYTES:
        return "BINARY"
    if isinstance(
        type_info,
        ListTypeInfo | ObjectArrayTypeInfo | BasicArrayTypeInfo | PrimitiveArrayTypeInfo,
    ):
        return f"ARRAY<{_ddl(type_info.element_type)}>"
    if isinstance(type_info, MapTypeInfo):
        return f"MAP<{_ddl(type_info.key_type)}, {_ddl(type_info.value_type)}>"
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        inner = ", ".join(f"{_quoted(name)}: {_ddl(field)}" for name, field in _fields(type_info))
        return f"STRUCT<{inner}>"
    raise PlanError(
        "NO_SPARK_TYPE",
        f"a file cannot have a column of type {type_info}",
        location=user_location(),
        hint="use numbers, text, bytes, dates, timestamps, lists, maps or rows",
    )


def row_type_of_ddl(ddl: str) -> RowTypeInfo | None:
    """Return the row type of a schema as Spark writes it, None unless all columns are plain.

    Examples
    --------
    >>> row_type_of_ddl("word STRING, n BIGINT")
    ROW_NAMED(word: STRING, n: LONG)
    >>> row_type_of_ddl("words ARRAY<STRING>") is None
    True
    """
    columns = list(_DDL_COLUMN.finditer(ddl))
    if sum(len(column[0]) for column in columns) != len(ddl):
        return None
    return _row([(column[1] or column[2], column[3].lower()) for column in columns])


def row_type_of_schema(schema: Mapping[str, Any]) -> RowTypeInfo | None:
    """Return the row type of a Spark schema, given as its ``jsonValue()``; None if it has none."""
    return _row([(field["name"], field["type"]) for field in schema["fields"]])


def _row(columns: list[tuple[str, Any]]) -> RowTypeInfo | None:
    types = [_from_spark(spark_type) for _, spark_type in columns]
    known = [type_info for type_info in types if type_info is not None]
    names = [name for name, _ in columns]
    # An empty or repeated name cannot be asked for, so such rows are not typed.
    if not columns or len(known) < len(columns) or len({*names, ""}) <= len(names):
        return None
    return RowTypeInfo(known, names)


def _from_spark(spark_type: Any) -> TypeInformation | None:
    if isinstance(spark_type, str):
        plain = re.match(r"\w+", spark_type)
        name = plain[0] if plain else ""
        return Types.BIG_DEC() if name == "decimal" else _FROM_SPARK.get(spark_type)
    if spark_type["type"] == "array":
        element = _from_spark(spark_type["elementType"])
        return None if element is None else ListTypeInfo(element)
    if spark_type["type"] == "map":
        key = _from_spark(spark_type["keyType"])
        value = _from_spark(spark_type["valueType"])
        return None if key is None or value is None else MapTypeInfo(key, value)
    if spark_type["type"] == "struct":
        return _struct(row_type_of_schema(spark_type))
    return None


def _struct(row_type: RowTypeInfo | None) -> TypeInformation | None:
    """A nested struct; with the fields f0, f1, ... it is what a tuple was written as."""
    if row_type is None:
        return None
    numbered = [f"f{i}" for i in range(len(row_type.field_types))]
    return (
        TupleTypeInfo(row_type.field_types) if row_type.get_field_names() == numbered else row_type
    )
