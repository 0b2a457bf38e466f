"""HashingTF: lists of terms become sparse vectors of counts, by hashing."""

from __future__ import annotations

from functools import partial
from typing import Any

from millstream.ml.common.param import HasInputCol, HasNumFeatures, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.hashing import hash_of_value
from millstream.ml.kernel.terms import lists_of
from millstream.ml.linalg import SparseVector
from millstream.ml.param import BooleanParam
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["HashingTF"]


class HashingTF(FeatureTransformer, HasInputCol, HasOutputCol, HasNumFeatures):
    """Count the terms of lists (texts, numbers, booleans) at the places of their hashes.

    With ``binary`` a place has 1.0 however often its terms occur.

    Examples
    --------
    >>> HashingTF().set_num_features(100).transform([["to", "be", "or", "not", "to", "be"]])[0]
    SparseVector(100, {3: 1.0, 14: 2.0, 39: 1.0, 87: 2.0})
    """

    reads_numbers = False
    BINARY = BooleanParam(
        "binary", "Whether each dimension of the output vector is binary or not.", False
    )

    def work(self) -> Work:
        return partial(
            _counted,
            column=self.input_col,
            made=self.output_col,
            size=self.num_features,
            binary=self.binary,
        )


def _counted(batch: Batch, column: str, made: str, size: int, binary: bool) -> Made:
    found = [_vector(terms, size, binary) for terms in lists_of(batch, column)]
    return Made({made: found})


def _vector(terms: list[Any], size: int, binary: bool) -> SparseVector:
    counts: dict[int, float] = {}
    for term in terms:
        # The remainder of Java is moved into the range, which is what Python's is.
        place = hash_of_value(term) % size
        counts[place] = 1.0 if binary else counts.get(place, 0.0) + 1.0
    return SparseVector.of_counts(size, counts)
