"""Numbers of bytes as users write them."""

from __future__ import annotations

import re

__all__ = ["bytes_of"]

_SIZE = re.compile(r"(\d+)\s*(b|kb|mb|gb|k|m|g)?", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20}
_UNITS |= {"g": 1 << 30, "gb": 1 << 30}


def bytes_of(text: str) -> int | None:
    """The number of bytes that a text says; None if it says none, or zero.

    Examples
    --------
    >>> bytes_of("64 mb"), bytes_of("1024"), bytes_of("2 GB"), bytes_of("0"), bytes_of("much")
    (67108864, 1024, 2147483648, None, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    return int(match[1]) * _UNITS[(match[2] or "").lower()] or None
