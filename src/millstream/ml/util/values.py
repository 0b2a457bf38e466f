"""Values of parameters and of model data as JSON, without loss and without code in them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream.ml.errors import ml_error
from millstream.ml.linalg import DenseMatrix, DenseVector, SparseVector

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> Any:
    """A value as JSON has it; vectors, arrays, tuples and dicts are marked.

    Examples
    --------
    >>> to_json({"a": (1, DenseVector([2]))})
    {'dict': [['a', {'tuple': [1, {'dense': [2.0]}]}]]}
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, DenseVector):
        return {"dense": value.to_array().tolist()}
    if isinstance(value, SparseVector):
        return {"sparse": [value.size(), value.indices.tolist(), value.values.tolist()]}
    if isinstance(value, DenseMatrix):
        elements = value.to_array().ravel("F").tolist()
        return {"matrix": [value.num_rows(), value.num_cols(), elements]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": [value.dtype.str, list(value.shape), data]}
    if isinstance(value, (list, np.ndarray)):
        return [to_json(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(each) for each in value]}
    if isinstance(value, Mapping):
        return {"dict": [[to_json(key), to_json(each)] for key, each in value.items()]}
    raise ml_error("ML_SAVE_FORMAT", f"a {type(value).__name__} cannot be saved: {value!r:.60}")


def from_json(data: Any) -> Any:
    """The value that `to_json` described."""
    if isinstance(data, list):
        return [from_json(each) for each in data]
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "dense":
        return DenseVector(content)
    if kind == "sparse":
        return SparseVector(*content)
    if kind == "matrix":
        return DenseMatrix(*content)
    if kind == "array":
        dtype, shape, text = content
        return np.frombuffer(base64.b64decode(text), dtype).reshape(shape).copy()
    if kind == "tuple":
        return tuple(from_json(each) for each in content)
    return {from_json(key): from_json(each) for key, each in content}
