"""Recognise functions that only read one field of their record."""

from __future__ import annotations

import dis
import types
from typing import Any

__all__ = ["field_read_by"]

_QUIET = frozenset({"RESUME", "CACHE", "NOP", "COPY_FREE_VARS"})


def field_read_by(function: Any) -> int | str | None:
    """Return the field that a function reads and returns, None if it does anything else.

    Examples
    --------
    >>> field_read_by(lambda record: record[2]), field_read_by(lambda record, _: record["ts"])
    (2, 'ts')
    >>> field_read_by(lambda record: record.key), field_read_by(lambda record: record[0] * 2)
    ('key', None)
    """
    field = getattr(function, "field", None)
    if isinstance(field, int | str) and not isinstance(field, bool):
        return field
    inner = getattr(function, "_function", None) or getattr(function, "extract_timestamp", None)
    if inner is not None:
        return field_read_by(inner)
    if isinstance(function, types.MethodType):
        return _field_in(function.__func__, 1)
    return _field_in(function, 0) if isinstance(function, types.FunctionType) else None


def _field_in(function: Any, argument: int) -> int | str | None:
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount <= argument or code.co_kwonlyargcount:
        return None
    record = code.co_varnames[argument]
    steps = [step for step in dis.get_instructions(code) if step.opname not in _QUIET]
    if not steps or not (steps[0].opname.startswith("LOAD_FAST") and steps[0].argval == record):
        return None
    match [(step.opname, step.argval, step.argrepr) for step in steps[1:]]:
        case [("LOAD_CONST" | "LOAD_SMALL_INT", field, _), subscript, ("RETURN_VALUE", _, _)]:
            is_read = subscript[0] == "BINARY_SUBSCR" or subscript[2] == "[]"
            return field if is_read and _is_field(field) else None
        case [("LOAD_ATTR", str() as name, _), ("RETURN_VALUE", _, _)]:
            return name
    return None


def _is_field(field: object) -> bool:
    return (type(field) is int and field >= 0) or isinstance(field, str)
