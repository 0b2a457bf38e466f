"""VectorAssembler: columns become one vector."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from millstream.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCol
from millstream.ml.kernel.assembling import assembled, problem_of
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.param import IntArrayParam, ParamValidator
from millstream.ml.stages.columns import refuse_invalid, same_count
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["VectorAssembler"]


def _sizes(value: Any) -> bool:
    return value is None or (len(value) > 0 and min(value) > 0)


class VectorAssembler(FeatureTransformer, HasInputCols, HasOutputCol, HasHandleInvalid):
    """Put numbers and vectors of several columns together into one vector.

    A value that is None or NaN, or a vector of another length than ``input_sizes`` says, is invalid:
    ``error``, ``skip`` leaves the row out, ``keep`` puts NaN in the place of None and takes vectors as
    they are.
    The result is sparse if less than two thirds of it are given.

    Examples
    --------
    >>> VectorAssembler(input_cols=["a", "b"]).transform([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """

    INPUT_SIZES = IntArrayParam(
        "input_sizes",
        "Sizes of the input elements to be assembled.",
        None,
        ParamValidator(_sizes, "sizes above 0"),
    )

    def work(self) -> Work:
        if self.input_sizes is not None:
            same_count(self, "input_cols", "input_sizes")
        return partial(
            _assembled,
            columns=self.input_cols,
            made=self.output_col,
            sizes=self.input_sizes,
            handling=self.handle_invalid,
        )


def _assembled(
    batch: Batch,
    columns: Sequence[str],
    made: str,
    sizes: Sequence[int] | None,
    handling: str,
) -> Made:
    given = [batch.column(name) for name in columns]
    numbers = all(isinstance(each, np.ndarray) for each in given)
    if numbers and not any(np.isnan(each).any() for each in given if each.dtype.kind == "f"):
        widths = [1 if each.ndim == 1 else each.shape[1] for each in given]
        if sizes is None or widths == list(sizes):
            parts = [each.reshape(len(each), -1).astype(np.float64) for each in given]
            return Made({made: np.hstack(parts)})
    rows = list(zip(*(batch.values(name) for name in columns), strict=True))
    problems = [problem_of(row, columns, sizes) for row in rows]
    bad = np.array([each is not None for each in problems], np.bool_)
    first = next((each for each in problems if each), "")
    refuse_invalid(bad, handling, first)
    found = [
        None if problem and handling == "skip" else assembled(row, sizes)
        for row, problem in zip(rows, problems, strict=True)
    ]
    return Made({made: found}, ~bad if handling == "skip" else None)
