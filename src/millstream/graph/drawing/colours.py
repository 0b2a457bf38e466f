"""Colours of vertices: by group, by amount, or one for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import Any

__all__ = ["INK", "LINE", "PAPER", "QUIET", "colours_of", "is_dark"]

PAPER = "#ffffff"
INK = "#27313f"
QUIET = "#5d6b7d"
LINE = "#9aa6b5"
_ONE = "#3b6fa5"
_ALONE = "#8593a5"
_GROUPS = (
    "#3b6fa5",
    "#e08a2e",
    "#3f9b72",
    "#c94f5a",
    "#7d64b0",
    "#8c6b4f",
    "#d077a8",
    "#5f7285",
    "#a9a13c",
    "#3aa3b5",
)
_LEAST, _MOST = (221, 232, 243), (27, 72, 122)


def colours_of(values: Sequence[Any]) -> list[str]:
    """A colour for each value.

    Floating-point numbers go from light to dark. Other values that several vertices share, such as
    labels of communities, are groups with a colour each. Without groups there is one colour.

    Examples
    --------
    >>> colours_of(["x", "y", "x", "y", "z"])
    ['#3b6fa5', '#e08a2e', '#3b6fa5', '#e08a2e', '#8593a5']
    >>> colours_of([0.0, 1.0])
    ['#dde8f3', '#1b487a']
    >>> colours_of([None, None])
    ['#3b6fa5', '#3b6fa5']
    """
    if values and all(isinstance(value, float) for value in values):
        return _shades(values)
    texts = [repr(value) for value in values]
    sizes = Counter(texts)
    groups = [text for text, size in sizes.items() if size > 1]
    if 0 < len(groups) <= len(_GROUPS) and len(sizes) > 1:
        colours = dict(zip(groups, _GROUPS, strict=False))
        return [colours.get(text, _ALONE) for text in texts]
    return [_ONE for _ in values]


def _shades(values: Sequence[float]) -> list[str]:
    """Shades of amounts; infinity and what is not a number stand apart."""
    finite = [value for value in values if isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if low == high:
        return [_ONE if isfinite(value) else _ALONE for value in values]
    span = high / 2 - low / 2
    return [_shade((value / 2 - low / 2) / span) if isfinite(value) else _ALONE for value in values]


def _shade(part: float) -> str:
    mixed = (round(a + (b - a) * part) for a, b in zip(_LEAST, _MOST, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def is_dark(colour: str) -> bool:
    """Whether light letters are easier to read on a colour than dark ones.

    Examples
    --------
    >>> is_dark("#1b487a"), is_dark("#dde8f3")
    (True, False)
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 160
