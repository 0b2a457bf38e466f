"""k-means that learns from a stream."""

from __future__ import annotations

from typing import Any, Self

from millstream.common.errors import user_location
from millstream.common.types import Row
from millstream.ml.api import Estimator
from millstream.ml.common.param import (
    HasBatchStrategy,
    HasDecayFactor,
    HasDistanceMeasure,
    HasFeaturesCol,
    HasGlobalBatchSize,
    HasPredictionCol,
    HasSeed,
)
from millstream.ml.kernel.centroids import Centroids
from millstream.ml.kernel.java_random import java_hash
from millstream.ml.linalg import DenseVector
from millstream.ml.online.estimators import OnlineEstimator
from millstream.ml.online.learners import CentroidsLearner, CentroidsScorer, Scorer
from millstream.ml.online.models import OnlineModel, trained
from millstream.ml.online.records import Fields
from millstream.ml.online.streams import input_of
from millstream.ml.param import IntParam, ParamValidators, StringParam

__all__ = ["OnlineKMeans", "OnlineKMeansModel"]


class _ModelParams(HasDistanceMeasure, HasFeaturesCol, HasPredictionCol):
    K = IntParam("k", "The max number of clusters to create.", 2, ParamValidators.gt(1))
    MODEL_VERSION_COL = StringParam(
        "model_version_col", "Column for the number of the model; None: no column.", None
    )


class OnlineKMeansModel(_ModelParams, OnlineModel):
    """Clusters that move: the newest centroids say which one is closest.

    Adds the number of the cluster. With a ``model_version_col``, which flink-ml does not have, it adds
    the number of the version too: 0 is the initial model.

    Examples
    --------
    >>> from millstream.common import Row
    >>> from millstream.ml.linalg import Vectors
    >>> centroids = [Vectors.dense(0.0), Vectors.dense(9.0)]
    >>> model = OnlineKMeansModel()
    >>> model = model.set_model_data(Row(centroids=centroids, weights=Vectors.dense(1.0, 1.0)))
    >>> model.transform([[1.0], [8.0]]).tolist()
    [0, 1]
    """

    def _scorer(self) -> Scorer:
        with_version = self.model_version_col is not None
        return CentroidsScorer(self._fields(), self.distance_measure, with_version)

    def _fields(self) -> Fields:
        return Fields(self.features_col, location=user_location())

    def _outputs(self) -> dict[str, str]:
        version = self.model_version_col
        return {self.prediction_col: "int", **({version: "long"} if version else {})}


class OnlineKMeans(
    _ModelParams,
    HasBatchStrategy,
    HasGlobalBatchSize,
    HasDecayFactor,
    HasSeed,
    OnlineEstimator,
    Estimator[Any, OnlineKMeansModel],
):
    """k-means by mini-batches: each batch of ``global_batch_size`` vectors moves the centroids.

    Before a batch, the weight of the centroids is multiplied by ``decay_factor``: with 1 all vectors
    count alike, with 0 only the newest batch counts. It begins with the model data that
    `set_initial_model_data` takes, or with `set_random_centroids`.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import in_memory
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> points = env.from_collection([[1.0], [9.0], [1.5], [8.5]])
    >>> model = OnlineKMeans(global_batch_size=2).set_random_centroids(1, 0.0).fit(points)
    >>> (versions,) = model.get_model_data()
    >>> with in_memory():
    ...     print([row.weights for row in versions.execute_and_collect()])
    [DenseVector([0.0, 0.0]), DenseVector([2.0, 0.0]), DenseVector([1.0, 1.0])]
    """

    def set_random_centroids(self, dim: int, weight: float = 0.0) -> Self:
        """Begin with ``k`` random centroids in the unit cube, by the ``seed``.

        Call it after `set_k` and ``set_seed``. The same seed gives the same centroids as flink-ml's
        ``KMeansModelData.generateRandomModelData``.
        """
        seed = java_hash(type(self).__name__) if self.seed is None else self.seed
        found = Centroids.random(self.k, dim, weight, seed)
        points = [DenseVector(each) for each in found.points]
        return self.set_initial_model_data(
            Row(centroids=points, weights=DenseVector(found.weights))
        )

    def fit(self, *inputs: Any) -> OnlineKMeansModel:
        """Return the model whose versions a table or stream trains."""
        (given,) = inputs
        source = input_of(given)
        fields = Fields(self.features_col, location=user_location())
        source.require(fields.names)
        learner = CentroidsLearner(fields, self.k, self.decay_factor, self.distance_measure)
        name = type(self).__name__
        versions = trained(source, learner, self.global_batch_size, self._initial_model_data, name)
        model = OnlineKMeansModel().set_model_data(versions)
        model._take_params(self)
        return model
