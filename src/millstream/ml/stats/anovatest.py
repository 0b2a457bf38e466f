"""ANOVATest: whether features differ between classes."""

from __future__ import annotations

from typing import Any

from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.significance import Significance, f_of_classes, statistics_of_classes
from millstream.ml.stats.common import SignificanceTest

__all__ = ["ANOVATest"]


class ANOVATest(SignificanceTest):
    """The analysis of variance: features are numbers, labels are classes.

    Gives the columns ``pValues``, ``degreesOfFreedom`` and ``fValues`` in one row; with `set_flatten` a
    row for each feature: ``featureIndex``, ``pValue``, ``degreeOfFreedom``, ``fValue``. As in flink-ml,
    the degrees of freedom are those between and within classes together. A feature that does not vary
    has NaN.

    Examples
    --------
    >>> found = ANOVATest(flatten=True).transform([[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> found["fValue"].tolist(), found["pValue"].round(4).tolist()
    ([18.0], [0.0513])
    """

    STATISTIC = "fValue"

    def partial(self, batch: Batch) -> Any:
        labels = batch.numbers(self.label_col)
        return statistics_of_classes(batch.matrix(self.features_col), labels)

    def combined(self, parts: list[Any]) -> Significance:
        return f_of_classes(parts, "ANOVATest")
