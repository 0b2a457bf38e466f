"""PolynomialFeatures: products of features."""

from __future__ import annotations

from functools import partial

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.powers import powers
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["PolynomialFeatures"]


class PolynomialFeatures(FeatureTransformer, HasInputCol, HasOutputCol):
    """All products of up to ``degree`` elements of a vector, in FlinkML's order.

    For ``(x, y)`` and degree 3: ``(x³, x²y, xy², y³, x², xy, y², x, y)``. `PolynomialExpansion` is the
    same in flink-ml's order.

    Examples
    --------
    >>> PolynomialFeatures().set_degree(2).transform([[5.0, 2.0]]).tolist()
    [[25.0, 10.0, 4.0, 5.0, 2.0]]
    """

    DEGREE = IntParam("degree", "The highest degree of the products.", 1, ParamValidators.gt(0))

    def work(self) -> Work:
        return partial(_made, self.input_col, self.output_col, self.degree)


def _made(column: str, output: str, degree: int, batch: Batch) -> Made:
    return Made({output: powers(batch.finite(column), degree)})
