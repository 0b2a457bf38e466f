"""MultipleLinearRegression: least squares with an intercept."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.linear import products
from millstream.ml.common.param import HasFeaturesCol, HasLabelCol, HasPredictionCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.exact import least_squares, triangle
from millstream.ml.kernel.examples import Columns, some_rows
from millstream.ml.labeled import WeightVector
from millstream.ml.linalg import DenseVector
from millstream.ml.param import FloatParam, IntParam, ParamValidators, StringParam
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import LabelLearner, Regressor

__all__ = ["MultipleLinearRegression", "MultipleLinearRegressionModel"]


class _Columns(HasFeaturesCol, HasLabelCol, HasPredictionCol):
    """The columns of the regression."""


class MultipleLinearRegressionModel(Regressor, _Columns):
    """The model of `MultipleLinearRegression`: weights and an intercept."""

    DATA: ClassVar[dict[str, str]] = {"weights": "vector", "intercept": "double"}
    KIND = "double"

    @property
    def weights(self) -> WeightVector:
        """The weights with the intercept."""
        (row,) = self.rows
        return WeightVector(row["weights"], row["intercept"])

    def work(self) -> Work:
        weights = self.weights
        found = weights.weights.to_array(), weights.intercept
        return partial(_predicted, self.features_col, self.prediction_col, *found)

    def squared_residual_sum(self, *inputs: Any, y: Any = None) -> float:
        """The sum of the squared differences of labels and predictions."""
        frame = self._pairs(inputs, y)
        batch = frame.batch([self.label_col, self.prediction_col])
        apart = batch.numbers(self.label_col) - batch.numbers(self.prediction_col)
        return float(apart @ apart)


def _predicted(column: str, output: str, weights: Any, intercept: float, batch: Batch) -> Made:
    return Made({output: products(batch, column, weights) + intercept})


class MultipleLinearRegression(LabelLearner, _Columns):
    """Least squares with an intercept, solved exactly by a QR decomposition.

    FlinkML went there by steps; ``iterations``, ``stepsize``, ``convergence_threshold`` and
    ``learning_rate_method`` are taken and not used.

    Examples
    --------
    >>> regression = MultipleLinearRegression().set_iterations(10).set_stepsize(0.5)
    >>> model = regression.fit([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(9).tolist(), round(model.weights.intercept, 9)
    ([9.0], 1.0)
    """

    MODEL = MultipleLinearRegressionModel
    ITERATIONS = IntParam("iterations", "Not used.", 10, ParamValidators.gt(0))
    STEPSIZE = FloatParam("stepsize", "Not used.", 0.1, ParamValidators.gt(0))
    CONVERGENCE_THRESHOLD = FloatParam("convergence_threshold", "Not used.", None)
    LEARNING_RATE_METHOD = StringParam("learning_rate_method", "Not used.", None)

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        columns = Columns(self.features_col, self.label_col)
        parts = frame.reduce(partial(_triangle, columns), columns.names)
        some_rows(len(parts), "MultipleLinearRegression")
        weights, intercept = least_squares(parts, True)
        return [{"weights": DenseVector(np.asarray(weights)), "intercept": intercept}]

    @property
    def weights_option(self) -> WeightVector:
        """The weights that were learned last."""
        found: WeightVector = self.model.weights
        return found

    def squared_residual_sum(self, *inputs: Any, y: Any = None) -> float:
        """The sum of the squared differences of labels and predictions."""
        model: Any = self.model
        return float(model.squared_residual_sum(*inputs, y=y))


def _triangle(columns: Columns, batch: Batch) -> Any:
    return triangle(columns.read(batch))
