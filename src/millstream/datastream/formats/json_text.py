"""JSON as Flink writes it."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millstream.common.csv_text import fraction
from millstream.common.java_text import java_double, java_float
from millstream.common.time import Instant
from millstream.common.typeinfo import (
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.common.types import Row

__all__ = ["json_string", "json_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPED = re.compile(r"\\\\|\\u00([0-9a-f]{2})|([\U00010000-\U0010ffff])")


def json_text(type_info: TypeInformation | None, value: Any) -> str:
    """Return a value of a type as JSON without spaces; rows are objects, tuples are arrays.

    Examples
    --------
    >>> from millstream.common import Types
    >>> point = Types.ROW_NAMED(["name", "at"], [Types.STRING(), Types.TUPLE([Types.DOUBLE()])])
    >>> json_text(point, ("here", (1e7,)))
    '{"name":"here","at":[1.0E7]}'
    """
    if value is None:
        return "null"
    if isinstance(type_info, RowTypeInfo):
        fields = list(type_info.positional(value))
        return _object(type_info.get_field_names(), fields, type_info.field_types)
    if isinstance(value, Row):
        return _object(value._names(), list(value), [None] * len(value))
    if isinstance(value, dict):
        return _map(type_info, value)
    if isinstance(value, list | tuple):
        return _array(type_info, value)
    if isinstance(value, float):
        return _number(value, type_info is not None and type_info.kind == "FLOAT")
    return _atom(value)


def _object(
    names: Sequence[str], values: Sequence[Any], types: Sequence[TypeInformation | None]
) -> str:
    parts = zip(names, values, types, strict=True)
    return f"{{{','.join(f'{json_string(n)}:{json_text(t, v)}' for n, v, t in parts)}}}"


def _map(type_info: TypeInformation | None, value: dict[Any, Any]) -> str:
    kind = type_info.value_type if isinstance(type_info, MapTypeInfo) else None
    parts = [f"{json_string(_key(key))}:{json_text(kind, item)}" for key, item in value.items()]
    return f"{{{','.join(parts)}}}"


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json_text(None, key).strip('"')


def _array(type_info: TypeInformation | None, value: Sequence[Any]) -> str:
    if isinstance(type_info, TupleTypeInfo):
        types: Sequence[TypeInformation | None] = type_info.field_types
    else:
        types = [getattr(type_info, "element_type", None)] * len(value)
    return f"[{','.join(json_text(t, v) for t, v in zip(types, value, strict=True))}]"


def _number(value: float, is_single: bool) -> str:
    text = java_float(value) if is_single else java_double(value)
    return text if math.isfinite(value) else f'"{text}"'


def _atom(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else f'"{value}"'
    if isinstance(value, bytes):
        return json_string(base64.b64encode(value).decode())
    if isinstance(value, Instant):
        value = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1_000)
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=None).isoformat(timespec="seconds")
        return json_string(f"{moment}{fraction(value.microsecond)}Z")
    if isinstance(value, time):
        return json_string(f"{value:%H:%M:%S}{fraction(value.microsecond)}Z")
    return json_string(value.isoformat() if isinstance(value, date) else str(value))


def json_string(text: str) -> str:
    """Return a text in quotes; what is beyond the first 65,536 characters is escaped, as Jackson does.

    Examples
    --------
    >>> json_string('a "b"')
    '"a \\\\"b\\\\""'
    """
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    if found[1]:
        return f"\\u00{found[1].upper()}"
    if not found[2]:
        return found[0]  # a backslash
    units = found[2].encode("utf-16-be").hex().upper()
    return f"\\u{units[:4]}\\u{units[4:]}"
