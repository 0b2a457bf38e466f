"""LogisticRegression: the probability of one of two classes."""

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
from millstream.ml.common.param import HasMultiClass, HasRawPredictionCol
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.exact import logistic_coefficient
from millstream.ml.kernel.examples import Columns
from millstream.ml.kernel.sgd import logistic
from millstream.ml.linalg import DenseVector
from millstream.ml.online.logistic_regression import (
    OnlineLogisticRegression,
    OnlineLogisticRegressionModel,
)
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import Classifier

__all__ = [
    "LogisticRegression",
    "LogisticRegressionModel",
    "OnlineLogisticRegression",
    "OnlineLogisticRegressionModel",
]


class _Params(LinearModelParams, HasRawPredictionCol):
    """The columns: predictions and probabilities."""


class LogisticRegressionModel(Classifier, _Params):
    """The model of `LogisticRegression`. It adds the class, and the probabilities of 0 and 1."""

    DATA: ClassVar[dict[str, str]] = {"coefficient": "vector", "modelVersion": "long"}

    def kinds(self, frame: Frame) -> dict[str, str]:
        return {self.prediction_col: "double", self.raw_prediction_col: "vector"}

    def work(self) -> Work:
        (row,) = self.rows
        coefficient = row["coefficient"].to_array()
        return partial(_predicted, self.features_col, self.output_columns(), coefficient)


def _predicted(column: str, outputs: list[str], coefficient: Any, batch: Batch) -> Made:
    raw = products(batch, column, coefficient)
    shares = logistic(raw)
    values = (raw >= 0).astype(np.float64), np.column_stack([1.0 - shares, shares])
    return Made(dict(zip(outputs, values, strict=True)))


class LogisticRegression(LinearLearner, _Params, HasMultiClass):
    """Logistic regression for classes 0 and 1; there is no intercept, as in flink-ml.

    ``solver``: ``sgd`` makes flink-ml's steps, ``exact`` finds the smallest loss; on DataFrames by
    Spark's `LogisticRegression`, elsewhere by Newton's method.

    Examples
    --------
    >>> regression = LogisticRegression(solver="exact", reg=0.1)
    >>> model = regression.fit([[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0])
    >>> model.predict([[0.5], [-0.5]]), model.score([[1.0], [-1.0]], [1, 1])
    (array([1., 0.]), 0.5)
    """

    MODEL = LogisticRegressionModel
    LOSS = "logistic"

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        if self.multi_class == "multinomial":
            message = "LogisticRegression has two classes, multi_class is 'multinomial'"
            raise ml_value_error("ML_PARAM_VALUE", message, "use NaiveBayes or KNN for more")
        return super().learn(frame)

    def row(self, coefficient: DenseVector) -> dict[str, Any]:
        return {"coefficient": coefficient, "modelVersion": 0}

    def exact(self, frame: Frame, columns: Columns) -> Any:
        examples = checked_examples(frame, columns, type(self).__name__)
        if examples is not None:
            return logistic_coefficient(examples, self.reg, self.elastic_net)
        from millstream.ml.spark.learners import log_loss

        return log_loss(frame.dataframe, columns, self.reg, self.elastic_net)
