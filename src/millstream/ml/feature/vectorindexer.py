"""VectorIndexer: elements of vectors with few values become indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasHandleInvalid, HasInputCol, HasOutputCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import first_of, same_length
from millstream.ml.linalg import SparseVector, Vector
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.base import Learner
from millstream.ml.stages.columns import refuse_invalid
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["VectorIndexer", "VectorIndexerModel"]

Maps = Mapping[int, Mapping[float, int]]


class _ModelParams(HasInputCol, HasOutputCol, HasHandleInvalid):
    pass


class VectorIndexerModel(FeatureModel, _ModelParams):
    """The model of `VectorIndexer`: the indices of the values, for each element that is categorical."""

    DATA: ClassVar[dict[str, str]] = {"categoryMaps": "map<int,map<double,int>>"}

    def work(self) -> Work:
        (row,) = self.rows
        maps = {int(at): dict(each) for at, each in dict(row["categoryMaps"]).items()}
        return partial(
            _indexed,
            column=self.input_col,
            made=self.output_col,
            maps=maps,
            handling=self.handle_invalid,
        )


def _indexed(batch: Batch, column: str, made: str, maps: Maps, handling: str) -> Made:
    matrix = batch.matrix(column)
    found = matrix.copy()
    bad: NDArray[np.bool_] = np.zeros(len(batch), np.bool_)
    for at, places in maps.items():
        # A value that was not learned has the index behind the last one.
        values = matrix[:, at].tolist()
        found[:, at] = [places.get(value, len(places)) for value in values]
        invalid = np.array([value not in places for value in values], np.bool_)
        if invalid.any():
            value = values[int(invalid.argmax())]
            refuse_invalid(invalid, handling, f"unseen double: {value} at place {at} of {column!r}")
        bad |= invalid
    result = _as_given(batch, column, found)
    return Made({made: result}, ~bad if handling == "skip" else None)


def _as_given(batch: Batch, column: str, found: NDArray[np.float64]) -> Any:
    """Rows as vectors that are sparse where the given ones are."""
    given = batch.column(column)
    if not any(isinstance(each, SparseVector) for each in given):
        return found
    vectors: list[Vector] = Batch({column: found}).vectors(column)
    return [
        new.to_sparse() if isinstance(old, SparseVector) else new
        for old, new in zip(given, vectors, strict=True)
    ]


class VectorIndexer(Learner, _ModelParams):
    """Turn the elements of vectors that have at most ``max_categories`` values into indices.

    Values have indices in their order, but 0.0 always has the index 0. A value that was not learned is
    invalid: ``error``, ``skip`` leaves the row out, ``keep`` gives the index behind the last one.

    Examples
    --------
    >>> rows = [[1.0, 1.0], [2.0, -1.0], [3.0, 1.0], [4.0, 0.0]]
    >>> VectorIndexer(max_categories=3).fit(rows).transform([[9.0, -1.0], [9.0, 0.0], [9.0, 1.0]])
    array([[9., 1.],
           [9., 0.],
           [9., 2.]])
    """

    MODEL = VectorIndexerModel
    MAX_CATEGORIES = IntParam(
        "max_categories",
        "Threshold for the number of values a categorical feature can take (>= 2). If a feature is "
        "found to have more values, then it is declared continuous.",
        20,
        ParamValidators.gt_eq(2),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column, most = self.input_col, self.max_categories
        parts = frame.reduce(lambda batch: _values_of(batch.finite(column), most), [column])
        first = first_of(parts, "VectorIndexer")
        maps = {}
        for part in parts:
            same_length(np.empty(len(first)), np.empty(len(part)))
        for at, sets in enumerate(zip(*parts, strict=True)):
            values = None if None in sets else set().union(*sets)
            if values is not None and len(values) <= most:
                ordered = sorted(values, key=lambda value: (value != 0, value))
                maps[at] = {value: index for index, value in enumerate(ordered)}
        return [{"categoryMaps": maps}]


def _values_of(rows: NDArray[np.float64], most: int) -> Sequence[set[float] | None]:
    """The different values of each column, None if there are too many."""
    # Adding 0.0 makes -0.0 the same as 0.0.
    found = [set(np.unique(column + 0.0).tolist()) for column in rows.T]
    return [None if len(each) > most else each for each in found]
