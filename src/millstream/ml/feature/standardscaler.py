"""StandardScaler: columns with mean 0 and standard deviation 1."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import merged_statistics, same_length, statistics_of
from millstream.ml.linalg import DenseVector
from millstream.ml.param import BooleanParam, FloatParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["StandardScaler", "StandardScalerModel"]


class _Params(HasInputCol, HasOutputCol):
    WITH_MEAN = BooleanParam(
        "with_mean", "Whether centers the data with mean before scaling.", False
    )
    WITH_STD = BooleanParam("with_std", "Whether scales the data with standard deviation.", True)
    MEAN = FloatParam("mean", "The mean of scaled data, as in FlinkML 1.x.", None)
    STD = FloatParam("std", "The standard deviation of scaled data, as in FlinkML 1.x.", None)


class StandardScalerModel(FeatureModel, _Params):
    """The model of `StandardScaler`: the mean and the standard deviation of each element."""

    DATA: ClassVar[dict[str, str]] = {"mean": "vector", "std": "vector"}

    def work(self) -> Work:
        (row,) = self.rows
        mean, std = row["mean"].to_array(), row["std"].to_array()
        # Elements that do not vary become 0, as in flink-ml.
        scale = np.divide(1.0, std, out=np.zeros_like(std), where=std != 0)
        return partial(
            _scaled,
            column=self.input_col,
            output=self.output_col,
            shift=mean if self.with_mean or self._target else np.zeros_like(mean),
            scale=scale if self.with_std or self._target else np.ones_like(std),
            target=self._target,
        )

    @property
    def _target(self) -> tuple[float, float] | None:
        if self.mean is None and self.std is None:
            return None
        return (self.mean or 0.0, 1.0 if self.std is None else self.std)


def _scaled(
    batch: Batch,
    column: str,
    output: str,
    shift: Any,
    scale: Any,
    target: tuple[float, float] | None,
) -> Made:
    matrix = batch.matrix(column)
    if len(matrix):
        same_length(shift, matrix[0])
    found = (matrix - shift) * scale
    return Made({output: found if target is None else found * target[1] + target[0]})


class StandardScaler(Learner, _Params):
    """Scale vectors to standard deviation 1, and to mean 0 if ``with_mean`` is set.

    The standard deviation is that of a sample (divided by n - 1). ``set_mean`` and ``set_std`` are those
    of FlinkML 1.x: the data get this mean and this standard deviation.

    Examples
    --------
    >>> scaler = StandardScaler().set_with_mean(True)
    >>> scaler.fit([[1.0], [2.0], [3.0]]).transform([[1.0], [4.0]])
    array([[-1.],
           [ 2.]])
    """

    MODEL = StandardScalerModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        parts = frame.reduce(lambda batch: statistics_of(batch.finite(column)), [column])
        found = merged_statistics(parts, "StandardScaler")
        return [{"mean": DenseVector(found.mean), "std": DenseVector(np.sqrt(found.variance()))}]
