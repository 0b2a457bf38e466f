"""ChiSqTest: whether labels depend on features that are classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.significance import Significance, chi_square, contingency_of
from millstream.ml.stats.common import SignificanceTest, rounded

__all__ = ["ChiSqTest"]


class ChiSqTest(SignificanceTest):
    """Pearson's chi-square test: features and labels are classes.

    Gives the columns ``pValues``, ``degreesOfFreedom`` and ``statistics`` in one row; with `set_flatten`
    a row for each feature: ``featureIndex``, ``pValue``, ``degreeOfFreedom``, ``statistic``. Numbers
    have 11 digits after the point, as in flink-ml.

    Examples
    --------
    >>> found = ChiSqTest(flatten=True).transform([[0], [0], [1], [1]], [0, 0, 1, 1])
    >>> found["statistic"].tolist(), found["pValue"].round(4).tolist()
    ([4.0], [0.0455])
    """

    STATISTIC = "statistic"

    def partial(self, batch: Batch) -> Any:
        labels = batch.numbers(self.label_col)
        return contingency_of(batch.matrix(self.features_col), labels)

    def combined(self, parts: list[Any]) -> Significance:
        found = chi_square(parts)
        return replace(
            found, p_values=rounded(found.p_values), statistics=rounded(found.statistics)
        )
