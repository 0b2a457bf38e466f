"""Texts of users in a picture."""

from __future__ import annotations

import re
from html import escape

__all__ = ["written"]

# Characters that XML does not have, not even escaped: a file with one of them is no picture.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def written(text: str) -> str:
    """A text as XML has it, with a mark in place of the characters that XML forbids.

    Examples
    --------
    >>> written("a<b"), written("a\\0b")
    ('a&lt;b', 'a\ufffdb')
    """
    return escape(_FORBIDDEN.sub("\ufffd", text))
