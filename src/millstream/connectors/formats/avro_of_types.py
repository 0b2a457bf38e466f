"""Types as Avro schemas: how records of a typed stream are written to Avro files."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from millstream.common.errors import PlanError
from millstream.common.made_once import Convert
from millstream.common.time import Instant
from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = ["avro_of_type"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def avro_of_type(type_info: TypeInformation, name: str = "Record") -> tuple[Any, Convert | None]:
    """Return the schema of a type, and what makes fastavro's values of its values.

    Each part may be null. ``name``: that of the record.

    Examples
    --------
    >>> from millstream.common import Types
    >>> avro_of_type(Types.LIST(Types.SQL_DATE()))[0]
    {'type': 'array', 'items': ['null', {'type': 'int', 'logicalType': 'date'}]}
    """
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return _record(type_info, name)
    if isinstance(type_info, MapTypeInfo):
        if type_info.key_type.kind != "STRING":
            raise _unknown(type_info, "keys of an Avro map are texts")
        schema, convert = avro_of_type(type_info.value_type, name)
        return {"type": "map", "values": ["null", schema]}, _of_map(convert)
    element = getattr(type_info, "element_type", None)
    if element is None or (isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes):
        return _atom(type_info)
    schema, convert = avro_of_type(element, name)
    return {"type": "array", "items": ["null", schema]}, _of_list(convert)


def _record(type_info: RowTypeInfo | TupleTypeInfo, name: str) -> tuple[Any, Convert]:
    if isinstance(type_info, RowTypeInfo):
        names, row_type = type_info.get_field_names(), type_info
    else:
        names = [f"f{i}" for i in range(len(type_info.field_types))]
        row_type = RowTypeInfo(type_info.field_types)
    wrong = [field for field in names if not _NAME.fullmatch(field)]
    if wrong:
        raise _unknown(type_info, f"{wrong[0]!r} is no name in Avro: letters, digits and _ only")
    pairs = zip(names, type_info.field_types, strict=True)
    parts = [avro_of_type(kind, f"{name}_{field}") for field, kind in pairs]
    fields = [
        {"name": field, "type": ["null", schema], "default": None}
        for field, (schema, _) in zip(names, parts, strict=True)
    ]
    converters = [convert for _, convert in parts]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        values = row_type.positional(value)
        if isinstance(values, str):
            raise TypeError(values)
        return {
            field: item if inner is None or item is None else inner(item)
            for field, item, inner in zip(names, values, converters, strict=True)
        }

    return {"type": "record", "name": name, "fields": fields}, convert


def _of_list(convert: Convert | None) -> Convert:
    if convert is None:
        return list
    return lambda items: [None if item is None else convert(item) for item in items]


def _of_map(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda items: {
        key: None if item is None else convert(item) for key, item in items.items()
    }


def _atom(type_info: TypeInformation) -> tuple[Any, Convert | None]:
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return "bytes", None
    found = _ATOMS.get(type_info.kind)
    if found is None:
        raise _unknown(type_info, "a value of any class has no Avro type")
    return found


def _moment(value: Instant) -> datetime:
    return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1_000)


def _unknown(type_info: TypeInformation, why: str) -> PlanError:
    return PlanError(
        "AVRO_TYPE",
        f"records of type {type_info} cannot be written as Avro: {why}",
        hint="declare the type: map(..., output_type=Types.ROW_NAMED(...)), or give the schema: "
        "FileSink.avro(path, schema)",
    )


def _logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


_ATOMS: dict[str, tuple[Any, Convert | None]] = {
    **dict.fromkeys(("STRING", "CHAR"), ("string", None)),
    **dict.fromkeys(("BYTE", "SHORT", "INT"), ("int", None)),
    "LONG": ("long", None),
    "FLOAT": ("float", None),
    "DOUBLE": ("double", None),
    "BOOLEAN": ("boolean", None),
    "BIG_DEC": (_logical("bytes", "decimal", precision=38, scale=18), None),
    "BIG_INT": (_logical("bytes", "decimal", precision=38, scale=0), Decimal),
    "SQL_DATE": (_logical("int", "date"), None),
    "SQL_TIME": (_logical("long", "time-micros"), None),
    "SQL_TIMESTAMP": (_logical("long", "local-timestamp-micros"), None),
    "INSTANT": (_logical("long", "timestamp-micros"), _moment),
}
