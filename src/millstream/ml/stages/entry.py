"""Which kind of data a program gives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.ml.errors import ml_type_error, ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.frames.local import ArrayFrame, ArrowFrame, PandasFrame
from millstream.ml.kernel.batch import Batch
from millstream.ml.labeled import LabeledVector
from millstream.ml.linalg import Vector

__all__ = ["frame_of", "home_of", "is_array_like"]


def is_array_like(data: Any) -> bool:
    """Whether data have no names of columns: numpy arrays and sequences."""
    return isinstance(data, (np.ndarray, list, tuple, range)) or _sparse_matrix(data)


def _sparse_matrix(data: Any) -> bool:
    return type(data).__module__.startswith("scipy.sparse")


def _loaded(data: Any, module: str, name: str) -> bool:
    """Whether data are of a class, without importing its module."""
    found = sys.modules.get(module)
    return found is not None and isinstance(data, getattr(found, name, ()))


def frame_of(
    data: Any,
    features: Sequence[str] = ("features",),
    y: Any = None,
    label: str | None = None,
    numbers: bool = True,
) -> Frame:
    """Data behind the methods of a frame.

    Arrays become the columns ``features``, and ``y`` the column ``label``. ``numbers``: the features are
    vectors, so that the numeric columns of a frame of pandas can stand for them.

    Examples
    --------
    >>> frame_of(np.eye(2), ["x"], [0, 1], "y").names
    ['x', 'y']
    """
    if isinstance(data, Frame):
        return data
    if is_array_like(data):
        return _of_arrays(data, features, y, label)
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return ArrowFrame(data if isinstance(data, pa.Table) else pa.Table.from_batches([data]))
    if _loaded(data, "pandas", "DataFrame"):
        return _of_pandas(data, features, y, label, numbers)
    if _loaded(data, "pyspark.sql", "DataFrame"):
        from millstream.ml.spark.dataframes import DataFrameFrame

        return DataFrameFrame(data)
    return _of_flink(data, features, label)


def home_of(environment: Any) -> Frame | None:
    """The maker of data in an environment of tables; None for other environments."""
    if _loaded(environment, "millstream.table.table_environment", "StreamTableEnvironment"):
        from millstream.ml.frames.tables import TableHome

        return TableHome(environment)
    return None


def _of_flink(data: Any, features: Sequence[str], label: str | None) -> Frame:
    if _loaded(data, "millstream.table.table", "Table"):
        from millstream.ml.frames.tables import TableFrame

        return TableFrame(data)
    if _loaded(data, "millstream.datastream.streams.data_stream", "DataStream"):
        from millstream.ml.frames.tables import StreamFrame

        return StreamFrame(data)
    if _loaded(data, "millstream.dataset.data_set", "DataSet"):
        from millstream.ml.frames.datasets import DataSetFrame

        return DataSetFrame.of(data, features, label)
    raise ml_type_error(
        "ML_INPUT_KIND",
        f"a {type(data).__name__} is no data for machine learning",
        "give a Table, DataSet, DataFrame, or a frame or array of pandas, Arrow or numpy",
    )


def _of_arrays(data: Any, features: Sequence[str], y: Any, label: str | None) -> Frame:
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], LabeledVector):
        y = [each.label for each in data] if y is None else y
        data = [each.vector for each in data]
    found = _array(data.toarray() if _sparse_matrix(data) else data)
    columns: dict[str, Any] = {}
    if len(features) == 1:
        columns[features[0]] = found
    elif isinstance(found, np.ndarray) and found.ndim == 2 and found.shape[1] == len(features):
        columns = {name: _narrow(found[:, at]) for at, name in enumerate(features)}
    else:
        message = f"the stage reads {len(features)} columns, and the array has another number"
        raise ml_value_error("ML_VECTOR_SIZE", message, f"give {len(features)} columns")
    rows = len(found)
    if y is not None and label is not None:
        labels = _narrow(np.asarray(y).reshape(-1))
        if len(labels) != rows:
            message = f"there are {rows} rows and {len(labels)} labels"
            raise ml_value_error("ML_VECTOR_SIZE", message, "give one label for each row")
        columns[label] = labels
    return ArrayFrame(Batch(columns, rows))


def _array(data: Any) -> Any:
    if isinstance(data, np.ndarray):
        if data.ndim > 2:
            message = f"the data have {data.ndim} dimensions"
            raise ml_value_error("ML_VECTOR_SIZE", message, "give at most two")
        return _narrow(data)
    values = list(data)
    if values and isinstance(values[0], (list, tuple, np.ndarray)):
        if not isinstance(values[0], np.ndarray) and values[0] and isinstance(values[0][0], str):
            return values
        lengths = {len(each) for each in values}
        if len(lengths) > 1:
            message = f"the rows have lengths {', '.join(map(str, sorted(lengths)))}"
            raise ml_value_error("ML_VECTOR_SIZE", message, "give rows of the same length")
        return np.asarray(values)
    if values and not isinstance(values[0], (Vector, str, type(None))):
        return np.asarray(values)
    return values


def _narrow(array: Any) -> Any:
    """Arrays of numbers stay arrays, others are lists."""
    return array if array.dtype.kind in "fiub" else array.tolist()


def _of_pandas(
    data: Any, features: Sequence[str], y: Any, label: str | None, numbers: bool
) -> Frame:
    frame = data
    if y is not None and label is not None:
        frame = frame.assign(**{label: np.asarray(y).reshape(-1)})
    if numbers and len(features) == 1 and features[0] not in frame.columns:
        chosen = [
            name for name in frame.columns if name != label and frame[name].dtype.kind in "fiub"
        ]
        if chosen:
            frame = frame.assign(**{features[0]: list(frame[chosen].to_numpy(np.float64))})
    return PandasFrame(frame)
