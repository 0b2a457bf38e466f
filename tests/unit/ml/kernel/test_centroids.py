"""Mini-batches of k-means, with the values of flink-ml's tests."""

from __future__ import annotations

import numpy as np

from millstream.ml.kernel.centroids import Centroids

TRAIN_1 = np.array([[10, 0], [10, 0.3], [10.3, 0], [-10, 0], [-10, 0.6], [-10.6, 0]])
TRAIN_2 = np.array([[10, 100], [10, 100.3], [10.3, 100], [-10, -100], [-10, -100.6], [-10.6, -100]])


def in_order(centroids: Centroids) -> list[list[float]]:
    order = centroids.points[:, 0].argsort()
    return centroids.points[order].round(9).tolist()


def test_random_centroids_and_a_batch_of_flink_ml() -> None:
    after = Centroids.random(2, 2, 0.0, 0).step(TRAIN_1, 0.0)
    assert in_order(after) == [[-10.2, 0.2], [10.1, 0.1]]
    assert after.weights.tolist() == [3.0, 3.0]


def test_decay_of_flink_ml() -> None:
    """Weights of 3 and 3, as batch k-means over the first data leaves them."""
    before = Centroids(np.array([[-10.2, 0.2], [10.1, 0.1]]), np.array([3.0, 3.0]))
    after = before.step(TRAIN_2, 0.5)
    assert after.weights.tolist() == [4.5, 4.5]
    assert np.allclose(in_order(after), [[-10.2, -200.2 / 3], [10.1, 200.3 / 3]])


def test_without_decay_it_is_the_mean_of_everything() -> None:
    random = np.random.default_rng(2)
    batches = [random.normal(size=(7, 2)) for _ in range(5)]
    centroids = Centroids(np.zeros((1, 2)), np.zeros(1))
    for batch in batches:
        centroids = centroids.step(batch, 1.0)
    assert np.allclose(centroids.points[0], np.concatenate(batches).mean(axis=0))
    assert centroids.weights.tolist() == [35.0]


def test_a_centroid_without_points_stays() -> None:
    before = Centroids(np.array([[0.0], [100.0]]), np.array([2.0, 2.0]))
    after = before.step(np.array([[1.0]]), 0.0)
    assert after.points.tolist() == [[1.0], [100.0]]
    assert after.weights.tolist() == [1.0, 0.0]


def test_measures() -> None:
    before = Centroids(np.array([[1.0, 0.0], [0.0, 10.0]]), np.zeros(2))
    near = before.step(np.array([[0.0, 1.0]]), 0.0)
    turned = before.step(np.array([[0.0, 1.0]]), 0.0, "cosine")
    assert near.weights.tolist() == [1.0, 0.0]
    assert turned.weights.tolist() == [0.0, 1.0]
