"""Vectors with labels, and weights with an intercept, by the names of FlinkML 1.x."""

from __future__ import annotations

from typing import NamedTuple

from millstream.ml.linalg import DenseVector, Vector

__all__ = ["LabeledVector", "WeightVector"]


class LabeledVector(NamedTuple):
    """A vector with its label. Lists of them are data for all stages.

    Examples
    --------
    >>> from millstream.ml.linalg import Vectors
    >>> LabeledVector(1.0, Vectors.dense(2.0, 3.0)).vector
    DenseVector([2.0, 3.0])
    """

    label: float
    vector: Vector


class WeightVector(NamedTuple):
    """The weights of features, and the intercept.

    Examples
    --------
    >>> WeightVector(DenseVector([2.0]), 1.0).intercept
    1.0
    """

    weights: DenseVector
    intercept: float
