"""`String.format`."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from millstream.table.expressions.java.text import of_utf16, utf16

__all__ = ["java_format"]

_SPEC = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])|%")


class _FormatError(ValueError):
    pass


def java_format(pattern: str, values: tuple[Any, ...], bits: tuple[int, ...] = ()) -> str | None:
    """The values in a format; None if they do not fit it. `bits`: how long integers are.

    Examples
    --------
    >>> java_format("%05d|%-3s|%.1f", (7, "a", 0.25))
    '00007|a  |0.3'
    """
    following = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal following
        index, flags, width, precision, letter = match.groups()
        if letter is None:
            raise _FormatError("a percent sign alone")
        if letter in "%n":
            return _padded("%" if letter == "%" else "\n", flags, width)
        at = int(index) - 1 if index else following
        following += not index
        if at >= len(values):
            raise _FormatError("too few values")
        size = bits[at] if bits else 32
        text = _converted(values[at], letter, flags, precision, int(width or 0), size)
        return _padded(text.upper() if letter.isupper() else text, flags, width)

    try:
        return _SPEC.sub(replace, pattern)
    except _FormatError:
        return None


def _padded(text: str, flags: str, width: str | None) -> str:
    size = int(width or 0) + len(text) - len(utf16(text))
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _converted(
    value: Any, letter: str, flags: str, precision: str | None, width: int, bits: int
) -> str:
    kind = letter.lower()
    if kind == "b":
        return str(value is not None and value is not False).lower()
    if value is None or kind == "s":
        text = (
            "null"
            if value is None
            else str(value).lower()
            if isinstance(value, bool)
            else str(value)
        )
        return text[: int(precision)] if precision is not None else text
    if isinstance(value, bool):
        raise _FormatError("a BOOLEAN is no number")
    if kind in "dox" and isinstance(value, int):
        return _integer(value, kind, flags, width, bits)
    if kind == "g" and isinstance(value, float):
        return _general(value, flags, int(precision or 6) or 1, width)
    if kind in "fe" and isinstance(value, float):
        return _real(value, kind, flags, int(precision or 6) if precision != "0" else 0, width)
    if kind == "c" and isinstance(value, int | str) and (isinstance(value, int) or len(value) == 1):
        return _character(value) if isinstance(value, int) else value
    raise _FormatError(f"{letter} does not take {value!r}")


def _general(value: float, flags: str, digits: int, width: int) -> str:
    """A number of so many digits, with an exponent if it is large or small."""
    rounded = float(f"{abs(value):.{digits - 1}e}")
    if rounded and not 1e-4 <= rounded < 10.0**digits:
        return _real(value, "e", flags, digits - 1, width)
    whole = (
        len(str(int(rounded))) if rounded >= 1 or not rounded else Decimal(rounded).adjusted() + 1
    )
    return _real(value, "f", flags, digits - whole, width)


def _character(code: int) -> str:
    if not 0 <= code <= 0x10FFFF:
        raise _FormatError(f"{code} is no character")
    return of_utf16(utf16(chr(code)))


def _integer(value: int, kind: str, flags: str, width: int, bits: int) -> str:
    if kind != "d":
        return _signed(format(value & (1 << bits) - 1, kind), False, flags.replace("+", ""), width)
    digits = f"{abs(value):,}" if "," in flags else str(abs(value))
    return _signed(digits, value < 0, flags, width)


def _real(value: float | Decimal, kind: str, flags: str, places: int, width: int) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if kind == "e":
        text = f"{abs(number):.{places}e}" if number else f"{0.0:.{places}e}"
        mantissa, _, exponent = text.partition("e")
        digits = f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}"
    else:
        rounded = abs(number).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
        digits = f"{rounded:,f}" if "," in flags else f"{rounded:f}"
    return _signed(digits, number < 0, flags, width)


def _signed(digits: str, negative: bool, flags: str, width: int) -> str:
    if negative and "(" in flags:
        return f"({digits})"
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    return sign + digits.rjust(width - len(sign), "0") if "0" in flags else sign + digits
