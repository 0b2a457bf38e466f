"""RobustScaler: columns scaled by their quantiles."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasInputCol, HasOutputCol, HasRelativeError
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.quantiles import quantiles_of, summary_of
from millstream.ml.kernel.statistics import first_of, same_length
from millstream.ml.kernel.vectors import require_size
from millstream.ml.linalg import DenseVector
from millstream.ml.param import BooleanParam, FloatParam, ParamValidators
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["RobustScaler", "RobustScalerModel"]

_inside = ParamValidators.in_range(0.0, 1.0, False, False)


class _ModelParams(HasInputCol, HasOutputCol):
    WITH_CENTERING = BooleanParam(
        "with_centering", "Whether to center the data with median before scaling.", False
    )
    WITH_SCALING = BooleanParam(
        "with_scaling", "Whether to scale the data to quantile range.", True
    )


class RobustScalerModel(FeatureModel, _ModelParams):
    """The model of `RobustScaler`: the median and the range between quantiles of each element."""

    DATA: ClassVar[dict[str, str]] = {"medians": "vector", "ranges": "vector"}

    def work(self) -> Work:
        (row,) = self.rows
        medians, ranges = row["medians"].to_array(), row["ranges"].to_array()
        scale = np.divide(1.0, ranges, out=np.zeros_like(ranges), where=ranges != 0)
        return partial(
            _scaled,
            column=self.input_col,
            made=self.output_col,
            shift=medians if self.with_centering else np.zeros_like(medians),
            scale=scale if self.with_scaling else np.ones_like(scale),
        )


def _scaled(
    batch: Batch, column: str, made: str, shift: NDArray[np.float64], scale: NDArray[np.float64]
) -> Made:
    require_size(batch.column(column), column, len(scale), "RobustScaler")
    return Made({made: (batch.matrix(column) - shift) * scale})


class RobustScaler(Learner, HasRelativeError, _ModelParams):
    """Scale each element of vectors by the range between two quantiles, which outliers do not move.

    NaN elements are left out of medians and ranges. Data of more than ``2 / relative_error`` rows have
    quantiles whose ranks may be wrong by ``relative_error``; 0.0 makes them exact.

    Examples
    --------
    >>> scaler = RobustScaler(with_centering=True)
    >>> scaler.fit([[0.0], [1.0], [2.0], [3.0], [1000.0]]).transform([[4.0]])
    array([[1.]])
    """

    MODEL = RobustScalerModel
    LOWER = FloatParam("lower", "Lower quantile to calculate quantile range.", 0.25, _inside)
    UPPER = FloatParam("upper", "Upper quantile to calculate quantile range.", 0.75, _inside)

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column, error = self.input_col, self.relative_error
        chosen = [0.5, self.lower, self.upper]
        parts = frame.reduce(
            lambda batch: [summary_of(each, error) for each in batch.matrix(column).T], [column]
        )
        first = first_of(parts, "RobustScaler")
        for part in parts:
            same_length(np.empty(len(first)), np.empty(len(part)))
        found = np.array([quantiles_of(each, chosen) for each in zip(*parts, strict=True)]).reshape(
            -1, 3
        )
        medians, low, high = found.T
        return [{"medians": DenseVector(medians), "ranges": DenseVector(high - low)}]
