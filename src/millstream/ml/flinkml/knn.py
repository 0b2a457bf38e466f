"""The nearest vectors of each vector: FlinkML's KNN, which is a join."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NoReturn

from millstream.ml.common.param import HasFeaturesCol, HasPredictionCol
from millstream.ml.flinkml.parameters import refuse
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.distances import MEASURES
from millstream.ml.kernel.examples import some_rows
from millstream.ml.kernel.neighbors import nearest, nearest_by
from millstream.ml.kernel.statistics import same_length
from millstream.ml.linalg import DenseVector
from millstream.ml.param import BooleanParam, IntParam, ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["KNNJoin", "KNNJoinModel"]


class _Params(HasFeaturesCol, HasPredictionCol):
    K = IntParam("k", "How many neighbours.", 5, ParamValidators.gt(0))
    DISTANCE_METRIC = StringParam(
        "distance_metric",
        "The measure of distances.",
        "euclidean",
        ParamValidators.in_array(MEASURES),
    )


class KNNJoinModel(FeatureModel, _Params):
    """The model of `KNNJoin`: all training vectors. It adds the nearest ones, the nearest first."""

    DATA: ClassVar[dict[str, str]] = {"vector": "vector"}
    KIND = "array<vector>"

    def work(self) -> Work:
        points = Batch({"vector": [row["vector"] for row in self.rows]}).matrix("vector")
        columns = self.features_col, self.prediction_col
        return partial(_found, *columns, points, self.k, self.distance_metric)


def _found(column: str, output: str, points: Any, k: int, measure: str, batch: Batch) -> Made:
    queries = batch.finite(column)
    if len(queries):
        same_length(points[0], queries[0])
    if measure == "euclidean":
        places, _ = nearest(points, queries, k)
    else:
        places = nearest_by(points, queries, k, measure)
    return Made({output: [[DenseVector(points[at]) for at in row] for row in places]})


class KNNJoin(Learner, _Params):
    """The ``k`` nearest training vectors of each vector. All of them go to every task.

    ``use_quad_tree`` is taken and not used: the distances are computed in blocks. The classifier of
    flink-ml is `millstream.ml.classification.knn.KNN`.

    Examples
    --------
    >>> KNNJoin().set_k(2).fit([[0.0], [1.0], [9.0]]).predict([[8.0]])[0]
    [DenseVector([9.0]), DenseVector([1.0])]
    """

    MODEL = KNNJoinModel
    USE_QUAD_TREE = BooleanParam("use_quad_tree", "Not used.", None)

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        points = frame.batch([self.features_col]).finite(self.features_col)
        some_rows(len(points), "KNN")
        return [{"vector": DenseVector(each)} for each in points]

    def set_blocks(self, blocks: int) -> NoReturn:
        """Refuse: the data are not split into blocks."""
        refuse("KNN", "blocks", "the vectors are not split into them")

    def set_size_hint(self, hint: Any) -> NoReturn:
        """Refuse: no side is chosen by its size."""
        refuse("KNN", "size hint", "the training vectors always go to every task")
