"""Numbers as Java writes and reads them, and its wrap-around integers."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

__all__ = ["double_text", "float_text", "parse_double", "to_integer", "wrap"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?")


def double_text(value: float) -> str:
    """A DOUBLE as `Double.toString` writes it.

    Examples
    --------
    >>> [double_text(value) for value in (1.0, 1e7, 0.0001)]
    ['1.0', '1.0E7', '1.0E-4']
    """
    shortest = repr(abs(value))
    # Java writes two digits at least, and of those the nearest, which matters for the least numbers.
    one = (
        len(Decimal(shortest).normalize().as_tuple().digits) == 1
        if shortest[0].isdigit()
        else False
    )
    return _text(value, f"{abs(value):.1e}" if one else shortest)


def float_text(value: float) -> str:
    """A FLOAT as `Float.toString` writes it."""
    return _text(value, str(np.float32(abs(value))))


def _text(value: float, shortest: str) -> str:
    if value != value:
        return "NaN"
    sign = "-" if value < 0 or (value == 0 and str(value).startswith("-")) else ""
    if shortest == "inf":
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    _, digits, exponent = Decimal(shortest).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)  # digits before the point
    if -3 < point <= 7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{text}"
        whole = text[:point].ljust(point, "0")
        return f"{sign}{whole}.{text[point:] or '0'}"
    return f"{sign}{text[0]}.{text[1:] or '0'}E{point - 1}"


def parse_double(text: str) -> float | None:
    """The number that `Double.parseDouble` reads, or None."""
    trimmed = text.strip(" \t\n\r\x0b\f")
    if _NUMBER.fullmatch(trimmed):
        return float(trimmed.rstrip("dDfF"))
    words = {"NaN": float("nan"), "Infinity": float("inf")}
    unsigned = trimmed[1:] if trimmed[:1] in "+-" else trimmed
    if unsigned not in words:
        return None
    return -words[unsigned] if trimmed.startswith("-") else words[unsigned]


def wrap(value: int, bits: int) -> int:
    """An integer cut to so many bits, with sign.

    Examples
    --------
    >>> wrap(2**31, 32)
    -2147483648
    """
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def to_integer(value: float, bits: int) -> int:
    """A float as Java's cast makes an int (or, below 32 bits, a byte or a short of that int)."""
    if value != value:
        return 0
    most = (1 << (max(bits, 32) - 1)) - 1
    whole = max(-most - 1, min(most, int(value))) if abs(value) != float("inf") else 0
    if abs(value) == float("inf"):
        whole = most if value > 0 else -most - 1
    return wrap(whole, bits)
