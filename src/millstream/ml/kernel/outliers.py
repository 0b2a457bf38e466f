"""Stochastic outlier selection: the probability that no other point has a point as its neighbour."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["affinities", "outlier_probabilities"]

BLOCK = 1 << 21
"""How many affinities are in memory at a time."""
LARGEST = float(np.finfo(np.float64).max) / 4


def outlier_probabilities(
    points: NDArray[np.float64],
    perplexity: float = 30.0,
    error_tolerance: float = 1e-20,
    max_iterations: int = 5000,
) -> NDArray[np.float64]:
    """Return the probability of each point to be an outlier, from 0 to 1.

    By J.H.M. Janssens, F. Huszár, E.O. Postma and H.J. van den Herik, *Stochastic Outlier Selection*,
    2012. A single point is an outlier: nothing is near it.

    Examples
    --------
    >>> points = np.array([[1.0, 1], [2, 1], [1, 2], [2, 2], [5, 8]])
    >>> outlier_probabilities(points, perplexity=3).round(3).tolist()
    [0.279, 0.258, 0.221, 0.127, 0.992]
    """
    count = len(points)
    outlying = np.ones(count)
    if count < 2:
        return outlying
    step = max(1, BLOCK // count)
    for start in range(0, count, step):
        rows = np.arange(start, min(start + step, count))
        others = np.ones((len(rows), count), bool)
        others[np.arange(len(rows)), rows] = False
        distances = _distances(points, rows)[others].reshape(len(rows), count - 1)
        bound = affinities(distances, perplexity, error_tolerance, max_iterations)
        sums = bound.sum(axis=1, keepdims=True)
        bound = np.divide(bound, sums, out=np.zeros_like(bound), where=sums > 0)
        binding = np.zeros((len(rows), count))
        binding[others] = bound.ravel()
        outlying *= np.prod(1.0 - binding, axis=0)
    return outlying


def _distances(points: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    squares = np.zeros((len(rows), len(points)))
    for column in points.T:
        squares += (column[rows, None] - column[None, :]) ** 2
    return np.sqrt(squares)


def affinities(
    distances: NDArray[np.float64],
    perplexity: float,
    error_tolerance: float = 1e-20,
    max_iterations: int = 5000,
) -> NDArray[np.float64]:
    """Return ``exp(-beta * d)`` with a ``beta`` of each row that gives it the perplexity.

    The ``beta`` is searched by bisection, until the logarithm of the perplexity is right up to
    ``error_tolerance`` or the ``beta`` no longer changes.
    """
    wanted = math.log(perplexity)
    result = np.empty_like(distances)
    open_rows = np.arange(len(distances))
    beta = np.ones(len(distances))
    low = np.full(len(distances), -np.inf)
    high = np.full(len(distances), np.inf)
    for iteration in range(max_iterations + 1):
        result[open_rows], difference = _entropy(distances[open_rows], beta, wanted)
        if iteration == max_iterations:
            break
        with np.errstate(invalid="ignore"):
            before = beta
            beta, low, high = _next(beta, low, high, difference)
            left = ~(np.abs(difference) <= error_tolerance) & (beta != before)
        if not left.any():
            break
        open_rows, beta, low, high = open_rows[left], beta[left], low[left], high[left]
    return result


def _entropy(
    distances: NDArray[np.float64], beta: NDArray[np.float64], wanted: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.exp(-distances * beta[:, None])
        sums = found.sum(axis=1)
        entropy = np.log(sums) + beta * (distances * found).sum(axis=1) / sums
    return found, entropy - wanted


def _next(
    beta: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    difference: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    unknown = np.isnan(difference)
    wide = difference > 0
    # Equal points have one perplexity only: the search for another one ends at the largest number.
    raised = np.where(np.isinf(high), np.minimum(beta, LARGEST) * 2.0, (beta + high) / 2.0)
    lowered = np.where(np.isinf(low), beta / 2.0, (beta + low) / 2.0)
    chosen = np.where(unknown, beta / 10.0, np.where(wide, raised, lowered))
    return (
        chosen,
        np.where(wide & ~unknown, beta, low),
        np.where(~wide & ~unknown, beta, high),
    )
