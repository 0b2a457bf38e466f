"""Recognise functions that only read fields of their record."""

from __future__ import annotations

import dis
import types
from typing import Any

__all__ = ["field_read_by", "only_reads_fields"]

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


def only_reads_fields(function: Any) -> bool:
    """Return whether a function returns a field of its record, or a tuple of fields.

    Called again, it returns the same and costs next to nothing.

    Examples
    --------
    >>> only_reads_fields(lambda record: record[2])
    True
    >>> only_reads_fields(lambda record: (record[0], record.key))
    True
    >>> only_reads_fields(lambda record: (record[0], len(record)))
    False
    """
    if field_read_by(function) is not None:
        return True
    code = function.__code__ if isinstance(function, types.FunctionType) else None
    if code is None or code.co_argcount != 1 or code.co_kwonlyargcount:
        return False
    *reads, build, last = _steps(code) or [None, None]
    if build is None or (build.opname, last.opname) != ("BUILD_TUPLE", "RETURN_VALUE"):
        return False
    starts = [place for place, step in enumerate(reads) if _loads(step, code.co_varnames[0])]
    parts = [reads[i:j] for i, j in zip(starts, [*starts[1:], len(reads)], strict=True)]
    is_all = starts[:1] == [0] and len(parts) == build.argval
    return is_all and all(_field_of(part[1:]) is not None for part in parts)


def _field_in(function: Any, argument: int) -> int | str | None:
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount <= argument or code.co_kwonlyargcount:
        return None
    first, *rest = _steps(code) or [None]
    if first is None or not _loads(first, code.co_varnames[argument]):
        return None
    return _field_of(rest[:-1]) if rest and rest[-1].opname == "RETURN_VALUE" else None


def _steps(code: types.CodeType) -> list[Any]:
    return [step for step in dis.get_instructions(code) if step.opname not in _QUIET]


def _loads(step: Any, name: str) -> bool:
    return bool(step.opname.startswith("LOAD_FAST") and step.argval == name)


def _field_of(steps: list[Any]) -> int | str | None:
    """The field that is read of what has been loaded."""
    match [(step.opname, step.argval, step.argrepr) for step in steps]:
        case [("LOAD_CONST" | "LOAD_SMALL_INT", field, _), subscript]:
            is_read = subscript[0] == "BINARY_SUBSCR" or subscript[2] == "[]"
            return field if is_read and _is_field(field) else None
        case [("LOAD_ATTR", str() as name, _)]:
            return name
    return None


def _is_field(field: object) -> bool:
    return (type(field) is int and field >= 0) or isinstance(field, str)
