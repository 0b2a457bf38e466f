"""Copies of messages: tasks share no values, wherever they run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.pickling import dumps

__all__ = ["copied"]

_UNCHANGING = (pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table, pa.Scalar)
_ATOMS = (int, float, str, bytes, bool, type(None))


def copied(value: Any) -> Any:
    """A value that shares nothing with the given one that can be changed.

    Examples
    --------
    >>> sent = {"id": np.arange(3)}
    >>> received = copied(sent)
    >>> sent["id"][0] = 7
    >>> received["id"].tolist()
    [0, 1, 2]
    """
    kind = type(value)
    if kind in _ATOMS or isinstance(value, _UNCHANGING):
        return value
    if kind is np.ndarray and value.dtype.kind != "O":
        return value.copy()
    if kind is dict and all(type(key) is str for key in value):
        return {key: copied(item) for key, item in value.items()}
    return pickle.loads(dumps(value))
