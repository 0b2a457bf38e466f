"""UnivariateFeatureSelector: the features that depend on the label."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasFeaturesCol, HasLabelCol, HasOutputCol
from millstream.ml.errors import ml_value_error
from millstream.ml.feature.vectorslicer import pick_column
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.significance import (
    chi_square,
    contingency_of,
    f_of_classes,
    f_of_regression,
    products_of,
    statistics_of_classes,
)
from millstream.ml.kernel.statistics import first_of
from millstream.ml.param import FloatParam, ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["UnivariateFeatureSelector", "UnivariateFeatureSelectorModel"]

_WHO = "UnivariateFeatureSelector"
_KINDS = ParamValidators.in_array(["categorical", "continuous"])
_DEFAULTS = {"numTopFeatures": 50.0, "percentile": 0.1, "fpr": 0.05, "fdr": 0.05, "fwe": 0.05}
# For the kinds of features and label: the sums of a part, and the test of all parts.
_TESTS: dict[tuple[str, str], tuple[Any, Any]] = {
    ("categorical", "categorical"): (contingency_of, chi_square),
    ("continuous", "categorical"): (
        statistics_of_classes,
        lambda parts: f_of_classes(parts, _WHO),
    ),
    ("continuous", "continuous"): (products_of, lambda parts: f_of_regression(parts, _WHO)),
}


class UnivariateFeatureSelectorModel(FeatureModel, HasFeaturesCol, HasOutputCol):
    """The model of `UnivariateFeatureSelector`: the places of the features that stay."""

    DATA: ClassVar[dict[str, str]] = {"indices": "array<long>"}

    def work(self) -> Work:
        (row,) = self.rows
        places = sorted(row["indices"])
        return partial(pick_column, column=self.features_col, made=self.output_col, places=places)


class UnivariateFeatureSelector(Learner, HasFeaturesCol, HasLabelCol, HasOutputCol):
    """Keep the features that depend on the label, by a test of each of them alone.

    The test is chi-square for categorical features and labels, the analysis of variance for
    continuous features and categorical labels, and the F value of a regression for continuous ones.
    ``selection_mode`` with ``selection_threshold``: ``numTopFeatures`` (50), ``percentile`` (0.1),
    ``fpr`` (p-values below 0.05), ``fdr`` (the procedure of Benjamini and Hochberg) or ``fwe`` (p-values
    below the threshold divided by the number of features).

    Examples
    --------
    >>> selector = UnivariateFeatureSelector(feature_type="continuous", label_type="categorical")
    >>> rows, labels = [[1.0, 5.0], [1.2, 3.0], [9.0, 5.1], [9.1, 3.2]], [0, 0, 1, 1]
    >>> selector.set_selection_threshold(1).fit(rows, labels).transform(rows).ravel().tolist()
    [1.0, 1.2, 9.0, 9.1]
    """

    MODEL = UnivariateFeatureSelectorModel
    FEATURE_TYPE = StringParam("feature_type", "The feature type.", None, _KINDS)
    LABEL_TYPE = StringParam("label_type", "The label type.", None, _KINDS)
    SELECTION_MODE = StringParam(
        "selection_mode",
        "The feature selection mode.",
        "numTopFeatures",
        ParamValidators.in_array(list(_DEFAULTS)),
    )
    SELECTION_THRESHOLD = FloatParam(
        "selection_threshold",
        "The upper bound of the features that selector will select; by default 50 features, 0.1 of "
        "them, or p-values below 0.05.",
        None,
    )

    def check(self) -> None:
        kinds = (self.feature_type, self.label_type)
        if kinds not in _TESTS:
            message = f"unsupported combination: feature_type={kinds[0]}, label_type={kinds[1]}"
            raise ml_value_error("ML_PARAM_VALUE", message, "make bins with KBinsDiscretizer")
        self._threshold()

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        threshold = self._threshold()
        summary, test = _TESTS[self.feature_type, self.label_type]
        features, label = self.features_col, self.label_col

        def part(batch: Batch) -> Any:
            return summary(batch.finite(features), batch.numbers(label))

        parts = frame.reduce(part, [features, label])
        first_of(parts, _WHO)
        places = _selected(np.asarray(test(parts).p_values), self.selection_mode, threshold)
        return [{"indices": places.tolist()}]

    def _threshold(self) -> float:
        given, mode = self.selection_threshold, self.selection_mode
        if given is None:
            return _DEFAULTS[mode]
        if mode == "numTopFeatures":
            good, rule = given >= 1 and given == int(given), "a positive integer"
        else:
            good, rule = 0 <= given <= 1, "in the range [0, 1]"
        if not good:
            message = f"selection_threshold needs to be {rule} for {mode}, but got {given}"
            raise ml_value_error("ML_PARAM_VALUE", message)
        return float(given)


def _selected(p_values: NDArray[np.float64], mode: str, threshold: float) -> NDArray[np.int64]:
    """The places of the features that a mode selects."""
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")  # NaN comes last
    if mode == "numTopFeatures":
        return order[: int(threshold)]
    if mode == "percentile":
        return order[: int(count * threshold)]
    if mode == "fdr":
        below = p_values[order] < threshold / count * np.arange(1, count + 1)
        return order[: int(np.flatnonzero(below).max(initial=-1)) + 1]
    return np.flatnonzero(p_values < (threshold / count if mode == "fwe" else threshold))
