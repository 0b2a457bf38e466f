"""Normalizer: vectors of length 1."""

from __future__ import annotations

from functools import partial

import numpy as np

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.vectors import by_vector, norms
from millstream.ml.linalg import SparseVector
from millstream.ml.param import FloatParam, ParamValidators
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["Normalizer"]


class Normalizer(FeatureTransformer, HasInputCol, HasOutputCol):
    """Divide each vector by its p-norm. A vector of zeros stays as it is.

    Examples
    --------
    >>> Normalizer().transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    P = FloatParam("p", "The p norm value.", 2.0, ParamValidators.gt_eq(1.0))

    def work(self) -> Work:
        return partial(_normalized, column=self.input_col, made=self.output_col, p=self.p)


def _normalized(batch: Batch, column: str, made: str, p: float) -> Made:
    def dense(rows: np.ndarray) -> np.ndarray:
        found = norms(rows, p)[:, None]
        return rows * np.divide(1.0, found, out=np.ones_like(found), where=found != 0)

    def sparse(vector: SparseVector) -> SparseVector:
        return SparseVector(vector.size(), vector.indices, dense(vector.values[None, :])[0])

    return Made({made: by_vector(batch.column(column), column, dense, sparse)})
