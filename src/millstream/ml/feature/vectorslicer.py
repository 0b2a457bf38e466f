"""VectorSlicer: some elements of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.vectors import picked
from millstream.ml.param import IntArrayParam, ParamValidator
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["VectorSlicer"]


def _different(value: Any) -> bool:
    return bool(value) and len(set(value)) == len(value) and min(value) >= 0


class VectorSlicer(FeatureTransformer, HasInputCol, HasOutputCol):
    """Take the elements of vectors at some places, in the order of ``indices``.

    Examples
    --------
    >>> VectorSlicer().set_indices(2, 0).transform([[1.0, 2.0, 3.0]])
    array([[3., 1.]])
    """

    INDICES = IntArrayParam(
        "indices",
        "An array of indices to select features from a vector column.",
        None,
        ParamValidator(_different, "different places, from 0 on"),
    )

    def work(self) -> Work:
        return partial(
            pick_column, column=self.input_col, made=self.output_col, places=self.indices
        )


def pick_column(batch: Batch, column: str, made: str, places: Sequence[int]) -> Made:
    """Some elements of the vectors of a column."""
    return Made({made: picked(batch.column(column), places, column)})
