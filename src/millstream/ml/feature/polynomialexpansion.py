"""PolynomialExpansion: products of the elements of vectors."""

from __future__ import annotations

from functools import partial

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.vectors import expanded
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["PolynomialExpansion"]


class PolynomialExpansion(FeatureTransformer, HasInputCol, HasOutputCol):
    """Expand vectors by all products of up to ``degree`` elements.

    ``(x, y)`` becomes ``(x, x*x, y, x*y, y*y)`` with degree 2.

    Examples
    --------
    >>> PolynomialExpansion().transform([[1.0, 2.0], [2.0, 3.0]])
    array([[1., 1., 2., 2., 4.],
           [2., 4., 3., 6., 9.]])
    """

    DEGREE = IntParam("degree", "Degree of the polynomial expansion.", 2, ParamValidators.gt_eq(1))

    def work(self) -> Work:
        return partial(_expanded, column=self.input_col, made=self.output_col, degree=self.degree)


def _expanded(batch: Batch, column: str, made: str, degree: int) -> Made:
    return Made({made: expanded(batch.column(column), degree, column)})
