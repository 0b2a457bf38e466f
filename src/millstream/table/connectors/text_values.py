"""Values as texts in messages: how Flink's formats write times and numbers, and read them."""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from millstream.table.expressions.java.numbers import double_text, float_text, parse_double
from millstream.table.types.logical import DecimalType, LogicalType

__all__ = [
    "INTEGERS",
    "TIMESTAMPS",
    "fitting_decimal",
    "number_text",
    "parsed",
    "short_decimal",
    "time_text",
]

INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
TIMESTAMPS = ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE")
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROS = 6
"""The digits of a second that Python's times have."""
_DIGITS = Context(prec=40)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[+-]?\d{4,9}-\d\d-\d\d")
_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d{0,9})?")
_ISO_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,9})?)?")


def parsed(text: str, kind: LogicalType, *, iso: bool = False) -> Any:
    """The value that a text stands for. ``iso``: timestamps have a T between date and time.

    Examples
    --------
    >>> from millstream.table.types.parsing import parse_logical_type
    >>> parsed(" 12 ", parse_logical_type("INT"))
    12
    """
    root = kind.root
    if root in ("CHAR", "VARCHAR"):
        return text
    if root in INTEGERS:
        return fitting_integer(int(_written_as(_WHOLE, text)), root)
    if root in ("FLOAT", "DOUBLE"):
        found = parse_double(text)
        if found is None:
            raise ValueError(text)
        return found
    if isinstance(kind, DecimalType):
        return fitting_decimal(Decimal(_written_as(_DECIMAL, text)), kind)
    if root == "BOOLEAN":
        return text.strip().lower() == "true"
    if root == "DATE":
        return _date(text)
    if root == "TIME_WITHOUT_TIME_ZONE":
        return _time(text.removesuffix("Z"), iso=False)
    if root in TIMESTAMPS:
        found_at = _timestamp(text, root == TIMESTAMPS[1], iso)
        if kind.precision <= _MICROS:  # type: ignore[attr-defined]
            return found_at
        return _nanoseconds(found_at, text)
    raise TypeError(f"{kind} has no text")


def _written_as(form: re.Pattern[str], text: str) -> str:
    """A number without blanks around it, if it has the form: Python takes more than Java does."""
    found = text.strip()
    if not form.fullmatch(found):
        raise ValueError(f"no number: {text!r}")
    return found


def fitting_integer(value: int, root: str) -> int:
    """A whole number, if the type holds it."""
    limit = 1 << (INTEGERS[root] - 1)
    if not -limit <= value < limit:
        raise ValueError(f"{value} is too large")
    return value


def fitting_decimal(value: Decimal, kind: DecimalType) -> Decimal | None:
    """A decimal with the digits of its type; NULL if there are too many, as Flink has it."""
    found = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    digits = len(found.as_tuple().digits)
    return found if digits <= kind.precision else None


def _date(text: str) -> datetime.date:
    if not _DATE.fullmatch(text):
        raise ValueError(f"no date: {text!r}")
    return datetime.date.fromisoformat(text)


def _time(text: str, *, iso: bool) -> datetime.time:
    if not (_ISO_TIME if iso else _TIME).fullmatch(text):
        raise ValueError(f"no time: {text!r}")
    whole, _, fraction = text.partition(".")
    found = datetime.time.fromisoformat(whole)
    return found.replace(microsecond=int(fraction[:6].ljust(6, "0"))) if fraction else found


def _timestamp(text: str, local: bool, iso: bool) -> datetime.datetime:
    plain = text.removesuffix("Z") if local else text
    date, mark, time = plain.partition("T" if iso else " ")
    if not mark or (local and plain == text):
        form = "2020-01-31T23:59:59.999" if iso else "2020-01-31 23:59:59.999"
        raise ValueError(f"no timestamp of the form {form}{'Z' if local else ''}: {text!r}")
    zone = datetime.UTC if local else None
    return datetime.datetime.combine(_date(date), _time(time, iso=iso), zone)


def _nanoseconds(found: datetime.datetime, text: str) -> int:
    """Nanoseconds since 1970, which Arrow takes for a time: Python's times have no such digits."""
    micros = (found.replace(tzinfo=None) - _EPOCH) // datetime.timedelta(microseconds=1)
    digits = text.removesuffix("Z").partition(".")[2][_MICROS:]
    nanos = micros * 1_000 + int(digits.ljust(3, "0"))
    if not -(2**63) <= nanos < 2**63:
        raise ValueError(f"a time is too far from 1970 for 64 bits of nanoseconds: {text!r}")
    return nanos


def time_text(value: datetime.date | datetime.time, *, iso: bool = False) -> str:
    """A date, a time or a timestamp as a text; fractions of a second without zeros at their end."""
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(sep="T" if iso else " ")
    else:
        text = value.isoformat()
    text = text.rstrip("0") if "." in text else text
    return text + ("Z" if getattr(value, "tzinfo", None) is not None else "")


def short_decimal(value: Decimal) -> str:
    """A decimal without zeros at its end, as Flink's JSON has it: 100.00 is ``1E+2``.

    Examples
    --------
    >>> short_decimal(Decimal("1.500")), short_decimal(Decimal("100.00"))
    ('1.5', '1E+2')
    """
    return str(value.normalize(_DIGITS))


def number_text(value: Any, kind: LogicalType) -> str:
    """A number as Java writes it."""
    if kind.root == "FLOAT":
        return float_text(value)
    return double_text(value) if kind.root == "DOUBLE" else str(value)
