"""Hierarchical clustering, with flink-ml's values and against scipy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from millstream.ml.kernel.distances import MEASURES
from millstream.ml.kernel.linkage import LINKAGES, clusters_of, merges
from tests.support.strategies import examples

POINTS = np.array([[1, 1], [1, 4], [1, 0], [4, 1.5], [4, 4], [4, 0]], float)
SCIPY_MEASURES = {"euclidean": "euclidean", "manhattan": "cityblock", "cosine": "cosine"}


@pytest.mark.parametrize(
    ("linkage", "measure", "expected"),
    [
        ("average", "euclidean", [1, 1.5, 3, 3.1394402, 3.9559706]),
        ("average", "cosine", [0, 1.1102230e-16, 0.0636708, 0.1425070, 0.3664484]),
        ("average", "manhattan", [1, 1.5, 3, 3.75, 4.875]),
        ("single", "euclidean", [1, 1.5, 2.5, 3, 3]),
        ("ward", "euclidean", [1, 1.5, 3, 4.2573465, 5.5113519]),
        ("complete", "euclidean", [1, 1.5, 3, 3.3541019, 5]),
    ],
)
def test_merges_of_flink_ml(linkage: str, measure: str, expected: list[float]) -> None:
    assert np.allclose(merges(POINTS, linkage, measure).distance, expected, rtol=0, atol=1e-7)


def groups(
    points: np.ndarray, clusters: int | None, threshold: float | None
) -> set[frozenset[int]]:
    found, _ = clusters_of(merges(points, "ward"), len(points), clusters, threshold)
    return {frozenset(np.flatnonzero(found == each).tolist()) for each in set(found.tolist())}


def test_clusters_of_flink_ml() -> None:
    assert groups(POINTS, 2, None) == {frozenset({0, 2, 3, 5}), frozenset({1, 4})}
    assert groups(POINTS, None, 2.0) == {
        frozenset({0, 2}),
        frozenset({1}),
        frozenset({3, 5}),
        frozenset({4}),
    }
    assert groups(POINTS[:5], 2, None) == {frozenset({0, 2}), frozenset({1, 3, 4})}


def test_a_merge_at_the_threshold_is_made() -> None:
    found, taken = clusters_of(merges(POINTS, "ward"), 6, None, 1.5)
    assert taken == 2
    assert found.tolist() == [0, 1, 0, 2, 3, 2]


def test_few_points() -> None:
    for count in (0, 1):
        tree = merges(np.zeros((count, 2)), "ward")
        assert len(tree) == 0
        assert clusters_of(tree, count, 2, None)[0].tolist() == [0] * count


def test_more_clusters_than_points() -> None:
    assert clusters_of(merges(POINTS, "ward"), 6, 10, None)[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_equal_points() -> None:
    tree = merges(np.ones((9, 2)), "average")
    assert tree.distance.tolist() == [0.0] * 8
    assert tree.size[-1] == 9


CASES = [(linkage, measure) for linkage in LINKAGES for measure in MEASURES if linkage != "ward"]


@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([*CASES, ("ward", "euclidean")]))
@examples(60)
def test_scipy_merges_the_same(seed: int, count: int, case: tuple[str, str]) -> None:
    linkage, measure = case
    points = np.random.default_rng(seed).normal(size=(count, 3))
    tree = merges(points, linkage, measure)
    expected = scipy_linkage(points, linkage, metric=SCIPY_MEASURES[measure])
    found = np.stack([tree.first, tree.second, tree.distance, tree.size], axis=1)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from(LINKAGES))
@examples(30)
def test_clusters_of_scikit_learn_and_scipy(seed: int, clusters: int, linkage: str) -> None:
    points = np.random.default_rng(seed).normal(size=(25, 2))
    tree = merges(points, linkage)
    found, _ = clusters_of(tree, 25, clusters, None)
    model = AgglomerativeClustering(clusters, linkage=linkage).fit(points)  # type: ignore[arg-type]
    assert adjusted_rand_score(model.labels_, found) == 1.0
    threshold = float(np.median(tree.distance))
    flat, _ = clusters_of(tree, 25, None, threshold)
    expected = fcluster(scipy_linkage(points, linkage), threshold, "distance")
    assert adjusted_rand_score(expected, flat) == 1.0
