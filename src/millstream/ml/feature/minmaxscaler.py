"""MinMaxScaler: columns between two bounds."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import merged_statistics, statistics_of
from millstream.ml.kernel.vectors import require_size
from millstream.ml.linalg import DenseVector
from millstream.ml.param import FloatParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["MinMaxScaler", "MinMaxScalerModel"]

TOLERANCE = 1e-5


class _Params(HasInputCol, HasOutputCol):
    MIN = FloatParam("min", "Lower bound of the output feature range.", 0.0)
    MAX = FloatParam("max", "Upper bound of the output feature range.", 1.0)


class MinMaxScalerModel(FeatureModel, _Params):
    """The model of `MinMaxScaler`: the smallest and the largest value of each element."""

    DATA: ClassVar[dict[str, str]] = {"minVector": "vector", "maxVector": "vector"}

    def work(self) -> Work:
        (row,) = self.rows
        low, high = row["minVector"].to_array(), row["maxVector"].to_array()
        constant = np.abs(high - low) < TOLERANCE
        width = np.where(constant, 1.0, high - low)
        scale = np.where(constant, 0.0, (self.max - self.min) / width)
        shift = np.where(constant, (self.max + self.min) / 2, self.min - low * scale)
        return partial(
            _scaled, column=self.input_col, made=self.output_col, scale=scale, shift=shift
        )


def _scaled(
    batch: Batch, column: str, made: str, scale: NDArray[np.float64], shift: NDArray[np.float64]
) -> Made:
    require_size(batch.column(column), column, len(scale), "MinMaxScaler")
    return Made({made: batch.matrix(column) * scale + shift})


class MinMaxScaler(Learner, _Params):
    """Scale each element of vectors so that the data lie between ``min`` and ``max``.

    An element that does not vary becomes the middle of the bounds.

    Examples
    --------
    >>> scaler = MinMaxScaler().set_max(10.0)
    >>> scaler.fit([[0.0], [200.0]]).transform([[50.0], [150.0]])
    array([[2.5],
           [7.5]])
    """

    MODEL = MinMaxScalerModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        parts = frame.reduce(lambda batch: statistics_of(batch.finite(column)), [column])
        found = merged_statistics(parts, "MinMaxScaler")
        return [{"minVector": DenseVector(found.low), "maxVector": DenseVector(found.high)}]
