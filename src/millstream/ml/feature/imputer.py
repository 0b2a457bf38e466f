"""Imputer: values in the place of missing ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasInputCols, HasOutputCols, HasRelativeError
from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.quantiles import quantiles_of, summary_of
from millstream.ml.param import FloatParam, ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.columns import same_count
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["Imputer", "ImputerModel"]


class _ModelParams(HasInputCols, HasOutputCols, HasRelativeError):
    MISSING_VALUE = FloatParam(
        "missing_value",
        "The placeholder for the missing values. All occurrences of missing value will be imputed.",
        float("nan"),
    )


class ImputerModel(FeatureModel, _ModelParams):
    """The model of `Imputer`: the value for each column."""

    DATA: ClassVar[dict[str, str]] = {"surrogates": "map<string,double>"}
    KIND: ClassVar[str] = "double"

    def work(self) -> Work:
        same_count(self, "input_cols", "output_cols")
        (row,) = self.rows
        surrogates = dict(row["surrogates"])
        for name in self.input_cols:
            if name not in surrogates:
                message = f"column {name!r} is unacceptable for the Imputer model"
                hint = f"it has learned {', '.join(surrogates)}"
                raise ml_value_error("ML_UNKNOWN_COLUMN", message, hint)
        columns = list(zip(self.input_cols, self.output_cols, strict=True))
        return partial(_filled, columns=columns, surrogates=surrogates, missing=self.missing_value)


def _filled(
    batch: Batch,
    columns: Sequence[tuple[str, str]],
    surrogates: Mapping[str, float],
    missing: float,
) -> Made:
    found = {}
    for name, made in columns:
        given, values = batch.column(name), batch.numbers(name)
        none = [v is None for v in given] if isinstance(given, list) else np.zeros(len(batch), bool)
        found[made] = np.where(_missing(values, missing) | none, surrogates[name], values)
    return Made(found)


def _missing(values: NDArray[np.float64], missing: float) -> NDArray[np.bool_]:
    return np.isnan(values) if math.isnan(missing) else values == missing


class Imputer(Learner, _ModelParams):
    """Learn a value for each column of numbers, and put it where numbers are missing.

    ``strategy``: ``mean``, ``median`` or ``most_frequent``, the smallest one of several.
    ``missing_value`` and None are missing; NaN is not learned from. A median of many rows is as exact as
    ``relative_error`` says, see `RobustScaler`.

    Examples
    --------
    >>> imputer = Imputer(input_cols=["x"], output_cols=["filled"])
    >>> imputer.fit_transform([1.0, float("nan"), 5.0])
    array([1., 3., 5.])
    """

    MODEL = ImputerModel
    STRATEGY = StringParam(
        "strategy",
        "The imputation strategy.",
        "mean",
        ParamValidators.in_array(["mean", "median", "most_frequent"]),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        names, missing = self.input_cols, self.missing_value
        summary, result = _STRATEGIES[self.strategy]
        error = self.relative_error

        def part(batch: Batch) -> list[Any]:
            columns = [batch.numbers(name) for name in names]
            return [
                summary(each[~(_missing(each, missing) | np.isnan(each))], error)
                for each in columns
            ]

        parts = frame.reduce(part, names)
        found = {}
        for at, name in enumerate(names):
            value = result([each[at] for each in parts])
            if math.isnan(value):
                message = f"all the values in column {name!r} are null, NaN or missing"
                raise ml_error("ML_EMPTY_INPUT", message, "leave the column out")
            found[name] = value
        return [{"surrogates": found}]


def _mean(parts: Sequence[tuple[float, int]]) -> float:
    count = sum(each for _, each in parts)
    return math.fsum(each for each, _ in parts) / count if count else math.nan


def _most_frequent(parts: Sequence[Mapping[float, int]]) -> float:
    counts: Counter[float] = Counter()
    for each in parts:
        counts.update(each)
    return min(counts, key=lambda value: (-counts[value], value), default=math.nan)


def _median(parts: Sequence[Any]) -> float:
    return float(quantiles_of(parts, [0.5])[0])


# For each strategy: the summary of a part, and the value of all summaries.
_STRATEGIES: dict[str, tuple[Any, Any]] = {
    "mean": (lambda values, _: (math.fsum(values.tolist()), len(values)), _mean),
    "median": (summary_of, _median),
    "most_frequent": (lambda values, _: dict(Counter(values.tolist())), _most_frequent),
}
