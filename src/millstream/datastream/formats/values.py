"""Values of a type as JSON has them, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millstream.common.csv_text import CsvDialect
from millstream.common.errors import TypeMismatchError
from millstream.common.time import Instant
from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.common.types import Row, rows_of
from millstream.datastream.formats.json_text import json_text

__all__ = ["MissingFieldError", "csv_value", "from_plain", "from_text", "named"]

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
    pairs = zip(names, type_info.field_types, strict=True)
    return named(type_info, [_from_plain(kind, value.get(name), strict) for name, kind in pairs])


def from_text(type_info: TypeInformation, text: str) -> Any:
    """Return the value of a type without parts that a text stands for.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from_text(Types.LONG(), "12"), from_text(Types.BOOLEAN(), "true")
    (12, True)
    """
    kind = type_info.kind
    if not text and kind != "STRING":
        return None
    if kind in ("BYTE", "SHORT", "INT", "LONG", "BIG_INT"):
        return int(text)
    if kind in ("FLOAT", "DOUBLE"):
        return float(text)
    if kind == "BOOLEAN":
        return text.strip().lower() == "true"  # as Java does
    return _from_plain(type_info, text, False)


def csv_value(type_info: TypeInformation, text: str, column: int, dialect: CsvDialect) -> Any:
    """Return the value of a type that a field of a line stands for.

    Examples
    --------
    >>> from millstream.common import Types
    >>> csv_value(Types.LIST(Types.LONG()), "1;2", 0, CsvDialect())
    [1, 2]
    """
    if text == dialect.null_literal:
        return None
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        parts = zip(type_info.field_types, dialect.parts(text, column), strict=True)
        values = [csv_value(kind, part, column, dialect) for kind, part in parts]
        if isinstance(type_info, TupleTypeInfo):
            return tuple(values)
        return named(type_info, values)
    element = getattr(type_info, "element_type", None)
    if element is None or (isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes):
        return from_text(type_info, text)
    return [csv_value(element, part, column, dialect) for part in dialect.parts(text, column)]


def named(row_type: RowTypeInfo, values: Sequence[Any]) -> Row:
    """Return a row as one of its type comes back: with the names of the type, or with numbers.

    Examples
    --------
    >>> from millstream.common import Types
    >>> named(Types.ROW([Types.LONG()]), [1])
    Row(f0=1)
    """
    names = row_type.field_names
    return rows_of(names, [list(values)], numbered=names is None)[0]


def _instant(text: str) -> Instant:
    since = datetime.fromisoformat(text) - _EPOCH
    return Instant(since // timedelta(seconds=1), since.microseconds * 1_000)


def _time(text: str) -> time:
    return time.fromisoformat(text).replace(tzinfo=None)  # Flink writes a Z at the end


def _timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _whole_number(value: Any) -> Any:
    return int(value) if isinstance(value, str) else value


def _real_number(value: Any) -> Any:
    return float(value) if isinstance(value, str | Decimal) else value


def _string(value: Any) -> str:
    """A text; what is something else is shown as JSON."""
    return value if isinstance(value, str) else json_text(None, value)


def _any(value: Any) -> Any:
    """A value as Python's own reader gives it: numbers were read as decimals."""
    if isinstance(value, list):
        return [_any(item) for item in value]
    if isinstance(value, dict):
        return {key: _any(item) for key, item in value.items()}
    return float(value) if isinstance(value, Decimal) else value


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "STRING": _string,
    "FLOAT": _real_number,
    "DOUBLE": _real_number,
    "BIG_DEC": lambda value: Decimal(str(value)),
    "SQL_DATE": date.fromisoformat,
    "SQL_TIME": _time,
    "SQL_TIMESTAMP": _timestamp,
    "INSTANT": _instant,
    "PICKLED_BYTE_ARRAY": _any,
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), _whole_number),
}
