"""Tests of significance: how likely is it that features have nothing to do with labels.

Their sums can be taken over parts of the data and put together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.statistics import (
    ColumnStatistics,
    merged_statistics,
    same_length,
    statistics_of,
)

__all__ = [
    "Significance",
    "chi_square",
    "chi_square_above",
    "contingency_of",
    "f_above",
    "f_of_classes",
    "f_of_regression",
    "products_of",
    "statistics_of_classes",
]

Floats = NDArray[np.float64]
Contingency = list[Counter[tuple[float, float]]]
Products = tuple[ColumnStatistics, Floats]
_TINY = 1e-300
_EPSILON = 1e-16


@dataclass(frozen=True)
class Significance:
    """A test of each feature: the probability, the degrees of freedom, and the statistic."""

    p_values: Floats
    degrees: NDArray[np.int64]
    statistics: Floats


# -- distributions ---------------------------------------------------------------------------------


def chi_square_above(x: float, degrees: int) -> float:
    """The probability that a chi-square distribution gives a value above x.

    Examples
    --------
    >>> round(chi_square_above(3.841458820694124, 1), 12)
    0.05
    """
    return _gamma_above(degrees / 2.0, x / 2.0)


def f_above(f: float, numerator: int, denominator: int) -> float:
    """The probability that an F distribution gives a value above f; NaN if there is no such thing.

    Examples
    --------
    >>> round(f_above(4.964602743730711, 1, 10), 12)
    0.05
    """
    if math.isnan(f) or numerator < 1 or denominator < 1:
        return math.nan
    if math.isinf(f):
        return 0.0
    whole = denominator + numerator * f
    shares = denominator / whole, numerator * f / whole
    return _beta(denominator / 2.0, numerator / 2.0, *shares)


def _gamma_above(a: float, x: float) -> float:
    """The upper incomplete gamma function by the gamma function: a series, or a continued fraction."""
    if x <= 0:
        return 1.0
    scale = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = total = 1.0 / a
        at = a
        while abs(term) > abs(total) * _EPSILON:
            at += 1
            term *= x / at
            total += term
        return 1.0 - total * scale
    b = x + 1.0 - a
    c, d = 1.0 / _TINY, 1.0 / b
    found = d
    for i in range(1, 10_000):
        step = -i * (i - a)
        b += 2.0
        d = 1.0 / _apart(step * d + b)
        c = _apart(b + step / c)
        found *= d * c
        if abs(d * c - 1.0) < _EPSILON * 4:
            break
    return found * scale


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function of x, by its continued fraction; ``rest`` is 1 - x."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    scale = math.exp(logs + a * math.log(x) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return scale * _beta_fraction(a, b, x) / a
    return 1.0 - scale * _beta_fraction(b, a, rest) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1.0))
    found = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for step in (even, odd):
            d = 1.0 / _apart(1.0 + step * d)
            c = _apart(1.0 + step / c)
            found *= d * c
        if abs(d * c - 1.0) < _EPSILON * 4:
            break
    return found


def _apart(value: float) -> float:
    """A denominator that is not zero."""
    return value if abs(value) > _TINY else _TINY


# -- features that are numbers, labels that are classes ---------------------------------------------


def statistics_of_classes(features: Floats, labels: Floats) -> dict[float, ColumnStatistics]:
    """The statistics of the features of each class."""
    return {float(each): statistics_of(features[labels == each]) for each in np.unique(labels)}


def f_of_classes(parts: Sequence[dict[float, ColumnStatistics]], what: str) -> Significance:
    """The analysis of variance: whether the means of classes differ.

    Examples
    --------
    >>> rows, labels = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> found = f_of_classes([statistics_of_classes(rows, labels)], "ANOVATest")
    >>> found.statistics.tolist(), found.p_values.round(4).tolist(), found.degrees.tolist()
    ([18.0], [0.0513], [3])
    """
    by_class: dict[float, list[ColumnStatistics]] = {}
    for part in parts:
        for label, each in part.items():
            by_class.setdefault(label, []).append(each)
    classes = [merged_statistics(each, what) for each in by_class.values()]
    whole = merged_statistics(classes, what)
    within = np.sum([each.squares for each in classes], axis=0)
    between = np.sum([each.count * (each.mean - whole.mean) ** 2 for each in classes], axis=0)
    numerator, denominator = len(classes) - 1, whole.count - len(classes)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (between / numerator) / (within / denominator)
    p_values = np.array([f_above(each, numerator, denominator) for each in found.tolist()])
    return Significance(p_values, np.full(len(found), numerator + denominator), found)


# -- features and labels that are numbers -----------------------------------------------------------


def products_of(features: Floats, labels: Floats) -> Products:
    """The statistics of features and labels together, and the sums of their products."""
    both = statistics_of(np.column_stack([features, labels]))
    return both, (features - both.mean[:-1]).T @ (labels - both.mean[-1])


def f_of_regression(parts: Sequence[Products], what: str) -> Significance:
    """Whether a label depends linearly on each feature alone.

    Examples
    --------
    >>> rows, labels = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> found = f_of_regression([products_of(rows, labels)], "FValueTest")
    >>> found.statistics.round(4).tolist(), found.p_values.round(4).tolist()
    ([3.5556], [0.2])
    """
    whole = merged_statistics([each for each, _ in parts], what)
    apart = [each.mean - whole.mean for each, _ in parts]
    products = np.sum(
        [
            own + each.count * gap[:-1] * gap[-1]
            for (each, own), gap in zip(parts, apart, strict=True)
        ],
        axis=0,
    )
    degrees = whole.count - 2
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = products**2 / (whole.squares[:-1] * whole.squares[-1])
        found = explained / (1.0 - explained) * degrees
    p_values = np.array([f_above(each, 1, degrees) for each in found.tolist()])
    return Significance(p_values, np.full(len(found), degrees), found)


# -- features and labels that are classes -----------------------------------------------------------


def contingency_of(features: Floats, labels: Floats) -> Contingency:
    """How often each value of a feature comes with each label."""
    names = labels.tolist()
    return [Counter(zip(column.tolist(), names, strict=True)) for column in features.T]


def chi_square(parts: Sequence[Contingency]) -> Significance:
    """Pearson's test of independence of each feature and the label.

    Examples
    --------
    >>> rows, labels = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> found = chi_square([contingency_of(rows, labels)])
    >>> found.statistics.tolist(), found.degrees.tolist(), found.p_values.round(4).tolist()
    ([4.0], [1], [0.0455])
    """
    features: Contingency = [Counter() for _ in parts[0]]
    for part in parts:
        same_length(np.empty(len(features)), np.empty(len(part)))
        for counts, own in zip(features, part, strict=True):
            counts.update(own)
    found = [_independence(counts) for counts in features]
    return Significance(
        np.array([each[0] for each in found]),
        np.array([each[1] for each in found], np.int64),
        np.array([each[2] for each in found]),
    )


def _independence(counts: Counter[tuple[float, float]]) -> tuple[float, int, float]:
    rows = sorted({value for value, _ in counts})
    columns = sorted({label for _, label in counts})
    observed = np.array([[counts[row, column] for column in columns] for row in rows], np.float64)
    expected = observed.sum(axis=1)[:, None] * observed.sum(axis=0) / observed.sum()
    statistic = float(((observed - expected) ** 2 / expected).sum())
    degrees = (len(rows) - 1) * (len(columns) - 1)
    # One value or one label: nothing depends on anything.
    return (chi_square_above(statistic, degrees) if degrees else 1.0), degrees, statistic
