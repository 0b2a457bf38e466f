"""Texts of errors of the clients."""

from __future__ import annotations

import re

__all__ = ["told"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def told(error: BaseException) -> str:
    """Text of an exception, in one line and without colours.

    Examples
    --------
    >>> told(OSError("not found\\n   ↳ no such file"))
    'OSError: not found; no such file'
    """
    lines = (line.strip(" ↳") for line in _COLOURS.sub("", str(error)).splitlines())
    return f"{type(error).__name__}: {'; '.join(line for line in lines if line)}"
