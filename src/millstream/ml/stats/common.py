"""The base of the tests of significance: one row for all features, or a row for each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasFeaturesCol, HasFlatten, HasLabelCol
from millstream.ml.errors import ml_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.significance import Significance
from millstream.ml.linalg import DenseVector
from millstream.ml.stages.base import ColumnOperator

__all__ = ["SignificanceTest", "rounded"]


class SignificanceTest(ColumnOperator, HasFeaturesCol, HasLabelCol, HasFlatten):
    """An operator that tests each feature against the label."""

    STATISTIC: ClassVar[str] = "statistic"

    @abstractmethod
    def partial(self, batch: Batch) -> Any:
        """The sums of a part of the data."""

    @abstractmethod
    def combined(self, parts: list[Any]) -> Significance:
        """The test of all parts."""

    def computed(self, frame: Frame) -> tuple[Batch, Mapping[str, str]]:
        parts = frame.reduce(self.partial, self.read_columns())
        if not parts:
            message = f"{type(self).__name__} has no rows to be tested"
            raise ml_error("ML_EMPTY_INPUT", message, "give some rows")
        found = self.combined(parts)
        if self.flatten:
            columns = {
                "featureIndex": np.arange(len(found.p_values), dtype=np.int32),
                "pValue": found.p_values,
                "degreeOfFreedom": found.degrees,
                self.STATISTIC: found.statistics,
            }
            kinds = {"featureIndex": "int", "pValue": "double", "degreeOfFreedom": "long"}
            return Batch(columns), {**kinds, self.STATISTIC: "double"}
        columns = {
            "pValues": [DenseVector(found.p_values)],
            "degreesOfFreedom": [found.degrees.tolist()],
            f"{self.STATISTIC}s": [DenseVector(found.statistics)],
        }
        kinds = {"pValues": "vector", "degreesOfFreedom": "array<long>"}
        return Batch(columns, 1), {**kinds, f"{self.STATISTIC}s": "vector"}


def rounded(values: Any) -> Any:
    """Numbers with 11 digits after the point, as flink-ml's chi-square test gives them."""
    unit = Decimal("1e-11")
    return np.array([float(Decimal(v).quantize(unit, ROUND_HALF_UP)) for v in values.tolist()])
