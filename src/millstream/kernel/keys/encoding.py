"""The canonical encoding of keys: two keys are one key if, and only if, their encodings are equal.

It is the one rule for the identity of keys: of keyed streams, of map state, and of large state. Keys
that are equal in Python have equal encodings, and keys that are not have different ones, in every
process and version. Four things are decided here because Python leaves them open:

- All NaNs are one key, as in Java. (In Python NaN does not even equal itself.)
- A list equals a list with equal elements; it is never equal to a tuple.
- A time that a zone's clock shows twice, or skips, is one key per zone: Python ignores ``fold`` where
  both times have the same zone, and calls such times of different zones unequal.
- Enums and dataclasses go by the module and the qualified name of their class.

What compares by identity, or by an ``__eq__`` that nothing is known of, has no encoding.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum, Flag
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.types import Row, RowKind

NAN = b"f" + struct.pack("<d", float("nan"))
MOST_DIGITS = 100_000
"""Whole decimals beyond have no encoding: 1E+999999999 would fill the memory."""

Encoder = Callable[[Any], bytes]


class KeyEncodingError(MillstreamError):
    """A key that cannot be encoded: null, or of a type without a stable form."""


def encode_key(key: Any) -> bytes:
    """The canonical encoding of a key.

    Examples
    --------
    >>> encode_key(1) == encode_key(True) == encode_key(1.0)
    True
    >>> encode_key(("a", 1)) == encode_key(("a", 2))
    False
    """
    kind = key.__class__
    if kind is str:
        return b"s" + key.encode("utf-8", "surrogatepass")  # type: ignore[no-any-return]
    if kind is int:
        return b"i" + key.to_bytes((key.bit_length() >> 3) + 1, "little", signed=True)  # type: ignore[no-any-return]
    if kind is float:
        return _encode_float(key)
    if kind is tuple:
        return b"t" + _join(key)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        encoder = _encoder_of(kind, key)
        if len(_ENCODERS) < 10_000:
            _ENCODERS[kind] = encoder
    return encoder(key)


def _join(parts: Iterable[Any]) -> bytes:
    encoded = [encode_key(part) if part is not None else b"n" for part in parts]
    return b"".join(len(part).to_bytes(4, "little") + part for part in encoded)


# -- numbers ---------------------------------------------------------------------------------------


def _encode_float(key: float) -> bytes:
    if key != key:
        return NAN
    if key.is_integer():
        return encode_key(int(key))
    return b"f" + struct.pack("<d", key)


def _encode_decimal(key: Decimal) -> bytes:
    """Decimal(1) == 1 and Decimal("0.5") == 0.5 hold in Python, so their encodings agree too."""
    if key.is_nan():
        return NAN
    if key.is_infinite():
        return _encode_float(float(key))
    sign, digits, exponent = key.as_tuple()
    assert isinstance(exponent, int)
    if key and key.adjusted() > MOST_DIGITS:
        raise KeyEncodingError(
            "UNSUPPORTED_KEY",
            f"a decimal of {key.adjusted() + 1} digits cannot be a key: {key!r:.100}",
            hint=f"use decimals of at most {MOST_DIGITS} digits as keys",
        )
    if key == key.to_integral_value():
        return encode_key(int(key))
    # Not Decimal(float): a program's decimal context may forbid that.
    if Decimal.from_float(float(key)) == key:
        return _encode_float(float(key))
    # Not `normalize`, which rounds to the digits of the context.
    while digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    return b"m" + str(Decimal((sign, digits, exponent))).encode()


def _encode_numpy(key: Any) -> bytes:
    return encode_key(key.item())


# -- dates and times -------------------------------------------------------------------------------


def _encode_datetime(key: dt.datetime) -> bytes:
    if key != key:
        raise unsupported(key)  # pandas' NaT
    nanos = b".%d" % n if (n := getattr(key, "nanosecond", 0)) else b""
    plain = dt.datetime(
        key.year, key.month, key.day, key.hour, key.minute, key.second, key.microsecond
    )
    offset = key.utcoffset()
    if offset is None:
        return b"d" + plain.isoformat().encode() + nanos
    other = key.replace(fold=1 - key.fold).utcoffset()
    if other != offset:
        # The clock of the zone shows this time twice, or not at all.
        first, second = (key.replace(fold=fold).utcoffset() for fold in (0, 1))
        zone = getattr(key.tzinfo, "key", None) or type(key.tzinfo).__qualname__
        return b"w" + _join((plain.isoformat(), str(zone), first, second)) + nanos
    try:
        return b"d" + (plain - offset).isoformat().encode() + b"+00:00" + nanos
    except OverflowError:
        # Before the first year or after the last in UTC.
        return b"y" + _encode_timedelta(plain - dt.datetime.min - offset) + nanos


def _encode_time(key: dt.time) -> bytes:
    """Times of day compare by what they are in UTC, which may lie beyond a day's ends."""
    offset = key.utcoffset()
    seconds = key.hour * 3600 + key.minute * 60 + key.second
    if offset is None:
        return b"h" + f"{seconds}.{key.microsecond}".encode()
    return b"o" + f"{seconds - offset.days * 86_400 - offset.seconds}.{key.microsecond}".encode()


