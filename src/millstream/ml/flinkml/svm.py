"""SVM: a plane between the classes -1 and 1."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np

from millstream.ml.classification.linearsvc import SMALLEST_REG
from millstream.ml.common.linear import checked_examples, products
from millstream.ml.common.param import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasSeed
from millstream.ml.flinkml.parameters import refuse
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.examples import Columns
from millstream.ml.kernel.margins import hinge_coefficient
from millstream.ml.linalg import DenseVector
from millstream.ml.param import BooleanParam, FloatParam, IntParam, ParamValidators
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import Classifier, LabelLearner

__all__ = ["SVM", "SVMModel"]


class _Params(HasFeaturesCol, HasLabelCol, HasPredictionCol):
    THRESHOLD = FloatParam(
        "threshold", "Distances above it are class 1.", 0.0, ParamValidators.not_null()
    )
    OUTPUT_DECISION_FUNCTION = BooleanParam(
        "output_decision_function", "Predict distances instead of classes.", False
    )


class SVMModel(Classifier, _Params):
    """The model of `SVM`: the weights of a plane through the origin."""

    DATA: ClassVar[dict[str, str]] = {"weights": "vector"}
    KIND = "double"

    @property
    def weights(self) -> DenseVector:
        """The weights."""
        found: DenseVector = self.rows[0]["weights"]
        return found

    def work(self) -> Work:
        columns = self.features_col, self.prediction_col
        threshold = None if self.output_decision_function else self.threshold
        return partial(_predicted, *columns, self.weights.to_array(), threshold)


def _predicted(
    column: str, output: str, weights: Any, threshold: float | None, batch: Batch
) -> Made:
    raw = products(batch, column, weights)
    return Made({output: raw if threshold is None else np.where(raw > threshold, 1.0, -1.0)})


class SVM(LabelLearner, _Params, HasSeed):
    """A support vector machine for labels -1 and 1: ``mean hinge loss + regularization * |w|² / 2``.

    The plane is exact: on DataFrames by Spark's `LinearSVC`, elsewhere by an interior point method.
    FlinkML went there by steps (CoCoA); ``iterations``, ``local_iterations``, ``stepsize`` and ``seed``
    are taken and not used. The regularization is at least 1e-6.

    Examples
    --------
    >>> svm = SVM().set_regularization(0.01).set_iterations(100)
    >>> svm.fit([[1.0], [3.0], [-2.0]], [1, 1, -1]).predict([[5.0], [-5.0]])
    array([ 1., -1.])
    """

    MODEL = SVMModel
    REGULARIZATION = FloatParam(
        "regularization", "The weight of the penalty.", 1.0, ParamValidators.gt_eq(0)
    )
    ITERATIONS = IntParam("iterations", "Not used.", 10, ParamValidators.gt(0))
    LOCAL_ITERATIONS = IntParam("local_iterations", "Not used.", 10, ParamValidators.gt(0))
    STEPSIZE = FloatParam("stepsize", "Not used.", 1.0, ParamValidators.gt(0))

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        columns = Columns(self.features_col, self.label_col)
        reg = max(self.regularization, SMALLEST_REG)
        examples = checked_examples(frame, columns, "SVM", -1.0)
        if examples is not None:
            both = replace(examples, labels=(examples.labels + 1.0) / 2.0)
            return [{"weights": DenseVector(hinge_coefficient(both, reg))}]
        from millstream.ml.spark.learners import hinge

        found = hinge(frame.dataframe, columns, reg, signs=True)
        return [{"weights": DenseVector(found)}]

    @property
    def weights_option(self) -> DenseVector:
        """The weights that were learned last."""
        found: DenseVector = self.model.weights
        return found

    def set_blocks(self, blocks: int) -> NoReturn:
        """Refuse: the data are not split into blocks."""
        refuse("SVM", "blocks", "the data are not split into them")
