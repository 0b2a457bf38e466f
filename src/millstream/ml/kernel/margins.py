"""Support vector machines with a linear kernel, by an interior point method on the dual problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.examples import Examples

__all__ = ["hinge_coefficient"]

Floats = NDArray[np.float64]


def hinge_coefficient(examples: Examples, reg: float, max_iter: int = 200) -> Floats:
    """The coefficient with the smallest ``mean hinge loss + reg * |w|² / 2``; labels are 0 and 1.

    Exact for any ``reg`` above 0; there is no intercept.

    Examples
    --------
    >>> rows = Examples(np.array([[2.0], [-2.0]]), np.array([1.0, 0.0]), np.ones(2))
    >>> hinge_coefficient(rows, reg=0.01).round(6).tolist()
    [0.5]
    """
    counted = examples.weights > 0
    sign = 2.0 * examples.labels[counted] - 1.0
    ceiling = examples.weights[counted] / examples.weights[counted].sum()
    # The dual variables as shares of their ceilings: the box has sides of length 1.
    points = examples.features[counted] * (sign * ceiling / np.sqrt(reg))[:, None]
    place = _Place(np.full(len(points), 0.5), ceiling, ceiling)
    for _ in range(max_iter):
        residual = points @ (points.T @ place.share) - ceiling - place.low + place.high
        if place.gap() < 1e-13 and np.abs(residual).max() < 1e-13:
            break
        solve = _solver(points, place.low / place.share + place.high / (1.0 - place.share))
        # A first step towards the edge tells how far from the middle the next place may be.
        first = place.towards(solve, residual, 0.0, None)
        after = place.moved(first, place.longest(first)).gap()
        middle = (after / place.gap()) ** 3 * place.gap() / (2 * len(points))
        step = place.towards(solve, residual, middle, first)
        length = 0.995 * place.longest(step)
        if length < 1e-12:
            break
        place = place.moved(step, length)
    return np.asarray(points.T @ place.share / np.sqrt(reg))


@dataclass(frozen=True)
class _Place:
    """Shares between 0 and 1, and the multipliers of their lower and upper bounds; or a step of them."""

    share: Floats
    low: Floats
    high: Floats

    def gap(self) -> float:
        return float(self.low @ self.share + self.high @ (1.0 - self.share))

    def moved(self, step: _Place, length: float) -> _Place:
        share = self.share + length * step.share
        return _Place(share, self.low + length * step.low, self.high + length * step.high)

    def towards(
        self,
        solve: Callable[[Floats], Floats],
        residual: Floats,
        middle: float,
        first: _Place | None,
    ) -> _Place:
        """The step to where the products with the multipliers are ``middle``.

        With a first step, what that one leaves out is corrected.
        """
        room = 1.0 - self.share
        under, over = middle - self.low * self.share, middle - self.high * room
        if first is not None:
            under = under - first.share * first.low
            over = over + first.share * first.high
        step = solve(under / self.share - over / room - residual)
        low, high = (under - self.low * step) / self.share, (over + self.high * step) / room
        return _Place(step, low, high)

    def longest(self, step: _Place) -> float:
        """How far a step can go, at most 1, before something is below 0."""
        found = 1.0
        changes = ((self.share, step.share), (1.0 - self.share, -step.share))
        for value, change in (*changes, (self.low, step.low), (self.high, step.high)):
            falls = change < 0
            if falls.any():
                found = min(found, float((-value[falls] / change[falls]).min()))
        return found


def _solver(points: Floats, diagonal: Floats) -> Callable[[Floats], Floats]:
    """Solutions of ``(points points' + diagonal) x = right`` by a matrix of features only."""
    scaled = points / diagonal[:, None]
    small = np.eye(points.shape[1]) + points.T @ scaled

    def solve(right: Floats) -> Floats:
        return np.asarray(right / diagonal - scaled @ np.linalg.solve(small, scaled.T @ right))

    return solve
