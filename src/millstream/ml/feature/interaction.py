"""Interaction: the products of the elements of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millstream.ml.common.param import HasInputCols, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.vectors import products
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["Interaction"]


class Interaction(FeatureTransformer, HasInputCols, HasOutputCol):
    """Multiply one element of each column, numbers or vectors, in all combinations.

    Elements of the last column vary fastest. None in any column gives None. If a vector is sparse, the
    result is sparse.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"n": [2.0], "v": [[1.0, 2.0]], "w": [[3.0, 4.0]]})
    >>> found = Interaction(input_cols=["n", "v", "w"]).transform(table)
    >>> found.column("output")[0]["values"].as_py()
    [6.0, 8.0, 12.0, 16.0]
    """

    def work(self) -> Work:
        return partial(_multiplied, columns=self.input_cols, made=self.output_col)


def _multiplied(batch: Batch, columns: Sequence[str], made: str) -> Made:
    return Made({made: products([batch.column(name) for name in columns], columns)})
