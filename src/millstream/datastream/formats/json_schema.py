"""JSON schemas as row types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types

__all__ = ["row_type_of_json_schema"]


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
