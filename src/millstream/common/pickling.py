"""Pickling of records and state of no declared type."""

from __future__ import annotations

import io
import pickle
from typing import Any

_MAIN_MODULE = b"__main__"


def dumps(value: Any) -> bytes:
    """Pickle a value so that a worker can read it, wherever its class is defined.

    Classes of the user's main script do not exist under that name in a worker: plain pickle
    either fails there or writes a reference that leads nowhere. For those, cloudpickle writes the
    class itself. The bytes are searched for the module's name, which is one fast scan; text that
    happens to contain it costs time only.

    Examples
    --------
    >>> pickle.loads(dumps({1, 2}))
    {1, 2}
    """
    try:
        data = pickle.dumps(value, 5)
    except Exception:
        by_value = _by_value(value)
        if by_value is None:
            raise
        return by_value
    return (_by_value(value) or data) if _MAIN_MODULE in data else data


def dumps_apart(values: list[Any]) -> bytes:
    """Pickle values of records: what two of them share is not shared any more when they are read.

    Without the memo this is also quicker; values that contain themselves need it.

    Examples
    --------
    >>> shared = [1]
    >>> left, right = pickle.loads(dumps_apart([shared, shared]))
    >>> left is right
    False
    """
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 5)
    pickler.fast = True
    try:
        pickler.dump(values)
    except Exception:
        return dumps(values)
    data = buffer.getvalue()
    return dumps(values) if _MAIN_MODULE in data else data


def _by_value(value: Any) -> bytes | None:
    try:
        import cloudpickle  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    data: bytes = cloudpickle.dumps(value, 5)
    return data
