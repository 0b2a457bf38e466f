"""Moments that grow, with the values of flink-ml's tests."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.ml.kernel.moments import Moments, scaled_values
from tests.support.strategies import examples

POINTS = np.array(
    [
        [-2.5, 9, 1],
        [1.4, -5, 1],
        [2, -1, -2],
        [0.7, 3, 1],
        [0, 1, 1],
        [0.5, 0, -2],
        [0.4, 1, 1],
        [0.3, 2, 1],
        [0.5, 1, -2],
    ]
)


def test_values_of_flink_ml() -> None:
    expected = [
        ([0.3, 1, 0], [2.4433583, 7.2111026, 1.7320508]),
        ([0.35, 1.1666667, 0], [1.5630099, 4.6654760, 1.5491933]),
        ([0.3666667, 1.2222222, 0], [1.2369316, 3.7006005, 1.5]),
    ]
    moments = Moments.none(3)
    for start, (mean, deviation) in zip((0, 3, 6), expected, strict=True):
        moments = moments.plus(POINTS[start : start + 3])
        assert np.allclose(moments.mean, mean, rtol=0, atol=1e-7)
        assert np.allclose(moments.deviation(), deviation, rtol=0, atol=1e-7)


def test_scaled_values_of_flink_ml() -> None:
    moments = Moments.none(3).plus(POINTS[:3])
    both = scaled_values(POINTS[:3], moments.mean, moments.deviation(), True, True)
    assert np.allclose(both[0], [-1.1459637, 1.1094004, 0.5773503], rtol=0, atol=1e-7)
    std = scaled_values(POINTS[:3], moments.mean, moments.deviation(), False, True)
    assert np.allclose(std[2], [0.8185455, -0.1386750, -1.1547005], rtol=0, atol=1e-7)
    mean = scaled_values(POINTS[:3], moments.mean, moments.deviation(), True, False)
    assert np.allclose(mean[1], [1.1, -6, 1])


@given(st.integers(0, 10**6), st.lists(st.integers(0, 6), max_size=8))
@examples(40)
def test_batches_are_as_one(seed: int, sizes: list[int]) -> None:
    points = np.random.default_rng(seed).normal(size=(sum(sizes), 2)) + 1e7
    moments, start = Moments.none(2), 0
    for size in sizes:
        moments = moments.plus(points[start : start + size])
        start += size
    if len(points) > 1:
        assert np.allclose(moments.mean, points.mean(axis=0))
        assert np.allclose(moments.deviation(), points.std(axis=0, ddof=1), rtol=1e-6)
    else:
        assert moments.deviation().tolist() == [0.0, 0.0]


def test_a_constant_column_is_0() -> None:
    moments = Moments.none(1).plus(np.array([[3.0], [3.0]]))
    assert scaled_values(np.array([[5.0]]), moments.mean, moments.deviation(), True, True) == [[0]]
