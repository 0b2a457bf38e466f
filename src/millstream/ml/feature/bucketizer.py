"""Bucketizer: numbers become the numbers of their buckets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCols
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.param import FloatArrayArrayParam, ParamValidator
from millstream.ml.stages.columns import refuse_invalid, same_count
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["Bucketizer"]


def _splits(value: Any) -> bool:
    return bool(value) and all(
        len(part) >= 3 and all(a < b for a, b in pairwise(part)) for part in value
    )


class Bucketizer(FeatureTransformer, HasInputCols, HasOutputCols, HasHandleInvalid):
    """Turn numbers into the indices of buckets ``[left, right)``; the last bucket has its right end.

    NaN and numbers outside of all buckets are invalid: ``error``, ``skip`` leaves the row out, and
    ``keep`` gives the index behind the last bucket.

    Examples
    --------
    >>> bucketizer = Bucketizer(input_cols=["x"], output_cols=["bucket"])
    >>> bucketizer.set_splits_array([[0.0, 10.0, 20.0]]).transform([0.0, 10.0, 20.0])
    array([0, 1, 1])
    """

    KIND: ClassVar[str] = "int"
    SPLITS_ARRAY = FloatArrayArrayParam(
        "splits_array",
        "Array of split points for mapping continuous features into buckets.",
        None,
        ParamValidator(_splits, "at least three increasing numbers for each column"),
    )

    def get_split_array(self) -> tuple[tuple[float, ...], ...]:
        """The same as ``get_splits_array``: the name that flink-ml's Python has."""
        found: tuple[tuple[float, ...], ...] = self.get_splits_array()
        return found

    @property
    def split_array(self) -> tuple[tuple[float, ...], ...]:
        """The same as ``splits_array``."""
        return self.get_split_array()

    def work(self) -> Work:
        same_count(self, "input_cols", "output_cols", "splits_array")
        columns = zip(self.input_cols, self.output_cols, self.splits_array, strict=True)
        return partial(_bucketed, columns=list(columns), handling=self.handle_invalid)


def _bucketed(
    batch: Batch, columns: Sequence[tuple[str, str, tuple[float, ...]]], handling: str
) -> Made:
    found = {}
    bad: NDArray[np.bool_] = np.zeros(len(batch), np.bool_)
    for name, made, splits in columns:
        values, edges = batch.numbers(name), np.array(splits)
        places = np.searchsorted(edges, values, "right") - 1
        places[values == edges[-1]] = len(edges) - 2
        invalid = ~((values >= edges[0]) & (values <= edges[-1]))
        places[invalid] = len(edges) - 1
        refuse_invalid(invalid, handling, f"a value of {name!r} outside of all buckets")
        found[made] = places
        bad |= invalid
    return Made(found, ~bad if handling == "skip" else None)
