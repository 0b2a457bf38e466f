"""Values of a type as JSON has them, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millstream.common.errors import TypeMismatchError
from millstream.common.time import Instant
from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.common.types import Row

__all__ = ["MissingFieldError", "from_plain", "from_text", "to_plain"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MissingFieldError(TypeMismatchError):
    """An object lacks a field of its type."""


def from_plain(type_info: TypeInformation, value: Any, *, require_fields: bool = False) -> Any:
    """Return the value of a type that JSON values stand for.

    Examples
    --------
    >>> from millstream.common import Types
    >>> pair = Types.ROW_NAMED(["day", "n"], [Types.SQL_DATE(), Types.LONG()])
    >>> from_plain(pair, {"day": "2026-01-31", "n": 1})
    Row(day=datetime.date(2026, 1, 31), n=1)
    """
    result = _from_plain(type_info, value, require_fields)
    reason = type_info.check(result)
    if reason is not None:
        raise TypeMismatchError("FORMAT_VALUE", f"{value!r:.200} is not a {type_info}: {reason}")
    return result


def _from_plain(type_info: TypeInformation, value: Any, strict: bool) -> Any:
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info, value, strict)
    if isinstance(type_info, TupleTypeInfo) and isinstance(value, list):
        pairs = zip(type_info.field_types, value, strict=True)
        return tuple([_from_plain(field, item, strict) for field, item in pairs])
    if isinstance(type_info, MapTypeInfo) and isinstance(value, dict):
        return {
            from_text(type_info.key_type, key): _from_plain(type_info.value_type, item, strict)
            for key, item in value.items()
        }
    element = getattr(type_info, "element_type", None)
    if isinstance(value, list) and element is not None:
        return [_from_plain(element, item, strict) for item in value]
    if isinstance(type_info, PrimitiveArrayTypeInfo) and isinstance(value, str):
        return base64.b64decode(value)
    parse = _PARSERS.get(type_info.kind)
    return value if parse is None else parse(value)


def _row(type_info: RowTypeInfo, value: Any, strict: bool) -> Row:
    if not isinstance(value, dict):
        raise TypeMismatchError("FORMAT_VALUE", f"an object is needed, got {value!r:.200}")
    names = type_info.get_field_names()
    missing = [name for name in names if name not in value]
    if missing and strict:
        raise MissingFieldError(
            "MISSING_FIELD", f"{value!r:.200} has no field {', '.join(map(repr, missing))}"
        )
    row = Row(
        *[
            _from_plain(field, value.get(name), strict)
            for name, field in zip(names, type_info.field_types, strict=True)
        ]
    )
    row.set_field_names(names)
    return row


def from_text(type_info: TypeInformation, text: str) -> Any:
    """Return the value of a type without parts that a text stands for.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from_text(Types.LONG(), "12"), from_text(Types.BOOLEAN(), "true")
    (12, True)
    """
    kind = type_info.kind
    if kind in ("BYTE", "SHORT", "INT", "LONG", "BIG_INT"):
        return int(text)
    if kind in ("FLOAT", "DOUBLE"):
        return float(text)
    if kind == "BOOLEAN":
        return {"true": True, "false": False}[text.strip().lower()]
    return _from_plain(type_info, text, False)


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it: rows with names as objects, tuples as lists.

    Examples
    --------
    >>> to_plain(Row(day=date(2026, 1, 31), pair=("a", Decimal("1.50"))))
    {'day': '2026-01-31', 'pair': ['a', '1.50']}
    """
    if isinstance(value, Row):
        return _plain_row(value)
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain_key(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Instant):
        exact = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1_000)
        return exact.isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, Decimal) else value


def _plain_row(row: Row) -> Any:
    names = row._fields or [f"f{i}" for i in range(len(row))]
    return {name: to_plain(item) for name, item in zip(names, row, strict=True)}


def _plain_key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(to_plain(key))


def _instant(text: str) -> Instant:
    since = datetime.fromisoformat(text) - _EPOCH
    return Instant(since // timedelta(seconds=1), since.microseconds * 1_000)


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "BIG_DEC": lambda value: Decimal(str(value)),
    "SQL_DATE": date.fromisoformat,
    "SQL_TIME": time.fromisoformat,
    "SQL_TIMESTAMP": datetime.fromisoformat,
    "INSTANT": _instant,
}
