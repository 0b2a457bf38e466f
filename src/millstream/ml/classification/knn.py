"""KNN: the class that most of the nearest neighbours have."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasFeaturesCol, HasLabelCol, HasPredictionCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.examples import Columns, some_rows
from millstream.ml.kernel.neighbors import nearest, vote
from millstream.ml.kernel.statistics import same_length
from millstream.ml.linalg import DenseMatrix, DenseVector
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import Classifier, LabelLearner

__all__ = ["KNN", "KNNModel"]


class _ModelParams(HasFeaturesCol, HasLabelCol, HasPredictionCol):
    K = IntParam("k", "The number of nearest neighbors.", 5, ParamValidators.gt(0))


class KNNModel(Classifier, _ModelParams):
    """The model of `KNN`: all training rows, one in each column of ``packedFeatures``."""

    DATA: ClassVar[dict[str, str]] = {
        "packedFeatures": "any",
        "featureNormSquares": "vector",
        "labels": "vector",
    }
    KIND = "double"

    def work(self) -> Work:
        points = [np.ascontiguousarray(row["packedFeatures"].to_array().T) for row in self.rows]
        labels = np.concatenate([row["labels"].to_array() for row in self.rows])
        columns = self.features_col, self.prediction_col
        return partial(_predicted, *columns, np.vstack(points), labels, self.k)


def _predicted(column: str, output: str, points: Any, labels: Any, k: int, batch: Batch) -> Made:
    queries = batch.finite(column)
    if len(queries):
        same_length(points[0], queries[0])
    places, _ = nearest(points, queries, k)
    return Made({output: vote(labels[places])})


class KNN(LabelLearner, _ModelParams):
    """The ``k`` nearest neighbours by Euclidean distance vote; equal votes go to the nearest one.

    Learning packs all rows into the model, which goes to every task.

    Examples
    --------
    >>> KNN(k=1).fit([[1.0], [5.0]], [0, 1]).predict([[2.0], [4.0]])
    array([0., 1.])
    """

    MODEL = KNNModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        columns = Columns(self.features_col, self.label_col)
        examples = columns.read(frame.batch(columns.names))
        some_rows(len(examples), "KNN")
        rows, size = examples.features.shape
        packed = DenseMatrix(size, rows, examples.features.reshape(-1))
        squares = np.einsum("ij,ij->i", examples.features, examples.features)
        labels = DenseVector(examples.labels)
        return [
            {"packedFeatures": packed, "featureNormSquares": DenseVector(squares), "labels": labels}
        ]
