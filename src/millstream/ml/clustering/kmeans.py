"""KMeans: groups around centroids."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import (
    HasDistanceMeasure,
    HasFeaturesCol,
    HasMaxIter,
    HasPredictionCol,
    HasSeed,
)
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.distances import closest
from millstream.ml.kernel.examples import some_rows
from millstream.ml.kernel.java_random import java_hash
from millstream.ml.kernel.lloyd import first_centroids, lloyd, sums_of
from millstream.ml.kernel.statistics import same_length
from millstream.ml.linalg import DenseVector
from millstream.ml.online.kmeans import OnlineKMeans, OnlineKMeansModel
from millstream.ml.param import IntParam, ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["KMeans", "KMeansModel", "OnlineKMeans", "OnlineKMeansModel"]

FIRST_ROWS = 10_000
"""How many rows of a DataFrame the first centroids are chosen from."""


class _ModelParams(HasDistanceMeasure, HasFeaturesCol, HasPredictionCol):
    K = IntParam("k", "The max number of clusters to create.", 2, ParamValidators.gt(1))


class KMeansModel(FeatureModel, _ModelParams):
    """The model of `KMeans`: centroids and their numbers of rows. It adds the number of the closest."""

    DATA: ClassVar[dict[str, str]] = {"centroids": "array<vector>", "weights": "vector"}
    KIND = "int"

    def work(self) -> Work:
        (row,) = self.rows
        centroids = np.stack([each.to_array() for each in row["centroids"]])
        columns = self.features_col, self.prediction_col
        return partial(_predicted, *columns, centroids, self.distance_measure)


def _predicted(column: str, output: str, centroids: Any, measure: str, batch: Batch) -> Made:
    points = batch.finite(column)
    if len(points):
        same_length(centroids[0], points[0])
    return Made({output: closest(points, centroids, measure).astype(np.int32)})


class KMeans(Learner, _ModelParams, HasSeed, HasMaxIter):
    """k-means with ``max_iter`` rounds at most.

    The first centroids are random points, far from each other with higher probability (k-means++), by
    the ``seed``. DataFrames are clustered by Spark's `KMeans`; by Manhattan distances, which Spark does
    not have, in a job for each round.

    Examples
    --------
    >>> points = [[0.0, 0.0], [0.0, 0.3], [9.0, 0.0], [9.0, 0.6]]
    >>> model = KMeans(k=2, seed=1).fit(points)
    >>> found = model.predict(points)
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """

    INIT_MODE = StringParam(
        "init_mode",
        "The initialization algorithm. Supported options: 'random'.",
        "random",
        ParamValidators.in_array(["random"]),
    )
    MODEL = KMeansModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column, measure = self.features_col, self.distance_measure
        seed = java_hash(type(self).__name__) if self.seed is None else self.seed
        if frame.dataframe is not None and measure != "manhattan":
            centroids, counts = self._of_spark(frame, seed)
        else:
            points = frame.head(FIRST_ROWS, [column]).finite(column)
            some_rows(len(points), "KMeans")
            start = first_centroids(points, self.k, seed, measure)

            def sums(at: Any) -> Any:
                work = partial(_sums, column=column, centroids=at, measure=measure)
                return frame.reduce(work, [column])

            centroids, counts = lloyd(start, sums, self.max_iter)
        vectors = [DenseVector(each) for each in centroids]
        return [{"centroids": vectors, "weights": DenseVector(counts)}]

    def _of_spark(self, frame: Frame, seed: int) -> tuple[Any, Any]:
        from millstream.ml.spark.learners import k_means

        column = self.features_col
        parts = frame.reduce(lambda batch: batch.finite(column)[0], [column])
        some_rows(len(parts), "KMeans")
        for part in parts[1:]:
            same_length(parts[0], part)
        params = self.k, self.distance_measure, self.max_iter, seed
        return k_means(frame.dataframe, column, *params)


def _sums(batch: Batch, column: str, centroids: Any, measure: str) -> Any:
    points = batch.finite(column)
    same_length(centroids[0], points[0])
    return sums_of(points, centroids, measure)
