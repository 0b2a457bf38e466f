"""Binarizer: numbers above a threshold become 1, others 0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from millstream.ml.common.param import HasInputCols, HasOutputCols
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.vectors import by_vector
from millstream.ml.linalg import SparseVector
from millstream.ml.param import FloatArrayParam, ParamValidators
from millstream.ml.stages.columns import same_count
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["Binarizer"]


class Binarizer(FeatureTransformer, HasInputCols, HasOutputCols):
    """Turn numbers, and the elements of vectors, into 1.0 if they are above a threshold, else 0.0.

    Each input column has its own threshold. Sparse vectors stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> binarizer = Binarizer(input_cols=["a", "b"], output_cols=["x", "y"], thresholds=[1.0, 2.5])
    >>> binarizer.transform(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([[0., 0.],
           [1., 1.]])
    """

    THRESHOLDS = FloatArrayParam(
        "thresholds",
        "The thresholds used to binarize continuous features, one for each input column.",
        None,
        ParamValidators.non_empty_array(),
    )

    def kinds(self, frame: Frame) -> dict[str, str]:
        return {
            made: "double" if frame.kind(name) in ("double", "int", "long", "boolean") else "vector"
            for name, made in zip(self.input_cols, self.output_cols, strict=True)
        }

    def work(self) -> Work:
        same_count(self, "input_cols", "output_cols", "thresholds")
        columns = zip(self.input_cols, self.output_cols, self.thresholds, strict=True)
        return partial(_binarized, columns=list(columns))


def _binarized(batch: Batch, columns: Sequence[tuple[str, str, float]]) -> Made:
    found = {made: _column(batch, name, above) for name, made, above in columns}
    return Made(found)


def _column(batch: Batch, name: str, threshold: float) -> Any:
    column = batch.column(name)
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return (batch.numbers(name) > threshold).astype(np.float64)
    if not isinstance(column, np.ndarray) and all(isinstance(v, (int, float)) for v in column):
        return [1.0 if value > threshold else 0.0 for value in column]

    def sparse(vector: SparseVector) -> SparseVector:
        places = vector.indices[vector.values > threshold]
        return SparseVector(vector.size(), places, np.ones(len(places)))

    return by_vector(column, name, lambda rows: (rows > threshold).astype(np.float64), sparse)
