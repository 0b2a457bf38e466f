"""OneHotEncoder: indices become vectors with one 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCols
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import first_of
from millstream.ml.linalg import SparseVector
from millstream.ml.param import BooleanParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.columns import same_count
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["OneHotEncoder", "OneHotEncoderModel"]


class _Params(HasInputCols, HasOutputCols, HasHandleInvalid):
    DROP_LAST = BooleanParam("drop_last", "Whether to drop the last category.", True)

    def check(self) -> None:
        """Refuse the ways of handling that flink-ml's encoder does not have."""
        same_count(self, "input_cols", "output_cols")  # type: ignore[arg-type]
        if self.handle_invalid != "error":
            message = f"OneHotEncoder has no handle_invalid={self.handle_invalid!r}"
            raise ml_value_error("ML_PARAM_VALUE", message, "encode with StringIndexer before")


class OneHotEncoderModel(FeatureModel, _Params):
    """The model of `OneHotEncoder`: the largest index of each column."""

    DATA: ClassVar[dict[str, str]] = {"f0": "int", "f1": "int"}

    def work(self) -> Work:
        self.check()
        largest = {row["f0"]: row["f1"] for row in self.rows}
        columns = [
            (name, made, largest[at])
            for at, (name, made) in enumerate(zip(self.input_cols, self.output_cols, strict=True))
        ]
        return partial(_encoded, columns=columns, extra=0 if self.drop_last else 1)


def _encoded(batch: Batch, columns: Sequence[tuple[str, str, int]], extra: int) -> Made:
    found = {}
    for name, made, largest in columns:
        places = _indices(batch, name)
        if places.max(initial=0) > largest:
            message = f"column {name!r} has the index {places.max()}, the largest one is {largest}"
            raise ml_value_error("ML_INVALID_VALUE", message, "fit the encoder on all indices")
        size = largest + extra
        known = [SparseVector(size, {at: 1.0} if at < size else {}) for at in range(largest + 1)]
        found[made] = [known[at].clone() for at in places.tolist()]
    return Made(found)


def _indices(batch: Batch, name: str) -> NDArray[np.int64]:
    values = batch.numbers(name)
    bad = (values != np.floor(values)) | ~np.isfinite(values)
    if bad.any():
        value = values[int(bad.argmax())]
        message = f"value {value} of column {name!r} cannot be parsed as indexed integer"
        raise ml_value_error("ML_INVALID_VALUE", message, "make indices with StringIndexer")
    if (values < 0).any():
        message = f"column {name!r} has {values.min()}: negative value not supported"
        raise ml_value_error("ML_INVALID_VALUE", message, "make indices with StringIndexer")
    return values.astype(np.int64)


class OneHotEncoder(_Params, Learner):
    """Turn indices into sparse vectors that are 1.0 at the place of the index.

    The last category has a vector of zeros, unless ``drop_last`` is False. The result for arrays is an
    array of sparse vectors.

    Examples
    --------
    >>> encoder = OneHotEncoder(input_cols=["input"], output_cols=["output"])
    >>> encoder.fit([0.0, 1.0, 2.0, 0.0]).transform([1.0, 2.0]).tolist()
    [SparseVector(2, {1: 1.0}), SparseVector(2, {})]
    """

    MODEL = OneHotEncoderModel

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        names = self.input_cols
        parts = frame.reduce(
            lambda batch: [int(_indices(batch, name).max()) for name in names], names
        )
        first_of(parts, "OneHotEncoder")
        return [{"f0": at, "f1": max(each)} for at, each in enumerate(zip(*parts, strict=True))]
