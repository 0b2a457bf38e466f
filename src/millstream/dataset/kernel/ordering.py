"""Bytes that sort as the values do: for sorts of which Spark knows no type."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from millstream.common.errors import TypeMismatchError, short_repr
from millstream.dataset.plan.keys import SortKey

__all__ = ["ordered", "sorted_by"]

_NONE, _NUMBER, _TEXT, _BYTES, _DATE, _TIME, _TUPLE = (bytes([n]) for n in range(1, 8))
_END = b"\0\0"
_PARTS = 10**40


def ordered(value: Any) -> bytes:
    """Bytes whose order is that of the values; None comes first, NaN after all numbers.

    Values of different classes have an order, too: numbers before texts, and so on.

    Examples
    --------
    >>> values = [3, -1, 2.5, 2**70, None]
    >>> sorted(values, key=ordered)
    [None, -1, 2.5, 3, 1180591620717411303424]
    """
    if value is None:
        return _NONE
    if isinstance(value, str):
        return _TEXT + _escaped(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return _BYTES + _escaped(value)
    if isinstance(value, bool | int | float | Decimal):
        return _number(value)
    if isinstance(value, dt.datetime):
        plain = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        return _DATE + plain.isoformat(timespec="microseconds").encode()
    if isinstance(value, dt.date):
        return _DATE + value.isoformat().encode()
    if isinstance(value, dt.time):
        return _TIME + value.isoformat(timespec="microseconds").encode()
    if isinstance(value, tuple | list):
        return _TUPLE + b"".join(map(ordered, value)) + b"\0"
    if hasattr(value, "item"):
        return ordered(value.item())  # of numpy
    raise TypeMismatchError(
        "DATASET_ORDER",
        f"values of {type(value).__name__} cannot be sorted: {short_repr(value)}",
        hint="sort by numbers, texts, bytes, dates, times, or tuples of them",
    )


def _escaped(data: bytes) -> bytes:
    return data.replace(b"\0", b"\0\xff") + _END


def _number(value: float | Decimal) -> bytes:
    try:
        near = float(value)
    except OverflowError:
        raise TypeMismatchError(
            "DATASET_ORDER",
            "whole numbers beyond 1e308 cannot be sorted",
            hint="sort by a text or a tuple that stands for them",
        ) from None
    if near != near:
        return _NUMBER + b"\xff" * 8
    (bits,) = struct.unpack(">Q", struct.pack(">d", near + 0.0))
    bits ^= 0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63
    # The nearest float comes first; what is left tells those apart that share it.
    rest = 0
    if not isinstance(value, float) and not math.isinf(near):
        rest = int((Fraction(value) - Fraction(near)) * _PARTS)
    size = (rest.bit_length() + 8) // 8
    sign = 0x8000 + size if rest >= 0 else 0x8000 - size
    return _NUMBER + struct.pack(">QH", bits, sign) + rest.to_bytes(size, "big", signed=True)


def sorted_by(records: list[Any], keys: tuple[SortKey, ...]) -> list[Any]:
    """Records in the order of several keys."""
    for key in reversed(keys):
        records = sorted(records, key=rank(key), reverse=key.descending)
    return records


def rank(key: SortKey) -> Callable[[Any], bytes]:
    """The value that a record is sorted by."""
    extract = key.keys.extractor()
    return lambda record: ordered(extract(record))
