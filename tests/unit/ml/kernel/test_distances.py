"""Distances, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from millstream.ml.kernel.distances import closest, pairwise


@pytest.mark.parametrize(
    ("measure", "known"),
    [("euclidean", "euclidean"), ("manhattan", "cityblock"), ("cosine", "cosine")],
)
def test_scipy_measures_the_same(measure: str, known: str) -> None:
    random = np.random.default_rng(4)
    points, others = random.normal(size=(9, 4)), random.normal(size=(5, 4))
    assert np.allclose(pairwise(points, others, measure), cdist(points, others, known))


def test_a_vector_of_zeros_has_no_direction() -> None:
    assert pairwise(np.zeros((1, 2)), np.ones((1, 2)), "cosine").tolist() == [[1.0]]


def test_of_two_that_are_equally_close_the_first() -> None:
    assert closest(np.array([[0.0]]), np.array([[1.0], [-1.0]])).tolist() == [0]
