"""LinearRegression: a number that is a sum of features."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.linear import LinearLearner, LinearModelParams, products
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.exact import least_squares, triangle
from millstream.ml.kernel.examples import Columns, some_rows
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import Regressor

__all__ = ["LinearRegression", "LinearRegressionModel"]


class LinearRegressionModel(Regressor, LinearModelParams):
    """The model of `LinearRegression`: a coefficient."""

    DATA: ClassVar[dict[str, str]] = {"coefficient": "vector"}
    KIND = "double"

    def work(self) -> Work:
        (row,) = self.rows
        coefficient = row["coefficient"].to_array()
        return partial(_predicted, self.features_col, self.prediction_col, coefficient)


def _predicted(column: str, output: str, coefficient: Any, batch: Batch) -> Made:
    return Made({output: products(batch, column, coefficient)})


class LinearRegression(LinearLearner):
    """Least squares, without an intercept as in flink-ml.

    ``solver``: ``sgd`` makes flink-ml's steps of gradient descent, ``exact`` solves the equations.
    `MultipleLinearRegression` is exact and has an intercept.

    Examples
    --------
    >>> regression = LinearRegression(solver="exact")
    >>> regression.fit([[1.0, 0.0], [0.0, 1.0]], [2.0, 3.0]).predict([[1.0, 1.0]]).round(9)
    array([5.])
    """

    MODEL = LinearRegressionModel
    LOSS = "squared"

    def exact(self, frame: Frame, columns: Columns) -> Any:
        parts = frame.reduce(lambda batch: triangle(columns.read(batch)), columns.names)
        some_rows(len(parts), type(self).__name__)
        coefficient, _ = least_squares(parts, False, self.reg, self.elastic_net)
        return np.asarray(coefficient)
