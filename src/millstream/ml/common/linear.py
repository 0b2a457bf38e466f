"""Linear models as flink-ml has them: a coefficient and no intercept."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import (
    HasElasticNet,
    HasFeaturesCol,
    HasGlobalBatchSize,
    HasLabelCol,
    HasLearningRate,
    HasMaxIter,
    HasPredictionCol,
    HasReg,
    HasSolver,
    HasTol,
    HasWeightCol,
)
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.examples import Columns, Examples, some_rows, two_classes
from millstream.ml.kernel.sgd import Descent
from millstream.ml.kernel.statistics import same_length
from millstream.ml.linalg import DenseVector
from millstream.ml.stages.predictors import LabelLearner

__all__ = ["LinearLearner", "LinearModelParams", "checked_examples", "products"]

Floats = NDArray[np.float64]


class LinearModelParams(HasFeaturesCol, HasLabelCol, HasPredictionCol):
    """The columns of a linear model. The label is read by `score` and `evaluate` only."""


class LinearLearner(
    LabelLearner,
    LinearModelParams,
    HasWeightCol,
    HasMaxIter,
    HasReg,
    HasElasticNet,
    HasLearningRate,
    HasGlobalBatchSize,
    HasTol,
    HasSolver,
):
    """An estimator of a coefficient."""

    LOSS: ClassVar[str]

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        columns = Columns(self.features_col, self.label_col, self.weight_col)
        found = self.exact(frame, columns) if self.solver == "exact" else self._sgd(frame, columns)
        if not np.isfinite(found).all():
            message = f"{type(self).__name__} has left all finite numbers"
            hint = "scale the features, lower the learning_rate, or set_solver('exact')"
            raise ml_value_error("ML_DIVERGED", message, hint)
        return [self.row(DenseVector(found))]

    @abstractmethod
    def exact(self, frame: Frame, columns: Columns) -> Floats:
        """The coefficient with the smallest loss."""

    def row(self, coefficient: DenseVector) -> dict[str, Any]:
        """The row of model data."""
        return {"coefficient": coefficient}

    def _sgd(self, frame: Frame, columns: Columns) -> Floats:
        descent = Descent(
            self.LOSS,
            self.max_iter,
            self.learning_rate,
            self.global_batch_size,
            self.tol,
            self.reg,
            self.elastic_net,
        )
        examples = columns.read(frame.head(descent.rows, columns.names))
        some_rows(len(examples), type(self).__name__)
        if self.LOSS != "squared":
            two_classes(examples.labels)
        with np.errstate(over="ignore", invalid="ignore"):
            return descent.learn(examples)


def checked_examples(
    frame: Frame, columns: Columns, what: str, low: float = 0.0
) -> Examples | None:
    """All examples with labels of two classes; None if they are a DataFrame, which is checked only."""
    if frame.dataframe is None:
        found = columns.read(frame.batch(columns.names))
        some_rows(len(found), what)
        two_classes(found.labels, low)
        return found

    def checked(batch: Batch) -> Floats:
        examples = columns.read(batch)
        two_classes(examples.labels, low)
        return np.zeros(examples.features.shape[1])

    parts = frame.reduce(checked, columns.names)
    some_rows(len(parts), what)
    for part in parts[1:]:
        same_length(parts[0], part)
    return None


def products(batch: Batch, column: str, coefficient: Floats) -> Floats:
    """The dot products of features and a coefficient."""
    matrix = batch.finite(column)
    if len(matrix):
        same_length(coefficient, matrix[0])
    return np.asarray(matrix @ coefficient)