def _encode_timedelta(key: dt.timedelta) -> bytes:
    nanos = b".%d" % n if (n := getattr(key, "nanoseconds", 0)) else b""
    return b"d" + str(dt.timedelta(key.days, key.seconds, key.microseconds)).encode() + nanos


# -- what is made of parts -------------------------------------------------------------------------


def _encode_set(key: frozenset[Any]) -> bytes:
    return b"z" + b"".join(sorted({_join([part]) for part in key}))


def _encode_row(key: Row) -> bytes:
    """A row without names by its values, a row with names by both; the order does not count there."""
    kind = b"" if key._row_kind is RowKind.INSERT else b"%d" % key._row_kind.value
    if key._fields is None:
        return b"r" + kind + b":" + _join(key._values)
    named = key._by_name()
    return b"R" + kind + b":" + _join(part for pair in named for part in pair)


def _encode_enum(key: Enum) -> bytes:
    kind = type(key)
    member = key.value if isinstance(key, Flag) else key.name
    return b"e" + _join((kind.__module__, kind.__qualname__, member))


def _dataclass_encoder(kind: type) -> Encoder:
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    who = b"c" + _join((kind.__module__, kind.__qualname__))

    def encode(key: Any) -> bytes:
        return who + _join([getattr(key, name) for name in names])

    return encode


# -- by class --------------------------------------------------------------------------------------

_BUILT_IN: list[tuple[type, Encoder]] = [
    (str, lambda key: encode_key(str.__str__(key))),
    (int, lambda key: encode_key(int(key))),
    (float, lambda key: _encode_float(float(key))),
    (tuple, lambda key: b"t" + _join(key)),
    (list, lambda key: b"l" + _join(key)),
    (bytes, lambda key: b"b" + bytes(key)),
    (Decimal, _encode_decimal),
    (dt.datetime, _encode_datetime),
    (dt.date, lambda key: b"d" + dt.date(key.year, key.month, key.day).isoformat().encode()),
    (dt.time, _encode_time),
    (dt.timedelta, _encode_timedelta),
    (uuid.UUID, lambda key: b"u" + key.bytes),
    (frozenset, _encode_set),
    (Row, _encode_row),
]
"""What is encoded by its value, and so are its subclasses if they compare as it does."""

NUMPY_NUMBERS = frozenset({"bool", "bool_", "integer", "floating"})
"""Scalars of numpy that are encoded as their Python values; numpy itself may never be needed."""

_ENCODERS: dict[type, Encoder] = {}


def _encoder_of(kind: type, key: Any) -> Encoder:
    """The encoder of all keys of a class; refuses a class that has none."""
    if key is None:
        raise KeyEncodingError(
            "NULL_KEY",
            "the key of a record is None",
            hint="let the key selector return a value for every record, or filter such records out",
        )
    for base, encoder in _BUILT_IN:
        if issubclass(kind, base) and (_equality(kind) is _equality(base) or _is_known(kind)):
            return encoder
    if _is_known(kind) and NUMPY_NUMBERS & {base.__name__ for base in kind.__mro__}:
        # A wider float, a date or a span of time has no Python value that says all.
        if kind.__name__ not in ("longdouble", "timedelta64"):
            return _encode_numpy
    if issubclass(kind, Enum) and _equality(kind) is _equality(object):
        return _encode_enum
    if dataclasses.is_dataclass(kind) and _compares_by_fields(kind):
        return _dataclass_encoder(kind)
    raise unsupported(key)


def _equality(kind: type) -> Any:
    return kind.__eq__


def _is_known(kind: type) -> bool:
    """Whether a class compares by value though it has an ``__eq__`` of its own."""
    return kind.__module__.partition(".")[0] in ("numpy", "pandas")


def _compares_by_fields(kind: type) -> bool:
    """Whether ``__eq__`` does what ``dataclass`` makes for these fields, and values have a hash.

    An ``__eq__`` that is inherited may know fewer fields.
    """
    code = getattr(_equality(kind), "__code__", None)
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    wanted = _equality(dataclasses.make_dataclass("Reference", names)).__code__
    parts = ("co_code", "co_names", "co_consts")
    same = all(getattr(code, part, None) == getattr(wanted, part) for part in parts)
    return same and kind.__hash__ is not None


def unsupported(key: Any) -> KeyEncodingError:
    """The error of a key of a type that has no encoding."""
    kind = type(key)
    if dataclasses.is_dataclass(kind):
        return KeyEncodingError(
            "UNSUPPORTED_KEY",
            f"a {kind.__name__} cannot be a key: {key!r:.100}. Only dataclasses that compare by their "
            "fields and cannot be changed are keys",
            hint="declare it with @dataclass(frozen=True), without eq=False and without an __eq__ of "
            "its own, or key by a tuple of its fields",
        )
    return KeyEncodingError(
        "UNSUPPORTED_KEY",
        f"a value of type {kind.__name__} cannot be a key: {key!r:.100}",
        hint="use str, int, float, bool, bytes, date and time types, Decimal, Enum, UUID, "
        "or a tuple, list, Row or frozen dataclass of them",
    )
