"""JSON as Jackson reads and writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

__all__ = ["JsonError", "json_object", "json_quote", "json_text", "parse_json"]

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda name: _refuse(name))
_BLANK = " \t\n\r"


class JsonError(ValueError):
    """A text that is not JSON, or a path that cannot be followed."""


def _refuse(name: str) -> Any:
    raise ValueError(name)


def parse_json(text: str, *, trailing: bool = True) -> Any:
    """The value of a JSON text; numbers with a point become Decimals.

    With `trailing`, what follows behind the value is not looked at.
    """
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise JsonError(f"not JSON: {text[:80]!r}") from None
    rest = text[end:].strip(_BLANK)
    if rest and not trailing:
        raise JsonError(f"more than one JSON value: {text[:80]!r}")
    if rest and not isinstance(value, dict | list | str) and re.match(r"[^\s,\]}]", text[end:]):
        raise JsonError(f"not JSON: {text[:80]!r}")  # a number or word that goes on, such as 01
    return value


def json_quote(text: str) -> str:
    """A text as a JSON string."""
    out = [
        _ESCAPES.get(each) or (f"\\u{ord(each):04X}" if ord(each) < 32 else each) for each in text
    ]
    return '"' + "".join(out) + '"'


def json_object(members: Mapping[str, str]) -> str:
    """A JSON object of values that are JSON already, in the order of the keys: so Flink writes it.

    Examples
    --------
    >>> json_object({"b": "1", "a": "null"})
    '{"a":null,"b":1}'
    """
    return "{" + ",".join(f"{json_quote(key)}:{members[key]}" for key in sorted(members)) + "}"


def json_text(value: Any) -> str:
    """A value as compact JSON.

    Examples
    --------
    >>> json_text({"a": [1, None, Decimal("1.50")]})
    '{"a":[1,null,1.50]}'
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json_quote(value)
    if isinstance(value, dict):
        return json_object({key: json_text(each) for key, each in value.items()})
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return str(value)
