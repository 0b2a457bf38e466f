"""Recognise functions that only read fields of their record."""

from __future__ import annotations

import dis
import operator
import types
from functools import lru_cache
from typing import Any

__all__ = ["Fields", "field_read_by", "fields_read_by", "fields_returned_by"]

Fields = int | str | tuple[int | str, ...]
"""A field, by position or name; or the tuple of several fields."""

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
    fields = fields_read_by(function)
    return None if isinstance(fields, tuple) else fields


def fields_read_by(function: Any) -> Fields | None:
    """Return the field that a function returns, or the fields of which it returns the tuple.

    Examples
    --------
    >>> fields_read_by(lambda record: (record.user, record["item"]))
    ('user', 'item')
    >>> fields_read_by(operator.itemgetter(0, 2)), fields_read_by(lambda record: record[1])
    ((0, 2), 1)
    >>> fields_read_by(lambda record: (record[0], 1)), fields_read_by(lambda record: [record[0]])
    (None, None)
    """
    # In a class of the program's, such attributes may mean anything.
    if type(function).__module__.partition(".")[0] == __name__.partition(".")[0]:
        declared = getattr(function, "field", None)
        if declared is None:
            declared = getattr(function, "key_fields", None)
        if _is_field(declared):
            return declared
        if isinstance(declared, tuple) and all(map(_is_field, declared)):
            return declared
    if isinstance(function, operator.itemgetter | operator.attrgetter):
        return _of_getter(function)
    inner = getattr(function, "_function", None) or getattr(function, "extract_timestamp", None)
    if inner is not None:
        return fields_read_by(inner)
    if isinstance(function, types.MethodType):
        return _fields_in(function.__func__, 1)
    return _fields_in(function, 0) if isinstance(function, types.FunctionType) else None


def fields_returned_by(function: Any) -> Fields | None:
    """Return the same of a map or filter, which says nothing of itself.

    Examples
    --------
    >>> fields_returned_by(lambda record: record[0])
    0
    """
    is_plain = isinstance(function, types.FunctionType | types.MethodType)
    is_getter = isinstance(function, operator.itemgetter | operator.attrgetter)
    return fields_read_by(function) if is_plain or is_getter else None


def _of_getter(getter: Any) -> Fields | None:
    _, fields = getter.__reduce__()
    if not all(map(_is_field, fields)) or any("." in str(field) for field in fields):
        return None
    return fields[0] if len(fields) == 1 else tuple(fields)


def _fields_in(function: Any, argument: int) -> Fields | None:
    code = getattr(function, "__code__", None)
    return None if code is None else _fields_in_code(code, argument)


# Plans are made several times of the same functions, or of their copies, whose code is equal.
@lru_cache(maxsize=1_000)
def _fields_in_code(code: types.CodeType, argument: int) -> Fields | None:
    if code.co_argcount <= argument or code.co_kwonlyargcount:
        return None
    record = code.co_varnames[argument]
    steps = [step for step in dis.get_instructions(code) if step.opname not in _QUIET]
    fields: list[int | str] = []
    while (read := _read(steps, record)) is not None:
        field, count = read
        fields.append(field)
        del steps[:count]
    match [(step.opname, step.argval) for step in steps]:
        case [("RETURN_VALUE", _)] if len(fields) == 1:
            return fields[0]
        case [("BUILD_TUPLE", number), ("RETURN_VALUE", _)] if fields and number == len(fields):
            return tuple(fields)
    return None


def _read(steps: list[dis.Instruction], record: str) -> tuple[int | str, int] | None:
    """The field that the next instructions read, and how many they are."""
    if not steps or not steps[0].opname.startswith("LOAD_FAST") or steps[0].argval != record:
        return None
    match [(step.opname, step.argval, step.argrepr) for step in steps[1:3]]:
        case [("LOAD_CONST" | "LOAD_SMALL_INT", field, _), subscript]:
            is_read = subscript[0] == "BINARY_SUBSCR" or subscript[2] == "[]"
            return (field, 3) if is_read and _is_field(field) else None
        case [("LOAD_ATTR", str() as name, _), *_]:
            return name, 2
    return None


def _is_field(field: object) -> bool:
    return (type(field) is int and field >= 0) or isinstance(field, str)
