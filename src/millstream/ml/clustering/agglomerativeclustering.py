"""AgglomerativeClustering: clusters of clusters, from below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.common.typeinfo import Types
from millstream.common.types import Row
from millstream.datastream.functions import ProcessAllWindowFunction
from millstream.datastream.output_tag import OutputTag
from millstream.ml.api import AlgoOperator
from millstream.ml.common.param import (
    HasDistanceMeasure,
    HasFeaturesCol,
    HasPredictionCol,
    HasWindows,
)
from millstream.ml.common.window import CountTumblingWindows, GlobalWindows
from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.frames.base import Frame, Step
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.linkage import LINKAGES, Merges, clusters_of, merges
from millstream.ml.online.records import Fields, dense, joined
from millstream.ml.online.streams import input_of
from millstream.ml.online.windows import windowed
from millstream.ml.param import BooleanParam, FloatParam, IntParam, ParamValidators, StringParam
from millstream.ml.stages.base import ColumnStage, split_arguments
from millstream.ml.stages.entry import is_array_like

__all__ = ["AgglomerativeClustering"]

MERGES = {"clusterId1": "long", "clusterId2": "long", "distance": "double"}
MERGES |= {"sizeOfMergedCluster": "long"}
MERGE_INFO = Types.ROW_NAMED([*MERGES], [Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.LONG()])


@dataclass(frozen=True)
class _Clustering:
    """The clusters of some points, and the merges that made them."""

    linkage: str
    measure: str
    clusters: int | None
    threshold: float | None
    full: bool

    def of(self, points: Any) -> tuple[Any, Merges]:
        tree = merges(points, self.linkage, self.measure)
        found, taken = clusters_of(tree, len(points), self.clusters, self.threshold)
        kept = slice(None) if self.full else slice(taken)
        parts = tree.first[kept], tree.second[kept], tree.distance[kept], tree.size[kept]
        return found.astype(np.int32), Merges(*parts)


class AgglomerativeClustering(
    ColumnStage,
    AlgoOperator[Any],
    HasDistanceMeasure,
    HasFeaturesCol,
    HasPredictionCol,
    HasWindows,
):
    """Hierarchical clustering: each point is a cluster, and the two nearest clusters are merged.

    It ends when ``num_clusters`` are left, or when all are farther apart than ``distance_threshold``;
    one of them is None. Gives two results: the data with the number of the cluster, and the merges. The
    points of each window of ``windows`` are clustered by themselves; a window needs memory for the
    distances of all its pairs. On tables the work is part of the job, elsewhere windows are global or of
    a count.

    Examples
    --------
    >>> clusters, merged = AgglomerativeClustering().transform([[0.0], [1.0], [5.0]])
    >>> clusters.tolist(), merged["distance"].tolist()
    ([0, 0, 1], [1.0])
    """

    NUM_CLUSTERS = IntParam("num_clusters", "The max number of clusters to create.", 2)
    DISTANCE_THRESHOLD = FloatParam(
        "distance_threshold", "Threshold to decide whether two clusters should be merged.", None
    )
    LINKAGE = StringParam(
        "linkage",
        "Criterion for computing distance between two clusters.",
        "ward",
        ParamValidators.in_array(LINKAGES),
    )
    COMPUTE_FULL_TREE = BooleanParam(
        "compute_full_tree",
        "Whether computes the full tree after convergence.",
        False,
        ParamValidators.not_null(),
    )

    def transform(self, *inputs: Any) -> Any:
        found, _, params = split_arguments(inputs, None)
        stage = self._given(params)
        clustering = stage._clustering()
        kind = type(found[0]).__module__
        if kind.startswith(("millstream.table", "millstream.datastream")):
            return stage._streamed(found[0], clustering)
        frame = stage.frame(found)
        frame.require(stage.feature_columns())
        return stage._framed(frame, clustering)

    def fit_predict(self, *inputs: Any) -> Any:
        """The clusters alone, as in scikit-learn."""
        clusters = self.transform(*inputs)[0]
        return clusters if is_array_like(inputs[0]) else [clusters]

    def _clustering(self) -> _Clustering:
        if (self.num_clusters is None) == (self.distance_threshold is None):
            message = "one of num_clusters and distance_threshold must be None"
            raise ml_value_error("ML_PARAM_VALUE", message, "call set_num_clusters(None)")
        if self.linkage == "ward" and self.distance_measure != "euclidean":
            message = f"ward clusters by euclidean distances, not by {self.distance_measure}"
            raise ml_value_error("ML_PARAM_VALUE", message, "call set_linkage('average')")
        return _Clustering(
            self.linkage,
            self.distance_measure,
            self.num_clusters,
            self.distance_threshold,
            self.compute_full_tree,
        )

    def _framed(self, frame: Frame, clustering: _Clustering) -> tuple[Any, Any]:
        column, output = self.features_col, self.prediction_col
        batch = frame.batch()
        points = batch.finite(column)
        clusters, trees, kept = self._in_windows(points, clustering)
        step = Step(lambda _: Made({output: clusters}, kept), {output: "int"}, kept is not None)
        if frame.dataframe is None:
            data = frame.transformed(step)
        else:
            kinds = {name: frame.kind(name) for name in frame.names} | dict(step.outputs)
            data = frame.made(step.applied(batch), kinds)
        parts = zip(MERGES, ("first", "second", "distance", "size"), strict=True)
        columns = {
            name: np.concatenate([getattr(tree, field) for tree in trees]) for name, field in parts
        }
        merged = frame.made(Batch(columns), MERGES)
        return data.given([output]), columns if _bare(frame) else merged.given([*MERGES])

    def _in_windows(self, points: Any, clustering: _Clustering) -> tuple[Any, list[Merges], Any]:
        if isinstance(self.windows, GlobalWindows):
            clusters, tree = clustering.of(points)
            return clusters, [tree], None
        if not isinstance(self.windows, CountTumblingWindows):
            message = f"{self.windows} need times, which these data have not"
            raise ml_error("ML_INPUT_KIND", message, "give a Table or a DataStream")
        size = self.windows.size
        full = len(points) // size * size
        found = [clustering.of(points[at : at + size]) for at in range(0, full, size)]
        clusters = np.zeros(len(points), np.int32)
        clusters[:full] = np.concatenate([np.zeros(0, np.int32), *(each for each, _ in found)])
        kept = np.arange(len(points)) < full
        return clusters, [*(tree for _, tree in found), merges(points[:0], "single")], kept

    def _streamed(self, data: Any, clustering: _Clustering) -> list[Any]:
        source = input_of(data)
        source.require([self.features_col])
        info = source.with_fields([self.prediction_col], [Types.INT()])
        tag = OutputTag("merges", MERGE_INFO)
        function = _ClusterWindows(clustering, Fields(self.features_col), self.prediction_col, tag)
        found = windowed(source.stream, self.windows).process(function, info)
        found = found.name(type(self).__name__)
        results = []
        for stream in (found, found.get_side_output(tag)):
            given = source.given(stream)
            results += given if isinstance(given, list) else [given]
        return results


class _ClusterWindows(ProcessAllWindowFunction[Any, Any, Any]):
    def __init__(
        self, clustering: _Clustering, fields: Fields, output: str, tag: OutputTag
    ) -> None:
        self.clustering = clustering
        self.fields = fields
        self.output = output
        self.tag = tag

    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        records = list(elements)
        vectors = [dense(self.fields.features(record)) for record in records]
        for vector in vectors[1:]:
            self.fields.same_size(vector, len(vectors[0]))
        clusters, tree = self.clustering.of(np.stack(vectors))
        for record, cluster in zip(records, clusters.tolist(), strict=True):
            yield joined(record, [self.output], [cluster])
        rows = zip(tree.first, tree.second, tree.distance, tree.size, strict=True)
        for one, other, distance, size in rows:
            values = dict(
                zip(MERGES, (int(one), int(other), float(distance), int(size)), strict=True)
            )
            yield self.tag, Row(**values)


def _bare(frame: Frame) -> bool:
    from millstream.ml.frames.local import ArrayFrame

    return isinstance(frame, ArrayFrame)
