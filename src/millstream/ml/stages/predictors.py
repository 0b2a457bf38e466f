"""Stages that predict labels: how good their predictions are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.examples import some_rows
from millstream.ml.stages.base import Learner, given_outputs, split_arguments
from millstream.ml.stages.mapping import FeatureModel

__all__ = ["Classifier", "LabelLearner", "Regressor"]


class _Predicts(FeatureModel):
    """A model whose first column is a prediction of the label."""

    def score(self, *inputs: Any, y: Any = None) -> float:
        """How good the predictions are: the share of right ones, or for numbers R²."""
        frame = self._pairs(inputs, y)
        names = [self.label_column(), self.output_columns()[0]]
        batch = frame.batch([name for name in names if name is not None])
        some_rows(len(batch), f"the score of {type(self).__name__}")
        return self._scored(batch, *names)

    def evaluate(self, *inputs: Any, y: Any = None) -> Any:
        """The labels and their predictions, as two columns."""
        frame = self._pairs(inputs, y)
        found, _, _ = split_arguments(inputs, y)
        names = [str(self.label_column()), self.output_columns()[0]]
        return given_outputs(frame.only(names), names, found)

    def _pairs(self, inputs: Sequence[Any], y: Any) -> Frame:
        found, labels, params = split_arguments(inputs, y)
        stage = self._given(params)
        frame = stage.frame(found, labels)
        frame.require([str(stage.label_column())])
        return stage.applied(frame)

    @abstractmethod
    def _scored(self, batch: Batch, label: Any, prediction: Any) -> float: ...


class Classifier(_Predicts):
    """A model that predicts classes; its score is the share of right ones."""

    PREDICTS = "classifier"

    def _scored(self, batch: Batch, label: Any, prediction: Any) -> float:
        return float((batch.numbers(label) == batch.numbers(prediction)).mean())


class Regressor(_Predicts):
    """A model that predicts numbers; its score is R², the share of the variance that is explained."""

    PREDICTS = "regressor"

    def _scored(self, batch: Batch, label: Any, prediction: Any) -> float:
        labels = batch.numbers(label)
        whole = ((labels - labels.mean()) ** 2).sum()
        left = ((labels - batch.numbers(prediction)) ** 2).sum()
        if whole == 0:
            message = "R² is not defined: all labels are the same"
            raise ml_value_error("ML_LABEL", message, "score on rows with different labels")
        return float(1.0 - left / whole)


class LabelLearner(Learner):
    """An estimator whose model predicts labels."""

    def score(self, *inputs: Any, y: Any = None) -> float:
        """How good the predictions of the model are that was learned last."""
        found: float = self.model.score(*inputs, y=y)
        return found

    def evaluate(self, *inputs: Any, y: Any = None) -> Any:
        """The labels, and the predictions of the model that was learned last."""
        return self.model.evaluate(*inputs, y=y)
