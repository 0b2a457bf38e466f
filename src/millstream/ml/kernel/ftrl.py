"""FTRL-Proximal for logistic regression (McMahan et al., 2013), as flink-ml does it per batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ftrl", "Gradient", "probabilities"]

Vector = NDArray[np.float64]
Sparse = tuple[NDArray[np.int64], Vector]
"""The indices that are not 0, and their values."""


@dataclass(frozen=True)
class Gradient:
    """The sum of gradients over a batch, and the weight each dimension has in it."""

    total: Vector
    weights: Vector

    @staticmethod
    def of(
        features: Sequence[Vector | Sparse],
        labels: Sequence[float],
        weights: Sequence[float],
        coefficient: Vector,
    ) -> Gradient:
        """Return the gradient of the logistic loss.

        As in flink-ml, weights only divide the sum of gradients, and only those of sparse vectors; a
        dimension is divided by the weights of the vectors that have it.
        """
        total, sums = np.zeros(len(coefficient)), np.zeros(len(coefficient))
        for vector, label, weight in zip(features, labels, weights, strict=True):
            if isinstance(vector, tuple):
                indices, values = vector
                error = _sigmoid(float(coefficient[indices] @ values)) - label
                np.add.at(total, indices, error * values)
                np.add.at(sums, indices, weight)
            else:
                total += (_sigmoid(float(coefficient @ vector)) - label) * vector
                sums += 1.0
        return Gradient(total, sums)

    def mean(self) -> Vector:
        return np.divide(self.total, self.weights, out=self.total.copy(), where=self.weights != 0)


@dataclass(frozen=True)
class Ftrl:
    """The state of the optimizer: the coefficient, and the sums ``z`` and ``n`` of each dimension."""

    coefficient: Vector
    z: Vector
    n: Vector

    @staticmethod
    def start(coefficient: Vector) -> Ftrl:
        zeros = np.zeros(len(coefficient))
        return Ftrl(np.array(coefficient, np.float64), zeros, zeros)

    def step(
        self, gradient: Vector, alpha: float, beta: float, reg: float, elastic_net: float
    ) -> Ftrl:
        """Return the next state.

        Examples
        --------
        >>> state = Ftrl.start(np.zeros(2)).step(np.array([1.0, 0.0]), 0.1, 0.1, 0.0, 0.0)
        >>> state.coefficient.round(4).tolist()
        [-0.0909, 0.0]
        """
        l1, l2 = elastic_net * reg, (1.0 - elastic_net) * reg
        squares = self.n + gradient * gradient
        sigma = (np.sqrt(squares) - np.sqrt(self.n)) / alpha
        z = self.z + gradient - sigma * self.coefficient
        slope = (beta + np.sqrt(squares)) / alpha + l2
        moved = (np.where(z < 0, -1.0, 1.0) * l1 - z) / slope
        return Ftrl(np.where(np.abs(z) <= l1, 0.0, moved), z, squares)


def probabilities(features: Sequence[Vector | Sparse], coefficient: Vector) -> NDArray[np.float64]:
    """Return for each vector the probabilities of the labels 0 and 1."""
    ones = [
        _sigmoid(
            float(coefficient[vector[0]] @ vector[1])
            if isinstance(vector, tuple)
            else float(coefficient @ vector)
        )
        for vector in features
    ]
    return np.array([[1.0 - one, one] for one in ones]).reshape(-1, 2)


def _sigmoid(value: float) -> float:
    if value >= 0:
        return float(1.0 / (1.0 + np.exp(-value)))
    power = float(np.exp(value))
    return power / (1.0 + power)
