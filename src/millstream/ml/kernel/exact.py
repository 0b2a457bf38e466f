"""Linear models where the loss is smallest: no steps and no rates.

All minimise ``mean loss + reg * (elastic_net * |w| + (1 - elastic_net) * |w|² / 2)``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.examples import Examples
from millstream.ml.kernel.sgd import logistic
from millstream.ml.kernel.statistics import same_length

__all__ = ["least_squares", "logistic_coefficient", "triangle"]

Floats = NDArray[np.float64]


# -- least squares ---------------------------------------------------------------------------------


def triangle(examples: Examples) -> Floats:
    """The triangle of a QR decomposition of (1, features, label): all that least squares need.

    Triangles of parts of the data, one below the other, have the triangle of all of them.
    """
    ones = np.ones((len(examples), 1))
    whole = np.hstack([ones, examples.features, examples.labels[:, None]])
    return np.asarray(np.linalg.qr(whole * np.sqrt(examples.weights)[:, None], mode="r"))


def least_squares(
    parts: Sequence[Floats], intercept: bool, reg: float = 0.0, elastic_net: float = 0.0
) -> tuple[Floats, float]:
    """The coefficient and the intercept of the smallest mean of squares, by halves.

    Of several that are as good, those with the smallest coefficients.

    Examples
    --------
    >>> rows = Examples(np.array([[1.0], [2.0], [3.0]]), np.array([3.0, 5.0, 7.0]), np.ones(3))
    >>> found, shift = least_squares([triangle(rows)], intercept=True)
    >>> found.round(9).tolist(), round(shift, 9)
    ([2.0], 1.0)
    """
    for part in parts[1:]:
        same_length(parts[0][0], part[0])
    whole = np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))
    rows, size = whole.shape
    if rows < size:
        whole = np.vstack([whole, np.zeros((size - rows, size))])
    first, total = whole[0], float(whole[0, 0]) ** 2
    # Below the row of the ones are the features and labels less their means.
    used = whole[1:, 1:] if intercept else whole[:, 1:]
    features, labels = used[:, :-1], used[:, -1]
    if reg and elastic_net:
        coefficient = _shrunk(features, labels, total * reg, elastic_net)
    else:
        if reg:
            diagonal = np.sqrt(total * reg) * np.eye(features.shape[1])
            features = np.vstack([features, diagonal])
            labels = np.concatenate([labels, np.zeros(features.shape[1])])
        coefficient = np.linalg.lstsq(features, labels, rcond=None)[0]
    if not intercept:
        return coefficient, 0.0
    return coefficient, float((first[-1] - first[1:-1] @ coefficient) / first[0])


def _shrunk(features: Floats, labels: Floats, reg: float, elastic_net: float) -> Floats:
    return _descended(
        features.T @ features, features.T @ labels, reg * elastic_net, reg * (1 - elastic_net)
    )


def _descended(gram: Floats, moment: Floats, absolute: float, squared: float) -> Floats:
    """Coordinate descent on ``w'Gw/2 - m'w + absolute * |w| + squared * |w|²/2``."""
    found = np.zeros(len(moment))
    diagonal = gram.diagonal() + squared
    slopes = -moment.copy()
    for _ in range(10_000):
        largest = 0.0
        for at in np.flatnonzero(diagonal > 0):
            wanted = gram[at, at] * found[at] - slopes[at]
            new = np.sign(wanted) * max(abs(wanted) - absolute, 0.0) / diagonal[at]
            step = new - found[at]
            if step:
                slopes += gram[at] * step
                found[at] = new
                largest = max(largest, abs(step) * np.sqrt(diagonal[at]))
        if largest <= 1e-12 * (1.0 + np.abs(found).max(initial=0.0)):
            break
    return found


# -- logistic regression ---------------------------------------------------------------------------


def logistic_coefficient(
    examples: Examples, reg: float = 0.0, elastic_net: float = 0.0, max_iter: int = 100
) -> Floats:
    """The coefficient of a logistic regression, by Newton's method; labels are 0 and 1.

    Without ``reg``, the coefficients of classes that a plane separates grow with each iteration.

    Examples
    --------
    >>> rows = Examples(np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> logistic_coefficient(rows, reg=0.1).round(4).tolist()
    [0.0]
    """
    features, weights = examples.features, examples.weights / examples.weights.sum()
    absolute, squared = reg * elastic_net, reg * (1 - elastic_net)
    sign = 2.0 * examples.labels - 1.0

    def cost(w: Floats) -> float:
        losses = np.logaddexp(0.0, -sign * (features @ w))
        penalty = absolute * np.abs(w).sum() + squared * (w @ w) / 2
        return float(losses @ weights + penalty)

    found = np.zeros(features.shape[1])
    known = cost(found)
    for _ in range(max_iter):
        shares = logistic(features @ found)
        slope = features.T @ ((shares - examples.labels) * weights)
        curve = (features * (shares * (1 - shares) * weights)[:, None]).T @ features
        step, share = _newton(curve, slope, found, absolute, squared), 1.0
        while share > 1e-10 and cost(found + share * step) > known:
            share /= 2
        new = cost(found + share * step)
        if new > known:
            break
        found, known = found + share * step, new
        if np.abs(step).max(initial=0.0) <= 1e-10 * (1 + np.abs(found).max(initial=0.0)):
            break
    return found


def _newton(curve: Floats, slope: Floats, found: Floats, absolute: float, squared: float) -> Floats:
    """The step to where the parabola at a place is smallest."""
    if absolute:
        return _descended(curve, curve @ found - slope, absolute, squared) - found
    whole = curve + squared * np.eye(len(found))
    return np.asarray(-np.linalg.lstsq(whole, slope + squared * found, rcond=None)[0])
