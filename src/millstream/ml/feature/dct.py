"""DCT: the discrete cosine transform of vectors."""

from __future__ import annotations

from functools import partial

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.cosine import cosine_transform, inverse_cosine_transform
from millstream.ml.kernel.vectors import by_vector
from millstream.ml.linalg import DenseVector
from millstream.ml.param import BooleanParam
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["DCT"]


class DCT(FeatureTransformer, HasInputCol, HasOutputCol):
    """Transform vectors by the orthogonal discrete cosine transform (DCT-II), or by its inverse.

    Examples
    --------
    >>> DCT().transform([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0]]).round(3) + 0.0
    array([[ 2.   ,  0.   ,  0.   ,  0.   ],
           [ 0.   ,  0.924,  1.   , -0.383]])
    """

    INVERSE = BooleanParam(
        "inverse", "Whether to perform the inverse DCT (true) or forward DCT (false).", False
    )

    def work(self) -> Work:
        return partial(
            _transformed, column=self.input_col, made=self.output_col, inverse=self.inverse
        )


def _transformed(batch: Batch, column: str, made: str, inverse: bool) -> Made:
    transform = inverse_cosine_transform if inverse else cosine_transform
    given = batch.column(column)
    found = by_vector(
        given, column, transform, lambda v: DenseVector(transform(v.to_array()[None, :])[0])
    )
    return Made({made: found})
