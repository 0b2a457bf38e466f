"""Pickling of records and state of no declared type."""

from __future__ import annotations

import io
import pickle
from typing import Any

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import TypeMismatchError
from millstream.common.types import Row, rows_of, same_fields


def dumps(value: Any) -> bytes:
    """Pickle a value; what pickle cannot name, such as a class made in a function, goes by value.

    Classes of the user's main script are named like any other: the runtime takes care that a
    worker finds them under that name, so that records, state and functions agree on one class.

    Examples
    --------
    >>> pickle.loads(dumps({1, 2}))
    {1, 2}
    """
    try:
        return pickle.dumps(value, 5)
    except MemoryError:
        raise
    except Exception as error:
        by_value = _by_value(value)
        if by_value is None:
            raise _unpicklable(value, error) from error
        return by_value


def dumps_apart(values: list[Any]) -> bytes:
    """Pickle values of records: what two of them share is not shared any more when they are read.

    Without the memo this is also quicker; values that contain themselves need it.

    Examples
    --------
    >>> shared = [1]
    >>> left, right = loads_apart(dumps_apart([shared, shared]))
    >>> left is right
    False
    """
    # Without the memo each row would repeat the names of its class and its fields.
    rows = same_fields(values)
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 5)
    pickler.fast = True
    try:
        pickler.dump(values if rows is None else rows)
    except Exception:
        return dumps(values)
    return buffer.getvalue()


def loads_apart(data: bytes | memoryview) -> list[Any]:
    """The values that `dumps_apart` has pickled."""
    values: Any = pickle.loads(data)
    return values if values.__class__ is list else rows_of(*values)


def _by_value(value: Any) -> bytes | None:
    """The pickle of a value whose classes go with it; None if there is none."""
    try:
        return dumps_by_value(value)
    except MemoryError:
        raise
    except Exception:
        return None


def _unpicklable(value: Any, error: Exception) -> TypeMismatchError:
    """The error of a value that cannot be pickled. It names the part that is to blame."""
    part = _culprit(value, set())
    return TypeMismatchError(
        "UNPICKLABLE_VALUE",
        f"{part!r:.200}, of type {type(part).__name__}, cannot be pickled, so it can neither travel to "
        f"another operator nor be kept in state: {error}",
        hint="send or keep what it is made of, such as a name, a path or a list, and make the object "
        "where it is used, or in open()",
    )


def _culprit(value: Any, seen: set[int]) -> Any:
    """The innermost part of a value that cannot be pickled."""
    seen.add(id(value))
    for part in _parts(value):
        if id(part) not in seen and not _can_be_pickled(part):
            return _culprit(part, seen)
    return value


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset | Row):
        return list(value)
    return list(getattr(value, "__dict__", {}).values())


def _can_be_pickled(value: Any) -> bool:
    try:
        pickle.dumps(value, 5)
    except Exception:
        return _by_value(value) is not None
    return True
