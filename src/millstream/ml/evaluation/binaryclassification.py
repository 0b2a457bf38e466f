"""BinaryClassificationEvaluator: how well scores tell two classes apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.ml.common.param import HasLabelCol, HasRawPredictionCol, HasWeightCol
from millstream.ml.errors import ml_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.curves import METRICS, metrics_of, weights_by_score
from millstream.ml.kernel.examples import Columns, two_classes
from millstream.ml.param import ParamValidators, StringArrayParam
from millstream.ml.stages.base import ColumnOperator

__all__ = ["BinaryClassificationEvaluator"]


class BinaryClassificationEvaluator(ColumnOperator, HasLabelCol, HasRawPredictionCol, HasWeightCol):
    """Metrics of scores for labels 0 and 1: one row with a column for each.

    The scores are numbers, or vectors of two elements of which the second counts. ``areaUnderPR`` goes
    from recall 0 with precision 1 in straight lines. ``areaUnderROC`` with a column of weights is
    flink-ml's: it counts ranks of rows, so that it differs from scikit-learn's, and may be above 1. All
    different scores come to one place.

    Examples
    --------
    >>> evaluator = BinaryClassificationEvaluator().set_metrics_names("areaUnderROC", "ks")
    >>> evaluator.transform([[0.9], [0.4], [0.6], [0.1]], [1, 1, 0, 0])
    {'areaUnderROC': [0.75], 'ks': [0.5]}
    """

    METRICS_NAMES = StringArrayParam(
        "metrics_names",
        "Names of output metrics.",
        ("areaUnderROC", "areaUnderPR"),
        ParamValidators.is_sub_set(METRICS),
    )

    def feature_columns(self) -> list[str]:
        return [self.raw_prediction_col]

    def computed(self, frame: Frame) -> tuple[Batch, Mapping[str, str]]:
        columns = Columns(self.raw_prediction_col, self.label_col, self.weight_col)

        def partial(batch: Batch) -> Any:
            examples = columns.read(batch)
            two_classes(examples.labels)
            last = examples.features[:, min(1, examples.features.shape[1] - 1)]
            return weights_by_score(last, examples.labels, examples.weights)

        parts = frame.reduce(partial, columns.names)
        if not parts:
            raise ml_error("ML_EMPTY_INPUT", "there are no rows to be evaluated", "give some")
        found = metrics_of(parts)
        names = self.metrics_names
        return Batch({name: [found[name]] for name in names}, 1), dict.fromkeys(names, "double")
