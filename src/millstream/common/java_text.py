"""Numbers as Java writes them, which is how Flink's files and messages have them."""

from __future__ import annotations

import math
from decimal import Context, Decimal

__all__ = ["java_double", "java_float"]


def java_double(value: float) -> str:
    """Return a DOUBLE as Java's ``Double.toString`` writes it.

    Examples
    --------
    >>> [java_double(number) for number in (1.0, 0.001, 1e-4, 123456789.125, 1e7)]
    ['1.0', '0.001', '1.0E-4', '1.23456789125E8', '1.0E7']
    >>> java_double(float("nan")), java_double(float("-inf"))
    ('NaN', '-Infinity')
    """
    number = float(value)
    text = repr(number)
    # Between these borders Python writes the same.
    return text if 1e-3 <= abs(number) < 1e7 else _java(number, text)


def java_float(value: float) -> str:
    """Return a FLOAT, which has 32 bits, as Java's ``Float.toString`` writes it.

    Examples
    --------
    >>> java_float(0.1), java_float(0.10000000149011612), java_float(16777216.0)
    ('0.1', '0.1', '1.6777216E7')
    """
    import numpy as np  # late: importing the API loads no numpy

    # Its text has the digits that tell a number of 32 bits from its neighbours.
    single = np.float32(value)
    return _java(float(single), str(single))


_EXACT = Context(prec=50)
"""The precision of the program's own decimal context is of no concern here."""


def _java(value: float, shortest: str) -> str:
    """A number by its shortest digits: plain from 0.001 up to ten million, else with an exponent."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "-Infinity" if value < 0 else "Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    digits = Decimal(shortest)
    if 1e-3 <= abs(value) < 1e7:
        text = f"{digits:f}"
        return text if "." in text else f"{text}.0"
    if len(digits.normalize(_EXACT).as_tuple().digits) == 1:
        # Java writes two digits at least, the nearest two: 4.9E-324, where Python writes 5e-324.
        digits = Decimal(f"{Decimal.from_float(value):.1e}")
    mantissa, _, exponent = f"{digits.normalize(_EXACT):e}".partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}E{int(exponent)}"
