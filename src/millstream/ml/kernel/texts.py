"""Texts as Java makes, splits and lowers them, so that results are those of flink-ml."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from millstream.ml.errors import ml_type_error, ml_value_error

__all__ = ["categories_of", "java_split", "lowered", "pattern_of", "text_of_number"]

DOTLESS = "\u0131"


def text_of_number(value: float) -> str:
    """A double as Java writes it.

    Examples
    --------
    >>> [text_of_number(each) for each in (2.0, 1e10, 0.0001, -12.5, float("inf"))]
    ['2.0', '1.0E10', '1.0E-4', '-12.5', 'Infinity']
    """
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{power}"


def category_of(value: Any, name: str) -> str | None:
    """A text or a number as the text of a category; None for None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_number(value)
    if isinstance(value, int):
        return str(value)
    message = f"column {name!r} has {value!r:.60}, it may have texts and numbers"
    raise ml_type_error("ML_COLUMN_KIND", message, "convert the column first")


def categories_of(values: list[Any], name: str) -> list[str | None]:
    """The same, for a column.

    Examples
    --------
    >>> categories_of(["a", 1, 2.5, None], "column")
    ['a', '1', '2.5', None]
    """
    return [category_of(each, name) for each in values]


@lru_cache(maxsize=64)
def pattern_of(pattern: str) -> re.Pattern[str]:
    """A regular expression; its classes know ASCII only, as those of Java."""
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        message = f"the pattern {pattern!r} is no regular expression: {error}"
        raise ml_value_error("ML_PARAM_VALUE", message, "see Python's module re") from None


def java_split(text: str, pattern: str) -> list[str]:
    """The parts between what a pattern matches; empty ones at the end are left out.

    Examples
    --------
    >>> java_split(" a  b ", r"\\s"), java_split("", r"\\s")
    (['', 'a', '', 'b'], [''])
    """
    found, start = [], 0
    for match in pattern_of(pattern).finditer(text):
        if match.end() == 0:
            continue  # Nothing stands before an empty match at the beginning.
        found.append(text[start : match.start()])
        start = match.end()
    if not found:
        return [text]
    found.append(text[start:])
    while found and not found[-1]:
        found.pop()
    return found


def lowered(text: str, locale: str) -> str:
    """A text in small letters; Turkish and Azeri have a dotless i.

    Examples
    --------
    >>> ascii(lowered("KIRIM", "tr_TR")), lowered("KIRIM", "en_US")
    ("'k\\\\u0131r\\\\u0131m'", 'kirim')
    """
    if locale.partition("_")[0] in ("tr", "az"):
        text = text.replace("\u0130", "i").replace("I", DOTLESS)
    return text.lower()
