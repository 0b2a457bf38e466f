"""Naive Bayes for features that are classes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_value_error
from millstream.ml.kernel.statistics import same_length

__all__ = ["Bayes", "Counts", "bayes_of", "counts_of"]

Floats = NDArray[np.float64]
Counts = dict[float, tuple[int, list[Counter[float]]]]
"""For each label how many rows it has, and how often each feature has each of its values."""


@dataclass(frozen=True)
class Bayes:
    """The logarithms of probabilities: of labels, and of values of features given the label."""

    labels: list[float]
    label_logs: list[float]
    value_logs: list[list[dict[float, float]]]

    def predicted(self, features: Floats) -> Floats:
        """The most likely label of each row; of two, the first one."""
        columns = self.value_logs[0]
        if len(features):
            same_length(np.empty(len(columns)), features[0])
        scores = np.tile(np.array(self.label_logs), (len(features), 1))
        for at, known in enumerate(columns):
            values, places = np.unique(features[:, at], return_inverse=True)
            for value in values.tolist():
                if value not in known:
                    message = f"feature {at} has the value {value:g}, which no training row has"
                    hint = "the values it has: " + ", ".join(f"{v:g}" for v in sorted(known)[:20])
                    raise ml_value_error("ML_UNKNOWN_VALUE", message, hint)
            logs = np.array([[of[at][v] for of in self.value_logs] for v in values.tolist()])
            scores += logs.reshape(len(values), -1)[places.ravel()]
        return np.asarray(np.array(self.labels)[scores.argmax(axis=1)])


def counts_of(features: Floats, labels: Floats) -> Counts:
    """The counts of some rows."""
    found: Counts = {}
    for label in np.unique(labels).tolist():
        rows = features[labels == label]
        found[label] = len(rows), [Counter(column.tolist()) for column in rows.T]
    return found


def bayes_of(parts: Sequence[Counts], smoothing: float) -> Bayes:
    """The probabilities by the counts of all parts, each count raised by ``smoothing``.

    Examples
    --------
    >>> rows, labels = np.array([[0.0, 0], [1, 0], [1, 1]]), np.array([11.0, 10, 10])
    >>> bayes_of([counts_of(rows, labels)], 1.0).predicted(np.array([[0.0, 1.0], [1.0, 1.0]]))
    array([11., 10.])
    """
    whole: Counts = {}
    size = len(next(iter(parts[0].values()))[1])
    for part in parts:
        for label, (rows, features) in part.items():
            same_length(np.empty(size), np.empty(len(features)))
            count, known = whole.setdefault(label, (0, [Counter() for _ in range(size)]))
            for mine, other in zip(known, features, strict=True):
                mine.update(other)
            whole[label] = count + rows, known
    labels = sorted(whole)
    values = [sorted(set().union(*(whole[label][1][at] for label in labels))) for at in range(size)]
    rows = sum(count for count, _ in whole.values())
    all_logs = _log(rows * size + len(labels) * smoothing)
    return Bayes(
        labels,
        [_log(whole[label][0] * size + smoothing) - all_logs for label in labels],
        [_logs_of(*whole[label], values, smoothing) for label in labels],
    )


def _logs_of(
    rows: int, features: list[Counter[float]], values: list[list[float]], smoothing: float
) -> list[dict[float, float]]:
    found = []
    for counts, known in zip(features, values, strict=True):
        base = _log(rows + smoothing * len(known))
        found.append({value: _log(counts[value] + smoothing) - base for value in known})
    return found


def _log(value: float) -> float:
    return math.log(value) if value else -math.inf
