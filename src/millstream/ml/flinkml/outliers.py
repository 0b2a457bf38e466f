"""StochasticOutlierSelection: the probability of each row to be an outlier."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from millstream.ml.common.param import HasFeaturesCol, HasLabelCol, HasOutputCol
from millstream.ml.errors import ml_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.outliers import outlier_probabilities
from millstream.ml.param import FloatParam, IntParam, ParamValidators
from millstream.ml.stages.base import ColumnOperator

__all__ = ["StochasticOutlierSelection"]


class StochasticOutlierSelection(ColumnOperator, HasFeaturesCol, HasLabelCol, HasOutputCol):
    """The probability that no other row has a row as its neighbour, for each label.

    Labels are numbers that name the rows; rows without labels are named by their place. The rows come to
    one place, and the work grows with the square of their number.

    Examples
    --------
    >>> rows = [[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.0, 2.0], [5.0, 8.0]]
    >>> found = StochasticOutlierSelection().set_perplexity(3).transform(rows)
    >>> found["output"].round(3).tolist()
    [0.279, 0.258, 0.221, 0.127, 0.992]
    """

    PERPLEXITY = FloatParam(
        "perplexity", "The number of neighbours that a row has.", 30.0, ParamValidators.gt_eq(1)
    )
    ERROR_TOLERANCE = FloatParam(
        "error_tolerance", "How exact the perplexity is.", 1e-20, ParamValidators.gt(0)
    )
    MAX_ITERATIONS = IntParam(
        "max_iterations", "How often the perplexity is approached.", 5000, ParamValidators.gt(0)
    )

    def read_columns(self) -> list[str]:
        return [self.features_col]

    def computed(self, frame: Frame) -> tuple[Batch, Mapping[str, str]]:
        batch = frame.batch()
        points = batch.finite(self.features_col)
        if not len(points):
            message = "StochasticOutlierSelection has no rows to work on"
            raise ml_error("ML_EMPTY_INPUT", message, "give some rows")
        labels = np.arange(len(points))
        if self.label_col in batch.columns:
            labels = batch.numbers(self.label_col).astype(np.int64)
        params = self.perplexity, self.error_tolerance, self.max_iterations
        columns = {self.label_col: labels, self.output_col: outlier_probabilities(points, *params)}
        return Batch(columns), {self.label_col: "long", self.output_col: "double"}
