"""Tests of significance against scipy and scikit-learn, however the data are parted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.feature_selection import f_classif, f_regression

from millstream.ml.kernel.significance import (
    chi_square,
    chi_square_above,
    contingency_of,
    f_above,
    f_of_classes,
    f_of_regression,
    products_of,
    statistics_of_classes,
)
from tests.support.strategies import examples


@examples(100)
@given(st.integers(1, 300), st.floats(0, 1000))
def test_the_distribution_chi_square(degrees: int, x: float) -> None:
    assert chi_square_above(x, degrees) == pytest.approx(stats.chi2.sf(x, degrees), abs=1e-12)


@examples(100)
@given(st.integers(1, 100), st.integers(1, 1000), st.floats(0, 100))
def test_the_distribution_f(numerator: int, denominator: int, f: float) -> None:
    expected = stats.f.sf(f, numerator, denominator)
    assert f_above(f, numerator, denominator) == pytest.approx(expected, abs=1e-12)


def test_distributions_at_their_ends() -> None:
    assert chi_square_above(0.0, 3) == 1.0
    assert f_above(0.0, 2, 3) == 1.0
    assert f_above(float("inf"), 2, 3) == 0.0
    assert np.isnan(f_above(float("nan"), 2, 3))
    assert np.isnan(f_above(1.0, 2, 0))


@pytest.mark.parametrize("parts", [1, 3])
@examples(20)
@given(st.integers(0, 10_000))
def test_like_scikit_learn(parts: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(1000, 3, (60, 4))
    classes = random.integers(0, 3, 60).astype(float)
    numbers = rows @ random.normal(size=4) + random.normal(0, 5, 60)
    split = np.array_split(np.arange(60), parts)
    found = f_of_classes([statistics_of_classes(rows[at], classes[at]) for at in split], "")
    f_values, p_values = f_classif(rows, classes)
    assert found.statistics == pytest.approx(f_values, rel=1e-6)
    assert found.p_values == pytest.approx(p_values, rel=1e-6)
    found = f_of_regression([products_of(rows[at], numbers[at]) for at in split], "")
    f_values, p_values = f_regression(rows, numbers)
    assert found.statistics == pytest.approx(f_values, rel=1e-6)
    assert found.p_values == pytest.approx(p_values, rel=1e-6)


@pytest.mark.parametrize("parts", [1, 4])
def test_contingency_like_scipy(parts: int) -> None:
    random = np.random.default_rng(5)
    rows = random.integers(0, 4, (80, 3)).astype(float)
    labels = random.integers(0, 3, 80).astype(float)
    split = np.array_split(np.arange(80), parts)
    found = chi_square([contingency_of(rows[at], labels[at]) for at in split])
    for at, column in enumerate(rows.T):
        table = [[((column == v) & (labels == y)).sum() for y in range(3)] for v in range(4)]
        expected = stats.chi2_contingency(table, correction=False)
        assert found.statistics[at] == pytest.approx(expected.statistic)
        assert found.p_values[at] == pytest.approx(expected.pvalue)
        assert found.degrees[at] == expected.dof
