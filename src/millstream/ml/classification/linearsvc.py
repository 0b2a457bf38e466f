"""LinearSVC: a plane between two classes, with the widest margin."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.linear import (
    LinearLearner,
    LinearModelParams,
    checked_examples,
    products,
)
from millstream.ml.common.param import HasRawPredictionCol
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.examples import Columns
from millstream.ml.kernel.margins import hinge_coefficient
from millstream.ml.param import FloatParam, ParamValidators
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import Classifier

__all__ = ["LinearSVC", "LinearSVCModel"]

SMALLEST_REG = 1e-6
"""The regularization of exact solutions at least: without any, many planes can be as good."""


class _Params(LinearModelParams, HasRawPredictionCol):
    THRESHOLD = FloatParam(
        "threshold",
        "Threshold in binary classification prediction applied to rawPrediction.",
        0.0,
        ParamValidators.not_null(),
    )


class LinearSVCModel(Classifier, _Params):
    """The model of `LinearSVC`: a coefficient. It adds the class and ``(distance, -distance)``."""

    DATA: ClassVar[dict[str, str]] = {"coefficient": "vector"}

    def kinds(self, frame: Frame) -> dict[str, str]:
        return {self.prediction_col: "double", self.raw_prediction_col: "vector"}

    def work(self) -> Work:
        (row,) = self.rows
        coefficient, outputs = row["coefficient"].to_array(), self.output_columns()
        return partial(_predicted, self.features_col, outputs, coefficient, self.threshold)


def _predicted(
    column: str, outputs: list[str], coefficient: Any, threshold: float, batch: Batch
) -> Made:
    raw = products(batch, column, coefficient)
    values = (raw >= threshold).astype(np.float64), np.column_stack([raw, -raw])
    return Made(dict(zip(outputs, values, strict=True)))


class LinearSVC(LinearLearner, _Params):
    """A support vector machine with a linear kernel for classes 0 and 1; there is no intercept.

    ``solver``: ``sgd`` makes flink-ml's steps, ``exact`` finds the plane; on DataFrames that is Spark's
    `LinearSVC`, elsewhere an interior point method. Exact solutions take a ``reg`` of at least 1e-6, and
    no ``elastic_net``.

    Examples
    --------
    >>> svc = LinearSVC(solver="exact", reg=0.01)
    >>> svc.fit([[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0]).predict([[0.5], [-0.5]])
    array([1., 0.])
    """

    MODEL = LinearSVCModel
    LOSS = "hinge"

    def exact(self, frame: Frame, columns: Columns) -> Any:
        if self.elastic_net:
            message = f"the exact solver of LinearSVC has no elastic_net, got {self.elastic_net}"
            raise ml_value_error("ML_PARAM_VALUE", message, "set it to 0, or set_solver('sgd')")
        reg = max(self.reg, SMALLEST_REG)
        examples = checked_examples(frame, columns, type(self).__name__)
        if examples is not None:
            return hinge_coefficient(examples, reg)
        from millstream.ml.spark.learners import hinge

        return hinge(frame.dataframe, columns, reg)
