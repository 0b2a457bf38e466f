"""Copies of values that a function may change."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from millstream.common.types import Row, like

_ATOMS = frozenset({int, str, float, bool, bytes, type(None)})


def frozen(value: Any) -> Any:
    """The value as it is now: a copy of whatever the function might still change."""
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if kind is tuple:
        for part in value:
            if part.__class__ not in _ATOMS:
                return tuple([frozen(part) for part in value])
        return value
    if kind is list:
        return [frozen(part) for part in value]
    if kind is dict:
        return {key: frozen(part) for key, part in value.items()}
    if kind is Row:
        return like(value, [p if p.__class__ in _ATOMS else frozen(p) for p in value])
    return deepcopy(value)
