"""Examples: features with labels and weights, as learners read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.kernel.batch import Batch

__all__ = ["Columns", "Examples", "some_rows", "two_classes"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """Features, labels and weights; all are finite numbers."""

    features: Floats
    labels: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.labels)

    def taken(self, start: int, end: int) -> Examples:
        """Some of the examples."""
        at = slice(start, end)
        return Examples(self.features[at], self.labels[at], self.weights[at])


@dataclass(frozen=True)
class Columns:
    """The names of the columns of examples; it reads them of a batch.

    Examples
    --------
    >>> batch = Batch({"x": np.array([[1.0], [2.0]]), "y": np.array([0, 1])})
    >>> found = Columns("x", "y").read(batch)
    >>> found.labels.tolist(), found.weights.tolist()
    ([0.0, 1.0], [1.0, 1.0])
    """

    features: str
    label: str
    weight: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns that are there."""
        return [name for name in (self.features, self.label, self.weight) if name is not None]

    def read(self, batch: Batch) -> Examples:
        """The examples of a batch, or an error that names the row."""
        features = batch.finite(self.features)
        labels = batch.numbers(self.label)
        _finite(labels, self.label)
        if self.weight is None:
            return Examples(features, labels, np.ones(len(labels)))
        weights = batch.numbers(self.weight)
        _finite(weights, self.weight)
        if (weights < 0).any():
            at = int((weights < 0).argmax())
            message = f"a weight is a number of at least 0, got {weights[at]} in row {at}"
            raise ml_value_error("ML_WEIGHT", message)
        return Examples(features, labels, weights)


def _finite(values: Floats, name: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        at = int(bad.argmax())
        message = f"column {name!r} has {values[at]} in row {at}"
        raise ml_value_error("ML_NOT_FINITE", message, "remove such rows, or fill them")


def some_rows(count: int, what: str) -> None:
    """Refuse to learn from nothing."""
    if not count:
        raise ml_error("ML_EMPTY_INPUT", f"{what} has no rows to be fitted on", "give some rows")


def two_classes(labels: Floats, low: float = 0.0, high: float = 1.0) -> None:
    """Refuse labels that are not of two classes."""
    bad = (labels != low) & (labels != high)
    if bad.any():
        at = int(bad.argmax())
        message = f"a label is {low:g} or {high:g}, got {labels[at]:g} in row {at}"
        raise ml_value_error("ML_LABEL", message, f"map the two classes to {low:g} and {high:g}")
