"""JSON schemas as row types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["json_schema_of", "row_type_of_json_schema"]


def row_type_of_json_schema(schema: str) -> RowTypeInfo:
    """Return the row type that a JSON schema describes; numbers have any size, as in Flink.

    Examples
    --------
    >>> row_type_of_json_schema(
    ...     '{"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}'
    ... )
    ROW_NAMED(n: BIG_DEC, s: STRING)
    """
    try:
        found = _type(json.loads(schema))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _refused(str(error)) from error
    if isinstance(found, RowTypeInfo):
        return found
    raise _refused(f"it describes a {found}, not an object")


def _type(node: Mapping[str, Any]) -> TypeInformation:
    kind = node.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), None)
    if kind == "object":
        fields = node["properties"]
        return Types.ROW_NAMED(list(fields), [_type(field) for field in fields.values()])
    if kind == "array":
        items = node["items"]
        if isinstance(items, list):
            return Types.ROW([_type(item) for item in items])
        return Types.OBJECT_ARRAY(_type(items))
    if kind == "string":
        if node.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _FORMATS.get(node.get("format", ""), Types.STRING())
    if kind not in _ATOMS:
        raise ValueError(f"there is no type for {json.dumps(node)[:200]}")
    return _ATOMS[kind]


def _refused(why: str) -> PlanError:
    return PlanError(
        "BAD_JSON_SCHEMA",
        f"the JSON schema cannot be read: {why}",
        location=user_location(),
        hint="describe an object with properties, or use type_info(Types.ROW_NAMED(...))",
    )


_ATOMS = {"integer": Types.BIG_DEC(), "number": Types.BIG_DEC(), "boolean": Types.BOOLEAN()}
_FORMATS = {
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
    "date-time": Types.SQL_TIMESTAMP(),
}


def json_schema_of(row_type: RowTypeInfo) -> str:
    """Return the JSON schema of the objects that rows are written as; each field may be null.

    Examples
    --------
    >>> json_schema_of(Types.ROW_NAMED(["n"], [Types.LONG()]))
    '{"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}'
    """
    return json.dumps(_described(row_type))


def _described(kind: TypeInformation) -> dict[str, Any]:
    if isinstance(kind, RowTypeInfo):
        names = kind.get_field_names()
        fields = zip(names, map(_described, kind.field_types), strict=True)
        return {"type": "object", "properties": {name: _or_null(one) for name, one in fields}}
    if isinstance(kind, MapTypeInfo):
        return {"type": "object", "additionalProperties": _or_null(_described(kind.value_type))}
    if isinstance(kind, TupleTypeInfo):
        items = [_or_null(_described(field)) for field in kind.field_types]
        return {"type": "array", "items": items}
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.holds_bytes:
        return {"type": "string", "contentEncoding": "base64"}
    element = getattr(kind, "element_type", None)
    if element is not None:
        return {"type": "array", "items": _or_null(_described(element))}
    return dict(_WRITTEN.get(kind.kind, {}))


def _or_null(described: dict[str, Any]) -> dict[str, Any]:
    found = described.get("type")
    return described if found is None else {**described, "type": [found, "null"]}


_WRITTEN = {
    **{key: {"type": "string"} for key in ("STRING", "CHAR")},
    **{key: {"type": "integer"} for key in ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")},
    **{key: {"type": "number"} for key in ("FLOAT", "DOUBLE", "BIG_DEC")},
    "BOOLEAN": {"type": "boolean"},
    "SQL_DATE": {"type": "string", "format": "date"},
    "SQL_TIME": {"type": "string", "format": "time"},
    **{key: {"type": "string", "format": "date-time"} for key in ("SQL_TIMESTAMP", "INSTANT")},
}
