"""FeatureHasher: columns of all kinds become one sparse vector."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millstream.ml.common.param import (
    HasCategoricalCols,
    HasInputCols,
    HasNumFeatures,
    HasOutputCol,
)
from millstream.ml.errors import ml_value_error
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.hashing import hash_of_text
from millstream.ml.kernel.texts import categories_of
from millstream.ml.linalg import SparseVector
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["FeatureHasher"]


class FeatureHasher(
    FeatureTransformer, HasInputCols, HasCategoricalCols, HasOutputCol, HasNumFeatures
):
    """Hash columns into the places of a sparse vector.

    A number is added at the place of its column's name. A text or a boolean, and a number of
    ``categorical_cols``, counts 1.0 at the place of ``"column=value"``. None and NaN count nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> hasher = FeatureHasher(input_cols=["f0", "f1"], output_col="vec", num_features=1000)
    >>> hasher.transform(pd.DataFrame({"f0": ["a"], "f1": [1.0]}))["vec"][0]
    SparseVector(1000, {607: 1.0, 913: 1.0})
    """

    reads_numbers = False

    def work(self) -> Work:
        others = [name for name in self.categorical_cols if name not in self.input_cols]
        if others:
            message = f"categorical_cols must be included in input_cols, {others[0]!r} is not"
            raise ml_value_error("ML_PARAM_VALUE", message)
        return partial(
            _hashed,
            columns=self.input_cols,
            categories=self.categorical_cols,
            size=self.num_features,
            made=self.output_col,
        )


def _hashed(
    batch: Batch, columns: Sequence[str], categories: Sequence[str], size: int, made: str
) -> Made:
    rows: list[dict[int, float]] = [{} for _ in range(len(batch))]
    for name in columns:
        place = _place(name, size)
        values = batch.values(name)
        texts = categories_of(values, name)
        for row, value, text in zip(rows, values, texts, strict=True):
            if value is None or text is None or value != value:
                continue  # A number that is missing is NaN in Arrow and pandas.
            if name in categories or isinstance(value, (str, bool)):
                at = _place(f"{name}={text}", size)
                row[at] = row.get(at, 0.0) + 1.0
            else:
                row[place] = row.get(place, 0.0) + float(value)
    return Made({made: [SparseVector.of_counts(size, row) for row in rows]})


def _place(text: str, size: int) -> int:
    found = hash_of_text(text)
    # The smallest integer of Java has no positive counterpart.
    return (found if found == -(2**31) else abs(found)) % size
