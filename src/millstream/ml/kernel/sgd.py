"""Linear models by stochastic gradient descent, step by step as in flink-ml."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.examples import Examples

__all__ = ["LOSSES", "Descent", "logistic"]

Floats = NDArray[np.float64]
LOSSES = ("squared", "logistic", "hinge")


def logistic(raw: Floats) -> Floats:
    """The logistic function, without overflow.

    Examples
    --------
    >>> logistic(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    small = np.exp(-np.abs(raw))
    return np.asarray(np.where(raw >= 0, 1.0 / (1.0 + small), small / (1.0 + small)))


@dataclass(frozen=True)
class Descent:
    """Batches in their order, round and round, from coefficients that are 0. There is no intercept.

    Examples
    --------
    >>> rows = Examples(np.array([[1.0], [2.0]]), np.array([2.0, 4.0]), np.ones(2))
    >>> Descent("squared", max_iter=100).learn(rows).round(3).tolist()
    [1.999]
    """

    loss: str
    max_iter: int = 20
    learning_rate: float = 0.1
    batch_size: int = 32
    tol: float = 1e-6
    reg: float = 0.0
    elastic_net: float = 0.0

    @property
    def rows(self) -> int:
        """How many rows it reads at most."""
        return self.max_iter * self.batch_size

    def learn(self, examples: Examples) -> Floats:
        """The coefficients after ``max_iter`` batches, or when the mean loss is below ``tol``."""
        coefficient = np.zeros(examples.features.shape[1])
        start = 0
        for _ in range(self.max_iter):
            batch = examples.taken(start, start + self.batch_size)
            start += self.batch_size
            start = 0 if start >= len(examples) else start
            loss, gradient = self._loss(batch, coefficient)
            weight = batch.weights.sum()
            if weight > 0:
                coefficient = self._moved(coefficient, gradient / weight)
                if (loss + self._penalty(coefficient)) / weight < self.tol:
                    break
        return coefficient

    def _loss(self, batch: Examples, coefficient: Floats) -> tuple[float, Floats]:
        """The loss and the gradient, both summed by weight."""
        raw = batch.features @ coefficient
        if self.loss == "squared":
            apart = raw - batch.labels
            loss, slope = 0.5 * apart**2, apart
        else:
            sign = 2.0 * batch.labels - 1.0
            if self.loss == "logistic":
                loss, slope = np.logaddexp(0.0, -raw * sign), -sign * logistic(-raw * sign)
            else:
                loss = np.maximum(0.0, 1.0 - raw * sign)
                slope = np.where(loss > 0, -sign, 0.0)
        return float(loss @ batch.weights), batch.features.T @ (slope * batch.weights)

    def _moved(self, coefficient: Floats, gradient: Floats) -> Floats:
        moved = coefficient - self.learning_rate * gradient
        rate = self.learning_rate * self.reg
        shrunk = moved - rate * self.elastic_net * np.sign(moved)
        return np.asarray(shrunk - rate * (1.0 - self.elastic_net) * moved)

    def _penalty(self, coefficient: Floats) -> float:
        absolute, squares = np.abs(coefficient).sum(), (coefficient**2).sum() / 2
        share = self.elastic_net
        return float(self.reg * (share * absolute + (1 - share) * squares))
