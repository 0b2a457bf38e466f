"""Edges of bins, with the values of flink-ml's tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import KBinsDiscretizer

from millstream.ml.kernel.bins import STRATEGIES, bin_edges, bins_of
from tests.support.strategies import examples

TRAIN = np.array([[1, 10, 0]] * 3 + [[v, 10, 0] for v in (4, 5, 6, 7, 10)] + [[13, 10, 3]], float)
TEST = np.array(
    [[-1, 0, 0], [1, 1, 1], [1.5, 1, 2], [5, 2, 3], [7.25, 3, 4], [13, 4, 5], [15, 4, 6]], float
)
FIRST_AND_LAST = {
    "uniform": ([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 2, 2, 2]),
    "quantile": ([0, 0, 0, 1, 2, 2, 2], [0] * 7),
    "kmeans": ([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 2, 2, 2]),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_values_of_flink_ml(strategy: str) -> None:
    found = bins_of(TEST, bin_edges(TRAIN, 3, strategy))
    first, last = FIRST_AND_LAST[strategy]
    assert found.tolist() == [list(row) for row in zip(first, [0] * 7, last, strict=True)]


def test_edges_of_flink_ml() -> None:
    first, second, third = bin_edges(TRAIN, 3, "uniform")
    assert first.tolist() == [1, 5, 9, 13]
    assert second.tolist() == [-np.inf, np.inf]
    assert third.tolist() == [0, 1, 2, 3]


def test_a_mean_without_values_keeps_its_place() -> None:
    """Two of four means start at the same value, so one of them gets nothing."""
    values = np.array([[0.0]] * 10 + [[1.0], [2.0], [3.0], [9.0], [9.5]])
    (edges,) = bin_edges(values, 4, "kmeans")
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()


@given(st.integers(0, 10**6), st.integers(2, 8))
@examples(30)
def test_uniform_bins_of_scikit_learn(seed: int, bins: int) -> None:
    points = np.random.default_rng(seed).normal(size=(30, 2))
    model = KBinsDiscretizer(bins, encode="ordinal", strategy="uniform", subsample=None).fit(points)
    found = bin_edges(points, bins, "uniform")
    assert np.allclose(found, np.stack(list(model.bin_edges_)))
