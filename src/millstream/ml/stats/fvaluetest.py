"""FValueTest: whether a label that is a number depends on features."""

from __future__ import annotations

from typing import Any

from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.significance import Significance, f_of_regression, products_of
from millstream.ml.stats.common import SignificanceTest

__all__ = ["FValueTest"]


class FValueTest(SignificanceTest):
    """The F test of a linear regression on each feature alone: features and labels are numbers.

    The columns are those of `ANOVATest`. A feature that does not vary has NaN.

    Examples
    --------
    >>> found = FValueTest(flatten=True).transform([[1.0], [2.0], [3.0], [4.0]], [1, 3, 2, 4])
    >>> found["fValue"].round(4).tolist(), found["degreeOfFreedom"].tolist()
    ([3.5556], [2])
    """

    STATISTIC = "fValue"

    def partial(self, batch: Batch) -> Any:
        labels = batch.numbers(self.label_col)
        return products_of(batch.matrix(self.features_col), labels)

    def combined(self, parts: list[Any]) -> Significance:
        return f_of_regression(parts, "FValueTest")
