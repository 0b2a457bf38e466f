"""Areas under curves of two classes, from scores with ties and weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_value_error

__all__ = ["METRICS", "metrics_of", "weights_by_score"]

Floats = NDArray[np.float64]
METRICS = ("areaUnderROC", "areaUnderPR", "areaUnderLorenz", "ks")


def weights_by_score(scores: Floats, labels: Floats, weights: Floats) -> tuple[Floats, ...]:
    """The scores that there are: the weights of their rows of label 1 and of label 0, and the rows."""
    known, places = np.unique(scores, return_inverse=True)
    places = places.ravel()
    positive = np.bincount(places, weights * (labels == 1), len(known))
    negative = np.bincount(places, weights * (labels == 0), len(known))
    rows = np.bincount(places, minlength=len(known)).astype(np.float64)
    return known, np.asarray(positive, np.float64), np.asarray(negative, np.float64), rows


def metrics_of(parts: Sequence[tuple[Floats, ...]]) -> dict[str, float]:
    """The metrics, from the `weights_by_score` of parts of the data.

    As in flink-ml, the area under ROC counts ranks of rows, also if rows have weights.

    Examples
    --------
    >>> part = weights_by_score(np.array([0.9, 0.1]), np.array([1.0, 0.0]), np.ones(2))
    >>> metrics_of([part])
    {'areaUnderROC': 1.0, 'areaUnderPR': 1.0, 'areaUnderLorenz': 0.75, 'ks': 1.0}
    """
    scores, positive, negative, rows = (np.concatenate(each) for each in zip(*parts, strict=True))
    _, places = np.unique(scores, return_inverse=True)
    places = places.ravel()
    count = np.bincount(places, rows)
    ranks = count.cumsum() - (count - 1.0) / 2.0
    ranked = float(np.bincount(places, positive) @ ranks)
    right = np.bincount(places, positive)[::-1].cumsum()
    wrong = np.bincount(places, negative)[::-1].cumsum()
    if right[-1] == 0 or wrong[-1] == 0:
        message = f"all labels are {int(right[-1] > 0)}: the metrics need both classes"
        raise ml_value_error("ML_LABEL", message, "give rows with labels 0 and 1")
    recall = np.concatenate([[0.0], right / right[-1]])
    false = np.concatenate([[0.0], wrong / wrong[-1]])
    precision = np.concatenate([[1.0], right / (right + wrong)])
    chosen = np.concatenate([[0.0], (right + wrong) / (right[-1] + wrong[-1])])
    above = ranked - right[-1] * (right[-1] + 1.0) / 2.0
    return {
        "areaUnderROC": float(above / (right[-1] * wrong[-1])),
        "areaUnderPR": _area(recall, precision),
        "areaUnderLorenz": _area(chosen, recall),
        "ks": float(np.abs(recall - false).max()),
    }


def _area(x: Floats, y: Floats) -> float:
    return float((np.diff(x) * (y[1:] + y[:-1])).sum() / 2)
