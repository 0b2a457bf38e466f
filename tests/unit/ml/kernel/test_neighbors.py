"""The nearest points, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from millstream.ml.kernel import neighbors
from millstream.ml.kernel.neighbors import nearest, vote
from tests.support.strategies import examples

# flink-ml's KNNTest.
TRAIN = [
    ([2.0, 3.0], 1.0),
    ([2.1, 3.1], 1.0),
    ([200.1, 300.1], 2.0),
    ([200.2, 300.2], 2.0),
    ([200.3, 300.3], 2.0),
    ([200.4, 300.4], 2.0),
    ([200.4, 300.4], 2.0),
    ([200.6, 300.6], 2.0),
    ([2.1, 3.1], 1.0),
    ([2.1, 3.1], 1.0),
    ([2.1, 3.1], 1.0),
    ([2.1, 3.1], 1.0),
    ([2.3, 3.2], 1.0),
    ([2.3, 3.2], 1.0),
    ([2.8, 3.2], 3.0),
    ([300.0, 3.2], 4.0),
    ([2.2, 3.2], 1.0),
    ([2.4, 3.2], 5.0),
    ([2.5, 3.2], 5.0),
    ([2.5, 3.2], 5.0),
    ([2.1, 3.1], 1.0),
]
QUERIES = np.array([[4.0, 4.1], [300.0, 42.0]])


def predicted(points: list[tuple[list[float], float]], k: int) -> list[float]:
    found, _ = nearest(np.array([point for point, _ in points]), QUERIES, k)
    labels = np.array([label for _, label in points])
    return vote(labels[found]).tolist()


def test_values_of_flink_ml() -> None:
    assert predicted(TRAIN, 5) == [5.0, 2.0]


def test_fewer_points_than_neighbours_as_in_flink_ml() -> None:
    """Both labels have one vote, so the nearer one wins."""
    assert predicted([([4.0, 4.1], 5.0), ([300.0, 42.0], 2.0)], 5) == [5.0, 2.0]


def test_no_points_and_no_queries() -> None:
    found, distances = nearest(np.zeros((0, 2)), QUERIES, 3)
    assert found.shape == distances.shape == (2, 0)
    assert nearest(QUERIES, np.zeros((0, 2)), 3)[0].shape == (0, 2)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 12), st.booleans())
@examples(60)
def test_scikit_learn_finds_the_same(seed: int, count: int, k: int, far: bool) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=(count, 3)) + (1e6 if far else 0)
    queries = random.normal(size=(7, 3)) + (1e6 if far else 0)
    k = min(k, count)
    found, distances = nearest(points, queries, k)
    expected, same = (
        NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(points).kneighbors(queries)
    )
    assert np.allclose(distances, expected, rtol=1e-9, atol=0)
    assert np.array_equal(found, same)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    points, queries = random.normal(size=(50, 4)), random.normal(size=(31, 4))
    whole = nearest(points, queries, 5)
    monkeypatch.setattr(neighbors, "BLOCK", 120)
    for one, other in zip(whole, nearest(points, queries, 5), strict=True):
        assert np.array_equal(one, other)


@given(st.integers(0, 10**6))
@examples(30)
def test_votes_of_scikit_learn(seed: int) -> None:
    """Two labels and an odd number of neighbours: nothing is tied."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(60, 2))
    labels = (points[:, 0] + random.normal(size=60) > 0).astype(float)
    queries = random.normal(size=(20, 2))
    model = KNeighborsClassifier(n_neighbors=5).fit(points, labels)
    assert np.array_equal(vote(labels[nearest(points, queries, 5)[0]]), model.predict(queries))
