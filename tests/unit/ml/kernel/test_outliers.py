"""Stochastic outlier selection, with the values of FlinkML's tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from millstream.ml.kernel import outliers
from millstream.ml.kernel.outliers import affinities, outlier_probabilities

POINTS = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [2.0, 2.0], [5.0, 8.0]])
EXPECTED = [
    0.2790094479202896,
    0.25775014551682535,
    0.22136130977995766,
    0.12707053787018444,
    0.9922779902453757,
]


def test_affinities_of_flink_ml() -> None:
    found = affinities(np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0]]), 3, 0)
    expected = [
        0.39682901665799636,
        0.15747326846175236,
        0.06248996227359784,
        0.024797830280027126,
        0.009840498605275054,
        0.0039049953849556816,
        6.149323865970302e-4,
        2.4402301428445443e-4,
        9.683541280042027e-5,
    ]
    assert np.allclose(found[0], expected, rtol=1e-13, atol=0)


def test_probabilities_of_flink_ml() -> None:
    assert np.allclose(outlier_probabilities(POINTS, 3), EXPECTED, rtol=0, atol=1e-15)


def test_the_perplexity_is_the_wanted_one() -> None:
    """By the definition: two to the entropy of the binding probabilities."""
    distances = np.abs(np.random.default_rng(3).normal(size=(20, 19))) + 0.01
    bound = affinities(distances, 5)
    shares = bound / bound.sum(axis=1, keepdims=True)
    entropy = -(shares * np.log(shares)).sum(axis=1)
    assert np.allclose(np.exp(entropy), 5, rtol=1e-9)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(5).normal(size=(40, 3))
    whole = outlier_probabilities(points, 7)
    monkeypatch.setattr(outliers, "BLOCK", 90)
    assert np.allclose(outlier_probabilities(points, 7), whole, rtol=1e-12)


def test_few_points() -> None:
    assert outlier_probabilities(np.zeros((0, 2)), 3).tolist() == []
    assert outlier_probabilities(np.zeros((1, 2)), 3).tolist() == [1.0]


def test_equal_points() -> None:
    """No precision gives them another perplexity than 3, and all are bound alike."""
    found = outlier_probabilities(np.ones((4, 2)), 2)
    assert np.allclose(found, (1 - 1 / 3) ** 3)


def test_distances_too_large_for_the_first_precision() -> None:
    """exp(-d) is 0 there, so the entropy is not a number at first."""
    found = outlier_probabilities(POINTS * 1e4, 3)
    assert all(math.isfinite(each) for each in found)
    assert found.argmax() == 4
    assert np.allclose(found, EXPECTED, atol=1e-6)
