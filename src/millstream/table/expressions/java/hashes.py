"""`hashCode` of Java's values."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from millstream.table.expressions.java.numbers import wrap
from millstream.table.expressions.java.text import utf16

__all__ = ["number_hash", "text_hash"]


def text_hash(text: str) -> int:
    """The hash of a String.

    Examples
    --------
    >>> text_hash("abc")
    96354
    """
    found = 0
    for unit in utf16(text):
        found = found * 31 + ord(unit) & 0xFFFFFFFF
    return wrap(found, 32)


def number_hash(value: Any, root: str) -> int:
    """The hash of a number, BOOLEAN or DATE whose type has this root.

    Examples
    --------
    >>> number_hash(Decimal("12.345"), "DECIMAL"), number_hash(True, "BOOLEAN")
    (382698, 1231)
    """
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, Decimal):
        return _decimal_hash(value)
    if root == "FLOAT":
        return int(struct.unpack(">i", struct.pack(">f", value))[0])
    if root == "DOUBLE":
        value = struct.unpack(">q", struct.pack(">d", value))[0]
    if root in ("DOUBLE", "BIGINT"):
        return wrap((value ^ ((value & 0xFFFFFFFFFFFFFFFF) >> 32)) & 0xFFFFFFFF, 32)
    return int(value)


def _decimal_hash(value: Decimal) -> int:
    sign, digits, exponent = value.as_tuple()
    rest, found = int("".join(map(str, digits))), 0
    words = [rest >> shift & 0xFFFFFFFF for shift in range(0, max(rest.bit_length(), 1), 32)]
    for word in reversed(words):
        found = found * 31 + word
    return wrap((-found if sign else found) * 31 - int(exponent), 32)
