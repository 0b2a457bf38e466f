"""Values of a type as JSON has them, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millstream.common.csv_text import CsvDialect
from millstream.common.errors import FormatError
from millstream.common.made_once import Convert
from millstream.common.time import Instant
from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.common.types import Row, row_maker
from millstream.datastream.formats.json_text import json_text

__all__ = [
    "MissingFieldError",
    "csv_value",
    "decoder",
    "from_text",
    "named",
    "shows_decimals",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_RANGES = {"BYTE": 2**7, "SHORT": 2**15, "INT": 2**31, "LONG": 2**63}


class MissingFieldError(FormatError):
    """An object lacks a field of its type."""


# -- JSON ------------------------------------------------------------------------------------------


def decoder(type_info: TypeInformation, require_fields: bool = False) -> Convert:
    """Return the function that makes values of a type of JSON values: made once, called often.

    It raises a ValueError, a TypeError or an ArithmeticError that says why there is no such value.

    Examples
    --------
    >>> from millstream.common import Types
    >>> pair = Types.ROW_NAMED(["day", "n"], [Types.SQL_DATE(), Types.LONG()])
    >>> decoder(pair)({"day": "2026-01-31", "n": 1})
    Row(day=datetime.date(2026, 1, 31), n=1)
    """
    if isinstance(type_info, RowTypeInfo):
        return _row_decoder(type_info, require_fields)
    if isinstance(type_info, TupleTypeInfo):
        return _tuple_decoder([decoder(field, require_fields) for field in type_info.field_types])
    if isinstance(type_info, MapTypeInfo):
        return _map_decoder(type_info, decoder(type_info.value_type, require_fields))
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes:
        return _checked(type_info, base64.b64decode)
    element = getattr(type_info, "element_type", None)
    if element is not None:
        return _list_decoder(type_info, decoder(element, require_fields))
    return _atom_decoder(type_info)


def shows_decimals(type_info: TypeInformation) -> bool:
    """Whether values of a type have the digits of numbers as the message has them.

    Examples
    --------
    >>> from millstream.common import Types
    >>> shows_decimals(Types.LIST(Types.BIG_DEC())), shows_decimals(Types.LIST(Types.DOUBLE()))
    (True, False)
    """
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return any(map(shows_decimals, type_info.field_types))
    if isinstance(type_info, MapTypeInfo):
        return shows_decimals(type_info.value_type)
    element = getattr(type_info, "element_type", None)
    return type_info.kind in _DECIMALS if element is None else shows_decimals(element)


def _row_decoder(type_info: RowTypeInfo, strict: bool) -> Convert:
    names = type_info.get_field_names()
    converters = [decoder(field, strict) for field in type_info.field_types]
    pairs = list(zip(names, converters, strict=True))
    make = row_maker(type_info.field_names)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if value.__class__ is not dict:
            raise ValueError(f"an object is needed, got {value!r:.200}")
        if strict:
            _require(names, value)
        get = value.get
        try:
            return make([field(get(name)) for name, field in pairs])
        except MissingFieldError:
            raise
        except (ValueError, TypeError, ArithmeticError):
            # The loop above does not know where it was.
            for name, field in pairs:
                _named_call(f"field {name!r}", field, get(name))
            raise

    return convert


def _require(names: Sequence[str], value: dict[str, Any]) -> None:
    missing = [name for name in names if name not in value]
    if missing:
        raise MissingFieldError(
            "MISSING_FIELD", f"{value!r:.200} has no field {', '.join(map(repr, missing))}"
        )


def _named_call(what: str, convert: Convert, value: Any) -> Any:
    try:
        return convert(value)
    except MissingFieldError:
        raise
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{what}: {error}") from error


def _tuple_decoder(fields: list[Convert]) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if value.__class__ is not list or len(value) != len(fields):
            raise ValueError(f"an array of {len(fields)} items is needed, got {value!r:.200}")
        return tuple([field(item) for field, item in zip(fields, value, strict=True)])

    return convert


def _map_decoder(type_info: MapTypeInfo, item: Convert) -> Convert:
    key_type = type_info.key_type
    check = key_type.check
    is_text = key_type.kind == "STRING"

    def key_of(text: str) -> Any:
        key = text if is_text else from_text(key_type, text)
        reason = "None cannot be a key of a MAP" if key is None else check(key)
        if reason is not None:
            raise ValueError(f"key {text!r}: {reason}")
        return key

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if value.__class__ is not dict:
            raise ValueError(f"an object is needed, got {value!r:.200}")
        return {key_of(key): item(inner) for key, inner in value.items()}

    return convert


def _list_decoder(type_info: TypeInformation, item: Convert) -> Convert:
    has_none = not isinstance(type_info, PrimitiveArrayTypeInfo)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if value.__class__ is not list:
            raise ValueError(f"an array is needed, got {value!r:.200}")
        if not has_none and None in value:
            raise ValueError(type_info.check(value))
        return [item(inner) for inner in value]

    return convert


def _atom_decoder(type_info: TypeInformation) -> Convert:
    """Most values are what they should be: those that are not take the way of all others."""
    kind = type_info.kind
    other = _checked(type_info, _PARSERS.get(kind))
    if kind == "STRING":
        # Half of a surrogate pair is no text; it is not ASCII either.
        return lambda value: value if value.__class__ is str and value.isascii() else other(value)
    if kind in _RANGES:
        low, high = -_RANGES[kind], _RANGES[kind]
        return lambda value: (
            value if value.__class__ is int and low <= value < high else other(value)
        )
    if kind == "DOUBLE":
        return lambda value: value if value.__class__ is float else other(value)
    return other


def _checked(type_info: TypeInformation, parse: Convert | None) -> Convert:
    check = type_info.check

    def convert(value: Any) -> Any:
        if value is None:
            return None
        result = value if parse is None else parse(value)
        reason = check(result)
        if reason is not None:
            raise ValueError(reason)
        return result

    return convert


# -- text ------------------------------------------------------------------------------------------


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
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return base64.b64decode(text)
    parse = _PARSERS.get(kind)
    return text if parse is None else parse(text)


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
    return row_maker(row_type.field_names)(list(values))


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


_DECIMALS = frozenset({"BIG_DEC", "STRING", "PICKLED_BYTE_ARRAY"})
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
