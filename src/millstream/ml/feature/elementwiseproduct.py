"""ElementwiseProduct: vectors times a vector."""

from __future__ import annotations

from functools import partial
from typing import Any

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.vectors import multiplied
from millstream.ml.param import ParamValidators, VectorParam
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["ElementwiseProduct"]


class ElementwiseProduct(FeatureTransformer, HasInputCol, HasOutputCol):
    """Multiply each vector with ``scaling_vec``, element by element.

    Examples
    --------
    >>> from millstream.ml.linalg import Vectors
    >>> product = ElementwiseProduct().set_scaling_vec(Vectors.dense(10.0, 100.0))
    >>> product.transform([[1.0, 2.0], [3.0, 4.0]])
    array([[ 10., 200.],
           [ 30., 400.]])
    """

    SCALING_VEC = VectorParam(
        "scaling_vec",
        "The scaling vector to multiply with input vectors using hadamard product.",
        None,
        ParamValidators.not_null(),
    )

    def work(self) -> Work:
        factors = self.scaling_vec.to_array()
        return partial(
            multiply_column,
            column=self.input_col,
            made=self.output_col,
            factors=factors,
            who="ElementwiseProduct",
        )


def multiply_column(batch: Batch, column: str, made: str, factors: Any, who: str) -> Made:
    """The vectors of a column times factors."""
    return Made({made: multiplied(batch.column(column), factors, column, who)})
