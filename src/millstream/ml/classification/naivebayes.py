"""NaiveBayes: the most likely class, if features had nothing to do with each other."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from millstream.ml.common.param import HasFeaturesCol, HasLabelCol, HasPredictionCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.bayes import Bayes, bayes_of, counts_of
from millstream.ml.kernel.examples import Columns, some_rows
from millstream.ml.linalg import DenseVector
from millstream.ml.param import FloatParam, ParamValidators, StringParam
from millstream.ml.stages.mapping import Work
from millstream.ml.stages.predictors import Classifier, LabelLearner

__all__ = ["NaiveBayes", "NaiveBayesModel"]


class _ModelParams(HasFeaturesCol, HasLabelCol, HasPredictionCol):
    MODEL_TYPE = StringParam(
        "model_type",
        "The model type.",
        "multinomial",
        ParamValidators.in_array(["multinomial"]),
    )


class NaiveBayesModel(Classifier, _ModelParams):
    """The model of `NaiveBayes`: logarithms of probabilities.

    ``theta`` has for each label and feature a dict of values, ``piArray`` is for the labels.
    """

    DATA: ClassVar[dict[str, str]] = {"theta": "any", "piArray": "vector", "labels": "vector"}
    KIND = "double"

    def work(self) -> Work:
        (row,) = self.rows
        logs = [[dict(each) for each in of] for of in row["theta"]]
        bayes = Bayes(row["labels"].to_array().tolist(), [*row["piArray"].to_array()], logs)
        return partial(_predicted, self.features_col, self.prediction_col, bayes)


def _predicted(column: str, output: str, bayes: Bayes, batch: Batch) -> Made:
    return Made({output: bayes.predicted(batch.finite(column))})


class NaiveBayes(LabelLearner, _ModelParams):
    """Naive Bayes. As in flink-ml, the numbers of a feature are classes, each with its own probability.

    Labels are numbers. A value that no training row has cannot be predicted for: an error says so.

    Examples
    --------
    >>> model = NaiveBayes().fit([[0, 0], [1, 0], [1, 1]], [11, 10, 10])
    >>> model.predict([[0, 1], [1, 1]])
    array([11., 10.])
    """

    SMOOTHING = FloatParam("smoothing", "The smoothing parameter.", 1.0, ParamValidators.gt_eq(0.0))
    MODEL = NaiveBayesModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        columns = Columns(self.features_col, self.label_col)

        def counted(batch: Batch) -> Any:
            examples = columns.read(batch)
            return counts_of(examples.features, examples.labels)

        parts = frame.reduce(counted, columns.names)
        some_rows(len(parts), "NaiveBayes")
        found = bayes_of(parts, self.smoothing)
        logs, labels = DenseVector(found.label_logs), DenseVector(found.labels)
        return [{"theta": found.value_logs, "piArray": logs, "labels": labels}]
