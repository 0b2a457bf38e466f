"""MaxAbsScaler: columns between -1 and 1."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.feature.elementwiseproduct import multiply_column
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.statistics import merged_statistics, statistics_of
from millstream.ml.linalg import DenseVector
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["MaxAbsScaler", "MaxAbsScalerModel"]


class _Params(HasInputCol, HasOutputCol):
    pass


class MaxAbsScalerModel(FeatureModel, _Params):
    """The model of `MaxAbsScaler`: the largest absolute value of each element."""

    DATA: ClassVar[dict[str, str]] = {"maxVector": "vector"}

    def work(self) -> Work:
        (row,) = self.rows
        largest = row["maxVector"].to_array()
        factors = np.divide(1.0, largest, out=np.ones_like(largest), where=largest != 0)
        return partial(
            multiply_column,
            column=self.input_col,
            made=self.output_col,
            factors=factors,
            who="MaxAbsScaler",
        )


class MaxAbsScaler(Learner, _Params):
    """Divide each element of vectors by its largest absolute value. Sparse vectors stay sparse.

    Examples
    --------
    >>> MaxAbsScaler().fit([[2.0, 0.0], [-4.0, 0.0]]).transform([[2.0, 1.0]])
    array([[0.5, 1. ]])
    """

    MODEL = MaxAbsScalerModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        parts = frame.reduce(lambda batch: statistics_of(batch.finite(column)), [column])
        found = merged_statistics(parts, "MaxAbsScaler")
        return [{"maxVector": DenseVector(np.maximum(np.abs(found.low), np.abs(found.high)))}]
