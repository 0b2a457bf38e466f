"""Logistic regression that learns from a stream."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import user_location
from millstream.ml.api import Estimator
from millstream.ml.common.param import (
    HasBatchStrategy,
    HasElasticNet,
    HasFeaturesCol,
    HasGlobalBatchSize,
    HasLabelCol,
    HasPredictionCol,
    HasRawPredictionCol,
    HasReg,
    HasWeightCol,
)
from millstream.ml.online.estimators import OnlineEstimator
from millstream.ml.online.learners import LogisticLearner, LogisticScorer, Scorer
from millstream.ml.online.models import OnlineModel, trained
from millstream.ml.online.records import Fields
from millstream.ml.online.streams import input_of
from millstream.ml.param import FloatParam, ParamValidators, StringParam

__all__ = ["OnlineLogisticRegression", "OnlineLogisticRegressionModel"]


class _ModelParams(HasFeaturesCol, HasPredictionCol, HasRawPredictionCol):
    MODEL_VERSION_COL = StringParam(
        "model_version_col",
        "Model version column name.",
        "modelVersion",
        ParamValidators.not_null(),
    )


class OnlineLogisticRegressionModel(_ModelParams, OnlineModel):
    """A logistic regression that predicts with the newest version of its coefficient.

    Adds the label (0.0 or 1.0), the probabilities of both, and the number of the version. The first
    batch makes version 1; before it, records wait.

    Examples
    --------
    >>> from millstream.common import Row
    >>> from millstream.ml.linalg import Vectors
    >>> model = OnlineLogisticRegressionModel()
    >>> model.set_model_data(Row(coefficient=Vectors.dense(1.0, -1.0), modelVersion=7)).version
    7
    """

    @property
    def version(self) -> int | None:
        """The version of model data that are one row; None if they are a stream."""
        row = self._data().row
        return None if row is None else int(self._scorer().model(row, 0)[0])

    def _scorer(self) -> Scorer:
        return LogisticScorer(self._fields())

    def _fields(self) -> Fields:
        return Fields(self.features_col, location=user_location())

    def _outputs(self) -> dict[str, str]:
        return {
            self.prediction_col: "double",
            self.raw_prediction_col: "vector",
            self.model_version_col: "long",
        }


class OnlineLogisticRegression(
    _ModelParams,
    HasBatchStrategy,
    HasLabelCol,
    HasWeightCol,
    HasReg,
    HasElasticNet,
    HasGlobalBatchSize,
    OnlineEstimator,
    Estimator[Any, OnlineLogisticRegressionModel],
):
    """Logistic regression by FTRL-Proximal: each batch of ``global_batch_size`` records makes a version.

    Labels are 0 and 1, and there is no intercept. It begins with the model data that
    `set_initial_model_data` takes, for example those of a `LogisticRegressionModel`. As in flink-ml, a
    column of weights counts for sparse vectors only.

    Examples
    --------
    >>> from millstream.common import Row
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.ml.linalg import Vectors
    >>> from millstream.testing import in_memory
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> clicks = env.from_collection([([1.0, 0.0], 1.0), ([0.0, 1.0], 0.0)] * 2)
    >>> regression = OnlineLogisticRegression(global_batch_size=2)
    >>> regression.set_initial_model_data(Row(coefficient=Vectors.dense(0.0, 0.0), modelVersion=0))
    OnlineLogisticRegression(global_batch_size=2)
    >>> model = regression.fit(clicks)
    >>> with in_memory():
    ...     for record in model.transform(clicks).execute_and_collect():
    ...         print(record[0], record[2], record[4])
    [1.0, 0.0] 1.0 1
    [0.0, 1.0] 0.0 1
    [1.0, 0.0] 1.0 1
    [0.0, 1.0] 0.0 1
    """

    ALPHA = FloatParam("alpha", "The alpha parameter of ftrl.", 0.1, ParamValidators.gt(0))
    BETA = FloatParam("beta", "The beta parameter of ftrl.", 0.1, ParamValidators.gt(0))

    def fit(self, *inputs: Any) -> OnlineLogisticRegressionModel:
        """Return the model whose versions a table or stream trains."""
        (given,) = inputs
        source = input_of(given)
        columns = (self.features_col, self.label_col, self.weight_col)
        fields = Fields(*columns, user_location())
        source.require(fields.names)
        learner = LogisticLearner(fields, self.alpha, self.beta, self.reg, self.elastic_net)
        name = type(self).__name__
        versions = trained(source, learner, self.global_batch_size, self._initial_model_data, name)
        model = OnlineLogisticRegressionModel().set_model_data(versions)
        model._take_params(self)
        return model
