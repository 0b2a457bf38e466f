"""Values as texts and texts as values, as CAST converts them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.java.dates import DAY_NANOS, civil, days_of, local_nanos
from millstream.table.expressions.java.numbers import double_text, float_text, parse_double
from millstream.table.expressions.kinds import LogicalType

__all__ = [
    "CastError",
    "fit_text",
    "parse_date",
    "parse_time",
    "parse_timestamp",
    "round_decimal",
    "text_of",
    "timestamp_text",
    "to_boolean",
    "to_decimal",
    "to_double",
    "to_whole",
]

EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


class CastError(ValueError):
    """A value that cannot be converted."""


def timestamp_text(nanos: int, precision: int) -> str:
    """``2020-01-02 03:04:05.678`` with at least so many digits of the second."""
    days, rest = divmod(nanos, DAY_NANOS)
    year, month, day = civil(days)
    second = rest // 1_000_000_000
    fraction = str(rest % 1_000_000_000).zfill(9)
    while len(fraction) > precision and fraction.endswith("0"):
        fraction = fraction[:-1]
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{year:04}-{month:02}-{day:02} {clock}" + (f".{fraction}" if fraction else "")


def _time_text(millis: int, precision: int) -> str:
    second, rest = divmod(millis, 1000)
    text = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    if precision <= 0:
        return text
    digits = f"{rest:03}"[:precision].rstrip("0") or "0"
    return f"{text}.{digits}"


def _interval_text(value: int, kind: LogicalType) -> str:
    sign, size = ("-" if value < 0 else "+"), abs(value)
    if kinds.root(kind) == "INTERVAL_MONTHS":
        return f"{sign}{size // 12}-{size % 12:02}"
    second, millis = divmod(size, 1000)
    clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{sign}{second // 86400} {clock}.{millis:03}"


def text_of(value: Any, kind: LogicalType, zone: Any) -> str:
    """The text of a value that is not NULL.

    Examples
    --------
    >>> from millstream.table.expressions.kinds import BOOLEAN, array_of
    >>> text_of((True, None), array_of(BOOLEAN), None)
    '[TRUE, NULL]'
    """
    root = kinds.root(kind)
    if root in ("CHAR", "VARCHAR"):
        return str(value)
    if root == "BOOLEAN":
        return "TRUE" if value else "FALSE"
    if root == "DECIMAL":
        return f"{value:f}"
    if root in ("FLOAT", "DOUBLE"):
        return float_text(value) if root == "FLOAT" else double_text(value)
    if root == "DATE":
        year, month, day = civil(value)
        return f"{year:04}-{month:02}-{day:02}"
    if root == "TIME":
        return _time_text(value, kinds.width(kind))
    if root == "TIMESTAMP":
        return timestamp_text(value, kinds.width(kind))
    if root == "TIMESTAMP_LTZ":
        return timestamp_text(local_nanos(value, zone), kinds.width(kind))
    if root.startswith("INTERVAL"):
        return _interval_text(value, kind)
    if root in ("BINARY", "VARBINARY"):
        return bytes(value).decode("utf-8", errors="replace")
    return _nested_text(value, kind, zone) if kind.children else str(value)


def _nested_text(value: Any, kind: LogicalType, zone: Any) -> str:
    def shown(item: Any, child: LogicalType) -> str:
        return "NULL" if item is None else text_of(item, child, zone)

    if kinds.root(kind) == "ARRAY":
        return "[" + ", ".join(shown(each, kind.children[0]) for each in value) + "]"
    if kinds.root(kind) == "MAP":
        key, item = kind.children
        return "{" + ", ".join(f"{shown(a, key)}={shown(b, item)}" for a, b in value) + "}"
    if kinds.root(kind) == "MULTISET":
        return "{" + ", ".join(f"{shown(a, kind.children[0])}={b}" for a, b in value) + "}"
    parts = zip(value, kind.children, strict=True)
    return "(" + ", ".join(shown(each, child) for each, child in parts) + ")"


def fit_text(text: str, kind: LogicalType) -> str:
    """A text cut, and for CHAR padded, to its length."""
    cut = text[: kinds.width(kind)]
    return cut.ljust(kinds.width(kind)) if kinds.root(kind) == "CHAR" else cut


def to_boolean(text: str) -> bool:
    """The BOOLEAN of a text."""
    word = text.lower()  # blanks are not taken away
    if word not in _TRUE | _FALSE:
        raise CastError(f"Cannot parse '{text}' as BOOLEAN.")
    return word in _TRUE


def to_whole(text: str, bits: int) -> int:
    """The integer of a text; digits behind a point are dropped."""
    found = re.fullmatch(r"([+-]?\d+)(?:\.\d*)?|[+-]?\.\d*", text.strip())
    if found is None or not re.search(r"\d", text):
        raise CastError(f"For input string: '{text}'. Invalid character found.")
    number = int(found[1] or 0)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise CastError(f"For input string: '{text}'. Overflow.")
    return number


def to_double(text: str) -> float:
    """The DOUBLE of a text."""
    found = parse_double(text)
    if found is None:
        raise CastError(f"For input string: '{text}'")
    return found


def round_decimal(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """A number with so many digits behind the point; None if it does not fit."""
    try:
        rounded = value.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    except InvalidOperation:
        return None
    return rounded if len(rounded.as_tuple().digits) <= precision or not rounded else None


def to_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """The DECIMAL of a text; NULL if it has too many digits."""
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text.strip()):
        raise CastError(f"cannot read {text!r} as a number")
    return round_decimal(Decimal(text.strip()), precision, scale)


def parse_date(text: str) -> int | None:
    """Days of ``2020-01-02``, ``2020-1-2``, ``2020`` or a timestamp; None if it is no date."""
    head = text.split(" ")[0] if text.find(" ") > 0 else text
    parts = head.strip().split("-")
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\d+", part.strip()) for part in parts):
        return None
    year, month, day = [int(part) for part in parts] + [1] * (3 - len(parts))
    try:
        return days_of(year, month, day) if 0 <= year <= 9999 else None
    except ValueError:
        return None


def parse_time(text: str) -> int | None:
    """Milliseconds of ``03:04:05.678``, ``3:4`` or ``3``; None if it is no time."""
    found = re.fullmatch(r"\s*(\d+)(?::(\d+)(?::(\d+)(?:\.(\d*))?)?)?\s*", text)
    if found is None:
        return None
    hour, minute, second = (int(each or 0) for each in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    millis = int((found[4] or "").ljust(3, "0")[:3])
    return (hour * 3600 + minute * 60 + second) * 1000 + millis


_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?"
)


def parse_timestamp(text: str, precision: int) -> int | None:
    """Nanoseconds of ``2020-1-2 03:04:05.678``; None if it is no timestamp."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(each or 0) for each in found.groups()[:6])
    if not 1 <= month <= 12 or not 1 <= day <= 31 or hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((found[7] or "").ljust(9, "0"))
    step: int = 10 ** (9 - precision)
    following = days_of(year + month // 12, month % 12 + 1, 1)
    # A day that the month does not have becomes its last one.
    days = min(days_of(year, month, 1) + day - 1, following - 1)
    seconds = hour * 3600 + minute * 60 + second
    return days * DAY_NANOS + seconds * 1_000_000_000 + fraction // step * step
