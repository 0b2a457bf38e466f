"""VarianceThresholdSelector: the features that vary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import merged_statistics, statistics_of
from millstream.ml.kernel.vectors import picked, require_size
from millstream.ml.param import FloatParam, ParamValidators
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["VarianceThresholdSelector", "VarianceThresholdSelectorModel"]


class _ModelParams(HasInputCol, HasOutputCol):
    pass


class VarianceThresholdSelectorModel(FeatureModel, _ModelParams):
    """The model of `VarianceThresholdSelector`: how many features there are, and which ones stay."""

    DATA: ClassVar[dict[str, str]] = {"numOfFeatures": "int", "indices": "array<long>"}

    def work(self) -> Work:
        (row,) = self.rows
        return partial(
            _selected,
            column=self.input_col,
            made=self.output_col,
            size=row["numOfFeatures"],
            places=row["indices"],
        )


def _selected(batch: Batch, column: str, made: str, size: int, places: Sequence[int]) -> Made:
    given = batch.column(column)
    require_size(given, column, size, "VarianceThresholdSelector")
    return Made({made: picked(given, places, column)})


class VarianceThresholdSelector(Learner, _ModelParams):
    """Keep the elements of vectors whose variance is above ``variance_threshold``.

    The variance is that of all rows (divided by n).

    Examples
    --------
    >>> rows = [[1.0, 5.0, 7.0], [1.0, 6.0, 3.0]]
    >>> VarianceThresholdSelector(variance_threshold=1.0).fit_transform(rows)
    array([[7.],
           [3.]])
    """

    MODEL = VarianceThresholdSelectorModel
    VARIANCE_THRESHOLD = FloatParam(
        "variance_threshold",
        "Features with a variance not greater than this threshold will be removed.",
        0.0,
        ParamValidators.gt_eq(0.0),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        parts = frame.reduce(lambda batch: statistics_of(batch.finite(column)), [column])
        found = merged_statistics(parts, "VarianceThresholdSelector")
        places = np.flatnonzero(found.variance(0) > self.variance_threshold)
        return [{"numOfFeatures": len(found.mean), "indices": places.tolist()}]
