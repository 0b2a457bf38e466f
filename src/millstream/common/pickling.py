"""Pickling of records and state of no declared type."""

from __future__ import annotations

import io
import pickle
from typing import Any

from millstream.common.types import rows_of, same_fields


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
    except Exception:
        by_value = _by_value(value)
        if by_value is None:
            raise
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
    # Without the memo each row would name its class and its fields anew.
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
    try:
        import cloudpickle  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    data: bytes = cloudpickle.dumps(value, 5)
    return data
